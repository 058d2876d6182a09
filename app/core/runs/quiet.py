"""Waits for a quiet computer before a run that repeats a disturbed one."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.core.hardware.telemetry.monitor import read_telemetry
from app.core.hardware.telemetry.programs import busy_programs
from app.core.messages import sentence
from app.core.records import Plan
from app.core.runs.plan_session import QuietWaiter
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


def wait_for_quiet(
    stop: threading.Event,
    on_waiting: Callable[[QuietWait], None],
    look: Look = look_around,
    clock: Callable[[], float] = time.monotonic,
    limit_s: float = LIMIT_S,
) -> None:
    """Wait, for a limited time, until no temporary condition would disturb a run.

    Args:
        stop: Event that ends the wait when set.
        on_waiting: Called after each check that found a disturbing condition.
        look: Function that returns the conditions that would disturb a run.
        clock: Function that returns monotonic time in seconds.
        limit_s: Maximum duration of the wait.
    """
    began_s = clock()
    while not stop.is_set() and (causes := look(stop)):
        left_s = limit_s - (clock() - began_s)
        if left_s <= 0:
            return
        on_waiting(QuietWait(causes, left_s))


def quiet_wait_for(plan: Plan) -> QuietWaiter | None:
    """Return the function that waits before the first run of a plan; None for demos, which measure nothing."""
    is_measured = any(spec.workload in CATALOGUE and not CATALOGUE[spec.workload].is_demo for spec in plan.specs)
    return wait_for_quiet if is_measured else None
