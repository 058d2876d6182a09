"""The same for other makers' cards, several cards, TensorFlow itself, and the checks in their order."""

from dataclasses import replace

import pytest

from app.core.doctor.checks import checks
from app.core.doctor.facts import Facts
from app.core.doctor.nvml import Nvml
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Device, Step, Trial
from app.core.messages import message, sentence, text
from tests.core.doctor.cases import BUILD, CARD, DRIVEN, NOTHING, PASCAL, STEPS, listing, work
from tests.saying import said
from workloads.protocol.machine import Gpu


@pytest.mark.parametrize(
    ("vendor", "signal_id"),
    [("amd", "amd_gpu"), ("intel", "intel_gpu"), ("apple", "apple_gpu"), ("other", "other_gpu")],
)
def test_cards_of_other_makers_are_not_a_fault(vendor: str, signal_id: str) -> None:
    facts = replace(NOTHING, gpus=(Gpu(name="Some card", vendor=vendor),))
    found = diagnose(facts, [listing(), work()])
    assert found.devices[1].signal_id == signal_id
    assert not found.has_fault
    assert said("doctor.no_gpu_is_fine").is_in(found.overall)


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
    assert said("doctor.can_use", gpus=said("doctor.both_gpus", name="NVIDIA GeForce RTX 4090")).is_all_of(
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
