"""What tests of GPUs share: a process in which no driver has hung yet."""

import sys
from collections.abc import Iterator

import pytest

from app.core.hardware.gpu import apple, nvidia, nvidia_smi, nvml_trial
from tests.core.hardware.gpu.nvml import PYNVML, FakeDriver

MODULES = (apple, nvidia, nvidia_smi)


@pytest.fixture(autouse=True)
def nothing_hung() -> Iterator[None]:
    for module in MODULES:
        module.HUNG.clear()
    nvml_trial.forget()
    yield
    for module in MODULES:
        module.HUNG.clear()
    nvml_trial.forget()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver(2)
    monkeypatch.setitem(sys.modules, "pynvml", fake.module())
    return fake


@pytest.fixture
def no_nvidia(driver: FakeDriver) -> None:
    """A driver of NVIDIA's that does not start, as without its cards."""
    driver.start_error = PYNVML.NVMLError_DriverNotLoaded()
