"""Reads GPU telemetry on Linux from the drivers' sysfs files, without waking sleeping cards.

If sysfs doesn't contain a GPU's utilisation, as for Intel GPUs, only the utilisation by the run's own processes is
known. It is read from /proc/PID/fdinfo: https://docs.kernel.org/gpu/drm-usage-stats.html
"""

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.core.hardware.gpu.linux import LIMITS, Card, describe_cards, find_cards, power_limit_w, shares_memory
from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, EnergyMeter, read_number, scaled, whole, within
from app.core.hardware.system_files import read_text, read_word
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

# Searching a process's open files takes much longer than reading those of a GPU.
CLIENTS_EVERY_S = 5.0
_CLIENTS_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Client:
    """GPU use through one open file since it was opened, by GPU engine."""

    busy_ns: Mapping[str, int] = field(default_factory=dict)
    cycles: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # used and total clock cycles
    engines: Mapping[str, int] = field(default_factory=dict)  # number of engines by kind, if there are several


class LinuxGpus:
    """All GPUs in sysfs, including NVIDIA's. `places` are indices into `cards`."""

    counts_shared = False

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self.cards = find_cards(root)
        self.vendors = tuple(card.vendor for card in self.cards)
        self._readers = tuple(CardReader(card, clock) for card in self.cards)
        self._own = OwnClients(root / "proc", clock)

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        return describe_cards(self._root, tuple(self.cards[place] for place in places))

    def telemetry(
        self, places: Sequence[int], own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        self._own.look_for(own_pids or ())
        own = None if own_pids is None else self._own
        return tuple(self._readers[place].read(own) for place in places)

    def close(self) -> None:
        """Do nothing; no file is kept open."""


class CardReader:
    """Reads one card repeatedly. The card's files are located once, on the first read while the card is awake."""

    def __init__(self, card: Card, clock: Callable[[], float] = time.monotonic) -> None:
        self._card = card
        self._clock = clock
        self._files: _Files | None = None
        self._meter = EnergyMeter()

    def read(self, own: "OwnClients | None" = None) -> GpuTelemetry:
        """Read the card once, with index 0. The values of a sleeping card are None."""
        if self._card.asleep():
            return GpuTelemetry(0)
        files = self._files = self._files or _Files(self._card)
        energy_j = self._meter.add(within(scaled(read_number(files.energy_uj), 1e6), 0, 1e15), self._clock())
        used = [read_number(path) for path in files.memory]
        power_w = scaled(read_number(files.power_uw), 1e6)
        return GpuTelemetry(
            0,
            utilization_pct=self._utilization_pct(files, own),
            memory_used_bytes=whole(sum(part or 0 for part in used), 1, MAX_MEMORY_BYTES)
            if used and None not in used
            else None,
            temperature_c=within(scaled(read_number(files.temperature_mc), 1000), 1, 150),
            power_w=within(self._meter.power_w if files.power_uw is None else power_w, 0.001, 10_000),
            clock_mhz=_clock_mhz(files),
            memory_utilization_pct=within(read_number(files.memory_busy_pct), 0, 100),
            memory_clock_mhz=within(scaled(read_number(files.memory_clock_hz), 1e6), 1, 100_000),
            fan_pct=_fan_pct(files),
            energy_j=energy_j,
            power_limit_w=power_limit_w(self._card, *LIMITS) if files.has_limit else None,
        )

    def _utilization_pct(self, files: "_Files", own: "OwnClients | None") -> float | None:
        if files.busy_pct is not None:
            return within(read_number(files.busy_pct), 0, 100)
        if own is None or self._card.render is None:
            return None
        names = {self._card.render} | ({self._card.drm.name} if self._card.drm else set())
        return own.utilization_pct(names)


class OwnClients:
    """Measures how much the run's own processes use each GPU between reads. For use from one thread."""

    def __init__(self, proc: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._listed_s = -math.inf
        self._files: dict[Path, str] = {}  # fdinfo files of open GPUs, with device names
        self._clients: dict[str, tuple[float, dict[str, Client]]] = {}
        self._pids: frozenset[int] = frozenset()

    def look_for(self, pids: Collection[int]) -> None:
        """Set the processes to measure."""
        now_s = self._clock()
        if now_s - self._listed_s >= CLIENTS_EVERY_S or not self._pids.issuperset(pids):
            self._listed_s, self._pids = now_s, frozenset(pids)
            self._files = {path: name for pid in pids for path, name in _opened_gpus(self._proc / str(pid))}

    def utilization_pct(self, names: Collection[str]) -> float | None:
        """Return the utilisation in percent, since the previous read, of a GPU with names such as "renderD128"."""
        now_s = self._clock()
        texts = [read_text(path) for path, name in self._files.items() if name in names]
        clients = dict(pair for text in texts if (pair := client_from(text)) is not None)
        key = min(names)
        before_s, before = self._clients.get(key, (now_s, {}))
        self._clients[key] = (now_s, clients)
        return busiest_pct(before, clients, now_s - before_s)


def client_from(text: str) -> tuple[str, Client] | None:
    """Parse a client's number and GPU use from an open file's fdinfo text; None if the file isn't a GPU's."""
    busy_ns: dict[str, int] = {}
    used: dict[str, int] = {}
    passed: dict[str, int] = {}
    engines: dict[str, int] = {}
    number = None
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        words = rest.split()
        if key == "drm-client-id" and words:
            number = words[0]
        if not key.startswith("drm-") or not words or not re.fullmatch(r"[0-9]{1,20}", words[0]):
            continue
        for start, values in (
            ("drm-engine-capacity-", engines),
            ("drm-engine-", busy_ns),
            ("drm-total-cycles-", passed),
            ("drm-cycles-", used),
        ):
            if key.startswith(start):
                values[key.removeprefix(start)] = int(words[0])
                break
    if number is None:
        return None
    return number, Client(busy_ns, {name: (used[name], passed[name]) for name in used if name in passed}, engines)


def busiest_pct(before: Mapping[str, Client], after: Mapping[str, Client], elapsed_s: float) -> float | None:
    """Return the busiest engine's utilisation, in percent, between two reads; None if no client is in both."""
    shares: dict[str, float] = {}
    for number, client in after.items():
        old = before.get(number)
        if old is None or elapsed_s <= 0:
            continue
        for name, busy_ns in client.busy_ns.items():
            grown_ns = max(0, busy_ns - old.busy_ns.get(name, busy_ns))
            shares[name] = shares.get(name, 0.0) + grown_ns / 1e9 / elapsed_s / max(1, client.engines.get(name, 1))
        for name, (used, passed) in client.cycles.items():
            old_used, old_passed = old.cycles.get(name, (used, passed))
            if passed > old_passed:
                share = max(0, used - old_used) / (passed - old_passed) / max(1, client.engines.get(name, 1))
                shares[name] = shares.get(name, 0.0) + share
    return min(100.0, 100 * max(shares.values())) if shares else None


def starred_mhz(text: str) -> float | None:
    """Return the current clock in MHz, which is marked with an asterisk in amdgpu's list ("1: 1000Mhz *")."""
    match = re.search(r"^\s*\S+:\s*(\d{1,6})\s*mhz\s*\*", text, re.MULTILINE | re.IGNORECASE)
    return within(float(match[1]), 1, 10_000) if match else None


class _Files:
    """Files that contain a card's values; None if unavailable."""

    def __init__(self, card: Card) -> None:
        folder = card.folder
        hwmon = next(iter(sorted(folder.glob("hwmon/hwmon*"))), None)
        shares = shares_memory(card)
        memory = [folder / "mem_info_vram_used"] + ([folder / "mem_info_gtt_used"] if shares else [])
        self.busy_pct = _existing(folder, "gpu_busy_percent")
        self.memory_busy_pct = _existing(folder, "mem_busy_percent")
        self.memory = memory if all(path.is_file() for path in memory) else []
        self.temperature_mc = _sensor(hwmon, "temp", ("edge", "junction", "pkg", ""))
        self.clock_hz = _sensor(hwmon, "freq", ("sclk",))
        self.clock_mhz = _existing(card.drm, "gt_act_freq_mhz") or _existing(folder, "tile0/gt0/freq0/act_freq")
        self.clock_steps = _existing(folder, "pp_dpm_sclk")
        self.memory_clock_hz = _sensor(hwmon, "freq", ("mclk",))
        self.fan = _existing(hwmon, "fan1_input")
        self.fan_full = within(read_number(_existing(hwmon, "fan1_max")), 1, 100_000)
        if self.fan is None or self.fan_full is None:
            self.fan = _existing(hwmon, "pwm1")
            self.fan_full = within(read_number(_existing(hwmon, "pwm1_max")), 1, 255)
        # An integrated GPU reports the power of the whole chip.
        power_hwmon = None if shares else hwmon
        self.power_uw = _existing(power_hwmon, "power1_average", "power1_input")
        self.energy_uj = _sensor(power_hwmon, "energy", ("card", "", "pkg"))
        self.has_limit = not shares and power_limit_w(card, *LIMITS) is not None


def _existing(folder: Path | None, *names: str) -> Path | None:
    paths = () if folder is None else tuple(folder / name for name in names)
    return next((path for path in paths if path.is_file()), None)


def _sensor(hwmon: Path | None, kind: str, labels: tuple[str, ...]) -> Path | None:
    """Return the file of the sensor with the first matching label; "" in `labels` matches a missing label."""
    paths = [] if hwmon is None else sorted(hwmon.glob(f"{kind}[1-9]_input"))
    by_label = {
        read_word(path.with_name(path.name.replace("_input", "_label"))).lower(): path for path in reversed(paths)
    }
    return next((by_label[label] for label in labels if label in by_label), None)


def _clock_mhz(files: _Files) -> float | None:
    by_sensor = within(scaled(read_number(files.clock_hz), 1e6), 1, 10_000)
    if by_sensor is not None:
        return by_sensor
    if files.clock_mhz is not None:
        return within(read_number(files.clock_mhz), 1, 10_000)  # 0 while idle
    return None if files.clock_steps is None else starred_mhz(read_text(files.clock_steps))


def _fan_pct(files: _Files) -> float | None:
    speed = read_number(files.fan)
    if speed is None or speed < 0 or not files.fan_full:
        return None
    return min(100.0, 100 * speed / files.fan_full)


def _opened_gpus(process: Path) -> list[tuple[Path, str]]:
    clients: list[tuple[Path, str]] = []
    try:
        opened = list((process / "fd").iterdir())
    except OSError:  # the process has ended, or isn't ours
        return []
    for path in opened:
        try:
            folder, _, name = str(path.readlink()).rpartition("/")
        except OSError:  # already closed
            continue
        if folder == "/dev/dri" and len(clients) < _CLIENTS_LIMIT:
            clients.append((process / "fdinfo" / path.name, name))
    return clients
