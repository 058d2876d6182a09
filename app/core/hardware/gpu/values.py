"""What all sources of GPU values share: values that can be true, clean texts, vendors, energy counters."""

import re
from pathlib import Path

from app.core.hardware.reading import MAX_NAME_CHARS, read_word

MAX_MEMORY_BYTES = 2**50

# No card takes more; a counter that leaps further has been set anew. Some drivers update theirs once a second.
_MAX_POWER_W = 10_000
_COUNTER_LAG_S = 1.0

_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x106B: "apple"}
# Screens of virtual machines, and of the chips by which servers are looked after from afar: they compute nothing.
SCREENS_ONLY = frozenset({
    0x1013,  # Cirrus Logic, in QEMU
    0x102B,  # Matrox, in servers
    0x1234,  # Bochs, in QEMU
    0x1414,  # Microsoft: Hyper-V, remote and basic displays
    0x15AD,  # VMware
    0x19E5,  # Huawei, in servers
    0x1A03,  # ASPEED, in servers
    0x1AB8,  # Parallels
    0x1AF4,  # virtio
    0x1B36,  # QXL, in QEMU
    0x5853,  # Xen
    0x80EE,  # VirtualBox
})  # fmt: skip


class EnergyMeter:
    """Adds up what an energy counter grew by since the first look. One that was set anew goes on from there."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._energy_j = 0.0
        self.power_w: float | None = None  # mean power since the look before

    def add(self, counter_j: float | None, now_s: float) -> float | None:
        """Give the energy since the first look; None where the counter is not known."""
        self.power_w = None
        if counter_j is None:
            return None
        before, self._before = self._before, (counter_j, now_s)
        if before is not None:
            grown_j, elapsed_s = counter_j - before[0], now_s - before[1]
            if 0 <= grown_j <= _MAX_POWER_W * (elapsed_s + _COUNTER_LAG_S):
                self._energy_j += grown_j
                self.power_w = grown_j / elapsed_s if elapsed_s > 0 else None
        return self._energy_j


def within(value: object, low: float, high: float) -> float | None:
    """Give the value if it can be true; None for no number, NaN, all ones and a zero that no running GPU has."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        return None
    return float(value)


def whole(value: object, low: int, high: int) -> int | None:
    """Give the value as a whole number if it can be true."""
    return None if within(value, low, high) is None or not isinstance(value, int | float) else int(value)


def scaled(value: float | None, divisor: float) -> float | None:
    """Give a value in a unit that is larger by this divisor."""
    return None if value is None else value / divisor


def clean_text(value: object) -> str | None:
    """Give a driver's text as one line (some give bytes); None for nvidia-smi's "[N/A]" and the like."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return None
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    text = text[:MAX_NAME_CHARS].strip()
    return None if not text or text.startswith("[") else text


def vendor_of(vendor_id: int) -> str:
    """Name the vendor by its PCI number."""
    return _VENDORS.get(vendor_id, "other")


def read_number(path: Path | None) -> float | None:
    """Give a system file's number; None when it cannot be read or holds no plain number."""
    text = "" if path is None else read_word(path)
    return float(text) if re.fullmatch(r"-?[0-9]{1,20}(\.[0-9]{1,9})?", text) else None
