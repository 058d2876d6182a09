"""From facts and trials to a diagnosis: each computer with an NVIDIA card, and its expected diagnosis."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.doctor.checks import checks
from app.core.doctor.facts import Facts, SystemName
from app.core.doctor.nvml import NvidiaGpu, Nvml, NvmlState
from app.core.doctor.report import as_dict, report_text
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Build, Device, Step, Trial, TrialStatus
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
    driven,
    failed,
    listing,
    missing,
    without_driver,
    work,
)
from tests.saying import said
from workloads.protocol.machine import Gpu

TWO = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, PASCAL)))
TWINS = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, CARD)))
GT_1030 = NvidiaGpu("NVIDIA GeForce GT 1030", "6.1")
TOO_SMALL = "Ignoring gpu device (device: 1) with Cuda multiprocessor count: 3. The minimum required count is 8."
NAMED = Gpu("NVIDIA GA102 [GeForce RTX 3090]", "nvidia", source="sysfs")
DRIVER_SLOW = replace(NOTHING, pci=("nvidia",), gpus=(NAMED,), nvml=Nvml("no_answer"))
RTX_3090 = NvidiaGpu("NVIDIA GeForce RTX 3090", "8.6")
NEW_BUILD = Build("2.22.0", "3.15.1", cuda=True, capabilities=("sm_90", "sm_120"))
METAL = Trial(target="list", status="completed", build=BUILD, devices=(Device("cpu"), Device("gpu:0", "METAL")))
CPU_ONLY, ON_CARD = (listing(), work()), (listing(CARD), work(), work("gpu:0"))
HANGING = Trial(target="list", status="timed_out", duration_s=120.0)
NO_ANSWER = replace(work("gpu:0", log=JIT), status="timed_out", exit_code=None, duration_s=180.0, steps=())
OLD_BESIDE = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, KEPLER)))
SMALL_BESIDE = replace(DRIVEN, nvml=Nvml("ok", driver="580.65.06", gpus=(CARD, GT_1030)))
ON_BUS = replace(NOTHING, pci=("amd", "intel", "other"))
ON_BUS_AND_NAMED = replace(NOTHING, pci=("amd",), gpus=(Gpu("Radeon RX 6700", "amd"),))
OTHER_ORDER = (listing(PASCAL, CARD), work(), work("gpu:0", status="failed"), work("gpu:1"))
SLOW_STEP = (listing(CARD), work(), work("gpu:0", steps=(Step("matmul", 30.5), *STEPS[1:])))
SILENT_DRIVER = replace(NOTHING, pci=("nvidia",), nvml=Nvml("no_answer"))
OLD_PLUGIN = Facts(system="macos", packages=(("tensorflow-metal", "1.2.0"),))


def crashed(exit_code: int) -> Trial:
    return Trial(target="list", status="crashed", exit_code=exit_code)


def failing(error: str) -> tuple[Trial, ...]:
    """Return trials of a build that knows the new card, on which a step fails."""
    failed_step = Step("matmul", 0.1, f"InternalError: {error}")
    return listing(BLACKWELL, build=NEW_BUILD), work(), work("gpu:0", status="failed", steps=(failed_step,))


@pytest.mark.parametrize(
    ("facts", "trials", "states"),
    [
        (NOTHING, CPU_ONLY, "usable"),
        (DRIVEN, ON_CARD, "usable, usable"),
        (NOTHING, (METAL, work(), work("gpu:0")), "usable, usable"),
        # WSL that shows no card is explained, but no fault; Docker Desktop's containers run on WSL's kernel.
        (Facts(system="wsl1"), CPU_ONLY, "usable, not usable wsl1"),
        (Facts(system="wsl2", dxg=False), CPU_ONLY, "usable, not usable wsl_no_gpu"),
        (Facts(system="wsl2", dxg=False, container=True), CPU_ONLY, "usable, not usable container_without_gpu"),
        # A number that shows all cards hides none.
        (replace(TWO, visible_devices="0,1"), ON_CARD, "usable, usable, not usable fault"),
        (replace(TWO, visible_devices="1, 0"), ON_CARD, "usable, usable, not usable fault"),
        (replace(TWO, visible_devices="1"), ON_CARD, "usable, usable, not usable hidden fault"),
        (replace(TWO, visible_devices="0,7"), ON_CARD, "usable, usable, not usable hidden fault"),
        (replace(TWINS, visible_devices="0"), ON_CARD, "usable, usable, not usable hidden fault"),
        (TWINS, (listing(CARD, CARD), work(), work("gpu:0"), work("gpu:1")), "usable, usable, usable"),
        # Cards are matched by name, whatever their order.
        (TWO, OTHER_ORDER, "usable, usable, not usable fault"),
        # A driver without a card, a slow driver, and an old or small card beside one that works, are no faults.
        (replace(NOTHING, nvml=Nvml("driver_not_loaded")), CPU_ONLY, "usable"),
        (DRIVER_SLOW, (listing(RTX_3090), work(), work("gpu:0")), "usable, usable"),
        (OLD_BESIDE, ON_CARD, "usable, usable, not usable gpu_too_old"),
        (
            SMALL_BESIDE,
            (listing(CARD, log=TOO_SMALL), work(), work("gpu:0")),
            "usable, usable, not usable few_multiprocessors, failed check",
        ),
        # Neither are cards of other makers, which are named once, however many sources know them.
        *(
            (replace(NOTHING, gpus=(Gpu("Some card", vendor),)), CPU_ONLY, f"usable, not usable {vendor}_gpu")
            for vendor in ("amd", "intel", "apple", "other")
        ),
        (ON_BUS, CPU_ONLY, "usable, not usable amd_gpu, not usable intel_gpu"),
        (ON_BUS_AND_NAMED, CPU_ONLY, "usable, not usable amd_gpu"),
        (replace(DRIVEN, pci=("intel", "nvidia")), ON_CARD, "usable, usable, not usable intel_gpu"),
        # Code that is compiled first is a slow path, and so is a step that takes minutes.
        (driven(BLACKWELL), (listing(BLACKWELL), work(), NO_ANSWER), "usable, slow path ptx_jit, failed check"),
        (driven(BLACKWELL), (listing(BLACKWELL), work(), work("gpu:0", log=JIT)), "usable, slow path ptx_jit"),
        (DRIVEN, SLOW_STEP, "usable, slow path ptx_jit"),
        # A build that knows a new card fails for another reason.
        (driven(BLACKWELL), failing("CUDA_ERROR_ILLEGAL_ADDRESS"), "usable, not usable launch_failed fault"),
        (driven(BLACKWELL), failing("it is Friday"), "usable, not usable fault"),
        # Where even the CPU does not work.
        *((NOTHING, (crashed(code),), "not usable avx_missing fault") for code in (-4, 0xC000001D)),
        (replace(NOTHING, avx=False), (crashed(-11),), "not usable avx_missing fault"),
        (NOTHING, (crashed(-11),), "not usable fault"),
        (NOTHING, (HANGING,), "not usable fault"),
        (SILENT_DRIVER, (HANGING,), "not usable gpu_lost fault, not usable gpu_lost fault"),
        (OLD_PLUGIN, (crashed(-6),), "not usable metal_plugin fault"),
        (NOTHING, (listing(), work(status="failed", exit_code=1, steps=())), "not usable fault"),
    ],
)
def test_what_each_device_is_found_to_be(facts: Facts, trials: tuple[Trial, ...], states: str) -> None:
    found = diagnose(facts, trials)
    told = [
        " ".join(filter(None, (device.state, device.signal_id, "fault" if device.is_fault else None)))
        for device in found.devices
    ]
    if not any(device.is_fault for device in found.devices) and found.has_fault:
        told.append("failed check")
    assert ", ".join(told) == states
    assert found.has_fault is ("fault" in states or "failed" in states)


def test_the_conclusion_in_words() -> None:
    def overall(facts: Facts, *trials: Trial) -> str:
        return diagnose(facts, trials).overall

    name = "NVIDIA GeForce RTX 4090"
    one, two = said("doctor.the_gpu", name=name), said("doctor.all_of_gpus", name=name)
    assert said("doctor.no_gpu").is_in(overall(NOTHING, *CPU_ONLY))
    assert said("part.no_gpu_is_fine").is_in(overall(replace(NOTHING, gpus=(Gpu("Some card", "amd"),)), *CPU_ONLY))
    assert said("doctor.can_use", gpus=one).is_all_of(overall(DRIVEN, *ON_CARD))
    both = overall(TWINS, listing(CARD, CARD), work(), work("gpu:0"), work("gpu:1"))
    assert said("doctor.can_use", gpus=two).is_all_of(both)
    half = said("doctor.some_of_gpus", number="1", of="2", name=name)
    hidden = overall(replace(TWINS, visible_devices="0"), *ON_CARD)
    assert said("doctor.gpus_not_usable_because", gpus=half).is_in(hidden)
    assert diagnose(DRIVER_SLOW, [listing(RTX_3090), work(), work("gpu:0")]).devices[1].name == RTX_3090.name
    assert diagnose(NOTHING, [METAL, work(), work("gpu:0")]).devices[1].name == "METAL"
    assert [device.name for device in diagnose(ON_BUS, CPU_ONLY).devices[1:]] == ["AMD GPU", "Intel GPU"]
    assert [check.state for check in diagnose(NOTHING, CPU_ONLY).checks] == ["skipped", "ok", "ok", "ok"]
    crashes = checks(replace(NOTHING, nvml=Nvml("crashes")), ())[0]
    assert (crashes.state, crashes.result.code) == ("fault", "doctor.driver_state_crashes")
    for trials in ([], [listing(status="cancelled", build=None)], [listing(CARD), work(status="cancelled")]):
        stopped = diagnose(DRIVEN, trials)
        assert (stopped.complete, stopped.has_fault) == (False, False)
        assert said("doctor.stopped").is_in(stopped.overall)


TWO_CUDNNS = ("nvidia-cudnn-cu12", "9"), ("nvidia-cudnn-cu13", "9")
WSL = Facts(
    system="wsl2", dxg=True, wsl_libcuda=True, libcuda="wsl", nvml=Nvml("ok", driver="581.29", gpus=(CARD,))
)
NO_DEVICE, NO_LIBRARY = "failed call to cuInit: CUDA_ERROR_NO_DEVICE", "Cannot dlopen some GPU libraries."
STUB, CU_INIT_34 = replace(DRIVEN, libcuda="stub"), "failed call to cuInit: UNKNOWN ERROR (34)"


@pytest.mark.parametrize(
    ("facts", "log", "signal_id"),
    [
        (without_driver(), "", "driver_missing"),
        (without_driver(nouveau=True), "", "nouveau"),
        (without_driver(container=True, kernel_driver="580.65.06"), "", "container_without_gpu"),
        (replace(DRIVEN, nvml=Nvml("driver_not_loaded")), "", "kernel_module"),
        (replace(DRIVEN, nvml=Nvml("version_mismatch")), "", "driver_mismatch"),
        (replace(DRIVEN, nvml=Nvml("gpu_lost", gpus=(CARD,))), "", "gpu_lost"),
        (replace(DRIVEN, visible_devices=""), "", "hidden"),
        (replace(DRIVEN, visible_devices="1"), "", "hidden"),
        (replace(DRIVEN, visible_devices="other"), "", "hidden"),
        (replace(DRIVEN, visible_devices="0"), "", None),
        (replace(DRIVEN, nvml=Nvml("ok", driver="525.60.12", gpus=(CARD,))), "", "driver_too_old"),
        (replace(DRIVEN, nvml=Nvml("ok", driver="525.60.13", gpus=(CARD,))), "", None),
        (driven(KEPLER), "", "gpu_too_old"),
        (replace(DRIVEN, packages=TWO_CUDNNS), "", "two_cuda_majors"),
        (replace(DRIVEN, library_path_cuda=True), "", "cuda_libraries"),
        (STUB, "", "cuda_libraries"),
        (STUB, CU_INIT_34, "cuda_libraries"),
        (replace(STUB, container=True), CU_INIT_34, "container_without_gpu"),
        (without_driver(container=True, nvml=Nvml("driver_not_loaded")), "", "container_without_gpu"),
        (without_driver(container=True, nvml=Nvml("error", "Unknown Error")), "", "container_lost_gpu"),
        (without_driver(nvml=Nvml("no_answer")), "", "gpu_lost"),
        # A newer driver, which the older row would advise, leaves this card out.
        (replace(DRIVEN, nvml=Nvml("ok", driver="470.256", gpus=(KEPLER,))), "", "gpu_too_old"),
        # The log decides where facts do not, but facts that are certain count more.
        (DRIVEN, NO_LIBRARY, "cuda_libraries"),
        (DRIVEN, NO_DEVICE, "no_cuda_device"),
        (replace(DRIVEN, visible_devices="-1"), NO_DEVICE, "hidden"),
        (replace(WSL, system="wsl1"), "", "wsl1"),
        (replace(WSL, dxg=False), "", "wsl_no_gpu"),
        (replace(WSL, nvml=Nvml("blocked")), "", "wsl_no_gpu"),
        (replace(WSL, nvml=Nvml("library_not_found"), libcuda=None), "", "wsl_library_path"),
        (replace(WSL, libcuda="conda"), "", "wsl_library_path"),
        (replace(WSL, nvml=Nvml("ok", driver="527.40", gpus=(CARD,))), "", "driver_too_old"),
        (replace(WSL, nvml=Nvml("ok", driver="527.41", gpus=(CARD,))), "", None),
        (replace(WSL, nvml=Nvml("error", "Unknown Error")), "", "container_lost_gpu"),
        (replace(WSL, container=True, dxg=False), "", "container_without_gpu"),
    ],
)
def test_why_a_card_is_not_listed(facts: Facts, log: str, signal_id: str | None) -> None:
    device = missing(facts, log)
    assert device.signal_id == signal_id
    assert signal_id or "--report" in device.fix, "it asks for the report"
    assert not (facts.is_wsl and any("ubuntu-drivers" in command for command in device.commands))


LEGACY = "EPOCHMARK_ACCELERATOR=cuda-legacy python3 start.py --repair"


@pytest.mark.parametrize(
    ("facts", "build", "log", "signal_id", "commands"),
    [
        (driven(system="windows", pci=None), CPU_BUILD, "", "windows_native", "wsl --install"),
        (DRIVEN, CPU_BUILD, "", "built_without_cuda", "EPOCHMARK_ACCELERATOR=cuda python3 start.py --repair"),
        (driven(PASCAL), CPU_BUILD, "", "built_without_cuda", LEGACY),
        (DRIVEN, BUILD, NO_LIBRARY, "cuda_libraries", "unset LD_LIBRARY_PATH; python3 start.py --repair"),
    ],
)
def test_commands_are_those_for_epochmarks_own_environment(
    facts: Facts, build: Build, log: str, signal_id: str, commands: str
) -> None:
    device = missing(facts, log, build)
    assert device.signal_id == signal_id
    assert "; ".join(device.commands).startswith(commands)


def with_cudnn(version: str) -> Facts:
    return driven(PASCAL, packages=(("nvidia-cudnn-cu12", version),))


@pytest.mark.parametrize(
    ("card", "facts", "changes", "signal_id"),
    [
        (BLACKWELL, None, {"status": "crashed", "exit_code": -6, "steps": STEPS[:1]}, "gpu_too_new"),
        (BLACKWELL, None, {"log": f"{JIT}\n{INVALID_PTX}"}, "gpu_too_new"),
        (PASCAL, with_cudnn("9.28.0.42"), {}, "cudnn_dropped_gpu"),
        (PASCAL, with_cudnn("9.11.0"), {}, "cudnn_dropped_gpu"),
        (PASCAL, with_cudnn("9.10.2.21"), {}, None),
        # Lines that mean something else on this card are not the reason.
        (CARD, None, {"log": "CUDNN_STATUS_ARCH_MISMATCH"}, None),
        (CARD, None, {"log": INVALID_PTX}, None),
        (PASCAL, None, {"log": "CUDNN_STATUS_ARCH_MISMATCH"}, "cudnn_dropped_gpu"),
        (CARD, None, {"log": "cuDNN failed with status CUDNN_STATUS_EXECUTION_FAILED"}, "launch_failed"),
        (CARD, None, {"log": "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: an unsupported toolchain"}, "driver_too_old"),
    ],
)
def test_why_a_listed_card_fails(
    card: NvidiaGpu, facts: Facts | None, changes: dict[str, object], signal_id: str | None
) -> None:
    device = failed(card, facts, **changes)
    assert device.signal_id == signal_id
    assert (LEGACY in device.commands) is (signal_id == "cudnn_dropped_gpu")


def test_why_it_failed_in_words() -> None:
    full = replace(CARD, memory_bytes=24 * 2**30, memory_used_bytes=23 * 2**30)
    device = failed(full, log="failed to allocate 8.41G from device: CUDA_ERROR_OUT_OF_MEMORY")
    assert device.signal_id == "out_of_memory"
    assert said("doctor.memory_in_use", size_bytes="24 GB", used_bytes="23.0 GB").is_in(device.why)
    assert "180 s" in failed(CARD, status="timed_out", exit_code=None, duration_s=180.0, steps=()).why
    assert "SIGSEGV" in failed(CARD, status="crashed", exit_code=-11, steps=STEPS[:2]).why
    assert "it is Friday" in failed(CARD, steps=(Step("matmul", 0.1, "it is Friday"),)).why


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


_FLAG = st.sampled_from([None, True, False])
_CARDS = st.lists(st.sampled_from([CARD, BLACKWELL, PASCAL, NvidiaGpu("NVIDIA GPU")]), max_size=3).map(tuple)
_BUS = st.lists(st.sampled_from(["nvidia", "amd", "intel", "other"]), max_size=4).map(tuple)
_NVML = st.builds(
    Nvml,
    state=st.sampled_from(get_args(NvmlState)),
    driver=st.sampled_from([None, "580.65.06", "470", "x"]),
    gpus=_CARDS,
)
_FACTS = st.builds(
    Facts,
    system=st.sampled_from(get_args(SystemName)),
    container=st.booleans(),
    nvml=_NVML,
    pci=st.one_of(st.none(), _BUS),
    dxg=_FLAG,
    wsl_libcuda=_FLAG,
    nouveau=_FLAG,
    secure_boot=_FLAG,
    avx=_FLAG,
    visible_devices=st.sampled_from([None, "", "-1", "0", "1,0", "other"]),
)
_TRIAL = st.builds(
    Trial,
    target=st.sampled_from(["list", "cpu", "gpu:0", "gpu:1"]),
    status=st.sampled_from(get_args(TrialStatus)),
    exit_code=st.sampled_from([None, 0, 1, -6, -9]),
    build=st.sampled_from([None, BUILD, CPU_BUILD]),
    devices=st.sampled_from([(), (Device("cpu"),), (Device("cpu"), Device("gpu:0", CARD.name, "8.9"))]),
    steps=st.sampled_from([(), STEPS, (Step("matmul", 1.0, "error"),)]),
    log=st.sampled_from(["", JIT, INVALID_PTX, "Error: unheard of"]),
)


@pytest.mark.slow
@given(_FACTS, st.lists(_TRIAL, max_size=4))
def test_whatever_is_found_gives_an_answer(facts: Facts, trials: list[Trial]) -> None:
    found = diagnose(facts, trials)
    is_absent = [trial.status for trial in trials if trial.target == "list"][-1:] == ["absent"]
    assert [device.id for device in found.devices[:1]] == ([] if is_absent else ["cpu"])
    assert found.overall.endswith(".")
    for device in found.devices:
        assert device.why
        assert not device.is_fault or (device.fix and device.state == "not usable")
    assert as_dict(found)["overall"]
    assert report_text(found)
