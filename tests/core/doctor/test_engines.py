"""Engines beside TensorFlow: cards that they use or don't, and why. Cards and systems are made up, trials too."""

import re
from dataclasses import replace

import pytest

from app.core.doctor.diagnosis import DeviceDiagnosis
from app.core.doctor.engines import diagnose_engine
from app.core.doctor.facts import Facts
from app.core.doctor.trial import Build, Device, Step, Trial
from app.core.engines.stamp import FORMAT, Package, Stamp
from app.core.known_lines.logs import diagnose_log
from app.core.known_lines.signals import Commands, signals
from app.core.known_lines.which_engine import TRACKERS, Mentions, named_in
from app.core.messages import sentence
from tests.conftest import MACHINE
from tests.saying import Saying, said
from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Gpu, Machine

LINUX = "Linux 6.1 (Debian GNU/Linux 12)"
RTX = Gpu("GeForce RTX 5070", "nvidia", driver="580.95", compute_capability="12.0")
OLD = Gpu("GeForce GTX 1060", "nvidia", driver="580.95", compute_capability="6.1")
RADEON = Gpu("Radeon RX 7800 XT", "amd", source="sysfs")
ARC = Gpu("Intel Arc B580", "intel", source="sysfs")
APU = Gpu("AMD Radeon 780M", "amd", source="sysfs")
APPLE = Gpu("Apple M3", "apple", source="ioreg")
PLUGIN = "ERROR:jax._src.xla_bridge:444: Jax plugin configuration error: Exception"
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


FAILED = "XlaError: the frobnicator exploded, an error"
# Rows whose lines only TensorFlow's own world prints, and those about GPUs that it doesn't use.
OF_TENSORFLOW = {
    *("python_without_build", "tensorflow_missing", "metal_plugin", "keras_3", "tensorflow_1_code", "mutex_macos"),
    *("windows_native", "built_without_cuda", "few_multiprocessors", "directml"),
    *("amd_gpu", "intel_gpu", "apple_gpu", "other_gpu"),
}
OF_OTHERS = {"jax_plugin", "jax_plugin_version", "jax_without_cuda", "torch_library", "torch_without_cuda"}


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("2024-01-01 W tensorflow/core/common_runtime/gpu/gpu_device.cc:2256] Cannot dlopen", "tensorflow"),
        ("E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call", "tensorflow"),
        ("W external/org_tensorflow/tensorflow/compiler/xla/stream_executor/gpu/asm_compiler.cc:231]", "jax"),
        ("2025-01-01 W external/xla/xla/service/gpu/nvptx_compiler.cc:703] The NVIDIA driver's", "jax"),
        ('File "lib/python3.11/site-packages/jaxlib/xla_client.py", line 1', "jax"),
        ('File "envs/pytorch/lib/python3.11/site-packages/tensorflow/__init__.py", line 1', "tensorflow"),
        ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", "torch"),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: not enough memory", "torch"),
        ("set JAX_PLATFORMS=cpu to skip this backend", "jax"),
        ("NVRM: GPU 0000:02:00.0: RmInitAdapter failed!", None),
        ("epoch 1 of 5", None),
    ],
)
def test_a_line_names_an_engine(line: str, engine: str | None) -> None:
    assert named_in(line) == engine


def test_the_closest_line_counts_and_of_two_the_one_before() -> None:
    mentions = Mentions(["import torch", "", "CUDA", "import jax", "x", "y", "z"])
    assert [mentions.nearest(index) for index in range(7)] == ["torch", "torch", "jax", "jax", "jax", "jax", "jax"]
    assert Mentions(["import torch", "CUDA", "import jax"]).nearest(1) == "torch"
    assert Mentions(["CUDA"]).nearest(0) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unknown_line_is_searched_for_where_its_engine_has_its_issues(engine: str) -> None:
    said = diagnose_log(f"import {engine}\n{FAILED}").conclusion
    assert [each.code for each in said] == ["doctor.log_unknown", "doctor.log_ask"]
    assert said[1].arguments["address"] == TRACKERS[engine]
    assert [each.code for each in diagnose_log(FAILED).conclusion] == [
        "doctor.log_unknown",
        "doctor.log_ask_maker",
    ]


@pytest.mark.parametrize("engine", [None, "torch", "jax"])
def test_no_other_engine_gets_tensorflows_remedies(engine: str | None) -> None:
    for row in signals():
        if row.severity == "harmless" or row.id in OF_TENSORFLOW:
            continue
        shown = row.of(engine)
        said = "\n".join((shown.title, shown.fix, *_all(shown.commands)))
        assert not re.search(r"\bTensorFlow\b|\bTF_\w|--repair|install .*tensorflow", said), f"{row.id}: {said}"


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_no_placeholder_is_left(engine: str | None) -> None:
    for row in signals():
        shown = row.of(engine)
        for part in (shown.title, shown.meaning, shown.fix, *_all(shown.commands)):
            assert not re.search(r"\{\w+\}", part), f"{row.id}: {part}"
            assert part


@pytest.mark.parametrize("engine", ["tensorflow", "torch", "jax"])
def test_what_an_engine_installs_is_its_own(engine: str) -> None:
    others = {"tensorflow": r"\btorch\b|\bjax\b", "torch": r"tensorflow|\bjax\b", "jax": r"tensorflow|\btorch\b"}
    for row in signals():
        if row.id not in OF_TENSORFLOW | OF_OTHERS | {"triton_missing"}:
            for command in _all(row.of(engine).commands):
                assert not re.search(rf"install .*(?:{others[engine]})", command), f"{row.id}: {command}"


def test_remedies_for_cards_and_builds_that_do_not_go_together() -> None:
    def found(log: str) -> tuple[str, str, tuple[str, ...]]:
        first = diagnose_log(log).findings[0]
        return first.signal.id, str(first.engine), first.signal.commands.on("linux")

    new = "GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current PyTorch installation."
    row, engine, commands = found(new)
    assert (row, engine) == ("gpu_too_new", "torch")
    assert any("whl/cu128" in command for command in commands)
    old = new.replace("RTX 5070", "GTX 1080 Ti").replace("sm_120", "sm_61")
    row, engine, commands = found(old)
    assert (row, engine) == ("gpu_too_old", "torch")
    assert any("whl/cu126" in command for command in commands)
    row, engine, commands = found("CUDA_ERROR_OUT_OF_MEMORY\nFile site-packages/jax/_src/dispatch.py")
    assert (row, engine) == ("out_of_memory", "jax")
    assert "export XLA_PYTHON_CLIENT_PREALLOCATE=false" in commands
    assert found("CUDA_ERROR_OUT_OF_MEMORY") == ("out_of_memory", "None", ("nvidia-smi",))


def _all(commands: Commands) -> list[str]:
    return [
        each
        for on in (commands.any, commands.linux, commands.windows, commands.wsl, commands.macos)
        for each in on
    ]
