"""Reads the speed of the memory modules from the firmware's SMBIOS table if every user may read the table."""

import ctypes
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from app.core.hardware.system_files import count_of, read_bytes, read_text

# Types and offsets from the DMTF's SMBIOS 3 specification; structures of type 17 are memory modules.
_MODULE, _END = 17, 127
_SIZE_AT, _SPEED_AT, _CONFIGURED_AT, _EXTENDED_AT = 0x0C, 0x15, 0x20, 0x54
_IS_EXTENDED = 0xFFFF
_MAX_MTS = 100_000


def read_memory_speed(root: Path = Path("/")) -> int | None:
    """Return the speed of the slowest module in MT/s; None if unknown."""
    if sys.platform == "win32":
        return speed_from_table(_windows_table())
    if sys.platform == "darwin":
        return None
    # systemd-udevd reads the table as root and writes the result to a file that every user can read.
    speed_mts = speed_from_udev(read_text(root / "run/udev/data/+dmi:id"))
    if speed_mts is not None:
        return speed_mts
    modules = (entry.joinpath("raw") for entry in sorted(root.glob("sys/firmware/dmi/entries/17-*")))
    return _slowest(speed for path in modules if (speed := _module_speed(read_bytes(path, 1_024))) is not None)


def speed_from_udev(text: str) -> int | None:
    """Return the speed from udev's database, which contains lines such as "E:MEMORY_DEVICE_0_SPEED_MTS=3200"."""
    modules: dict[str, dict[str, str]] = {}
    for number, name, value in re.findall(r"^E:MEMORY_DEVICE_(\d+)_(\w+)=(.*)$", text, re.MULTILINE | re.ASCII):
        modules.setdefault(number, {})[name] = value.strip()
    # Empty slots also report a speed.
    filled = [module for module in modules.values() if module.get("PRESENT") != "0"]
    texts = (module.get("CONFIGURED_SPEED_MTS") or module.get("SPEED_MTS", "") for module in filled)
    return _slowest(speed for text in texts if (speed := count_of(text)) is not None)


def speed_from_table(table: bytes) -> int | None:
    """Return the speed from a table returned by Windows: a header of eight bytes, followed by structures."""
    return _slowest(
        speed for structure in _structures(table[8:]) if (speed := _module_speed(structure)) is not None
    )


def _structures(table: bytes) -> Iterator[bytes]:
    """Yield the structures without their strings, which end with two zero bytes."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if length < 4 or kind == _END:
            return
        yield table[at : at + length]
        texts_end = table.find(b"\0\0", at + length)
        if texts_end < 0:
            return
        at = texts_end + 2


def _module_speed(structure: bytes) -> int | None:
    if len(structure) < _SPEED_AT + 2 or structure[0] != _MODULE or not _word(structure, _SIZE_AT):
        return None
    for at, extended_at in ((_CONFIGURED_AT, _EXTENDED_AT + 4), (_SPEED_AT, _EXTENDED_AT)):
        speed = _word(structure, at)
        if speed == _IS_EXTENDED and len(structure) >= extended_at + 4:
            speed = struct.unpack_from("<I", structure, extended_at)[0] & 0x7FFFFFFF
        if speed:
            return speed
    return None


def _word(structure: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", structure, at)[0]) if len(structure) >= at + 2 else 0


def _slowest(speeds: Iterator[int]) -> int | None:
    return min((speed for speed in speeds if 0 < speed < _MAX_MTS), default=None)


def _windows_table() -> bytes:
    if sys.platform != "win32":
        return b""
    ask = ctypes.windll.kernel32.GetSystemFirmwareTable
    provider = int.from_bytes(b"RSMB", "big")
    size = ask(provider, 0, None, 0)
    if not 0 < size < 2**24:
        return b""
    buffer = ctypes.create_string_buffer(size)
    return buffer.raw if ask(provider, 0, buffer, size) == size else b""
