"""Reads all GPUs on Windows: specifications from the registry and DXGI, telemetry from performance counters.

Reading requires no special permissions and doesn't wake any cards, because DXGI lists the devices and the kernel
provides the counters.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.core.hardware import registry
from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, SCREENS_ONLY, clean_text, vendor_of, whole, within
from app.core.hardware.gpu.windows_dxgi import Adapter, list_adapters
from app.core.hardware.gpu.windows_pdh import Counters, open_counters
from app.core.hardware.system_files import tidy_name
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

_CLASS_KEY = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
VALUES = ("DriverDesc", "MatchingDeviceId", "DriverVersion", "HardwareInformation.qwMemorySize")
ENGINES = r"\GPU Engine(*)\Utilization Percentage"
OWN_MEMORY = r"\GPU Adapter Memory(*)\Dedicated Usage"
SHARED_MEMORY = r"\GPU Adapter Memory(*)\Shared Usage"
PROCESS_SHARED_MEMORY = r"\GPU Process Memory(*)\Shared Usage"
_DEVICE_ID = re.compile(r"pci\\ven_([0-9a-f]{4})&dev_([0-9a-f]{4})", re.IGNORECASE)
_INSTANCE = re.compile(
    r"(?:pid_[0-9]+_)?luid_0x([0-9a-f]{1,8})_0x([0-9a-f]{1,8})(?:_phys_([0-9]+))?(?:_eng_([0-9]+))?(?![0-9])",
    re.IGNORECASE,
)
# No card that can train has less memory of its own. Windows reserves less for GPUs in processors, unless the
# firmware reserves more, as it may for AMD's.
_OWN_AT_LEAST_BYTES = 2**30
_PID = re.compile(r"pid_([0-9]{1,10})_", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AdapterEntry:
    """A GPU driver's entry in the registry."""

    name: str
    vendor_id: int
    device_id: int
    driver: str | None
    memory_bytes: int | None


class WindowsGpus:
    """All GPUs with a Windows driver. `places` are indices into the registry's order."""

    counts_shared = True

    def __init__(self) -> None:
        self._adapters = list_adapters()
        entries = tuple(entry for values in read_entries() if (entry := entry_from(values)) is not None)
        self._cards = pair(entries, self._adapters)
        self.vendors = tuple(vendor_of(entry.vendor_id) for entry, _ in self._cards)
        self._counters: Counters | None = None
        self._opened = False

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        return tuple(describe(*self._cards[place]) for place in places)

    def telemetry(
        self, places: Sequence[int], own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        """Read the cards at these positions, with index 0. The first read doesn't include utilisation."""
        is_first = not self._opened
        if places and is_first:
            self._opened = True
            self._counters = open_counters((ENGINES, OWN_MEMORY, SHARED_MEMORY, PROCESS_SHARED_MEMORY))
        values = self._counters.read() if places and self._counters is not None else {}
        # The counters were opened microseconds ago, and percentages of such a short time aren't meaningful.
        busy_pct = {} if is_first else busiest_pct(values.get(ENGINES, ()))
        own, shared = (sums(values.get(path, ())) for path in (OWN_MEMORY, SHARED_MEMORY))
        ours = sums(
            [
                (instance, value)
                for instance, value in values.get(PROCESS_SHARED_MEMORY, ())
                if (match := _PID.match(instance)) is not None and int(match[1]) in (own_pids or ())
            ]
        )
        return tuple(self._telemetry_of(place, busy_pct, own, shared, ours) for place in places)

    def close(self) -> None:
        if self._counters is not None:
            self._counters.close()
        self._opened, self._counters = False, None

    def _telemetry_of(
        self,
        place: int,
        busy_pct: Mapping[int, float],
        own: Mapping[int, float],
        shared: Mapping[int, float],
        ours: Mapping[int, float],
    ) -> GpuTelemetry:
        entry, adapter = self._cards[place]
        if adapter is None:
            return GpuTelemetry(0)
        shares, luid = shares_memory(entry, adapter), adapter.luid
        used = own.get(luid)
        if used is not None and shares:
            used += shared.get(luid, 0.0)
        return GpuTelemetry(
            0,
            utilization_pct=busy_pct.get(luid),
            memory_used_bytes=whole(used, 1, MAX_MEMORY_BYTES),
            # Of a card with its own memory, what the run uses of the computer's.
            own_shared_bytes=whole(ours.get(luid), 0, MAX_MEMORY_BYTES) if shares is False else None,
        )


def entry_from(values: Mapping[str, object]) -> AdapterEntry | None:
    """Parse a GPU from its driver's registry values; None for displays without a GPU (remote, virtual, USB)."""
    name = tidy_name(clean_text(values.get("DriverDesc")))
    ids = _DEVICE_ID.match(str(values.get("MatchingDeviceId", "")))
    if name is None or ids is None:
        return None
    vendor_id, device_id = (int(number, 16) for number in ids.groups())
    if vendor_id in SCREENS_ONLY:
        return None
    size = values.get("HardwareInformation.qwMemorySize")
    size = int.from_bytes(size[:8], "little") if isinstance(size, bytes) else size
    version = clean_text(values.get("DriverVersion"))
    return AdapterEntry(
        name=name,
        vendor_id=vendor_id,
        device_id=device_id,
        driver=nvidia_version(version) if vendor_of(vendor_id) == "nvidia" and version else version,
        memory_bytes=whole(size, 1, MAX_MEMORY_BYTES),
    )


def nvidia_version(version: str) -> str:
    """Return NVIDIA's version number of a driver, such as "581.65" for "32.0.15.8165"."""
    parts = version.split(".")
    digits = "".join(parts[-2:])[-5:]
    plain = len(parts) == 4 and len(digits) == 5 and digits.isascii() and digits.isdigit()
    return f"{int(digits[:3])}.{digits[3:]}" if plain else version


def pair(
    entries: Iterable[AdapterEntry], adapters: Sequence[Adapter] | None
) -> tuple[tuple[AdapterEntry, Adapter | None], ...]:
    """Match each driver's entry with its adapter. Identical cards are matched in order.

    Entries without an adapter are omitted, because the registry keeps the entries of removed cards. If DXGI
    doesn't respond (None), all entries are kept.
    """
    if adapters is None:
        return tuple((entry, None) for entry in entries)
    taken: Counter[tuple[int, int]] = Counter()
    pairs = []
    for entry in entries:
        ids = (entry.vendor_id, entry.device_id)
        alike = [adapter for adapter in adapters if (adapter.vendor_id, adapter.device_id) == ids]
        if taken[ids] < len(alike):
            pairs.append((entry, alike[taken[ids]]))
            taken[ids] += 1
    return tuple(pairs)


def describe(entry: AdapterEntry, adapter: Adapter | None) -> Gpu:
    """Describe a card."""
    shares = shares_memory(entry, adapter)
    memory_bytes = entry.memory_bytes or (adapter.own_memory_bytes if adapter else None)
    if shares:
        memory_bytes = adapter.shared_memory_bytes if adapter else None
    return Gpu(
        name=entry.name,
        vendor=vendor_of(entry.vendor_id),
        memory_bytes=memory_bytes,
        driver=entry.driver,
        source="registry",
        shares_memory=shares,
        drives_display=adapter.drives_display if adapter else None,
    )


def shares_memory(entry: AdapterEntry, adapter: Adapter | None) -> bool | None:
    """Return whether a GPU uses the computer's memory, by the memory that Windows reports, then by its name.

    None if both are inconclusive.
    """
    own_bytes = adapter.own_memory_bytes if adapter and adapter.own_memory_bytes else entry.memory_bytes
    if own_bytes is None and adapter is not None and adapter.shared_memory_bytes:
        own_bytes = 0
    if own_bytes is not None and own_bytes < _OWN_AT_LEAST_BYTES:
        return True
    vendor, name = vendor_of(entry.vendor_id), entry.name
    if vendor == "intel" and own_bytes is None:
        model = re.search(r"\bArc (Pro )?([AB])\d", name)
        if model is not None:  # "Arc B390" is integrated and "Arc B580" a card
            return False if model[2] == "A" else None
        return True if re.search(r"\b(UHD|HD|Iris)\b|\bGraphics$|\bArc \d{3}[VT]\b", name) else None
    if vendor == "amd" and re.search(r"\bGraphics$", name):
        return True
    is_card = re.search(r"\bRadeon (RX [3-9]\d{2,3}|PRO W|VII)", name, re.IGNORECASE)
    return False if vendor == "nvidia" or is_card or own_bytes is not None else None


def busiest_pct(values: Iterable[tuple[str, float]]) -> dict[int, float]:
    """Return, by LUID, the utilisation of each adapter's busiest engine in percent, as in Task Manager."""
    engines: defaultdict[tuple[int, str, str], float] = defaultdict(float)
    for instance, value in values:
        match = _INSTANCE.match(instance)
        share_pct = within(value, 0, 1e6)
        if match is not None and match[4] is not None and share_pct is not None:
            engines[_luid(match), match[3] or "0", match[4]] += share_pct
    busiest: dict[int, float] = {}
    for (luid, _, _), share_pct in engines.items():
        busiest[luid] = max(busiest.get(luid, 0.0), min(100.0, share_pct))
    return busiest


def sums(values: Iterable[tuple[str, float]]) -> dict[int, float]:
    """Return the sum of the values of each adapter's instances, by LUID."""
    sums_by_luid: defaultdict[int, float] = defaultdict(float)
    for instance, value in values:
        match = _INSTANCE.match(instance)
        amount = within(value, 0, MAX_MEMORY_BYTES)
        if match is not None and amount is not None:
            sums_by_luid[_luid(match)] += amount
    return dict(sums_by_luid)


def _luid(match: re.Match[str]) -> int:
    return int(match[1], 16) << 32 | int(match[2], 16)


def read_entries() -> list[dict[str, object]]:
    keys = [name for name in registry.list_subkeys(_CLASS_KEY) if re.fullmatch(r"\d{4}", name)]
    return [{name: registry.read_value(rf"{_CLASS_KEY}\{key}", name) for name in VALUES} for key in keys]
