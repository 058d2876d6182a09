"""Whatever a computer shows, and however its trials end, there is an answer."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.doctor.facts import Facts, SystemName
from app.core.doctor.nvml import NvidiaGpu, Nvml, NvmlState
from app.core.doctor.report import as_dict, report_text
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Device, Step, Trial, TrialStatus
from tests.core.doctor.cases import BLACKWELL, BUILD, CARD, CPU_BUILD, INVALID_PTX, JIT, PASCAL, STEPS

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
        assert not device.is_fault or device.fix
        assert device.state == "not usable" or not device.is_fault
    assert as_dict(found)["overall"]
    assert report_text(found)
