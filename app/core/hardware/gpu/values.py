"""Helpers for all sources of GPU values: plausible ranges, clean text, vendors and energy counters."""

import re
from pathlib import Path

from app.core.hardware.system_files import MAX_NAME_CHARS, read_word

MAX_MEMORY_BYTES = 2**50

# No card draws more power than this, so a larger increase means that the counter was reset. Some drivers update
# the counter only once a second.
_MAX_POWER_W = 10_000
_COUNTER_LAG_S = 1.0

_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x106B: "apple"}
# Display adapters of virtual machines and of servers' management chips, which can't compute.
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
    """Accumulates the increase of an energy counter since the first read, even across a reset."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._energy_j = 0.0
        self.power_w: float | None = None  # mean since the previous read

    def add(self, counter_j: float | None, now_s: float) -> float | None:
        """Return the energy in joules since the first read; None if the counter is unknown."""
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
    """Return a value if it is plausible; None if it is missing, NaN or out of range, or has all bits set."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        return None
    return float(value)


def whole(value: object, low: int, high: int) -> int | None:
    return None if within(value, low, high) is None or not isinstance(value, int | float) else int(value)


def scaled(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor


def clean_text(value: object) -> str | None:
    """Return a driver's text (str or bytes) as one line; None for placeholders such as nvidia-smi's "[N/A]"."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return None
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    text = text[:MAX_NAME_CHARS].strip()
    return None if not text or text.startswith("[") else text


def vendor_of(vendor_id: int) -> str:
    return _VENDORS.get(vendor_id, "other")


def read_number(path: Path | None) -> float | None:
    """Read a number from a system file; None if it can't be read or isn't a number."""
    text = "" if path is None else read_word(path)
    return float(text) if re.fullmatch(r"-?[0-9]{1,20}(\.[0-9]{1,9})?", text) else None
