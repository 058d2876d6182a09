"""Reads a Mac's GPUs using `ioreg`, without administrator rights and without waking any GPU.

`ioreg` prints recorded values. Apple's own GPUs have energy counters, which `apple_energy` reads. The clock speeds
aren't available.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.core.hardware.apple_energy import AppleEnergy
from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, clean_text, vendor_of, whole, within
from app.core.hardware.system_files import answer_of, plist_of
from app.core.messages import sentence
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

_logger = logging.getLogger(__name__)

_LIMIT_S = 1.0
_EVERY_S = 0.9  # short enough for new values in each second's telemetry
_MAX_BYTES = 2**24
_MIB_BYTES = 2**20
# Vendors by prefix of the driver's class name.
_CLASSES = {"AGX": "apple", "AMD": "amd", "ATI": "amd", "Intel": "intel", "NV": "nvidia", "GeForce": "nvidia"}
_BRANDS = {"apple": "Apple", "amd": "AMD", "intel": "Intel", "nvidia": "NVIDIA"}

# Set permanently after ioreg has hung, so that this process doesn't run it again.
HUNG = threading.Event()


class AppleGpus:
    """The GPUs of a Mac, for repeated reads from one thread. `places` are indices in ioreg's order."""

    counts_shared = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked_s = -math.inf
        self._entries: list[dict[str, Any]] = []
        self._energy = AppleEnergy("gpu_mj", clock)
        self._look()
        self.vendors = tuple(map(vendor_from, self._entries))

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        cards = [] if set(self.vendors) <= {"apple"} else entries_from(_ioreg("IOPCIDevice"))
        gpus = describe(self._entries, cards)
        return tuple(gpus[place] for place in places)

    def telemetry(
        self, places: Sequence[int], _own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        self._look()
        if tuple(map(vendor_from, self._entries)) != self.vendors:  # changed, or no response
            return tuple(GpuTelemetry(0) for _ in places)
        return tuple(self._telemetry(self._entries[place]) for place in places)

    def close(self) -> None:
        """Do nothing; each read runs ioreg again."""

    def _telemetry(self, entry: Mapping[str, Any]) -> GpuTelemetry:
        telemetry = telemetry_from(entry)
        if vendor_from(entry) != "apple":
            return telemetry
        energy_j, power_w = self._energy.read()
        return replace(telemetry, energy_j=energy_j, power_w=power_w)

    def _look(self) -> None:
        now_s = self._clock()
        if now_s - self._asked_s >= _EVERY_S:
            self._asked_s = now_s
            self._entries = entries_from(_ioreg("IOAccelerator"))


def entries_from(plist: bytes) -> list[dict[str, Any]]:
    """Parse the registry entries printed by `ioreg -a`; empty for invalid data."""
    entries = plist_of(plist)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def vendor_from(entry: Mapping[str, Any]) -> str:
    name = clean_text(entry.get("IOClass")) or clean_text(entry.get("IOObjectClass")) or ""
    return next((vendor for start, vendor in _CLASSES.items() if name.startswith(start)), "other")


def describe(entries: Sequence[Mapping[str, Any]], cards: Sequence[Mapping[str, Any]] = ()) -> tuple[Gpu, ...]:
    """Describe accelerators. `cards` are PCI devices, which include the graphics cards of Intel Macs.

    Each vendor's first card is matched with its first accelerator, and so on.
    """
    waiting = [card for card in cards if _data(card.get("class-code"))[2:3] == b"\x03"]
    gpus = []
    for entry in entries:
        vendor = vendor_from(entry)
        card = next((card for card in waiting if _card_vendor(card) == vendor), {})
        waiting = [other for other in waiting if other is not card]
        gpus.append(_describe(entry, card, vendor))
    return tuple(gpus)


def telemetry_from(entry: Mapping[str, Any]) -> GpuTelemetry:
    """Return an accelerator's telemetry from its entry, with index 0."""
    statistics = entry.get("PerformanceStatistics")
    statistics = statistics if isinstance(statistics, dict) else {}
    used = statistics.get("vramUsedBytes", statistics.get("In use system memory"))
    return GpuTelemetry(
        0,
        utilization_pct=within(statistics.get("Device Utilization %", statistics.get("GPU Activity(%)")), 0, 100),
        memory_used_bytes=whole(used, 1, MAX_MEMORY_BYTES),
        temperature_c=within(statistics.get("Temperature(C)"), 1, 150),
        power_w=within(statistics.get("Total Power(W)"), 0.001, 10_000),
        clock_mhz=within(statistics.get("Core Clock(MHz)"), 1, 10_000),
        memory_clock_mhz=within(statistics.get("Memory Clock(MHz)"), 1, 100_000),
        fan_pct=within(statistics.get("Fan Speed(%)"), 0, 100),
    )


def _describe(entry: Mapping[str, Any], card: Mapping[str, Any], vendor: str) -> Gpu:
    model = _name(entry.get("model")) or _name(card.get("model"))
    cores = whole(entry.get("gpu-core-count"), 1, 10_000)
    name = model or f"{_BRANDS.get(vendor, '')} GPU".strip()
    own_mib = whole(_number(card.get("VRAM,totalMB")), 1, MAX_MEMORY_BYTES // _MIB_BYTES)
    own_bytes = whole(_number(card.get("VRAM,totalsize")), 1, MAX_MEMORY_BYTES)
    shares = True if vendor in ("apple", "intel") else False if own_mib or own_bytes else None
    return Gpu(
        name=f"{name} ({cores} cores)" if cores else name,
        vendor=vendor,
        memory_bytes=None if shares else own_mib * _MIB_BYTES if own_mib else own_bytes,
        source="ioreg",
        architecture=model if vendor == "apple" else None,
        shares_memory=shares,
    )


def _card_vendor(card: Mapping[str, Any]) -> str:
    return vendor_of(int.from_bytes(_data(card.get("vendor-id"))[:2], "little"))


def _name(value: object) -> str | None:
    return clean_text(value.rstrip(b"\0") if isinstance(value, bytes) else value)


def _data(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _number(value: object) -> object:
    """Convert a number stored as bytes by the firmware."""
    return int.from_bytes(value, "little") if isinstance(value, bytes) and 0 < len(value) <= 8 else value


def _ioreg(kind: str) -> bytes:
    """Return the entries of a class without children; b"" if ioreg fails or takes too long."""
    if HUNG.is_set():
        return b""
    answer = answer_of(["ioreg", "-a", "-r", "-d", "1", "-w", "0", "-c", kind], _LIMIT_S, _MAX_BYTES)
    if answer is None:
        HUNG.set()
        _logger.warning("%s", sentence("hardware.gpus_not_responding"))
    return answer or b""
