"""From facts and trials to a diagnosis: each computer with an NVIDIA card, and its expected diagnosis."""

from dataclasses import replace

import pytest

from app.core.doctor.facts import Facts
from app.core.doctor.nvml import NvidiaGpu, Nvml
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Build, Step
from tests.core.doctor.cases import (
    BLACKWELL,
    CARD,
    CPU_BUILD,
    DRIVEN,
    INVALID_PTX,
    JIT,
    KEPLER,
    NOTHING,
    PASCAL,
    STEPS,
    card_of,
    driven,
    failed,
    listing,
    missing,
    without_driver,
    work,
)
from tests.saying import said
from workloads.protocol.machine import Gpu

THE_CARD = said("doctor.the_gpu", name="NVIDIA GeForce RTX 4090")


def test_a_computer_without_a_gpu_is_reported_healthy() -> None:
    found = diagnose(NOTHING, [listing(), work()])
    assert not found.has_fault
    assert found.complete
    assert [device.id for device in found.devices] == ["cpu"]
    assert said("doctor.no_gpu").is_in(found.overall)
    assert said("doctor.no_gpu_is_fine").is_in(found.overall)
    assert [check.state for check in found.checks] == ["skipped", "ok", "ok", "ok"]


def test_a_card_that_works_is_usable() -> None:
    found = diagnose(DRIVEN, [listing(CARD), work(), work("gpu:0")])
    assert card_of(found).state == "usable"
    assert card_of(found).id == "gpu:0"
    assert not found.has_fault
    assert said("doctor.can_use", gpus=THE_CARD).is_all_of(found.overall)


def test_windows_is_not_the_drivers_fault() -> None:
    device = missing(driven(system="windows", pci=None), build=CPU_BUILD)
    assert device.signal_id == "windows_native"
    assert "wsl --install" in device.commands[0]


@pytest.mark.parametrize(
    ("facts", "signal_id"),
    [
        (without_driver(), "driver_missing"),
        (without_driver(nouveau=True), "nouveau"),
        (without_driver(container=True, kernel_driver="580.65.06"), "container_without_gpu"),
        (replace(DRIVEN, nvml=Nvml("driver_not_loaded")), "kernel_module"),
        (replace(DRIVEN, nvml=Nvml("driver_not_loaded"), secure_boot=True), "kernel_module"),
        (replace(DRIVEN, nvml=Nvml("version_mismatch")), "driver_mismatch"),
        (replace(DRIVEN, nvml=Nvml("gpu_lost", gpus=(CARD,))), "gpu_lost"),
        (replace(DRIVEN, visible_devices="-1"), "hidden"),
        (replace(DRIVEN, visible_devices=""), "hidden"),
        (replace(DRIVEN, nvml=Nvml("ok", driver="470.82.01", gpus=(CARD,))), "driver_too_old"),
        (driven(KEPLER), "gpu_too_old"),
        (replace(DRIVEN, packages=(("nvidia-cudnn-cu12", "9"), ("nvidia-cudnn-cu13", "9"))), "two_cuda_majors"),
        (replace(DRIVEN, library_path_cuda=True), "cuda_libraries"),
        (replace(DRIVEN, libcuda="stub"), "cuda_libraries"),
        (replace(DRIVEN, visible_devices="1"), "hidden"),
        (replace(DRIVEN, visible_devices="other"), "hidden"),
        (without_driver(container=True, nvml=Nvml("driver_not_loaded")), "container_without_gpu"),
        (without_driver(container=True, nvml=Nvml("error", "Unknown Error")), "container_lost_gpu"),
        (without_driver(nvml=Nvml("no_answer")), "gpu_lost"),
        # A newer driver, which the older row would advise, leaves this card out.
        (replace(DRIVEN, nvml=Nvml("ok", driver="470.256", gpus=(KEPLER,))), "gpu_too_old"),
    ],
)  # fmt: skip
def test_why_a_card_is_not_listed(facts: Facts, signal_id: str) -> None:
    assert missing(facts).signal_id == signal_id


WSL = Facts(
    system="wsl2", dxg=True, wsl_libcuda=True, libcuda="wsl", nvml=Nvml("ok", driver="581.29", gpus=(CARD,))
)


@pytest.mark.parametrize(
    ("facts", "signal_id"),
    [
        (replace(WSL, system="wsl1"), "wsl1"),
        (replace(WSL, dxg=False), "wsl_no_gpu"),
        (replace(WSL, nvml=Nvml("blocked")), "wsl_no_gpu"),
        (replace(WSL, nvml=Nvml("library_not_found"), libcuda=None), "wsl_library_path"),
        (replace(WSL, libcuda="conda"), "wsl_library_path"),
        (replace(WSL, nvml=Nvml("ok", driver="526.98", gpus=(CARD,))), "driver_too_old"),
        (replace(WSL, nvml=Nvml("error", "Unknown Error")), "container_lost_gpu"),
        (replace(WSL, container=True, dxg=False), "container_without_gpu"),
    ],
)
def test_why_a_card_is_not_listed_in_wsl(facts: Facts, signal_id: str) -> None:
    device = missing(facts)
    assert device.signal_id == signal_id
    assert not any("ubuntu-drivers" in command for command in device.commands)


@pytest.mark.parametrize(
    ("facts", "signal_id"),
    [
        (Facts(system="wsl1"), "wsl1"),
        (Facts(system="wsl2", dxg=False), "wsl_no_gpu"),
        # Docker Desktop's containers run on WSL's kernel.
        (Facts(system="wsl2", dxg=False, container=True), "container_without_gpu"),
    ],
)
def test_wsl_that_shows_no_card_is_explained_but_no_fault(facts: Facts, signal_id: str) -> None:
    found = diagnose(facts, [listing(), work()])
    assert found.devices[1].signal_id == signal_id
    assert not found.has_fault


def test_a_build_without_cuda_under_linux() -> None:
    device = missing(DRIVEN, build=CPU_BUILD)
    assert device.signal_id == "built_without_cuda"
    assert device.commands == ("EPOCHMARK_ACCELERATOR=cuda python3 start.py --repair",)


def test_commands_are_those_for_epochmarks_own_environment() -> None:
    device = missing(DRIVEN, log="Cannot dlopen some GPU libraries.")
    assert device.commands == ("unset LD_LIBRARY_PATH", "python3 start.py --repair")
    old = missing(driven(PASCAL), build=CPU_BUILD)
    assert old.commands == ("EPOCHMARK_ACCELERATOR=cuda-legacy python3 start.py --repair",)


def test_a_number_that_shows_all_cards_hides_none() -> None:
    assert missing(replace(DRIVEN, visible_devices="0")).signal_id is None
    two = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, PASCAL)))
    for value, signal_id in (("0,1", None), ("1, 0", None), ("1", "hidden"), ("0,7", "hidden")):
        found = diagnose(replace(two, visible_devices=value), [listing(CARD), work(), work("gpu:0")])
        assert found.devices[2].signal_id == signal_id, value


def test_a_driver_stub_outside_a_container_is_not_a_container_fault() -> None:
    facts, log = replace(DRIVEN, libcuda="stub"), "failed call to cuInit: UNKNOWN ERROR (34)"
    assert missing(facts, log=log).signal_id == "cuda_libraries"
    assert missing(replace(facts, container=True), log=log).signal_id == "container_without_gpu"


def test_a_driver_without_a_card_is_not_a_fault() -> None:
    facts = replace(NOTHING, nvml=Nvml("driver_not_loaded"))
    found = diagnose(facts, [listing(), work()])
    assert not found.has_fault
    assert found.checks[0].state == "skipped"


def test_a_slow_driver_is_not_a_fault_if_the_card_works() -> None:
    named = Gpu(name="NVIDIA GA102 [GeForce RTX 3090]", vendor="nvidia", source="sysfs")
    facts = replace(NOTHING, pci=("nvidia",), gpus=(named,), nvml=Nvml("no_answer"))
    found = diagnose(facts, [listing(NvidiaGpu("NVIDIA GeForce RTX 3090", "8.6")), work(), work("gpu:0")])
    assert [device.state for device in found.devices] == ["usable", "usable"]
    assert found.devices[1].name == "NVIDIA GeForce RTX 3090"
    assert not found.has_fault


def test_an_old_card_beside_one_that_works_is_not_a_fault() -> None:
    facts = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, KEPLER)))
    found = diagnose(facts, [listing(CARD), work(), work("gpu:0")])
    assert [device.signal_id for device in found.devices] == [None, None, "gpu_too_old"]
    assert not found.has_fault
    assert said("doctor.can_use", gpus=THE_CARD).is_all_of(found.overall)
    ignored = "Ignoring gpu device (device: 1) with Cuda multiprocessor count: 3. The minimum required count is 8."
    small = NvidiaGpu("NVIDIA GeForce GT 1030", "6.1")
    facts = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, small)))
    slow = diagnose(facts, [listing(CARD, log=ignored), work(), work("gpu:0")]).devices[2]
    assert (slow.signal_id, slow.is_fault) == ("few_multiprocessors", False)


def test_the_log_decides_where_facts_do_not() -> None:
    assert missing(DRIVEN, log="Cannot dlopen some GPU libraries.").signal_id == "cuda_libraries"
    assert missing(DRIVEN, log="failed call to cuInit: CUDA_ERROR_NO_DEVICE").signal_id == "no_cuda_device"


def test_facts_that_are_certain_count_more_than_the_log() -> None:
    device = missing(replace(DRIVEN, visible_devices="-1"), log="failed call to cuInit: CUDA_ERROR_NO_DEVICE")
    assert device.signal_id == "hidden"


def test_a_card_that_is_missing_without_a_reason_asks_for_the_report() -> None:
    device = missing(DRIVEN)
    assert device.signal_id is None
    assert "--report" in device.fix


def test_a_card_that_is_listed_and_too_new_is_not_usable() -> None:
    assert failed(BLACKWELL, status="crashed", exit_code=-6, steps=STEPS[:1]).signal_id == "gpu_too_new"
    assert failed(BLACKWELL, log=f"{JIT}\n{INVALID_PTX}").signal_id == "gpu_too_new"


def test_a_build_that_knows_the_new_card_fails_for_another_reason() -> None:
    build = Build("2.22.0", "3.15.1", cuda=True, capabilities=("sm_90", "sm_120"))
    for error, signal_id in (("CUDA_ERROR_ILLEGAL_ADDRESS", "launch_failed"), ("it is Friday", None)):
        trial = work("gpu:0", status="failed", steps=(Step("matmul", 0.1, f"InternalError: {error}"),))
        found = diagnose(driven(BLACKWELL), [listing(BLACKWELL, build=build), work(), trial])
        assert card_of(found).signal_id == signal_id
    assert "it is Friday" in card_of(found).why


def test_pascal_with_a_cudnn_that_left_it_out() -> None:
    facts = driven(PASCAL, packages=(("nvidia-cudnn-cu12", "9.28.0.42"),))
    device = failed(PASCAL, facts)
    assert device.signal_id == "cudnn_dropped_gpu"
    assert device.commands == ("EPOCHMARK_ACCELERATOR=cuda-legacy python3 start.py --repair",)
    fine = driven(PASCAL, packages=(("nvidia-cudnn-cu12", "9.10.2.21"),))
    assert failed(PASCAL, fine).signal_id is None


def test_a_full_card() -> None:
    full = replace(CARD, memory_bytes=24 * 2**30, memory_used_bytes=23 * 2**30)
    device = failed(full, log="failed to allocate 8.41G from device: CUDA_ERROR_OUT_OF_MEMORY")
    assert device.signal_id == "out_of_memory"
    assert said("doctor.memory_in_use", size_bytes="24 GB", used_bytes="23.0 GB").is_in(device.why)


def test_lines_that_mean_something_else_on_this_card_are_not_the_reason() -> None:
    assert failed(CARD, log="CUDNN_STATUS_ARCH_MISMATCH").signal_id is None
    assert failed(CARD, log=INVALID_PTX).signal_id is None
    assert failed(PASCAL, log="CUDNN_STATUS_ARCH_MISMATCH").signal_id == "cudnn_dropped_gpu"
    unstable = failed(CARD, log="cuDNN failed with status CUDNN_STATUS_EXECUTION_FAILED")
    assert unstable.signal_id == "launch_failed"
    ptx = failed(CARD, log="CUDA_ERROR_UNSUPPORTED_PTX_VERSION: compiled with an unsupported toolchain")
    assert ptx.signal_id == "driver_too_old"


def test_code_that_is_compiled_first_is_a_slow_path_and_no_fault() -> None:
    for changes in (
        {"status": "timed_out", "exit_code": None, "duration_s": 180.0, "steps": ()},
        {"status": "completed"},
    ):
        trial = replace(work("gpu:0", log=JIT), **changes)
        found = diagnose(driven(BLACKWELL), [listing(BLACKWELL), work(), trial])
        assert card_of(found).state == "slow path"
        assert card_of(found).signal_id == "ptx_jit"
        assert not card_of(found).is_fault


def test_a_step_that_takes_minutes_is_a_slow_path() -> None:
    trial = work("gpu:0", steps=(Step("matmul", 95.0), *STEPS[1:]))
    assert card_of(diagnose(DRIVEN, [listing(CARD), work(), trial])).state == "slow path"


def test_a_card_that_gives_no_answer_is_not_usable() -> None:
    device = failed(CARD, status="timed_out", exit_code=None, duration_s=180.0, steps=())
    assert "180 s" in device.why


def test_a_process_that_was_killed_says_so() -> None:
    assert "SIGSEGV" in failed(CARD, status="crashed", exit_code=-11, steps=STEPS[:2]).why
