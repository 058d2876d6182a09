import os
import sys
import threading
from pathlib import Path

import pytest

from app.core.hardware.gpu import gpus as gpu
from app.core.hardware.gpu import nvidia
from app.core.hardware.gpu import windows as windows_gpus
from tests.core.hardware.gpu.gpu_trees import plant
from tests.core.hardware.gpu.nvml import FakeDriver
from workloads.protocol.telemetry import GpuTelemetry

posix_only = pytest.mark.skipif(os.name != "posix", reason="folders with colons in their names")


@posix_only
def test_nvidia_gpus_come_first(driver: FakeDriver, tmp_path: Path) -> None:
    plant(tmp_path, "rx6800xt", "raspberry_pi4")
    found = gpu.list_gpus(tmp_path)
    assert [each.vendor for each in found] == ["nvidia", "nvidia", "amd", "other"]
    assert [each.source for each in found] == ["nvml", "nvml", "sysfs", "sysfs"]
    starts = driver.starts
    reader = gpu.GpuReader(tmp_path)
    reader.close()
    assert driver.starts == starts, "nothing is searched before the first read"
    readings = reader.read()
    assert [reading.index for reading in readings] == [0, 1, 2, 3]
    assert [reading.power_w for reading in readings] == [312.5, 312.5, 255.0, None]
    reader.close()
    assert driver.running == 0


@posix_only
def test_numbers_hold_when_the_driver_fails_on_the_way(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plant(tmp_path, "rx6800xt")
    reader = gpu.GpuReader(tmp_path)
    assert [reading.power_w for reading in reader.read()] == [312.5, 312.5, 255.0]
    monkeypatch.setattr(nvidia.NvmlSource, "telemetry", lambda source, asleep, own_pids: ())
    assert [(reading.index, reading.power_w) for reading in reader.read()] == [(0, None), (1, None), (2, 255.0)]
    reader.close()


def test_the_system_counts_shared_memory_for_cards_of_nvidias_driver(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class FakeWindows:
        counts_shared = True
        vendors = ("amd", "nvidia", "nvidia")

        def telemetry(self, places: list[int], own_pids: object = None) -> tuple[GpuTelemetry, ...]:
            shared = {0: 5, 1: 6, 2: 7}
            return tuple(GpuTelemetry(0, own_shared_bytes=shared[place] * 10**9) for place in places)

        def close(self) -> None:
            pass

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(gpu, "WindowsGpus", FakeWindows)
    reader = gpu.GpuReader(tmp_path)
    readings = reader.read(frozenset({1}))
    assert [(each.index, each.own_shared_bytes) for each in readings] == [(0, 7e9), (1, 7e9), (2, 5e9)]
    assert readings[0].power_w == 312.5
    assert [each.own_shared_bytes for each in reader.read()] == [None, None, 5e9], "whose would it be?"
    reader.close()


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_systems_without_gpus(
    no_nvidia: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str
) -> None:
    """Where neither ioreg nor the registry answers, there is nothing, and no failure."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(windows_gpus, "list_adapters", lambda: None)
    monkeypatch.setattr(windows_gpus, "read_entries", list)
    assert gpu.list_gpus(tmp_path) == ()
    reader = gpu.GpuReader(tmp_path)
    assert reader.read() == ()
    reader.close()


@pytest.mark.parametrize(("at", "running"), [("start", 0), ("Name", 1)])
def test_an_nvml_that_hangs_is_waited_for_once_and_left_alone(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: str, running: int
) -> None:
    limits = nvidia.NvmlLimits(start_s=0.2 if at == "start" else 20.0, list_s=0.2, list_share_s=0.2)
    driver.hanging, driver.hanging_at = threading.Event(), at
    reader = nvidia.NvidiaGpus(tmp_path, limits=limits)
    monkeypatch.setattr(nvidia, "open_gputil", lambda: pytest.fail("what hangs there would hang here"))
    assert reader.gpus() == ()
    assert nvidia.HUNG.is_set()
    assert driver.running == running, "to let go of it would hang, too"
    assert (reader.telemetry(), gpu.list_gpus(tmp_path), gpu.GpuReader(tmp_path).read()) == ((), (), ())
    assert driver.starts == 1
    driver.hanging.set()


@pytest.mark.parametrize("error", [OSError("no such symbol"), AttributeError("nvmlInit_v2"), ValueError("text")])
def test_a_broken_library_is_not_called_a_hanging_one(
    driver: FakeDriver, tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    driver.start_error = error
    assert gpu.list_gpus(tmp_path) == ()
    assert repr(error) in caplog.text
    assert "hangs" not in caplog.text
    driver.start_error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        gpu.list_gpus(tmp_path)
    assert not nvidia.HUNG.is_set()
    driver.start_error = None
    assert len(gpu.list_gpus(tmp_path)) == 2, "it may be tried again"
