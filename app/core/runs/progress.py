"""Tracks a run's progress and remaining time from its events, for any view."""

from collections import deque

from app.core.analysis.stats import ESTIMATE_STEPS_AT_LEAST
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

_RECENT_STEPS = 50


class Progress:
    """The progress of a run.

    Attributes:
        phase: Current phase.
        epoch: Index of the current epoch, counting from 0.
        step: Number of completed steps in the current epoch.
        steps_per_epoch: Number of steps per epoch in this phase; None before training starts.
        loss: Running mean of the loss in the current epoch; None before its first step.
    """

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._recent_s: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._validation_s = 0.0
        self._begin_s = self._now_s = 0.0
        self._budget_s: float | None = None
        self._by_time = False
        self.phase: events.PhaseName | None = None
        self.epoch = 0
        self.epochs = spec.epochs
        self.step = 0
        self.steps_per_epoch: int | None = None
        self.loss: float | None = None

    def follow(self, event: events.Event) -> None:
        """Process the next event of the run."""
        match event:
            case events.Phase():
                self.phase = event.name
                self.step = 0
                self._begin_s, self._now_s, self._budget_s = event.t_s, event.t_s, event.budget_s
                self._by_time = event.total_steps is None
                if event.total_steps and event.epochs:
                    self.epochs = event.epochs
                    self.steps_per_epoch = event.total_steps // event.epochs
            case events.Steps() if event.phase in ("start", "validate"):
                self._now_s = event.t_s
            case events.Steps():
                self.epoch = event.epoch
                self._now_s = event.t_s
                self.step = event.first_index + len(event.durations_s)
                self.loss = event.loss
                # The run's first step isn't representative, because it traces and compiles.
                first = event.epoch == 0 and event.first_index == 0
                self._recent_s.extend(event.durations_s[1:] if first else event.durations_s)
            case events.TelemetryEvent() if self._by_time:  # time also passes during a step that takes long
                self._now_s = max(self._now_s, event.t_s)
            case events.Epoch():
                self.epoch, self.step = event.index + 1, 0
                self._validation_s = event.validation_s or 0.0

    @property
    def step_s(self) -> float | None:
        """The mean duration of recent steps in seconds; None before the second step."""
        return sum(self._recent_s) / len(self._recent_s) if self._recent_s else None

    @property
    def fraction(self) -> float | None:
        """The completed share of the phase, by steps or time, from 0 to 1; None if unknown."""
        if self._budget_s and self._by_time:
            left_s = self._time_left_s
            return None if left_s is None else self._elapsed_s / max(self._budget_s, self._elapsed_s + left_s)
        if not self.steps_per_epoch:
            return None
        return min(1.0, (self.epoch * self.steps_per_epoch + self.step) / (self.epochs * self.steps_per_epoch))

    @property
    def remaining_s(self) -> float | None:
        """The estimated time until training ends, in seconds; None if unknown."""
        if self.phase == "measure" and self._budget_s and self._by_time:
            return self._time_left_s
        if self.phase != "measure" or not self.steps_per_epoch or self.step_s is None:
            return None
        steps_left = (self.epochs - self.epoch) * self.steps_per_epoch - self.step
        left_s = steps_left * self.step_s
        if self._budget_s is not None:
            left_s = min(left_s, self._budget_s - self._elapsed_s)
        return max(0.0, left_s + (self.epochs - self.epoch) * self._validation_s)

    @property
    def _elapsed_s(self) -> float:
        return self._now_s - self._begin_s

    @property
    def _time_left_s(self) -> float | None:
        """The remaining time of a phase with a time limit. Very slow steps exceed the limit."""
        left_s = (self._budget_s or 0.0) - self._elapsed_s
        if self.step_s is None:
            return left_s if left_s > 0 else None
        missing = 0 if self.epoch else max(0, ESTIMATE_STEPS_AT_LEAST - self.step)
        return max(0.0, left_s, missing * self.step_s)
