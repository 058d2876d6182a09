"""From facts and trials to a diagnosis: each computer with an NVIDIA card, and its expected diagnosis."""

from dataclasses import replace

import pytest

from app.core.doctor.checks import checks
from app.core.doctor.facts import Facts
from app.core.doctor.nvml import NvidiaGpu, Nvml
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Build, Device, Step, Trial
from app.core.messages import message, sentence, text
from tests.core.doctor.cases import (
    BLACKWELL,
    BUILD,
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
    assert said("part.no_gpu_is_fine").is_in(found.overall)
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


@pytest.mark.parametrize(
    ("vendor", "signal_id"),
    [("amd", "amd_gpu"), ("intel", "intel_gpu"), ("apple", "apple_gpu"), ("other", "other_gpu")],
)
def test_cards_of_other_makers_are_not_a_fault(vendor: str, signal_id: str) -> None:
    facts = replace(NOTHING, gpus=(Gpu(name="Some card", vendor=vendor),))
    found = diagnose(facts, [listing(), work()])
    assert found.devices[1].signal_id == signal_id
    assert not found.has_fault
    assert said("part.no_gpu_is_fine").is_in(found.overall)


def test_gpus_known_only_to_the_bus_are_named_once() -> None:
    found = diagnose(replace(NOTHING, pci=("amd", "intel", "other")), [listing(), work()])
    assert [device.name for device in found.devices[1:]] == ["AMD GPU", "Intel GPU"]
    known = replace(NOTHING, pci=("amd",), gpus=(Gpu(name="Radeon RX 6700", vendor="amd"),))
    assert [device.name for device in diagnose(known, [listing(), work()]).devices[1:]] == ["Radeon RX 6700"]


def test_a_laptops_two_gpus_are_both_named() -> None:
    facts = replace(DRIVEN, pci=("intel", "nvidia"))
    found = diagnose(facts, [listing(CARD), work(), work("gpu:0")])
    assert [device.state for device in found.devices] == ["usable", "usable", "not usable"]
    assert not found.has_fault


def test_of_two_equal_cards_one_may_be_missing() -> None:
    facts = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, CARD)), visible_devices="0")
    found = diagnose(facts, [listing(CARD), work(), work("gpu:0")])
    assert [device.state for device in found.devices[1:]] == ["usable", "not usable"]
    assert found.devices[2].signal_id == "hidden"
    one = said("doctor.some_of_gpus", number="1", of="2", name="NVIDIA GeForce RTX 4090")
    assert said("doctor.gpus_not_usable_because", gpus=one).is_in(found.overall)
    both = diagnose(
        replace(facts, visible_devices=None), [listing(CARD, CARD), work(), work("gpu:0"), work("gpu:1")]
    )
    assert said("doctor.can_use", gpus=said("doctor.all_of_gpus", name="NVIDIA GeForce RTX 4090")).is_all_of(
        both.overall
    )


def test_cards_are_matched_by_name_whatever_their_order() -> None:
    facts = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, PASCAL)))
    trials = [listing(PASCAL, CARD), work(), work("gpu:0", status="failed"), work("gpu:1")]
    states = {device.name: device.state for device in diagnose(facts, trials).devices}
    assert states[CARD.name] == "usable"
    assert states[PASCAL.name] == "not usable"


def test_a_device_that_only_tensorflow_knows_is_judged_by_its_work() -> None:
    plugin = Trial(
        target="list", status="completed", build=BUILD, devices=(Device("cpu"), Device("gpu:0", "METAL"))
    )
    found = diagnose(NOTHING, [plugin, work(), work("gpu:0")])
    assert (found.devices[1].name, found.devices[1].state) == ("METAL", "usable")


@pytest.mark.parametrize(
    ("error", "signal_id"),
    [
        ("ModuleNotFoundError: No module named 'tensorflow'", "tensorflow_missing"),
        ("ImportError: numpy.core.multiarray failed to import", "numpy_mismatch"),
        ("ImportError: DLL load failed while importing _pywrap_tensorflow_internal", "dll_load_failed"),
        ("NotFoundError: dlopen(libmetal_plugin.dylib, 6): Symbol not found", "metal_plugin"),
        ("ImportError: libc.so.6: version GLIBC_2.99 not found", "system_too_old"),
        ("ImportError: the frobnicator has no flux", None),
    ],
)
def test_without_tensorflow_nothing_works_and_the_reason_is_given(error: str, signal_id: str | None) -> None:
    trial = Trial(target="list", status="failed", exit_code=1, import_error=error)
    found = diagnose(DRIVEN, [trial])
    assert found.devices[0].signal_id == signal_id
    assert found.devices[0].is_fault
    assert found.devices[1].signal_id == signal_id
    works_not = "doctor.nothing_works_because" if signal_id else "doctor.nothing_works"
    assert said(works_not).is_all_of(found.overall)
    assert [check.state for check in found.checks] == ["ok", "fault", "skipped"]


@pytest.mark.parametrize("changes", [{"exit_code": -4}, {"exit_code": 0xC000001D}])
def test_a_cpu_without_avx(changes: dict[str, int]) -> None:
    found = diagnose(NOTHING, [Trial(target="list", status="crashed", **changes)])  # type: ignore[arg-type]
    assert found.devices[0].signal_id == "avx_missing"
    lacking = diagnose(replace(NOTHING, avx=False), [Trial(target="list", status="crashed", exit_code=-11)])
    assert lacking.devices[0].signal_id == "avx_missing"


def test_a_driver_that_hangs_all_of_tensorflow() -> None:
    hanging = Trial(target="list", status="timed_out", duration_s=120.0)
    facts = replace(NOTHING, pci=("nvidia",), nvml=Nvml("no_answer"))
    assert diagnose(facts, [hanging]).devices[0].signal_id == "gpu_lost"
    assert diagnose(NOTHING, [hanging]).devices[0].signal_id is None


def test_apples_old_plugin_may_end_the_import_without_a_word() -> None:
    facts = Facts(system="macos", packages=(("tensorflow-metal", "1.2.0"),))
    crashed = Trial(target="list", status="crashed", exit_code=-6)
    assert diagnose(facts, [crashed]).devices[0].signal_id == "metal_plugin"


def test_steps_are_described_in_whole_sentences() -> None:
    half = work("gpu:0", status="failed", steps=(STEPS[0], Step("convolution", 0.1, "no"), Step("xla", 0.1, "no")))
    whole = replace(half, steps=(Step("xla", 0.1, "no"),))
    broken, killed = replace(half, status="crashed", steps=()), replace(half, status="timed_out", steps=STEPS[:1])
    told = [checks(DRIVEN, [listing(CARD), trial])[-1].text for trial in (half, whole, broken, killed)]
    product, convolution, xla = (sentence(f"doctor.step_{name}") for name in ("matmul", "convolution", "xla"))
    both, one = (message("doctor.steps_failed", steps=steps) for steps in ([convolution, xla], [xla]))
    no_answer = message("doctor.no_answer", limit_s=0)
    assert told == [
        sentence("doctor.some_worked", done=product, result=both),
        text(one),
        sentence("doctor.process_ended"),
        sentence("doctor.some_worked", done=product, result=no_answer),
    ]


def test_a_cpu_that_computes_wrong_results() -> None:
    wrong = work(status="failed", exit_code=1, steps=(Step("matmul", 0.1, "The result is wrong: off by 50 %."),))
    found = diagnose(NOTHING, [listing(), wrong])
    assert found.devices[0].is_fault
    assert "wrong" in found.devices[0].why


@pytest.mark.parametrize(
    "trials", [[], [listing(status="cancelled", build=None)], [listing(CARD), work(status="cancelled")]]
)
def test_a_cancelled_check_is_not_a_fault(trials: list[Trial]) -> None:
    found = diagnose(DRIVEN, trials)
    assert not found.complete
    assert not found.has_fault
    assert said("doctor.stopped").is_in(found.overall)


def test_checks_are_reported_in_order_as_they_are_decided() -> None:
    trials = [listing(CARD), work(), work("gpu:0")]
    seen = [[check.id for check in checks(DRIVEN, trials[:count])] for count in range(4)]
    assert seen == [
        ["driver"],
        ["driver", "tensorflow", "devices"],
        ["driver", "tensorflow", "devices", "cpu"],
        ["driver", "tensorflow", "devices", "cpu", "gpu:0"],
    ]


def test_hidden_gpus_in_the_cpu_trial_are_not_a_finding() -> None:
    hides = "CUDA_VISIBLE_DEVICES is set to -1 - this hides all GPUs from CUDA\nCUDA_ERROR_NO_DEVICE\nERROR: odd"
    found = diagnose(DRIVEN, [listing(CARD), work(log=hides), work("gpu:0")])
    assert found.findings == ()
    assert found.unknown_lines == ()
    assert not found.has_fault


def test_findings_of_several_trials_are_named_once() -> None:
    noise = "oneDNN custom operations are on. failed call to cuInit: UNKNOWN ERROR (303)"
    found = diagnose(NOTHING, [listing(log=noise), work(log=noise)])
    assert [finding.signal.id for finding in found.harmless] == ["no_cuda_driver", "onednn"]
    assert found.findings == ()
