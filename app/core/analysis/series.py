"""Collects the data of a run's charts from its events or the store."""

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from types import NoneType
from typing import get_args, get_type_hints

import msgspec

from app.core.analysis.headline import estimate_so_far, half_interval_pct, interruptions, own_half_pct, summarise
from app.core.analysis.shared_host import shared_part
from app.core.analysis.stats import epoch_statistics
from app.core.analysis.student_t import CONFIDENCE
from app.core.analysis.timed_steps import StepTimes, step_times
from app.core.records import Run, RunSummary
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

POINTS_LIMIT = 2_000
BIN_S = 1.0
MOMENTS = 60


def _numbers(record: type) -> tuple[str, ...]:
    """Return the names of a record's optional numbers, which charts can draw."""
    optional = {name: get_args(hint) for name, hint in get_type_hints(record).items()}
    return tuple(name for name, kinds in optional.items() if kinds and set(kinds) <= {int, float, NoneType})


_CURVES, _GPU_CURVES = _numbers(Telemetry), _numbers(GpuTelemetry)


@dataclass(slots=True)
class Curve:
    """Points of one line in ascending order of x. A y of None is a gap."""

    x: list[float] = field(default_factory=list)
    y: list[float | None] = field(default_factory=list)

    def add(self, x: float, y: float | None) -> None:
        """Append a point. If there are too many, drop every second one."""
        self.x.append(x)
        self.y.append(y)
        if len(self.x) > POINTS_LIMIT:
            del self.x[1::2], self.y[1::2]

    @property
    def median(self) -> float | None:
        values = [value for value in self.y if value is not None]
        return statistics.median(values) if values else None

    @property
    def last(self) -> float | None:
        """The latest value; None if there is none or it is unavailable."""
        return self.y[-1] if self.y else None


class RunSeries:
    """Collects the chart data of a run from its events.

    Attributes:
        epochs: The whole epochs so far, in order.
        epoch_durations_s: Durations of these epochs.
        steps_per_s: Throughput by time in seconds since the worker started; each point covers at least a second.
        loss: Running training loss by epoch (1.5 is the middle of the second epoch).
        telemetry: One curve for each available value of workloads.protocol.telemetry.Telemetry, on the same time
            axis. GPU curves have names such as "gpu0_utilization_pct".
        estimate, low, high: The estimate and the ends of its interval, on the same time axis.
        latest_estimate: The latest estimate; None before the first one.
        verdict: The provisional verdict; None before the first one.
        interrupted_t_s: Times of interruptions.
        on_shared_host: Whether other users of a shared host may change the speed between runs.
    """

    def __init__(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = max(1, steps_per_epoch)
        self._bin_s = BIN_S
        self._bin_steps = 0
        self._bin_duration_s = self._binned_s = 0.0
        self.epochs: list[events.Epoch] = []
        self.epoch_durations_s: list[float] = []
        self._later: tuple[int, float | None] = (0, None)
        self.steps_per_s = Curve()
        self.loss = Curve()
        self.telemetry: dict[str, Curve] = {}
        self.estimate, self.low, self.high = Curve(), Curve(), Curve()
        self.latest_estimate: events.Estimate | None = None
        self.verdict: events.Judged | None = None
        self.interrupted_t_s: tuple[float, ...] = ()
        self.metrics: dict[str, float | None] = {}
        self.warnings: list[events.Warn] = []
        self.error: events.Error | None = None
        self.on_shared_host = False
        self._machine: Machine | None = None

    @property
    def later_median_s(self) -> float | None:
        """Median duration of the epochs after the first; None without any. Cached until the next epoch ends."""
        count = len(self.epoch_durations_s)
        if self._later[0] != count:
            later_s = self.epoch_durations_s[1:]
            self._later = count, statistics.median(later_s) if later_s else None
        return self._later[1]

    def follow(self, event: events.Event) -> None:
        """Process the next event of the run."""
        match event:
            case events.Run() | events.Environment():
                self._place(event)
            case events.Steps():
                self._add_steps(event)
            case events.Epoch():
                self.epochs.append(event)
                self.epoch_durations_s.append(event.duration_s)
            case events.TelemetryEvent():
                self._add_telemetry(event.t_s, event.telemetry)
            case events.Metric():
                self.metrics[event.key] = event.value
            case events.Warn():
                self.warnings.append(event)
            case events.Error():
                self.error = event
            case events.Estimate():
                self._add_estimate(event)
            case events.Judged():
                self.verdict = event
                self.interrupted_t_s = event.interrupted_t_s

    def _place(self, event: events.Run | events.Environment) -> None:
        if isinstance(event, events.Run):
            self._machine = event.machine
        elif self._machine is not None:
            shared = shared_part(self._machine, event.device, device_name=event.device_name)
            self.on_shared_host = shared is not None

    def _add_steps(self, event: events.Steps) -> None:
        if event.phase in ("start", "validate") or not event.durations_s:
            return  # no throughput for first steps of epochs and for validation
        self._bin_steps += len(event.durations_s)
        self._bin_duration_s += sum(event.durations_s)
        if self._bin_duration_s < self._bin_s:
            return
        rate = self._bin_steps / self._bin_duration_s
        if self._bin_duration_s > 2 * self._bin_s:  # one slow step: the rate was low for its whole duration
            self.steps_per_s.add(max(self._binned_s, event.t_s - self._bin_duration_s), rate)
        self.steps_per_s.add(event.t_s, rate)
        self._binned_s = event.t_s
        if event.phase == "measure" and event.loss is not None:
            done = event.first_index + len(event.durations_s)
            self.loss.add(event.epoch + done / self._steps_per_epoch, event.loss)
        self._bin_steps, self._bin_duration_s = 0, 0.0

    def _add_estimate(self, event: events.Estimate) -> None:
        self.latest_estimate = event
        for curve, value in ((self.estimate, event.value), (self.low, event.low), (self.high, event.high)):
            curve.add(event.t_s, value)

    def _add_telemetry(self, t_s: float, telemetry: Telemetry) -> None:
        """Add the numeric values of a telemetry record. Strings and lists have no curves."""
        values = {name: getattr(telemetry, name) for name in _CURVES}
        for gpu in telemetry.gpus:
            values |= {f"gpu{gpu.index}_{name}": getattr(gpu, name) for name in _GPU_CURVES}
        for name, value in values.items():
            if value is not None or name in self.telemetry:
                self.telemetry.setdefault(name, Curve()).add(t_s, None if value is None else float(value))


def series_of(run: Run) -> RunSeries:
    """Return a stored run's series."""
    series = RunSeries(run.summary.steps or run.summary.steps_per_epoch)
    for event in (*run.steps, *run.epochs, *run.telemetry, *run.warnings):
        series.follow(event)
    series.metrics = dict(run.metrics)
    if run.summary.interruptions:
        steps = step_times(run.steps)
        held_up = interruptions(run.summary.preset, steps)
        series.interrupted_t_s = tuple(each.t_s for each in held_up)
    if run.summary.basis == "estimate":
        _add_estimates(series, run)
    return series


def _add_estimates(series: RunSeries, run: Run) -> None:
    """Add the estimates, including the time outside steps, so that the last one is the headline."""
    points = list(estimates(run))
    value = run.summary.value
    is_of_epochs = run.summary.metric == "seconds_per_epoch_s" and value is not None and points
    rest_s = value - points[-1].value if is_of_epochs and value is not None else 0.0
    for event in points:
        low, high = (None if end is None else end + rest_s for end in (event.low, event.high))
        series.follow(msgspec.structs.replace(event, value=event.value + rest_s, low=low, high=high))


def estimates(run: Run) -> Iterator[events.Estimate]:
    """Yield a stored run's estimates at up to 60 points in time."""
    blocks = [block for block in run.steps if block.phase == "measure"]
    stride = max(1, len(blocks) // MOMENTS)
    is_shared = _includes_host(run)
    steps = StepTimes()
    for count, block in enumerate(blocks, 1):
        steps.add(block)
        if count % stride and count < len(blocks):
            continue
        if (estimate := estimate_so_far(run.summary, steps, on_shared_host=is_shared)) is not None:
            yield msgspec.structs.replace(estimate, t_s=block.t_s)


def _includes_host(run: Run) -> bool:
    """Return whether the stored interval includes the allowance for other users of a shared host."""
    summary = run.summary
    half_pct = half_interval_pct(summary.metric, summary.value, summary.value_low, summary.value_high)
    own_pct = own_half_pct(run)
    return half_pct is not None and own_pct is not None and own_pct < half_pct


def live_summary(summary: RunSummary, series: RunSeries) -> RunSummary:
    """Return a run's record with its provisional headline.

    Before the first whole epoch ends, the headline is an estimate from the steps, without validation.
    """
    summary = replace(summary, epochs_done=len(series.epochs))
    by_epochs = summary.metric == "seconds_per_epoch_s"
    cut = summary.steps is not None and summary.steps < summary.steps_per_epoch
    if (reported := series.metrics.get(summary.metric)) is not None:
        return replace(summary, value=reported)
    if by_epochs and series.epochs and not cut:
        headline = summarise(
            workload=summary.workload,
            variant=summary.variant,
            metric=summary.metric,
            batch_size=summary.batch_size,
            per_epoch=epoch_statistics(series.epoch_durations_s),
            per_step=None,
            step_median_s=summary.step_median_s,
            on_shared_host=series.on_shared_host,
        )
        return replace(summary, **asdict(headline))
    estimate = series.latest_estimate
    if estimate is None or (by_epochs and cut):
        return summary
    return replace(
        summary,
        value=estimate.value,
        seconds_per_epoch_s=estimate.value if by_epochs else None,
        basis="estimate",
        value_low=estimate.low,
        value_high=estimate.high,
        confidence_pct=None if estimate.low is None else 100 * CONFIDENCE,
        warmup_steps=estimate.warmup_steps,
        interruptions=estimate.interruptions,
    )
