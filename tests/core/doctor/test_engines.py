"""Engines beside TensorFlow: cards that they use or don't, and why. Cards and systems are made up, trials too."""

from dataclasses import replace

import pytest

from app.core.doctor.diagnosis import DeviceDiagnosis
from app.core.doctor.engines import diagnose_engine
from app.core.doctor.facts import Facts
from app.core.doctor.trial import Build, Device, Step, Trial
from app.core.engines.stamp import FORMAT, Package, Stamp
from app.core.messages import sentence
from tests.conftest import MACHINE
from tests.saying import Saying, said
from workloads.protocol.machine import Gpu, Machine

LINUX = "Linux 6.1 (Debian GNU/Linux 12)"
RTX = Gpu("GeForce RTX 5070", "nvidia", driver="580.95", compute_capability="12.0")
OLD = Gpu("GeForce GTX 1060", "nvidia", driver="580.95", compute_capability="6.1")
RADEON = Gpu("Radeon RX 7800 XT", "amd", source="sysfs")
ARC = Gpu("Intel Arc B580", "intel", source="sysfs")
APU = Gpu("AMD Radeon 780M", "amd", source="sysfs")
APPLE = Gpu("Apple M3", "apple", source="ioreg")
DONE = (Step("matmul", 0.1), Step("gradients", 0.1))


def stamp(variant: str, engine: str = "torch") -> Stamp:
    package = Package("torch", "2.13.0", "0" * 64, is_locked=True)
    of_python = ("2.13.0", "3.11", "linux-x86_64")
    return Stamp(FORMAT, engine, variant, *of_python, (package,), "0" * 64, 1, "2026-11-22T12:00:00Z")


def listing(*devices: Device, log: str = "", version: str = "2.13.0", cuda: bool = False) -> Trial:
    build = Build(version, "3.15.1", cuda=cuda)
    return Trial(target="list", status="completed", build=build, devices=(Device("cpu"), *devices), log=log)


def worked(target: str) -> Trial:
    return Trial(target=target, status="completed", steps=DONE)


def diagnosed(
    gpu: Gpu,
    variant: str,
    *trials: Trial,
    os_name: str = LINUX,
    engine: str = "torch",
    architecture: str = "x86_64",
) -> tuple[DeviceDiagnosis, ...]:
    machine: Machine = replace(MACHINE, gpus=(gpu,), os_name=os_name, architecture=architecture)
    facts = Facts(system="linux", gpus=(gpu,))
    diagnosis = diagnose_engine(engine, stamp(variant, engine), facts, machine, trials)
    assert diagnosis.devices[0].id == "cpu"
    return diagnosis.devices


def test_a_card_that_computes_is_usable() -> None:
    cpu, card = diagnosed(RTX, "cuda", listing(Device("gpu:0", RTX.name, "12.0")), worked("cpu"), worked("gpu:0"))
    assert (cpu.state, card.state, card.id, card.is_fault) == ("usable", "usable", "gpu:0", False)
    assert said("doctor.passed_work").is_in(card.why)


@pytest.mark.parametrize(("gpu", "other"), [(RTX, "cuda"), (OLD, "cuda-legacy"), (RADEON, "rocm"), (ARC, "xpu")])
def test_a_build_for_the_cpu_beside_a_card_names_the_right_one(gpu: Gpu, other: str) -> None:
    cpu, card = diagnosed(gpu, "cpu", listing(), worked("cpu"))
    assert (cpu.state, card.state, card.is_fault) == ("usable", "not usable", True)
    assert said("doctor.other_build", variant="cpu", other=other).is_all_of(card.why)
    assert card.commands == (f"python3 start.py engine install torch --variant {other}",)


def test_a_build_that_nobody_tried_is_named_as_such() -> None:
    _, card = diagnosed(RADEON, "cpu", listing(), worked("cpu"), os_name="Windows 11")
    assert said("doctor.other_build_untried", variant="cpu", other="rocm10").is_all_of(card.why)
    assert card.commands == ("python3 start.py engine install torch --variant rocm10",)


def test_of_two_vendors_cards_one_idles_by_choice() -> None:
    machine = replace(MACHINE, gpus=(RTX, RADEON), os_name=LINUX, architecture="x86_64")
    trials = (listing(Device("gpu:0", RTX.name, "12.0")), worked("cpu"), worked("gpu:0"))
    facts = Facts(system="linux", gpus=machine.gpus)
    diagnosis = diagnose_engine("torch", stamp("cuda"), facts, machine, trials)
    assert [(device.name, device.state) for device in diagnosis.devices[1:]] == [
        (RTX.name, "usable"),
        (RADEON.name, "not usable"),
    ]
    assert said("doctor.other_build", variant="cuda", other="rocm").is_all_of(diagnosis.devices[2].why)
    assert not diagnosis.has_fault


def test_a_driver_that_is_too_old_is_named() -> None:
    *_, card = diagnosed(replace(RTX, driver="470.10"), "cuda", listing(cuda=True), worked("cpu"))
    assert card.is_fault
    assert card.why == sentence("engines.driver_too_old", gpu="GeForce RTX 5070", oldest="580", driver="470.10")


def test_a_card_without_code_is_no_fault_of_the_computer() -> None:
    *_, card = diagnosed(replace(OLD, compute_capability="3.5"), "cuda", listing(cuda=True), worked("cpu"))
    assert (card.state, card.is_fault) == ("not usable", False)


def test_known_lines_explain_what_facts_do_not() -> None:
    log = "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12020)."
    *_, card = diagnosed(RTX, "cuda", listing(log=log, cuda=True), worked("cpu"))
    assert (card.signal_id, card.is_fault) == ("driver_too_old", True)
    *_, card = diagnosed(
        RTX, "cuda13", listing(log="Jax plugin configuration error: x"), worked("cpu"), engine="jax"
    )
    assert card.signal_id == "jax_plugin"
    # What is wrong with PyTorch or JAX isn't mended by what repairs TensorFlow.
    assert card.commands == ("python3 start.py engine install jax",)


def test_a_card_that_fails_at_work_says_how() -> None:
    failed = Step("convolution_gradients", 0.1, "The result is wrong: off by 80 % of the largest value.")
    trial = Trial(target="gpu:0", status="failed", steps=(*DONE, failed))
    *_, card = diagnosed(RTX, "cuda", listing(Device("gpu:0", RTX.name, "12.0")), worked("cpu"), trial)
    assert (card.state, card.is_fault) == ("not usable", True)
    assert "off by 80 %" in card.why


def test_apples_gpu_needs_a_pytorch_that_is_right_on_it() -> None:
    trials = (listing(Device("gpu:0")), worked("cpu"), worked("gpu:0"))
    *_, card = diagnosed(APPLE, "mps", *trials, os_name="macOS 15.1", architecture="arm64")
    assert (card.state, card.is_fault) == ("not usable", True)
    assert said("doctor.old_mps", oldest="2.15").is_in(card.why)
    newer = (listing(Device("gpu:0"), version="2.15.0"), *trials[1:])
    *_, card = diagnosed(APPLE, "mps", *newer, os_name="macOS 15.1", architecture="arm64")
    assert (card.name, card.state) == ("Apple M3", "usable")


@pytest.mark.parametrize(
    ("name", "vendor"), [("Intel UHD Graphics 620", "intel"), ("AMD Radeon Vega 8 Graphics", "amd")]
)
def test_graphics_in_a_processor_are_not_missed(name: str, vendor: str) -> None:
    gpu = Gpu(name, vendor, source="sysfs", shares_memory=True)
    assert len(diagnosed(gpu, "cpu", listing(), worked("cpu"))) == 1


@pytest.mark.parametrize(
    ("gpu", "engine", "os_name", "sentence"),
    [
        (RADEON, "jax", LINUX, said("engines.no_build_but_others", engine="JAX", gpu=RADEON.name)),
        (RTX, "jax", "Windows 11", said("engines.no_build_but_others", engine="JAX", gpu=RTX.name)),
        (replace(RADEON, name="Radeon RX 580"), "torch", LINUX, said("engines.no_build", engine="PyTorch")),
        (replace(APU, shares_memory=True), "torch", LINUX, said("engines.no_build", gpu=APU.name)),
        (replace(ARC, name="Intel Iris Xe MAX"), "torch", LINUX, said("engines.no_build", engine="PyTorch")),
    ],
)
def test_a_card_without_a_build_is_listed_and_no_fault(
    gpu: Gpu, engine: str, os_name: str, sentence: Saying
) -> None:
    _, card = diagnosed(gpu, "cpu", listing(), worked("cpu"), engine=engine, os_name=os_name)
    assert (card.id, card.name, card.state, card.is_fault) == (None, gpu.name, "not usable", False)
    assert sentence.is_all_of(card.why)


def test_a_card_without_a_build_that_the_engine_lists_is_listed_once() -> None:
    odd = replace(RADEON, name="Radeon RX 580")
    trials = (listing(Device("gpu:0", odd.name)), worked("cpu"), worked("gpu:0"))
    assert [device.state for device in diagnosed(odd, "rocm", *trials)] == ["usable", "usable"]


def test_a_missing_card_without_a_reason_asks_for_help() -> None:
    *_, card = diagnosed(RTX, "cuda", listing(cuda=True), worked("cpu"))
    assert said("doctor.not_listed_by", engine="PyTorch").is_in(card.why)
    assert "--report" in card.fix
