"""What the charts of a run show, followed from its events or read back from the store; knows no drawing."""

import statistics
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.judging.outcome import summarise
from app.core.judging.stats import (
    ESTIMATE_STEPS_AT_LEAST,
    DurationStatistics,
    epoch_statistics,
    estimate_epoch,
    step_statistics,
)
from app.core.model import Run, RunSummary
from workloads import events

POINTS_LIMIT = 2_000
BIN_S = 1.0


@dataclass(slots=True)
class Curve:
    """Points of one line, x ascending. A y that is None is a gap."""

    x: list[float] = field(default_factory=list)
    y: list[float | None] = field(default_factory=list)

    def add(self, x: float, y: float | None) -> None:
        """Add a point at the end; when there are too many, every second one goes."""
        self.x.append(x)
        self.y.append(y)
        if len(self.x) > POINTS_LIMIT:
            del self.x[1::2], self.y[1::2]

    @property
    def median(self) -> float | None:
        """The typical value; None where none is available."""
        values = [value for value in self.y if value is not None]
        return statistics.median(values) if values else None

    @property
    def last(self) -> float | None:
        """The latest value; None before the first, or where it is not available."""
        return self.y[-1] if self.y else None


class RunSeries:
    """Collects what a run's events come to.

    Attributes:
        epochs: Whole epochs, in their order.
        steps_per_s: Throughput over seconds since the worker started; each point covers at least a second.
        loss: Running training loss over epochs (1.5 is the middle of the second one).
        telemetry: One curve for each reading of app.core.model.Telemetry that this machine gives, over the same
            seconds; those of GPUs are named "gpu0_utilization_pct" and so on.
        current_epoch_s: What the steps of the epoch that is going on took so far; None between epochs.
        steps_s: Epoch and duration of the latest steps that were measured after the warm-up.
    """

    def __init__(self, steps_per_epoch: int) -> None:
        self._steps_per_epoch = max(1, steps_per_epoch)
        self._bin_s = BIN_S
        self._bin_steps = 0
        self._bin_duration_s = self._binned_s = 0.0
        self.epochs: list[events.Epoch] = []
        self.steps_per_s = Curve()
        self.loss = Curve()
        self.telemetry: dict[str, Curve] = {}
        self.current_epoch_s: float | None = None
        self.steps_s: deque[tuple[int, float]] = deque(maxlen=POINTS_LIMIT)
        self.metrics: dict[str, float | None] = {}
        self.warnings: list[events.Warn] = []
        self.error: events.Error | None = None

    def follow(self, event: events.Event) -> None:
        """Take the next event of the run."""
        match event:
            case events.Steps():
                self._add_steps(event)
            case events.Epoch():
                self.epochs.append(event)
                self.current_epoch_s = None
            case events.Sample():
                self._add_sample(event.t_s, event.telemetry)
            case events.Metric():
                self.metrics[event.key] = event.value
            case events.Warn():
                self.warnings.append(event)
            case events.Error():
                self.error = event

    def _add_steps(self, event: events.Steps) -> None:
        self._bin_steps += len(event.durations_s)
        self._bin_duration_s += sum(event.durations_s)
        if event.phase == "measure":
            self.current_epoch_s = (self.current_epoch_s or 0.0) + sum(event.durations_s)
            self.steps_s.extend((event.epoch, duration_s) for duration_s in event.durations_s)
        if self._bin_duration_s < self._bin_s:
            return
        rate = self._bin_steps / self._bin_duration_s
        if self._bin_duration_s > 2 * self._bin_s:  # one slow step: the rate was low all the while
            self.steps_per_s.add(max(self._binned_s, event.t_s - self._bin_duration_s), rate)
        self.steps_per_s.add(event.t_s, rate)
        self._binned_s = event.t_s
        if event.phase == "measure" and event.loss is not None:
            done = event.first_index + len(event.durations_s)
            self.loss.add(event.epoch + done / self._steps_per_epoch, event.loss)
        self._bin_steps, self._bin_duration_s = 0, 0.0

    def _add_sample(self, t_s: float, telemetry: dict[str, Any]) -> None:
        readings = {name: value for name, value in telemetry.items() if name != "gpus"}
        for gpu in telemetry.get("gpus", ()):
            number = gpu.get("index", 0)
            readings |= {f"gpu{number}_{name}": value for name, value in gpu.items() if name != "index"}
        for name, value in readings.items():
            if value is not None or name in self.telemetry:
                self.telemetry.setdefault(name, Curve()).add(t_s, value)


def series_of(run: Run) -> RunSeries:
    """Return a stored run's series."""
    series = RunSeries(run.summary.steps or run.summary.steps_per_epoch)
    for event in (*run.steps, *run.epochs, *run.samples, *run.warnings):
        series.follow(event)
    series.current_epoch_s = None
    series.metrics = dict(run.metrics)
    return series


def live_summary(summary: RunSummary, series: RunSeries) -> RunSummary:
    """Return a run's record with the headline that its events come to so far.

    Before the first whole epoch that is an estimate from the steps, without validation.
    """
    per_step = None
    if summary.metric != "seconds_per_epoch_s":  # sorting all steps ten times a second only where it is needed
        uneven = summary.metric == "words_per_s"
        per_step = step_statistics(list(series.steps_s), is_estimate=summary.preset == "quick", is_uneven=uneven)
    outcome = summarise(
        workload=summary.workload,
        metric=summary.metric,
        batch_size=summary.batch_size,
        per_epoch=_live_epochs(summary, series),
        per_step=per_step,
        step_median_s=summary.step_median_s,
        reported=series.metrics.get(summary.metric),
    )
    result = outcome.statistics
    if result is None:
        return replace(summary, epochs_done=len(series.epochs), value=outcome.value)
    return replace(
        summary,
        epochs_done=len(series.epochs),
        value=outcome.value,
        seconds_per_epoch_s=outcome.seconds_per_epoch_s,
        basis=result.basis,
        first_epoch_s=result.first_s,
        minimum_s=result.minimum_s,
        maximum_s=result.maximum_s,
        spread_pct=result.spread_pct,
    )


def _live_epochs(summary: RunSummary, series: RunSeries) -> DurationStatistics | None:
    if summary.steps is not None and summary.steps < summary.steps_per_epoch:
        return None
    if series.epochs:
        return epoch_statistics([epoch.duration_s for epoch in series.epochs])
    steps_at_least = min(ESTIMATE_STEPS_AT_LEAST, summary.steps_per_epoch)
    if not summary.samples_per_epoch or len(series.steps_s) < steps_at_least:
        return None
    return estimate_epoch([step_s for _, step_s in series.steps_s], summary.steps_per_epoch, 0.0)
