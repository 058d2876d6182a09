"""The disks behind a folder: kind, model and size, and the file system on them. Serial numbers are never read."""

import ctypes
import os
import plistlib
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.parsers.expat import ExpatError

from app.core.machine.reading import output_of, read_count, read_text, read_word, tidy_name
from app.core.model import Disk

_SECTOR_BYTES = 512  # what Linux counts block devices in, whatever their own sectors are
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "sshfs", "fuse.sshfs", "afpfs", "webdav", "ceph", "glusterfs")
_HOST_SHARED = ("9p", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse", "drvfs")
_VIRTUAL_MODELS = ("virtual", "vbox", "qemu", "vmware", "msft", "virtio")
_NVME_BUS = 17  # of STORAGE_BUS_TYPE, from winioctl.h
_DEVICES_DEPTH = 8
# Of DeviceIoControl, from winioctl.h.
_QUERY_PROPERTY, _GEOMETRY = 0x002D1400, 0x000700A0
_DEVICE_PROPERTY, _SEEK_PENALTY_PROPERTY = 0, 7


@dataclass(frozen=True, slots=True)
class Storage:
    """What a folder lies on. None means unknown."""

    disks: tuple[Disk, ...] = ()
    file_system: str | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of Linux's mountinfo."""

    device: str  # "259:2"
    folder: str
    file_system: str
    source: str  # "/dev/nvme0n1p2"


def read_storage(folder: Path, root: Path = Path("/")) -> Storage:
    """Describe the disks behind a folder; for one that does not exist yet, behind the nearest above it."""
    try:
        # Not Path.exists: it raises on names that are too long.
        there = (place for place in (folder, *folder.parents) if os.path.exists(place))  # noqa: PTH110
        place = next(there, folder).resolve()
        if sys.platform == "win32":
            return _windows_storage(place)
        if sys.platform == "darwin":
            return macos_storage(output_of(["diskutil", "info", "-plist", _mount_point(place)], 2.0))
        return linux_storage(place, root)
    except (OSError, ValueError):
        return Storage()


def linux_storage(place: Path, root: Path) -> Storage:
    """Describe what Linux has mounted there."""
    mount = mount_of(str(place), read_text(root / "proc/self/mountinfo"))
    if mount is None:
        return Storage()
    if mount.file_system in _NETWORK:
        return Storage((Disk("network"),), mount.file_system)
    if mount.file_system in _HOST_SHARED:
        return Storage((Disk("folder of the host"),), mount.file_system)
    device = root / "sys/dev/block" / mount.device
    if not device.exists():  # btrfs and the like have a device of their own that is none
        device = root / "sys/class/block" / Path(mount.source).name
    found = {path.name: path for path in _whole_disks(device, _DEVICES_DEPTH)}
    return Storage(tuple(_linux_disk(found[name]) for name in sorted(found)), mount.file_system)


def mount_of(place: str, mountinfo: str) -> Mount | None:
    """Find where a folder is mounted: the deepest of the places above it, and of these the last one."""
    best: Mount | None = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        words, told = left.split(), right.split()
        if len(words) < 5 or len(told) < 2:
            continue
        # Spaces and the like are written as octal numbers.
        folder = words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = folder in ("/", place) or place.startswith(f"{folder}/")
        if inside and (best is None or len(folder) >= len(best.folder)):
            best = Mount(words[2], folder, told[0], told[1])
    return best


def macos_storage(plist: bytes) -> Storage:
    """Describe a volume by what diskutil tells of it."""
    try:
        told = plistlib.loads(plist)
    except (plistlib.InvalidFileException, ExpatError, ValueError):
        return Storage()
    if not isinstance(told, dict):
        return Storage()
    solid, bus, size = told.get("SolidState"), told.get("BusProtocol"), told.get("TotalSize")
    kind = None
    if solid is True:
        kind = "NVMe SSD" if bus in ("PCI-Express", "PCIe", "Apple Fabric") else "SSD"
    elif solid is False:
        kind = "hard disk"
    name = told.get("MediaName")
    if isinstance(name, str) and name.startswith("AppleAPFS"):  # of each volume, whatever it lies on
        name = None
    disk = Disk(
        "virtual disk" if bus in ("Virtual Interface", "Disk Image") else kind,
        tidy_name(name) if isinstance(name, str) else None,
        size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None,
    )
    system = told.get("FilesystemType")
    return Storage((disk,), system if isinstance(system, str) and system else None)


def windows_disk(descriptor: bytes, seek_penalty: bytes, size_bytes: int | None) -> Disk:
    """Describe a disk by its STORAGE_DEVICE_DESCRIPTOR and DEVICE_SEEK_PENALTY_DESCRIPTOR."""
    name, bus = None, None
    if len(descriptor) >= 32:
        product_at, bus = struct.unpack_from("<I", descriptor, 16)[0], struct.unpack_from("<I", descriptor, 28)[0]
        if 0 < product_at < len(descriptor):
            name = tidy_name(descriptor[product_at:].split(b"\0", 1)[0].decode("ascii", errors="replace"))
    kind = None
    if len(seek_penalty) >= 9:
        kind = "hard disk" if seek_penalty[8] else "SSD"
    if bus == _NVME_BUS:
        kind = "NVMe SSD"
    if _is_virtual(name):
        kind = "virtual disk"
    return Disk(kind, name, size_bytes)


def _whole_disks(device: Path, depth: int) -> list[Path]:
    """Return the disks that a block device is a part of, or is made from (RAID, LVM, encryption)."""
    try:
        device = device.resolve(strict=True)
    except (OSError, RuntimeError):
        return []
    if (device / "partition").exists():
        device = device.parent
    slaves = sorted(device.glob("slaves/*")) if depth else []
    return [disk for slave in slaves for disk in _whole_disks(slave, depth - 1)] or [device]


def _linux_disk(device: Path) -> Disk:
    sectors, spins = read_count(device / "size"), read_count(device / "queue/rotational")
    name = tidy_name(read_text(device / "device/model"))
    if device.name.startswith("vd") or device.name.startswith("xvd") or _is_virtual(name):
        kind: str | None = "virtual disk"
    elif device.name.startswith("nvme"):
        kind = "NVMe SSD"
    elif device.name.startswith("mmcblk"):
        kind = "memory card"
        name = name or tidy_name(read_word(device / "device/name"))
    else:
        kind = {0: "SSD", 1: "hard disk"}.get(spins if spins is not None else -1)
    return Disk(kind, name, sectors * _SECTOR_BYTES if sectors else None)


def _is_virtual(name: str | None) -> bool:
    return name is not None and any(word in name.lower() for word in _VIRTUAL_MODELS)


def _mount_point(place: Path) -> str:
    return str(next((above for above in (place, *place.parents) if os.path.ismount(above)), place))


def _windows_storage(place: Path) -> Storage:
    if sys.platform != "win32":
        return Storage()
    if not place.drive or place.drive.startswith("\\\\"):
        return Storage((Disk("network"),))
    kernel = ctypes.windll.kernel32
    name = ctypes.create_unicode_buffer(64)
    asked = kernel.GetVolumeInformationW(f"{place.drive}\\", None, 0, None, None, None, name, len(name))
    kernel.CreateFileW.restype = ctypes.c_void_p
    # No access at all is enough to ask, and needs no rights.
    handle = kernel.CreateFileW(f"\\\\.\\{place.drive}", 0, 3, None, 3, 0, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        return Storage((), name.value if asked else None)
    try:
        descriptor = _control(handle, _QUERY_PROPERTY, struct.pack("<III", _DEVICE_PROPERTY, 0, 0))
        penalty = _control(handle, _QUERY_PROPERTY, struct.pack("<III", _SEEK_PENALTY_PROPERTY, 0, 0))
        geometry = _control(handle, _GEOMETRY, b"")
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))
    size = struct.unpack_from("<q", geometry, 24)[0] if len(geometry) >= 32 else None  # of DISK_GEOMETRY_EX
    return Storage((windows_disk(descriptor, penalty, size),), name.value if asked else None)


def _control(handle: int, code: int, question: bytes) -> bytes:
    if sys.platform != "win32":
        return b""
    answer, size = ctypes.create_string_buffer(1_024), ctypes.c_ulong(0)
    done = ctypes.windll.kernel32.DeviceIoControl(
        ctypes.c_void_p(handle), code, question, len(question), answer, len(answer), ctypes.byref(size), None
    )
    return answer.raw[: size.value] if done else b""
