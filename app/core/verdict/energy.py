"""Computes the energy of a run and its epochs from the stored telemetry.

Hardware counters are preferred. Without a counter (NVIDIA GPUs before Volta), power readings taken every second
are integrated (trapezoidal rule). Unknown values are None; nothing is estimated from rated power. Idle consumption
is included. Memory, fans and losses of the power supply aren't, because no counter covers them.
"""

import bisect
import itertools
import statistics
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.power import work_per_joule, work_per_s
from app.core.hardware.device_limit import device_limit, limit_in_force_w
from app.core.messages import Message, message
from app.core.records import FIELDS, Run, RunSummary
from app.core.verdict.context import telemetry_window, timed_span, used_gpu
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

Basis = Literal["counter", "power"]
# Telemetry is recorded once a second. Power is unknown during longer gaps, when the computer slept or the queue
# was full.
_GAP_S = 5.0
# An epoch may start before the first telemetry and end after the last. Beyond this, nothing is known.
_EDGE_S = 1.5
_PARTS = ("cpu", "gpu")


@dataclass(frozen=True, slots=True)
class EnergyCurve:
    """The energy used since the first telemetry."""

    times_s: tuple[float, ...]  # times of telemetry, ascending
    # Energy used up to each time. If it is integrated, gaps of more than five seconds aren't included.
    total_j: tuple[float, ...]
    basis: Basis  # source of the values

    def between_j(self, begin_s: float, end_s: float) -> float | None:
        """Return the energy used between two times; None unless telemetry covers the whole interval."""
        begin_j, end_j = self._at_j(begin_s), self._at_j(end_s)
        if begin_j is None or end_j is None or end_s <= begin_s:
            return None
        if self.basis == "power" and self._has_gap(begin_s, end_s):
            return None
        return end_j - begin_j

    def _has_gap(self, begin_s: float, end_s: float) -> bool:
        inside = [time_s for time_s in self.times_s if begin_s - _GAP_S < time_s < end_s + _GAP_S]
        return any(later - earlier > _GAP_S for earlier, later in itertools.pairwise(inside))

    def _at_j(self, time_s: float) -> float | None:
        """Interpolate the energy at a time; just outside the range, extrapolate from the two nearest values."""
        times_s, total_j = self.times_s, self.total_j
        if len(times_s) < 2 or not times_s[0] - _EDGE_S <= time_s <= times_s[-1] + _EDGE_S:
            return None
        right = min(max(bisect.bisect_left(times_s, time_s), 1), len(times_s) - 1)
        before_s, after_s = times_s[right - 1], times_s[right]
        share = (time_s - before_s) / (after_s - before_s)
        return total_j[right - 1] + share * (total_j[right] - total_j[right - 1])


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy used by one component. None means unknown."""

    total_j: float | None = None  # energy from the first to the last telemetry of the run
    per_epoch_j: float | None = None  # median over whole epochs after the first, or the value of the only epoch
    epochs_j: tuple[float | None, ...] = ()  # energy of each epoch
    basis: Basis | None = None  # source of the values; None if there are none


def energy_of(run: Run) -> dict[str, Energy]:
    """Return the energy of the CPU packages ("cpu") and of the GPU used by the run ("gpu")."""
    return {part: _energy(run, _curve(run, part)) for part in _PARTS}


def epoch_energies(run: Run) -> list[dict[str, float | None]]:
    """Return the energy of each epoch in joules, by component ("cpu", "gpu"); None if unknown."""
    by_part = {part: energy.epochs_j or (None,) * len(run.epochs) for part, energy in energy_of(run).items()}
    return [{part: epochs_j[at] for part, epochs_j in by_part.items()} for at in range(len(run.epochs))]


def energy_columns(run: Run) -> dict[str, float | str | None]:
    """Return RunSummary's energy columns."""
    columns: dict[str, float | str | None] = {}
    for part, energy in energy_of(run).items():
        columns |= {f"{part}_energy_j": energy.total_j, f"{part}_energy_per_epoch_j": energy.per_epoch_j}
    return columns | {"gpu_energy_basis": energy_of(run)["gpu"].basis}


def power_columns(run: Run) -> dict[str, float | bool | None]:
    """Return RunSummary's power draw, power limit, power source and work-per-joule columns.

    All values refer to the timed steps, because a laptop raises its power limit only under load.
    """
    window, index = telemetry_window(run), used_gpu(run)
    device = device_limit(run.machine, index) if run.environment is not None else None
    drawn_w = {part: _mean_w(run, _curve(run, part)) for part in _PARTS}
    records = window.records if window.is_within and run.environment is not None else ()
    limits_w = [limit_w for record in records if (limit_w := limit_in_force_w(record, index)) is not None]
    on_battery = [record.on_battery for record in window.records if record.on_battery is not None]
    speed, device_w = work_per_s(run.summary), drawn_w["cpu" if index is None else "gpu"]
    return {
        "cpu_power_w": drawn_w["cpu"],
        "gpu_power_w": drawn_w["gpu"],
        "power_limit_w": statistics.median(limits_w) if limits_w else getattr(device, "limit_w", None),
        "power_default_w": getattr(device, "default_w", None),
        "on_battery": any(on_battery) if on_battery else None,
        "work_per_j": speed / device_w if speed and device_w else None,
    }


def measured_facts(run: Run) -> dict[str, float | None]:
    """Return the means of the facts that are declared with their telemetry; None if nothing was recorded."""
    window = telemetry_window(run)
    facts: dict[str, float | None] = {}
    for name, declared in FIELDS.items():
        if declared.telemetry and window.is_within:
            part = declared.telemetry.removeprefix("gpu_")
            values = window.values(part) if part == declared.telemetry else window.gpu_values(part)
            facts[name] = statistics.fmean(values) if values else None
    return facts


def energy_used(run: RunSummary) -> Message | None:
    """Return a message with the energy used by a run; None if it is unknown."""
    parts = []
    for part in _PARTS:
        total_j = getattr(run, f"{part}_energy_j")
        per_epoch_j = getattr(run, f"{part}_energy_per_epoch_j")
        if total_j is None:
            continue
        code = "note.energy_per_round" if run.has_rounds else "note.energy_per_epoch"
        each = None if per_epoch_j is None else message(code, energy_j=per_epoch_j, steps=run.steps)
        by_power = part == "gpu" and run.gpu_energy_basis == "power"
        source = message("note.energy_by_power") if by_power else None
        parts.append(message(f"note.energy_of_{part}", energy_j=total_j, each=each, source=source))
    return message("note.energy", parts=[*parts, *filter(None, [work_per_joule(run)])]) if parts else None


def _mean_w(run: Run, curve: EnergyCurve | None) -> float | None:
    """Return the mean power draw from the first timed step to the last; None unless known for all these steps."""
    span = timed_span(run)
    if span is None or curve is None:
        return None
    drawn_j = curve.between_j(*span)
    return drawn_j / (span[1] - span[0]) if drawn_j else None


def _curve(run: Run, part: str) -> EnergyCurve | None:
    if run.summary.machine_count > 1:  # only this computer's telemetry is known
        return None
    gpu = used_gpu(run)
    records: list[tuple[float, Telemetry | GpuTelemetry]] = []
    for event in run.telemetry:
        record = event.telemetry if part == "cpu" else event.telemetry.gpu(gpu)
        if record is not None and (not records or event.t_s > records[-1][0]):
            records.append((event.t_s, record))
    keys = ("cpu_energy_j", "cpu_power_w") if part == "cpu" else ("energy_j", "power_w")
    energies, powers = (
        [(time_s, value) for time_s, record in records if (value := getattr(record, key)) is not None]
        for key in keys
    )
    return _counted(energies) or _integrated(powers)


def _counted(by_time: list[tuple[float, float]]) -> EnergyCurve | None:
    """Return the curve of a counter; None if the counter doesn't increase, as is the case on some GPUs."""
    rising = all(later[1] >= earlier[1] for earlier, later in itertools.pairwise(by_time))
    if len(by_time) < 2 or not rising or by_time[-1][1] <= by_time[0][1]:
        return None
    times_s, total_j = zip(*by_time, strict=True)
    return EnergyCurve(times_s, total_j, "counter")


def _integrated(by_time: list[tuple[float, float]]) -> EnergyCurve | None:
    if len(by_time) < 2:
        return None
    times_s, total_j = [by_time[0][0]], [0.0]
    for (before_s, before_w), (after_s, after_w) in itertools.pairwise(by_time):
        covered_s = after_s - before_s
        grown_j = 0.0 if covered_s > _GAP_S else covered_s * (before_w + after_w) / 2
        times_s.append(after_s)
        total_j.append(total_j[-1] + grown_j)
    return EnergyCurve(tuple(times_s), tuple(total_j), "power")


def _energy(run: Run, curve: EnergyCurve | None) -> Energy:
    if curve is None:
        return Energy()
    # Epochs stored by older versions have no times.
    epochs_j = tuple(
        curve.between_j(epoch.t_s - epoch.duration_s, epoch.t_s) if epoch.t_s > 0 else None for epoch in run.epochs
    )
    later_j = [epoch_j for epoch_j in (epochs_j[1:] or epochs_j) if epoch_j is not None]
    return Energy(
        total_j=curve.between_j(curve.times_s[0], curve.times_s[-1]),
        per_epoch_j=statistics.median(later_j) if later_j else None,
        epochs_j=epochs_j,
        basis=curve.basis,
    )
