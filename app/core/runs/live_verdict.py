"""Computes the live estimate and verdict of a run, and determines when a Quick run has measured enough."""

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from app.core.analysis.headline import estimate_so_far, interruptions
from app.core.analysis.shared_host import shared_part
from app.core.analysis.timed_steps import StepTimes
from app.core.runs.state import RunState
from app.core.storage.database import Database, DatabaseError
from app.core.storage.runs import load_run
from app.core.verdict.boost import may_slow_down
from app.core.verdict.context import TelemetryWindow, gpu_index
from app.core.verdict.rules import judge
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import Telemetry

ESTIMATE_INTERVAL_S = 1.0
# Determining the verdict involves reading the whole record, which must not disturb the measurement.
VERDICT_INTERVAL_S = 10.0
# A single narrow interval may occur by chance.
ENOUGH_ESTIMATES = 2
# More than a Quick run needs in its minute.
TELEMETRY_KEPT = 90
# After an update, the pause is at least its duration times this factor.
_PAUSES = 20
_News = TypeVar("_News")
_log = logging.getLogger(__name__)


class LiveVerdict:
    """Computes the estimate and verdict of a run in progress, in the session's thread.

    Attributes:
        is_enough: Whether a Quick run has measured enough.

    Args:
        verdict_s: Time between verdicts in seconds.
        clock: Function that returns monotonic time in seconds.
        is_burstable: Whether the computer is a burstable cloud instance.
    """

    def __init__(
        self,
        state: RunState,
        database: Database,
        machine: Machine,
        verdict_s: float = VERDICT_INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_burstable: bool = False,
    ) -> None:
        assert state.summary is not None
        self._run = state.summary
        self._state = state
        self._verdict_s = verdict_s
        self._clock = clock
        self._machine = machine
        self._is_burstable = is_burstable
        self._telemetry: deque[Telemetry] = deque(maxlen=TELEMETRY_KEPT)
        self._database = database
        self._counted = 0
        self._narrow = 0
        self._begun_s = 0.0
        self._wait()
        self._verdict: events.Judged | None = None
        self.is_enough = False

    def follow(self, event: events.Event) -> None:
        """Process an event: restart the intervals when a phase starts, and keep the measurement's telemetry."""
        if isinstance(event, events.Phase):
            self._wait()
        elif isinstance(event, events.TelemetryEvent) and self._state.is_measuring:
            self._telemetry.append(event.telemetry)

    def _wait(self) -> None:
        now_s = self._clock()
        self._estimate_at_s, self._judge_at_s = now_s + ESTIMATE_INTERVAL_S, now_s + self._verdict_s

    def news(self) -> Iterator[events.Event]:
        """Yield the estimate and verdict if they are due."""
        if self._state.is_measuring and self._clock() >= self._estimate_at_s:
            if (estimate := self._unless_it_fails(self._estimate)) is not None:
                yield estimate
            self._estimate_at_s = self._next_s(ESTIMATE_INTERVAL_S)
        if self._state.is_measuring and self._clock() >= self._judge_at_s:
            if (verdict := self._unless_it_fails(self._judge)) is not None:
                yield verdict
            self._judge_at_s = self._next_s(self._verdict_s)

    def _unless_it_fails(self, tell: Callable[[], _News | None]) -> _News | None:
        """Return the function's result; None if it fails, because a bug in our code must not abort the run."""
        self._begun_s = self._clock()
        try:
            return tell()
        except Exception:  # noqa: BLE001 - see above
            _log.info("The live verdict of run %s could not be made", self._run.id, exc_info=True)
            return None

    def _next_s(self, interval_s: float) -> float:
        """Return the time of the next update. A pause keeps updates from slowing down runs with many steps."""
        now_s = self._clock()
        return now_s + max(interval_s, _PAUSES * (now_s - self._begun_s))

    def _estimate(self) -> events.Estimate | None:
        steps = self._state.steps
        assert steps is not None
        count = len(steps.durations_s)
        by_epochs = self._run.metric == "seconds_per_epoch_s"
        if count in (0, self._counted) or (
            by_epochs and (self._state.series.epochs or self._run.steps is not None)
        ):
            return None
        self._counted = count
        estimate = estimate_so_far(self._run, steps, on_shared_host=self._is_shared())
        if estimate is None:
            return None
        self._narrow = self._narrow + 1 if estimate.is_enough else 0
        is_narrow = self._run.preset == "quick" and self._narrow >= ENOUGH_ESTIMATES
        self.is_enough = is_narrow and not may_slow_down(
            self._machine, self._window(), is_burstable=self._is_burstable
        )
        return msgspec.structs.replace(estimate, is_enough=self.is_enough)

    def _window(self) -> TelemetryWindow:
        records, summary = tuple(self._telemetry), self._state.summary
        assert summary is not None
        return TelemetryWindow(records, tuple(map(float, range(len(records)))), gpu_index(summary.device or "cpu"))

    def _is_shared(self) -> bool:
        summary, busy_pct = self._state.summary, self._window().gpu_values("utilization_pct")
        assert summary is not None
        part = shared_part(
            self._machine,
            summary.device,
            device_name=summary.device_name,
            gpu_busy_pct=statistics.fmean(busy_pct) if busy_pct else None,
        )
        return part is not None

    def _judge(self) -> events.Judged | None:
        try:
            run = load_run(self._database, self._run.id, with_peak=False)
        except DatabaseError:
            return None
        held_up = interruptions(self._run.preset, self._state.steps or StepTimes())
        judged = events.Judged(
            level=(verdict := judge(run, is_over=False)).level,
            reasons=verdict.reasons,
            interrupted_t_s=tuple(each.t_s for each in held_up),
        )
        if judged == self._verdict:
            return None
        self._verdict = judged
        return judged
