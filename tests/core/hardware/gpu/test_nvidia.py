import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app.core.hardware.gpu import gpus as gpu
from tests.core.hardware.gpu.gpu_trees import DATA, device, plant, write
from tests.core.hardware.gpu.nvml import NOWHERE, OTHER, OWN, PYNVML, FakeDriver, held, used
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

posix_only = pytest.mark.skipif(os.name != "posix", reason="the made-up nvidia-smi is a shell script")

ADA = Gpu(
    "NVIDIA GeForce RTX 4090", "nvidia", 24 * 2**30, "580.65.06", "8.9", "nvml", "Ada", 350.0, 4, 16, False, True,
    *(450.0, 150.0, 600.0),
)  # fmt: skip
PASCAL = Gpu(
    *("NVIDIA GeForce GTX 1080", "nvidia", 24 * 2**30, "580.65.06", "6.1", "nvml", "Pascal", 180.0),
    *(3, 16, False, False, 180.0, 90.0, 216.0),
)
FULL_READING = GpuTelemetry(0, 97.0, 2**30, 65.0, 312.5, 2520.0, (), None, 40.0, 10_501.0, 45.0, 0.0, None, 350.0)


@pytest.fixture
def reader(tmp_path: Path) -> gpu.GpuReader:
    return gpu.GpuReader(tmp_path)


def test_two_gpus(driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path) -> None:
    assert gpu.list_gpus(tmp_path) == (ADA, PASCAL)
    assert (driver.starts, driver.running) == (1, 0)
    first, second = reader.read()
    assert first == FULL_READING
    assert (second.index, second.energy_j) == (1, None)
    driver.values["EnforcedPowerLimit"][0] = 230_000
    assert reader.read()[0].power_limit_w == 230.0
    assert (driver.starts, driver.running) == (2, 1)
    reader.close()
    assert driver.running == 0
    assert reader.read()[1] == second
    reader.close()
    reader.close()
    assert (driver.starts, driver.running) == (3, 0)


@pytest.mark.parametrize("lost_first", [True, False])
def test_a_gpu_that_is_lost_keeps_its_place(
    driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path, *, lost_first: bool
) -> None:
    if not lost_first:
        assert reader.read()[0] == FULL_READING
    driver.lose(0, "NVMLError_GpuIsLost" if lost_first else "NVMLError_NotSupported")
    first, second = reader.read({OWN})
    assert first == GpuTelemetry(0)
    assert (second.index, second.power_w) == (1, 312.5)
    assert [found.name for found in gpu.list_gpus(tmp_path)] == ["NVIDIA GPU", "NVIDIA GeForce GTX 1080"]
    reader.close()


@pytest.mark.parametrize(
    ("error", "shares"), [("NotSupported", True), ("NoPermission", None), ("GpuIsLost", None), ("Unknown", None)]
)
def test_a_gpu_without_memory_of_its_own_uses_the_computers(
    driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path, error: str, *, shares: bool | None
) -> None:
    recorded = tomllib.loads((DATA / "nvml_gb10.toml").read_text(encoding="utf-8"))
    for key, value in recorded.items():
        refused = getattr(PYNVML, f"NVMLError_{error if key == 'MemoryInfo' else 'NotSupported'}")()
        driver.values[key][0] = refused if value == "not supported" else value
    driver.values["UtilizationRates"][0] = SimpleNamespace(gpu=0, memory=0)
    listed, telemetry = gpu.list_gpus(tmp_path)[0], reader.read()[0]
    assert (listed.name, listed.compute_capability, listed.shares_memory) == ("NVIDIA GB10", "12.1", shares)
    assert listed.memory_bytes == (psutil.virtual_memory().total if shares else None)
    assert (telemetry.memory_used_bytes, telemetry.power_w, telemetry.power_limit_w) == (None, 11.17, None)


def test_values_that_mean_unknown_are_none(driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path) -> None:
    all_ones = 2**32 - 1
    powers = ("PowerUsage", "EnforcedPowerLimit", "PowerManagementDefaultLimit")
    for key in (*powers, "Temperature", "Clock", "MemoryClock", "FanSpeed"):
        driver.values[key] = [0, all_ones]
    driver.values["PowerManagementLimitConstraints"] = [(0, 0), (all_ones, all_ones)]
    driver.values["MaxPcieLinkGeneration"] = driver.values["MaxPcieLinkWidth"] = [0, all_ones]
    driver.values["TotalEnergyConsumption"] = [2**64 - 1, -1]
    driver.values["Architecture"] = [all_ones, 77]
    driver.values["DisplayActive"] = driver.values["DisplayMode"] = [all_ones, 7]
    driver.values["UtilizationRates"] = [SimpleNamespace(gpu=share, memory=share) for share in (0, all_ones)]
    driver.values["MemoryInfo"] = [SimpleNamespace(total=size, used=size) for size in (0, 2**64 - 1)]
    driver.values["CurrentClocksEventReasons"] = [2**64 - 1, -1]
    first = GpuTelemetry(0, utilization_pct=0.0, memory_utilization_pct=0.0, fan_pct=0.0)
    assert reader.read() == (first, GpuTelemetry(1))
    assert gpu.list_gpus(tmp_path) == (
        Gpu("NVIDIA GeForce RTX 4090", "nvidia", None, "580.65.06", "8.9"),
        Gpu("NVIDIA GeForce GTX 1080", "nvidia", None, "580.65.06", "6.1"),
    )


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x0, ()),
        (0x1 | 0x2 | 0x10 | 0x100, ()),  # idle, chosen clocks, waiting for another card, a display
        (0x4, ("power cap",)),
        (0x8 | 0x40, ("hardware slowdown", "thermal")),
        (0x20, ("thermal",)),
        (0x8 | 0x80, ("hardware slowdown", "power brake")),
    ],
)
def test_reasons_for_a_limited_clock_are_given_in_words(
    driver: FakeDriver, reader: gpu.GpuReader, bits: int, words: tuple[str, ...]
) -> None:
    driver.values["CurrentClocksEventReasons"][0] = bits
    assert reader.read()[0].throttle_reasons == words
    # A driver that knows the old name only.
    driver.values["CurrentClocksEventReasons"][0] = PYNVML.NVMLError_FunctionNotFound()
    driver.values["CurrentClocksThrottleReasons"][0] = bits
    assert reader.read()[0].throttle_reasons == words
    reader.close()


REFUSED = PYNVML.NVMLError_NotSupported()


@pytest.mark.parametrize(
    ("computing", "drawing", "memory_bytes"),
    [
        ([], [], 0),
        ([held(OWN, 2**30)], [], 0),
        ([held(OWN, 2**30), held(OTHER, 5)], [], 5),
        ([held(OTHER, 5)], [held(OTHER, 7)], 7),  # one that computes and draws
        ([held(OTHER, 5)], REFUSED, 5),
        (REFUSED, [held(OTHER, 5)], 5),
        (REFUSED, REFUSED, None),
        ([held(OTHER, None)], [], None),  # Windows does not say how much
        ([held(OTHER, 2**64 - 1)], [], None),
        ([held(NOWHERE, 5)], [], None),  # a container sees the host's numbers
    ],
)
def test_memory_of_others(
    driver: FakeDriver, reader: gpu.GpuReader, computing: object, drawing: object, memory_bytes: int | None
) -> None:
    driver.values["ComputeRunningProcesses"][0] = computing
    driver.values["GraphicsRunningProcesses"][0] = drawing
    assert reader.read(frozenset({OWN}))[0].other_memory_bytes == memory_bytes
    assert reader.read()[0].other_memory_bytes is None
    reader.close()


@pytest.mark.parametrize(
    ("using", "busy_pct"),
    [
        ([], 0.0),
        ([used(OWN, 95)], 0.0),
        ([used(OWN, 60), used(OTHER, 40), used(OTHER, 20)], 30.0),  # seen twice: the mean of both
        ([used(0, 2**31), used(OTHER, 40)], 40.0),  # an empty place of the driver's buffer
        (PYNVML.NVMLError_NotFound(), 0.0),  # nothing computed in that second
        (REFUSED, None),
        ([used(OTHER, 2**32 - 1)], None),
        ([used(NOWHERE, 40)], None),
    ],
)
def test_how_busy_others_keep_a_gpu(
    driver: FakeDriver, reader: gpu.GpuReader, using: object, busy_pct: float | None
) -> None:
    driver.values["ProcessUtilization"][0] = using
    assert reader.read(frozenset({OWN}))[0].other_utilization_pct == busy_pct
    assert reader.read()[0].other_utilization_pct is None
    reader.close()


@pytest.mark.parametrize("error", ["LibraryNotFound", "DriverNotLoaded", "LibRmVersionMismatch", "NoPermission"])
def test_no_driver_means_no_gpus(
    driver: FakeDriver, reader: gpu.GpuReader, error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    driver.start_error = getattr(PYNVML, f"NVMLError_{error}")()
    assert gpu.list_gpus(tmp_path) == ()
    assert reader.read() == ()
    assert reader.read() == ()
    assert driver.starts == 2  # a reader does not try again with each sample
    reader.close()


def test_energy_counts_from_the_first_read_across_a_restart(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    def energy_j(counter_mj: object) -> float | None:
        driver.values["TotalEnergyConsumption"][0] = counter_mj
        return reader.read()[0].energy_j

    assert energy_j(90_000_000) == 0.0
    assert energy_j(90_312_500) == pytest.approx(312.5)
    assert energy_j(PYNVML.NVMLError_GpuIsLost()) is None
    assert energy_j(90_400_000) == pytest.approx(400.0)
    reader.close()
    assert energy_j(90_500_000) == pytest.approx(500.0)
    assert energy_j(1_000) == pytest.approx(500.0)  # the driver was reloaded
    assert energy_j(2_000) == pytest.approx(501.0)
    assert energy_j(2**50) == pytest.approx(501.0)  # nothing needs that much
    assert energy_j(2**50 + 4000) == pytest.approx(505.0)
    reader.close()


@posix_only  # folders' names with colons
def test_a_sleeping_gpu_is_not_woken(driver: FakeDriver, tmp_path: Path) -> None:
    plant(tmp_path, "laptop_rtx3060")
    status = device(tmp_path, "0000:01:00.0") / "power/runtime_status"
    reader = gpu.GpuReader(tmp_path)
    asleep = Gpu("NVIDIA GeForce RTX 3060 Laptop GPU", "nvidia", driver="550.120", source="procfs")
    assert gpu.list_gpus(tmp_path)[0] == asleep
    assert [found.vendor for found in gpu.list_gpus(tmp_path)] == ["nvidia", "intel"]
    assert [reading.index for reading in reader.read()] == [0, 1]
    assert reader.read()[0] == GpuTelemetry(0)
    assert driver.starts == 0
    driver.values = {key: values[:1] for key, values in driver.values.items()}
    status.write_text("active\n")
    assert [reading.utilization_pct for reading in reader.read()] == [97.0, None]
    assert gpu.list_gpus(tmp_path)[0] == ADA
    assert [found.source for found in gpu.list_gpus(tmp_path)] == ["nvml", "sysfs"], "none is listed twice"
    status.write_text("suspended\n")
    starts = driver.starts
    assert gpu.list_gpus(tmp_path)[0] == ADA  # as reported while it was awake
    assert reader.read()[0] == GpuTelemetry(0)
    assert driver.starts == starts
    reader.close()


@posix_only
def test_one_of_two_gpus_asleep(driver: FakeDriver, tmp_path: Path) -> None:
    for number, state in ((1, "suspended"), (41, "active")):
        folder = tmp_path / f"sys/bus/pci/devices/0000:{number:02}:00.0"
        for name, content in (("vendor", "0x10de"), ("device", "0x2684"), ("class", "0x030000")):
            write(folder / name, f"{content}\n")
        write(folder / "power/runtime_status", f"{state}\n")
        (folder / "driver").symlink_to("../../drivers/nvidia")
    reader = gpu.GpuReader(tmp_path)
    first, second = reader.read()
    assert first == GpuTelemetry(0)
    assert second.power_w == 312.5
    reader.close()


@posix_only
@pytest.mark.parametrize("module", ["nvidia", "nouveau", None])
def test_a_card_that_nvidias_driver_does_not_list_comes_last(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    driver.start_error = PYNVML.NVMLError_LibRmVersionMismatch()
    plant(tmp_path, "laptop_rtx3060")
    card = device(tmp_path, "0000:01:00.0")
    (card / "power/runtime_status").write_text("active\n")
    (card / "driver").unlink()
    if module is not None:
        (card / "driver").symlink_to(f"../drivers/{module}")
    first, last = gpu.list_gpus(tmp_path)
    expected = f"{module} (Linux 6.8.0)" if module == "nouveau" else None
    assert (first.vendor, last.vendor, last.source, last.driver) == ("intel", "nvidia", "sysfs", expected)
    assert last.name == "NVIDIA GeForce RTX 3060 Mobile / Max-Q"
    reader = gpu.GpuReader(tmp_path)
    assert [reading.index for reading in reader.read()] == [0, 1]
    (card / "power/runtime_status").write_text("suspended\n")
    assert [reading.index for reading in reader.read()] == [0, 1]
    reader.close()
