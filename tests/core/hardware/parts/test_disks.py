"""Disks, memory modules and the number of a machine, from what real computers say."""

import os
import plistlib
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from app.core.hardware.parts.disks import (
    Storage,
    follow_links,
    linux_storage,
    macos_storage,
    mount_of,
    read_storage,
    whole_disks_of,
    windows_disk,
)
from app.core.hardware.parts.memory_speed import read_memory_speed, speed_from_table, speed_from_udev
from tests.core.hardware.gpu.gpu_trees import plant
from tests.core.hardware.made_up import write
from tests.sure import sure
from tests.systems import linux_names
from workloads.protocol.machine import Disk

DATA = Path(__file__).parents[3] / "data/machines/disks"
# Of a desktop with two slots of four in use (systemd 252); empty slots come with a speed.
UDEV = (DATA / "udev_dmi.txt").read_text(encoding="utf-8")
MOUNTS = (DATA / "mountinfo.txt").read_text(encoding="utf-8")


def module(size_mb: int, speed_mts: int, configured_mts: int, *, extended: tuple[int, int] | None = None) -> bytes:
    """Return a structure of SMBIOS type 17 with its texts, as firmware has it."""
    body = bytearray(0x5C)
    body[0], body[1] = 17, len(body)
    struct.pack_into("<H", body, 0x0C, size_mb)
    struct.pack_into("<H", body, 0x15, speed_mts)
    struct.pack_into("<H", body, 0x20, configured_mts)
    if extended:
        struct.pack_into("<II", body, 0x54, *extended)
    return bytes(body) + b"DIMM 0\0Samsung\0SERIAL123\0\0"


def smbios(*structures: bytes) -> bytes:
    head = bytes([0, 3, 3, 0]) + struct.pack("<I", sum(map(len, structures)))
    system = bytes([1, 27]) + bytes(25) + b"\0\0"
    return head + system + b"".join(structures) + bytes([127, 4, 0, 0, 0, 0])


def test_the_speed_that_udev_keeps_is_that_of_filled_slots() -> None:
    assert speed_from_udev(UDEV) == 3000
    assert speed_from_udev(UDEV.replace("CONFIGURED_SPEED", "X")) == 3600
    assert speed_from_udev("E:MEMORY_DEVICE_0_SPEED_MTS=0\n") is None
    assert speed_from_udev("") is None


def test_the_table_of_the_firmware() -> None:
    assert speed_from_table(smbios(module(0, 3200, 3200), module(16_384, 3600, 3200))) == 3200
    assert speed_from_table(smbios(module(16_384, 3600, 0))) == 3600, "older firmware has no configured speed"
    assert speed_from_table(smbios(module(16_384, 0xFFFF, 0xFFFF, extended=(70_000, 66_000)))) == 66_000
    assert speed_from_table(smbios()) is None
    assert speed_from_table(b"") is speed_from_table(smbios(module(0, 3200, 3200))[:60]) is None


@linux_names
def test_the_table_where_it_may_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "sys/firmware/dmi/entries/17-0"
    folder.mkdir(parents=True)
    (folder / "raw").write_bytes(module(16_384, 3600, 3200))
    assert read_memory_speed(tmp_path) == 3200
    write(tmp_path, {"run/udev/data/+dmi:id": UDEV})
    assert read_memory_speed(tmp_path) == 3000


@pytest.mark.parametrize(
    ("place", "device"),
    [
        ("/", "259:2"),
        ("/homeless", "259:2"),
        ("/home", "259:3"),
        ("/home/anna", "259:3"),
        ("/home/anna/my data/sets", "253:0"),
        ("/mnt/nas/x", "0:45"),
    ],
)
def test_the_deepest_mount_counts(place: str, device: str) -> None:
    assert sure(mount_of(place, MOUNTS)).device == device


def disks_of_a_computer(root: Path) -> Path:
    plant(root, "../disks/desktop", ids=False)
    return write(root, {"proc/self/mountinfo": MOUNTS})


NVME = Disk("NVMe SSD", "Samsung SSD 980 PRO 1TB", 1_953_525_168 * 512)
SPINNING = Disk("hard disk", "WDC WD40EFRX-68N", 7_814_037_168 * 512)


@linux_names
@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/opt", Storage((NVME,), "ext4")),
        ("/home/anna/my data", Storage((NVME, SPINNING), "xfs")),
        ("/mnt/pool/x", Storage((SPINNING,), "btrfs")),  # btrfs numbers a device of its own
        ("/mnt/nas", Storage((Disk("network"),), "nfs4")),
        ("/mnt/c/Users", Storage((Disk("folder of the host"),), "9p")),
        ("/home", Storage((), "ext4")),  # its partition is not there
    ],
)
def test_the_disks_behind_a_folder(tmp_path: Path, place: str, expected: Storage) -> None:
    root = disks_of_a_computer(tmp_path)
    assert linux_storage(Path(place), root) == expected
    loop = root / "sys/devices/virtual/block/dm-0/slaves/self"
    loop.symlink_to(loop.parent.parent)
    assert linux_storage(Path(place), root).file_system == expected.file_system, "a device that is its own part"


@linux_names
@pytest.mark.parametrize(
    ("device", "model", "kind"),
    [
        ("virtual/block/loop0", "", "virtual disk"),
        ("rbd/0/block/rbd0", "", "virtual disk"),
        ("pci0000:00/virtio1/block/vda", "", "virtual disk"),
        ("pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host0/block/sda", "SanDisk Ultra", "USB disk"),
        ("pci0000:00/virtio2/host0/block/sda", "PersistentDisk", "virtual disk"),
        ("pci0000:00/nvme/nvme0/nvme0n1", "Amazon Elastic Block Store", "virtual disk"),
        ("pci0000:00/nvme/nvme0/nvme0n1", "Amazon EC2 NVMe Instance Storage", "NVMe SSD"),
        ("LNXSYSTM:00/VMBUS:00/host0/block/sda", "Virtual Disk", "virtual disk"),
        ("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "Samsung SSD 980 PRO", "NVMe SSD"),
        ("pci0000:00/ata1/block/sda", "WDC WD40EFRX", "hard disk"),
    ],
)
def test_disks_that_say_that_they_spin(tmp_path: Path, device: str, model: str, kind: str) -> None:
    place = f"sys/devices/{device}"
    write(tmp_path, {f"{place}/queue/rotational": "1", f"{place}/device/model": model, f"{place}/size": "8"})
    write(tmp_path, {"proc/self/mountinfo": "27 1 8:1 / / rw - ext4 /dev/x rw"})
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/8:1").symlink_to(tmp_path / place)
    (found,) = linux_storage(Path("/opt"), tmp_path).disks
    assert (found.kind, found.size_bytes) == (kind, 4096)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no list of mounts")
@pytest.mark.parametrize("system", ["nfs4", "fuse.sshfs", "autofs"])
def test_a_dead_servers_folder_is_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    nas = tmp_path / "nas"
    nas.mkdir()
    (tmp_path / "data").symlink_to("nas/sets")
    (tmp_path / "more").symlink_to(tmp_path / "data")
    root = write(
        tmp_path / "root", {"proc/self/mountinfo": f"{MOUNTS}60 27 0:99 / {nas} rw - {system} nas:/data rw"}
    )

    def forbid(name: str) -> None:
        real = getattr(os, name)

        def look(path: object, *arguments: object, **options: object) -> object:
            assert not str(path).startswith(str(nas)), "this would hang"
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, name, look)

    for name in ("stat", "lstat", "readlink", "open", "scandir", "listdir"):
        forbid(name)
    for place in ("nas/sets/mnist", "data/mnist", "more/mnist", "x/../more/mnist"):
        found = read_storage(tmp_path / place, root)
        assert found == Storage(() if system == "autofs" else (Disk("network"),), system)


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_links_are_followed_and_cycles_end(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / "disk/sets").mkdir(parents=True)
    (home / "data").symlink_to("disk")
    (home / "a").symlink_to("b")
    (home / "b").symlink_to(home / "a")
    assert follow_links(home / "data/sets/../new", "") == home / "disk/new"
    assert follow_links(home / "a/x", "").is_absolute()


# What `diskutil info -plist` says of the disk of a Mac, and of a volume of it.
INTERNAL, APFS = plistlib.loads((DATA / "diskutil.plist").read_bytes()).values()


def test_a_volume_of_a_mac_is_named_by_its_whole_disk() -> None:
    volume = plistlib.dumps(APFS)
    assert whole_disks_of(volume) == ("disk0",), "not the container, which is made up"
    for nothing in (b"", b"Could not find disk: /x\n", b"<plist><array/></plist>", b"<?xml", b"\xff"):
        assert (macos_storage(nothing), whole_disks_of(nothing)) == (Storage(), ())
    found = macos_storage(volume, [plistlib.dumps(INTERNAL)])
    assert found == Storage((Disk("NVMe SSD", "APPLE SSD AP1024Z", 1_000_555_581_440),), "apfs")
    fusion = APFS | {"APFSPhysicalStores": [{"APFSPhysicalStore": f"disk{number}s2"} for number in (0, 1, 1)]}
    assert whole_disks_of(plistlib.dumps(fusion)) == ("disk0", "disk1")
    older = {"ParentWholeDisk": "disk2", "FilesystemType": "hfs"}
    assert whole_disks_of(plistlib.dumps(older)) == ("disk2",)
    usb = plistlib.dumps(INTERNAL | {"BusProtocol": "USB", "SolidState": False, "TotalSize": True})
    assert macos_storage(plistlib.dumps(older), [usb]) == Storage((Disk("USB disk", "APPLE SSD AP1024Z"),), "hfs")


@pytest.mark.parametrize(
    "disk",
    [
        b"",
        plistlib.dumps(INTERNAL | {"WholeDisk": False}),
        plistlib.dumps(INTERNAL | {"VirtualOrPhysical": "Virtual"}),
    ],
)
def test_names_chosen_by_the_user_are_not_shown(disk: bytes) -> None:
    for disks in ([], [disk]):
        found = macos_storage(plistlib.dumps(APFS), disks)
        assert [(each.kind, each.name) for each in found.disks] == [("NVMe SSD", None)]


@pytest.mark.skipif(os.name != "posix", reason="the made-up diskutil is a shell script")
def test_diskutil_is_asked_for_the_whole_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, told in (("volume", APFS), ("disk0", INTERNAL)):
        (tmp_path / name).write_bytes(plistlib.dumps(told))
    script = tmp_path / "diskutil"
    # It has no volume by the name of a firmlink, such as /Users, which `ismount` takes for one.
    script.write_text(
        f'#!/bin/sh\n[ "$3" = disk0 ] && exec cat {tmp_path}/disk0\n'
        f'[ "$3" = /dev/disk3s5 ] && exec cat {tmp_path}/volume\nexit 1\n'
    )
    script.chmod(0o755)
    partitions = [
        SimpleNamespace(device="/dev/disk9", mountpoint="/gone"),
        SimpleNamespace(device="/dev/disk3s5", mountpoint=str(tmp_path)),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda: partitions)
    monkeypatch.setattr(os.path, "ismount", lambda place: True)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert [disk.name for disk in read_storage(tmp_path).disks] == ["APPLE SSD AP1024Z"]


def descriptor(name: bytes, bus: int) -> bytes:
    head = struct.pack("<IIBBBBIIIII", 40, 80, 0, 0, 0, 1, 0, 40, 0, 41 + len(name), bus)
    return head.ljust(40, b"\0") + name + b"\0" + b"S5GXNX0R123456\0"


@pytest.mark.parametrize(
    ("name", "bus", "penalty", "kind"),
    [
        (b"Samsung SSD 980 PRO 1TB", 17, 0, "NVMe SSD"),
        (b"CT500MX500SSD1", 11, 0, "SSD"),
        (b"WDC WD40EFRX", 11, 1, "hard disk"),
        (b"SanDisk Ultra", 7, 1, "USB disk"),
        (b"Virtual Disk", 10, 0, "virtual disk"),
    ],
)
def test_a_disk_of_windows(name: bytes, bus: int, penalty: int, kind: str) -> None:
    found = windows_disk(descriptor(name, bus), struct.pack("<IIB", 12, 12, penalty), 10**12)
    assert found == Disk(kind, name.decode(), 10**12)
    assert "S5GXNX0R" not in str(found)
    assert windows_disk(descriptor(name, bus)[:31], b"", None) == Disk()
