"""Describes the disks behind a folder: kind, model, size and file system. Serial numbers are never read."""

import contextlib
import ctypes
import os
import re
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.core.hardware.system_files import output_of, plist_of, read_count, read_text, read_word, tidy_name
from workloads.protocol.machine import Disk

_SECTOR_BYTES = 512  # unit of block device sizes in Linux, whatever the sector size
_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "sshfs", "fuse.sshfs", "afpfs", "webdav", "ceph", "glusterfs"),
    *("fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "lustre", "beegfs", "gpfs", "afs", "pvfs2", "orangefs"),
)
_SERVER, _HOST = "network", "folder of the host"
_HOST_SHARED = ("9p", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse", "drvfs")
_VIRTUAL_MODELS = (
    *("virtual", "vbox", "qemu", "vmware", "msft", "virtio"),
    *("persistentdisk", "google", "nvme_card-pd", "amazon elastic block store"),  # virtual disks in the cloud
)
_VIRTUAL_NAMES = ("vd", "xvd", "rbd")
_USB_BUS, _NVME_BUS = 7, 17  # values of STORAGE_BUS_TYPE, from winioctl.h
_DEVICES_DEPTH = 8
_LINKS_LIMIT = 40  # as in the Linux kernel
_STORES_LIMIT = 2  # Apple's Fusion Drive consists of two disks
_DISKUTIL_LIMIT_S = 1.0
# Control codes of DeviceIoControl, from winioctl.h.
_QUERY_PROPERTY, _GEOMETRY = 0x002D1400, 0x000700A0
_DEVICE_PROPERTY, _SEEK_PENALTY_PROPERTY = 0, 7


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage behind a folder. None means unknown."""

    disks: tuple[Disk, ...] = ()
    file_system: str | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of Linux's mountinfo."""

    device: str  # such as "259:2"
    folder: str
    file_system: str
    source: str  # such as "/dev/nvme0n1p2"


def read_storage(folder: Path, root: Path = Path("/")) -> Storage:
    """Describe the disks behind a folder or, if it doesn't exist, behind its nearest existing parent."""
    try:
        if sys.platform.startswith("linux"):
            place = follow_links(folder.absolute(), read_text(root / "proc/self/mountinfo"))
            return linux_storage(place, root)
        there = (place for place in (folder, *folder.parents) if os.path.exists(place))
        place = next(there, folder).resolve()
        if sys.platform == "win32":
            return _windows_storage(place)
        volume = _diskutil(_volume_of(place))
        return macos_storage(volume, [_diskutil(disk) for disk in whole_disks_of(volume)[:_STORES_LIMIT]])
    except (OSError, ValueError):
        return Storage()


def is_shared_folder(folder: Path) -> bool:
    """Return whether other computers may use a folder as well; False on macOS, where this isn't determined."""
    if sys.platform == "darwin":
        return False
    return any(disk.kind in (_SERVER, _HOST) for disk in read_storage(folder).disks)


def follow_links(folder: Path, mountinfo: str) -> Path:
    """Resolve a folder's links, but not beyond a network mount, because reading from a network may hang."""
    place, links = Path(folder.anchor), 0
    waiting = list(reversed(folder.parts[1:]))
    while waiting:
        name = waiting.pop()
        step = place.parent if name == ".." else place / name
        mount = mount_of(str(step), mountinfo)
        if mount is not None and (_is_network(mount) or mount.file_system == "autofs"):
            return step.joinpath(*reversed(waiting))
        try:
            target = step.readlink()
        except (OSError, ValueError):  # not a link, missing, or an invalid name
            place = step
            continue
        links += 1
        if links > _LINKS_LIMIT:
            break
        place = Path(target.anchor) if target.is_absolute() else place
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return place


def linux_storage(place: Path, root: Path) -> Storage:
    """Describe the file system that is mounted at a path on Linux."""
    mount = mount_of(str(place), read_text(root / "proc/self/mountinfo"))
    if mount is None:
        return Storage()
    if _is_network(mount):
        return Storage((Disk(_SERVER),), mount.file_system)
    if mount.file_system in _HOST_SHARED:
        return Storage((Disk(_HOST),), mount.file_system)
    device = root / "sys/dev/block" / mount.device
    if not device.exists():  # btrfs and others use virtual devices
        device = root / "sys/class/block" / Path(mount.source).name
    by_name = {path.name: path for path in _whole_disks(device, _DEVICES_DEPTH)}
    return Storage(tuple(_linux_disk(by_name[name]) for name in sorted(by_name)), mount.file_system)


def _is_network(mount: Mount) -> bool:
    # Drivers outside the kernel name the server, as in "anna@nas:/data".
    return mount.file_system in _NETWORK or (mount.file_system.startswith("fuse") and ":" in mount.source)


def mount_of(place: str, mountinfo: str) -> Mount | None:
    """Return the mount of a folder: the last mount at the deepest mount point above it."""
    best: Mount | None = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        words, file_system = left.split(), right.split()
        if len(words) < 5 or len(file_system) < 2:
            continue
        # Spaces and some other characters are written as octal escapes.
        folder = words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = folder in ("/", place) or place.startswith(f"{folder}/")
        if inside and (best is None or len(folder) >= len(best.folder)):
            best = Mount(words[2], folder, file_system[0], file_system[1])
    return best


def macos_storage(volume: bytes, disks: Sequence[bytes] = ()) -> Storage:
    """Describe a volume on macOS from diskutil's information about it and about each whole disk behind it.

    Names of volumes aren't used, because the user may have chosen them.
    """
    plist = _plist(volume)
    if plist is None:
        return Storage()
    wholes = [whole for disk in disks if (whole := _plist(disk)) and whole.get("WholeDisk") is True]
    system = plist.get("FilesystemType")
    return Storage(
        tuple(_macos_disk(each) for each in wholes or [plist]),
        system if isinstance(system, str) and system else None,
    )


def whole_disks_of(volume: bytes) -> tuple[str, ...]:
    """Return the names of a volume's whole disks, such as "disk0", from diskutil's information."""
    plist = _plist(volume) or {}
    stores = plist.get("APFSPhysicalStores")
    stores = stores if isinstance(stores, list) else []
    names = [store.get("APFSPhysicalStore") for store in stores if isinstance(store, dict)]
    matches = (re.match(r"disk[0-9]{1,4}(?![0-9])", str(name)) for name in names or [plist.get("ParentWholeDisk")])
    return tuple(dict.fromkeys(match[0] for match in matches if match is not None))


def windows_disk(descriptor: bytes, seek_penalty: bytes, size_bytes: int | None) -> Disk:
    """Describe a disk from its STORAGE_DEVICE_DESCRIPTOR and DEVICE_SEEK_PENALTY_DESCRIPTOR."""
    name, bus = None, None
    if len(descriptor) >= 32:
        product_at, bus = struct.unpack_from("<I", descriptor, 16)[0], struct.unpack_from("<I", descriptor, 28)[0]
        if 0 < product_at < len(descriptor):
            name = tidy_name(descriptor[product_at:].split(b"\0", 1)[0].decode("ascii", errors="replace"))
    kind = None
    if len(seek_penalty) >= 9:
        kind = "hard disk" if seek_penalty[8] else "SSD"
    if bus in (_USB_BUS, _NVME_BUS):
        kind = "USB disk" if bus == _USB_BUS else "NVMe SSD"
    if _is_virtual(name):
        kind = "virtual disk"
    return Disk(kind, name, size_bytes)


def _whole_disks(device: Path, depth: int) -> list[Path]:
    """Return the physical disks behind a block device, such as a partition, RAID, LVM or encrypted volume."""
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
    # devices/virtual also contains multipath NVMe disks, which aren't virtual.
    made_up = "/devices/virtual/block/" in device.as_posix() or device.name.startswith(_VIRTUAL_NAMES)
    if made_up or _is_virtual(name):
        kind: str | None = "virtual disk"
    elif device.name.startswith("nvme"):
        kind = "NVMe SSD"
    elif device.name.startswith("mmcblk"):
        kind = "memory card"
        name = name or tidy_name(read_word(device / "device/name"))
    elif re.search(r"/usb[0-9]", device.as_posix()):  # USB sticks also report rotating disks
        kind = "USB disk"
    else:
        kind = {0: "SSD", 1: "hard disk"}.get(spins if spins is not None else -1)
    return Disk(kind, name, sectors * _SECTOR_BYTES if sectors else None)


def _is_virtual(name: str | None) -> bool:
    return name is not None and any(word in name.lower() for word in _VIRTUAL_MODELS)


def _diskutil(what: str) -> bytes:
    return output_of(["diskutil", "info", "-plist", what], _DISKUTIL_LIMIT_S)


def _plist(data: bytes) -> dict[str, object] | None:
    plist = plist_of(data)
    return plist if isinstance(plist, dict) else None


def _macos_disk(plist: Mapping[str, object]) -> Disk:
    solid, bus, size, name = (plist.get(key) for key in ("SolidState", "BusProtocol", "TotalSize", "MediaName"))
    is_real = plist.get("WholeDisk") is True and plist.get("VirtualOrPhysical") != "Virtual"
    kind = {True: "SSD", False: "hard disk"}.get(solid) if isinstance(solid, bool) else None
    if bus in ("PCI-Express", "PCIe", "Apple Fabric") and solid is True:
        kind = "NVMe SSD"
    elif bus in ("Virtual Interface", "Disk Image"):
        kind = "virtual disk"
    elif bus == "USB":
        kind = "USB disk"
    return Disk(
        kind,
        tidy_name(name) if isinstance(name, str) and is_real else None,
        size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None,
    )


def _volume_of(place: Path) -> str:
    """Return the device of the macOS volume that contains a path, or else the mount point above the path."""
    # `os.path.ismount` mistakes a firmlink such as /Users for a volume, which diskutil doesn't recognise.
    number = place.stat().st_dev
    for partition in psutil.disk_partitions():
        with contextlib.suppress(OSError):
            if Path(partition.mountpoint).stat().st_dev == number:
                return str(partition.device)
    return str(next((above for above in (place, *place.parents) if os.path.ismount(above)), place))


def _windows_storage(place: Path) -> Storage:
    if sys.platform != "win32":
        return Storage()
    if not place.drive or place.drive.startswith("\\\\"):
        return Storage((Disk(_SERVER),))
    kernel = ctypes.windll.kernel32
    name = ctypes.create_unicode_buffer(64)
    asked = kernel.GetVolumeInformationW(f"{place.drive}\\", None, 0, None, None, None, name, len(name))
    kernel.CreateFileW.restype = ctypes.c_void_p
    # The query requires no access rights.
    handle = kernel.CreateFileW(f"\\\\.\\{place.drive}", 0, 3, None, 3, 0, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        return Storage((), name.value if asked else None)
    try:
        descriptor = _control(handle, _QUERY_PROPERTY, struct.pack("<III", _DEVICE_PROPERTY, 0, 0))
        penalty = _control(handle, _QUERY_PROPERTY, struct.pack("<III", _SEEK_PENALTY_PROPERTY, 0, 0))
        geometry = _control(handle, _GEOMETRY, b"")
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))
    size = struct.unpack_from("<q", geometry, 24)[0] if len(geometry) >= 32 else None  # offset in DISK_GEOMETRY_EX
    return Storage((windows_disk(descriptor, penalty, size),), name.value if asked else None)


def _control(handle: int, code: int, question: bytes) -> bytes:
    if sys.platform != "win32":
        return b""
    answer, size = ctypes.create_string_buffer(1_024), ctypes.c_ulong(0)
    done = ctypes.windll.kernel32.DeviceIoControl(
        ctypes.c_void_p(handle), code, question, len(question), answer, len(answer), ctypes.byref(size), None
    )
    return answer.raw[: size.value] if done else b""
