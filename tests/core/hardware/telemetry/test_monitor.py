"""The monitor and its telemetry: its times, its failures, shares of the CPU, and what disks read and write."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.telemetry import monitor
from tests.sure import sure
from tests.systems import linux_names
from workloads.protocol.telemetry import GpuTelemetry, Telemetry


class FakeReader(monitor.TelemetryReader):
    """Gives a numbered sample, after doing what the test wants."""

    def __init__(self, act: Callable[[int], None] = lambda count: None) -> None:
        self.act = act
        self.count = self.primed = 0
        self.closed = threading.Event()

    def prime(self) -> None:
        self.primed += 1

    def read(self) -> Telemetry:
        self.count += 1
        self.act(self.count)
        return Telemetry(cpu_pct=float(self.count))

    def close(self) -> None:
        self.closed.set()


class Receiver:
    """Keeps telemetry and signals when enough has arrived."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.telemetry: list[tuple[float, Telemetry]] = []
        self.enough = threading.Event()

    def __call__(self, monotonic_s: float, telemetry: Telemetry) -> None:
        self.telemetry.append((monotonic_s, telemetry))
        if len(self.telemetry) >= self.wanted:
            self.enough.set()


class FakeTime:
    """Time that only passes where the monitor waits, or where a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, stopping: threading.Event, duration_s: float) -> bool:
        self.now_s += duration_s
        return stopping.is_set()

    def sample_times_s(self, count: int, act: Callable[[int], None]) -> list[float]:
        receiver = Receiver(count)

        def receive(monotonic_s: float, telemetry: Telemetry) -> None:
            receiver(monotonic_s, telemetry)
            if receiver.enough.is_set():
                watched.stop()

        watched = monitor.Monitor(receive, 0.1, FakeReader(act), clock=self, wait=self.wait)
        watched.start()
        assert receiver.enough.wait(60)
        assert [telemetry.cpu_pct for _, telemetry in receiver.telemetry] == list(range(1, count + 1))
        return [monotonic_s for monotonic_s, _ in receiver.telemetry]


def monitor_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "monitor"]


def test_this_machine_gives_plausible_values() -> None:
    receiver = Receiver(2)
    with monitor.Monitor(receiver, interval_s=0.25):
        assert receiver.enough.wait(60)
    for _, telemetry in receiver.telemetry:
        assert 0 <= sure(telemetry.cpu_pct) <= 100
        assert 10**6 < sure(telemetry.memory_used_bytes) <= psutil.virtual_memory().total
        assert 1 < (telemetry.cpu_clock_mhz or 1_000) < 20_000
        assert 0 < (telemetry.cpu_temperature_c or 50) < 150
        assert (telemetry.steal_pct is not None) == sys.platform.startswith("linux")
        assert (telemetry.clock_step_s, telemetry.suspended_s or 0.0) == (0.0, 0.0)
        assert telemetry.other_cpu_pct is None, "nobody said which process is the run's own"
        assert len(sure(telemetry.core_pct)) == psutil.cpu_count()
        assert all(0 <= share_pct <= 100 for share_pct in sure(telemetry.core_pct))


def test_a_monitor_starts_again_and_its_reader_can_be_made_in_its_thread() -> None:
    makers: list[str] = []

    def make() -> FakeReader:
        makers.append(threading.current_thread().name)
        return FakeReader()

    receiver = Receiver(1)
    watched = monitor.Monitor(receiver, interval_s=0.02, reader=make)
    watched.stop()
    assert not makers
    for _ in range(2):
        receiver.enough.clear()
        with watched:
            assert receiver.enough.wait(60)
    assert (makers, monitor_threads()) == (["monitor"] * 2, [])


@pytest.mark.parametrize(
    ("delays_s", "times_s"),
    [
        ({}, [100.1, 100.2, 100.3, 100.4, 100.5]),
        (dict.fromkeys(range(9), 0.06), [100.1, 100.2, 100.3, 100.4]),  # slow samples do not add up to drift
        ({2: 0.25}, [100.1, 100.2, 100.5, 100.6]),  # late telemetry is left out
    ],
)
def test_samples_carry_their_times_on_the_grid(delays_s: dict[int, float], times_s: list[float]) -> None:
    time_ = FakeTime()

    def dawdle(count: int) -> None:
        time_.now_s += delays_s.get(count, 0.0)

    assert time_.sample_times_s(len(times_s), dawdle) == pytest.approx(times_s)


def test_stop_is_prompt_and_ends_the_thread() -> None:
    reader = FakeReader()
    watched = monitor.Monitor(lambda monotonic_s, telemetry: None, interval_s=60, reader=reader)
    watched.start()
    watched.start()
    assert len(monitor_threads()) == 1
    watched.stop()
    assert not monitor_threads(), "it waited for the next look"
    assert reader.closed.is_set()
    assert (reader.primed, reader.count) == (1, 0)


def test_a_failure_is_logged_once_and_the_monitor_continues(caplog: pytest.LogCaptureFixture) -> None:
    def fail_first(count: int) -> None:
        if count <= 3:
            raise OSError("the sensor bus is gone")

    def receive(monotonic_s: float, telemetry: Telemetry) -> None:
        receiver(monotonic_s, telemetry)
        raise ZeroDivisionError

    receiver = Receiver(2)
    with caplog.at_level(logging.ERROR), monitor.Monitor(receive, interval_s=0.02, reader=FakeReader(fail_first)):
        assert receiver.enough.wait(60)
    assert receiver.telemetry[0][1].cpu_pct == 4
    assert caplog.text.count("Reading telemetry failed") == 2
    assert "OSError: the sensor bus is gone" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_hanging_driver_does_not_hold_up_stop() -> None:
    hanging, driver_answers = threading.Event(), threading.Event()

    def hang(count: int) -> None:
        hanging.set()
        driver_answers.wait(60)

    receiver = Receiver(1)
    reader = FakeReader(hang)
    watched = monitor.Monitor(receiver, interval_s=0.02, reader=reader, stop_limit_s=0.05)
    watched.start()
    assert hanging.wait(60)
    watched.stop()
    assert monitor_threads(), "it waited for the driver"
    driver_answers.set()
    assert reader.closed.wait(60)
    assert not receiver.telemetry  # what comes after stop is not passed on


def test_a_hanging_driver_does_not_delay_preflight_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    driver_answers = threading.Event()

    class HangingReader(GpuReader):
        def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
            driver_answers.wait(60)
            return (GpuTelemetry(0),)

    monkeypatch.setattr(monitor, "GpuReader", HangingReader)
    assert monitor.read_telemetry(0.02, patience_s=0.1) == ()
    assert not driver_answers.is_set()
    assert len(monitor.read_telemetry(0.02, with_gpus=False, patience_s=60.0)) == 2
    driver_answers.set()


def test_a_receiver_may_stop_the_monitor() -> None:
    ended = threading.Event()

    def stop(monotonic_s: float, telemetry: Telemetry) -> None:
        watched.stop()
        ended.set()

    reader = FakeReader()
    watched = monitor.Monitor(stop, interval_s=0.02, reader=reader)
    watched.start()
    assert ended.wait(60)
    assert reader.closed.wait(60)
    assert reader.count == 1


@pytest.mark.parametrize("error", [NotImplementedError(), OSError(), AttributeError(), psutil.AccessDenied()])
def test_psutil_failures_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception) -> None:
    def refuse(**_: object) -> None:
        raise error

    for name in ["cpu_times", "cpu_freq", "virtual_memory", "swap_memory", "sensors_battery", "disk_io_counters"]:
        monkeypatch.setattr(psutil, name, refuse, raising=False)
    monkeypatch.setattr(psutil.Process, "cpu_times", lambda process: refuse())
    telemetry = monitor.TelemetryReader(worker_pid=os.getpid(), root=tmp_path).read()
    assert replace(telemetry, suspended_s=None) == Telemetry(clock_step_s=0.0)


def test_each_logical_cpu_has_its_share() -> None:
    before = [{"idle": 10.0, "user": 5.0}, {"idle": 20.0, "user": 5.0}]
    after = [{"idle": 10.0, "user": 6.0}, {"idle": 20.75, "user": 5.25}]
    assert monitor.core_shares_pct(before, after) == (100.0, 25.0)
    assert monitor.core_shares_pct(before, after[:1]) is None, "one was switched off meanwhile"
    assert monitor.core_shares_pct(before, before) is None


def test_gpus_are_read_only_when_given() -> None:
    told: list[Collection[int] | None] = []

    class FakeGpuReader(GpuReader):
        closed = False

        def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
            told.append(own_pids)
            return (GpuTelemetry(0, power_w=120.0),)

        def close(self) -> None:
            self.closed = True

    gpu_reader = FakeGpuReader()
    reader = monitor.TelemetryReader(gpu_reader)
    assert reader.read().gpus == (GpuTelemetry(0, power_w=120.0),)
    reader.close()
    assert gpu_reader.closed
    assert monitor.TelemetryReader().read().gpus == ()
    monitor.TelemetryReader(gpu_reader, os.getpid()).read()
    before, given = told
    assert before is None
    assert os.getpid() in sure(given), "with its children, which other tests may have left running"


LINUX_S = (
    {"user": 10.0, "system": 5.0, "idle": 100.0, "iowait": 1.0, "steal": 2.0, "guest": 4.0},
    {"user": 13.0, "system": 6.0, "idle": 104.0, "iowait": 2.0, "steal": 3.0, "guest": 7.0},
)
WINDOWS_S = {"user": 1.0, "idle": 1.0}, {"user": 2.0, "idle": 4.0}


@pytest.mark.parametrize(
    ("times_s", "own_s", "busy_pct", "steal_pct", "other_pct"),
    [
        (LINUX_S, 0.0, 50.0, 10.0, 40.0),
        (LINUX_S, 3.0, 50.0, 10.0, 10.0),
        (LINUX_S, 9.0, 50.0, 10.0, 0.0),
        (LINUX_S, None, 50.0, 10.0, None),
        ((LINUX_S[1], LINUX_S[1]), 1.0, None, None, None),
        (({}, LINUX_S[1]), 1.0, None, None, None),
        (WINDOWS_S, 0.4, 25.0, None, 15.0),
    ],
)
def test_cpu_shares(
    times_s: tuple[dict[str, float], dict[str, float]],
    own_s: float | None,
    busy_pct: float | None,
    steal_pct: float | None,
    other_pct: float | None,
) -> None:
    assert monitor.cpu_shares_pct(*times_s) == (busy_pct, steal_pct)
    assert monitor.other_share_pct(*times_s, own_s) == pytest.approx(other_pct)


IDLE_S = {"user": 0.0, "system": 0.0, "idle": 100.0}  # as wine reports it, whatever runs
LATER_S = {"user": 0.0, "system": 0.0, "idle": 102.0}
FROZEN_S = {"user": 50.0, "system": 5.0, "idle": 100.0}
FROZEN_LATER_S = {"user": 50.0, "system": 5.0, "idle": 102.0}


@pytest.mark.parametrize(
    ("before_s", "after_s", "own_s", "process_s", "believable"),
    [
        (IDLE_S, LATER_S, 1.8, 0.0, False),
        (FROZEN_S, FROZEN_LATER_S, 1.8, 3.0, False),
        (IDLE_S, LATER_S, 0.01, 3.0, False),  # before a run, nothing of ours is busy
        (FROZEN_S, FROZEN_LATER_S, 0.1, 3.0, True),
        (FROZEN_S, FROZEN_LATER_S, None, 3.0, True),
        (FROZEN_S, {"user": 51.0, "system": 5.0, "idle": 101.0}, 5.0, 3.0, True),  # of a child that was found late
    ],
)
def test_cpus_less_busy_than_our_own_processes_are_not_believed(
    before_s: dict[str, float], after_s: dict[str, float], own_s: float | None, process_s: float, believable: bool
) -> None:
    assert monitor.are_believable(before_s, after_s, own_s, process_s) is believable


def test_shares_that_cannot_be_true_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    idle_s = iter(range(100, 200))

    def times(*, percpu: bool = False) -> object:
        counted = SimpleNamespace(_asdict=lambda: {"user": 0.0, "system": 0.0, "idle": float(next(idle_s))})
        return [counted] if percpu else counted

    monkeypatch.setattr(psutil, "cpu_times", times)
    monkeypatch.setattr(time, "process_time", lambda: 3.0)
    telemetry = monitor.TelemetryReader(worker_pid=os.getpid()).read()
    assert (telemetry.cpu_pct, telemetry.other_cpu_pct, telemetry.core_pct) == (None, None, None)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    reader = monitor.TelemetryReader(worker_pid=None)
    assert reader.read().cpu_pct == 0.0, "this is what the counters say"


Counts = dict[str, SimpleNamespace]
ONE_AND_TWO = SimpleNamespace(read_bytes=1, write_bytes=2)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    counts: Counts = {}
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: counts)
    return counts


def block(root: Path, name: str, device: str, *, hardware: bool = True) -> None:
    """Make a block device that Linux has in this folder; "device" leads to its hardware, if it has any."""
    folder = root / "sys/devices" / device / name
    folder.mkdir(parents=True)
    if hardware:
        (folder / "device").mkdir()
    (root / "sys/block").mkdir(parents=True, exist_ok=True)
    (root / "sys/block" / name).symlink_to(folder)


@linux_names
def test_what_was_written_to_disk_is_seen_once(
    counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sda", "sda1", "dm-0", "md0", "loop0", "nvme0n1", "nvme0c0n1"):
        counts[name] = SimpleNamespace(read_bytes=5_000, write_bytes=1_000_000)
    block(tmp_path, "sda", "pci0000:00/ata1/block")
    block(tmp_path, "nvme0c0n1", "pci0000:00/nvme/nvme0")  # one of two ways to the disk below
    block(tmp_path, "nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    for name in ("dm-0", "loop0"):
        block(tmp_path, name, "virtual/block", hardware=False)
    block(tmp_path, "md0", "block", hardware=False)
    disks = monitor.DiskCounters(tmp_path)
    assert disks.read_bytes() == (10_000, 2_000_000)
    block(tmp_path, "sdb", "pci0000:00/usb1/block")
    counts["sdb"] = ONE_AND_TWO
    assert disks.read_bytes() == (10_001, 2_000_002)
    del counts["sda"]
    assert disks.read_bytes() == (5_001, 1_000_002)
    counts.clear()
    assert disks.read_bytes() == (None, None)
    monkeypatch.setattr(sys, "platform", "win32")
    counts |= dict.fromkeys(("PhysicalDrive0", "PhysicalDrive1"), ONE_AND_TWO)
    assert disks.read_bytes() == (2, 4), "elsewhere, all disks count"


@linux_names
def test_telemetry_has_what_was_written(counts: Counts, tmp_path: Path) -> None:
    block(tmp_path, "sda", "pci0000:00/ata1/block")
    counts["sda"] = SimpleNamespace(read_bytes=5_000, write_bytes=1_000_000)
    reader = monitor.TelemetryReader(root=tmp_path)
    counts["sda"].write_bytes += 9_000_000
    telemetry = reader.read()
    assert telemetry.disk_read_bytes_per_s == 0.0
    assert sure(telemetry.disk_write_bytes_per_s) > 0
