"""Computers that people have, as facts and trials, for tests of the diagnosis."""

from dataclasses import replace

from app.core.doctor.diagnosis import DeviceDiagnosis, Diagnosis
from app.core.doctor.facts import Facts
from app.core.doctor.nvml import NvidiaGpu, Nvml
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Build, Device, Step, Trial
from app.core.known_lines.signals import signal

CARD = NvidiaGpu("NVIDIA GeForce RTX 4090", "8.9")
BLACKWELL, PASCAL = NvidiaGpu("NVIDIA GeForce RTX 5080", "12.0"), NvidiaGpu("NVIDIA GeForce GTX 1080", "6.1")
KEPLER = NvidiaGpu("NVIDIA GeForce GTX 780", "3.5")
BUILD = Build("2.21.0", "3.15.1", cuda=True, cuda_version="12.5.1", capabilities=("sm_60", "sm_89", "compute_90"))
CPU_BUILD = Build("2.21.0", "3.15.1", cuda=False)
STEPS = tuple(Step(name, 0.1) for name in ("matmul", "convolution", "xla"))
NOTHING = Facts(system="linux", pci=(), libcuda=None, avx=True)
DRIVEN = Facts(
    system="linux", pci=("nvidia",), kernel_driver="580.65.06", libcuda="system", avx=True,
    nvml=Nvml("ok", driver="580.65.06", gpus=(CARD,)),
)  # fmt: skip
JIT = "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0."
INVALID_PTX = "'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'"


def listing(*gpus: NvidiaGpu, build: Build | None = BUILD, log: str = "", status: str = "completed") -> Trial:
    devices = (Device("cpu"), *(Device(f"gpu:{i}", gpu.name, gpu.capability) for i, gpu in enumerate(gpus)))
    return Trial(
        target="list",
        status=status,  # type: ignore[arg-type]
        exit_code=0,
        build=build,
        devices=devices if build else (),
        log=log,
    )


def work(target: str = "cpu", log: str = "", **changes: object) -> Trial:
    trial = Trial(target=target, status="completed", exit_code=0, steps=STEPS, log=log)
    return replace(trial, **changes)  # type: ignore[arg-type]


def card_of(found: Diagnosis) -> DeviceDiagnosis:
    return next(device for device in found.devices if device.vendor == "nvidia")


def missing(facts: Facts, log: str = "", build: Build = BUILD) -> DeviceDiagnosis:
    """Diagnose a card that TensorFlow does not list, and see that it is a fault everywhere."""
    found = diagnose(facts, [listing(log=log, build=build), work()])
    device = card_of(found)
    assert (device.state, device.id) == ("not usable", None)
    assert found.has_fault
    assert device.name in found.overall
    if device.signal_id:
        assert signal(device.signal_id).title in found.overall
    assert found.devices[0].state == "usable"
    return device


def driven(card: NvidiaGpu = CARD, **changes: object) -> Facts:
    return replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(card,)), **changes)  # type: ignore[arg-type]


def without_driver(**changes: object) -> Facts:
    missing = {"nvml": Nvml("library_not_found"), "kernel_driver": None, "libcuda": None}
    return replace(DRIVEN, **(missing | changes))  # type: ignore[arg-type]


def failed(card: NvidiaGpu, facts: Facts | None = None, **changes: object) -> DeviceDiagnosis:
    trial = replace(work("gpu:0", status="failed", exit_code=1), **changes)  # type: ignore[arg-type]
    found = diagnose(facts or driven(card), [listing(card), work(), trial])
    device = card_of(found)
    assert (device.state, device.id, device.is_fault) == ("not usable", "gpu:0", True)
    assert found.has_fault
    return device
