"""Derives the state of a run from its events, for the window, the command line and the live verdict."""

from dataclasses import replace
from typing import Literal

import msgspec

from app.core.analysis.series import RunSeries, live_summary
from app.core.analysis.timed_steps import StepTimes
from app.core.records import RunSummary
from app.core.runs.progress import Progress
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec


class RunState:
    """The state of a run after the events so far.

    Attributes:
        spec: Requested spec of the run.
        summary: Stored record, including the engine and data used; None before the run is stored.
        progress: Progress and remaining time.
        series: Epochs, curves, metrics, warnings, estimate and verdict.
        steps: All timed steps; None if they aren't kept. A long run has millions of steps.

    Args:
        summary: Record of the run; None if it isn't stored.
        keeps_steps: Whether to keep all timed steps.
    """

    def __init__(self, spec: RunSpec, summary: RunSummary | None = None, *, keeps_steps: bool = False) -> None:
        self.spec = spec
        self.summary = summary
        self.progress = Progress(spec)
        self.series = RunSeries(spec.steps or CATALOGUE[spec.workload].steps_per_epoch(spec))
        self.steps = StepTimes() if keeps_steps else None

    def follow(self, event: events.Event) -> None:
        """Process the next event of the run."""
        self.progress.follow(event)
        self.series.follow(event)
        if self.steps is not None and isinstance(event, events.Steps):
            self.steps.add(event)
        if self.summary is not None:
            self.summary = _with_event(self.summary, event)

    def live(self) -> RunSummary | None:
        """Return the run's record with the results so far; None if it isn't stored."""
        return None if self.summary is None else live_summary(self.summary, self.series)

    @property
    def is_measuring(self) -> bool:
        return self.progress.phase == "measure"

    @property
    def verdict(self) -> events.Judged | None:
        """The verdict so far, combined with later warnings; None if there is nothing to report."""
        verdict, warned = self.series.verdict, {warning.code for warning in self.series.warnings}
        judged = {reason.code for reason in verdict.reasons} if verdict else set()
        if not warned - judged:
            return verdict
        news = tuple(
            events.Reason(code=warning.code, level="caution", text=warning.message, said=warning.said)
            for warning in self.series.warnings
            if warning.code not in judged
        )
        if verdict is None:
            return events.Judged(level="caution", reasons=news)
        # Worst first, as in a verdict.
        reasons = sorted((*news, *verdict.reasons), key=lambda reason: reason.level != "invalid")
        level: Literal["caution", "invalid"] = "invalid" if verdict.level == "invalid" else "caution"
        return msgspec.structs.replace(verdict, level=level, reasons=tuple(reasons))


def _with_event(summary: RunSummary, event: events.Event) -> RunSummary:
    match event:
        case events.Environment():
            return replace(
                summary,
                engine=event.engine,
                engine_version=event.engine_version,
                device=event.device,
                device_name=event.device_name,
                precision=event.precision,
                jit=event.jit,
            )
        case events.Dataset():
            return replace(summary, data_source=event.source)
    return summary
