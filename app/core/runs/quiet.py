"""Waits for a quiet computer before a run that repeats a disturbed one."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.core.hardware.telemetry.monitor import read_telemetry
from app.core.hardware.telemetry.programs import busy_programs
from app.core.messages import sentence
from app.core.records import PlannedRun
from app.core.verdict.preflight import has_busy_programs, passing
from workloads import CATALOGUE
from workloads.protocol import events

# Time to close a program. A computer that is still busy by then probably always is.
LIMIT_S = 30.0
_LOOK_S, _LOOK_COUNT = 2.0, 2
# Returns the conditions that would disturb a run. It returns early if the event is set.
Look: TypeAlias = "Callable[[threading.Event], tuple[events.Reason, ...]]"


@dataclass(frozen=True, slots=True)
class QuietWait:
    """A wait for a quiet computer, in progress."""

    causes: tuple[events.Reason, ...]  # reasons why the run hasn't started
    left_s: float  # time after which the run starts anyway, in seconds
    command: str | None = None  # nothing that the user has to run

    @property
    def text(self) -> str:
        return sentence("run.waiting_for_quiet", cause=self.causes[0].said, left_s=self.left_s)


def look_around(stop: threading.Event) -> tuple[events.Reason, ...]:
    """Measure for two seconds or until the event is set; return the conditions that would disturb a run now."""
    telemetry = read_telemetry(_LOOK_S, _LOOK_COUNT, with_gpus=False, stop=stop)
    return passing(telemetry, busy_programs(stop=stop) if has_busy_programs(telemetry) else ())


class QuietComputer:
    """Waits before the first run, for a limited time, until no temporary condition would disturb it.

    Args:
        look: Function that returns the conditions that would disturb a run.
        clock: Function that returns monotonic time in seconds.
        limit_s: Maximum duration of the wait.
    """

    restore_command = None

    def __init__(
        self, look: Look = look_around, clock: Callable[[], float] = time.monotonic, limit_s: float = LIMIT_S
    ) -> None:
        self._look, self._clock, self._limit_s = look, clock, limit_s
        self._is_over = False

    def wait(self, planned: PlannedRun, stop: threading.Event, on_waiting: Callable[[QuietWait], None]) -> bool:
        """Wait unless it isn't the first run or a demo, which measures nothing; return True."""
        began_s, workload = self._clock(), CATALOGUE[planned.spec.workload]
        while not (self._is_over or workload.is_demo or stop.is_set()) and (causes := self._look(stop)):
            left_s = self._limit_s - (self._clock() - began_s)
            if left_s <= 0:
                break
            on_waiting(QuietWait(causes, left_s))
        self._is_over = True
        return True
