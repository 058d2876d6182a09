"""What disks read and write, each byte once."""

import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app.core.hardware.telemetry import monitor
from tests.sure import sure
from tests.systems import linux_names

Counts = dict[str, SimpleNamespace]
ONE_AND_TWO = SimpleNamespace(read_bytes=1, write_bytes=2)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """What Linux counts, by the name of the block device."""
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
def test_what_was_written_to_disk_is_seen_once(counts: Counts, tmp_path: Path) -> None:
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


@linux_names
def test_disks_are_read_only_if_there_are_others(counts: Counts, tmp_path: Path) -> None:
    counts["sda"] = ONE_AND_TWO
    block(tmp_path, "sda", "pci0000:00/ata1/block")
    disks = monitor.DiskCounters(tmp_path)
    assert disks.read_bytes() == (1, 2)
    (tmp_path / "sys/block/sda").unlink()
    assert disks.read_bytes() == (1, 2), "the folder is not looked at again"


def test_elsewhere_all_disks_count(counts: Counts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    counts |= dict.fromkeys(("PhysicalDrive0", "PhysicalDrive1"), ONE_AND_TWO)
    assert monitor.DiskCounters(tmp_path).read_bytes() == (2, 4)


@linux_names
def test_telemetry_has_what_was_written(counts: Counts, tmp_path: Path) -> None:
    block(tmp_path, "sda", "pci0000:00/ata1/block")
    counts["sda"] = SimpleNamespace(read_bytes=5_000, write_bytes=1_000_000)
    reader = monitor.TelemetryReader(root=tmp_path)
    counts["sda"].write_bytes += 9_000_000
    telemetry = reader.read()
    assert telemetry.disk_read_bytes_per_s == 0.0
    assert sure(telemetry.disk_write_bytes_per_s) > 0
