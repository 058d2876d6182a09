"""What the tests of the command line share: a stored run, and a computer with a broken card."""

import pytest

from app.core.doctor import examination
from app.core.doctor.facts import Facts
from app.core.doctor.nvml import NvidiaGpu, Nvml
from app.core.doctor.trial import Build, Device, Step, Trial
from tests.conftest import CommandLine

CARD = NvidiaGpu("NVIDIA GeForce RTX 5080 Laptop GPU with a long name", "12.0")
BUILD = Build("2.21.0", "3.15.1", cuda=True, cuda_version="12.5.1")
DEVICES = (Device("cpu"), Device("gpu:0", CARD.name, CARD.capability))
STEPS = (Step("matmul", 0.1), Step("convolution", 0.1), Step("xla", 0.1))
TRIALS = {
    "list": Trial(
        target="list", status="completed", build=BUILD, devices=DEVICES, log="oneDNN custom operations are on"
    ),
    "cpu": Trial(target="cpu", status="completed", exit_code=0, steps=STEPS),
    "gpu:0": Trial(target="gpu:0", status="crashed", exit_code=-6, log="does not support target 'sm_120'"),
}


@pytest.fixture
def stored(epochmark: CommandLine) -> CommandLine:
    assert epochmark("run", "demo", "--epochs", "2", "--quiet").returncode == 0
    return epochmark


@pytest.fixture
def broken_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer whose card is listed and fails, without any process."""
    facts = Facts(system="linux", nvml=Nvml("ok", driver="580.65.06", gpus=(CARD,)), pci=("nvidia",))
    monkeypatch.setattr(examination, "gather_facts", lambda: facts)
    monkeypatch.setattr(examination, "run_trial", lambda target, *_: TRIALS[target])
