"""Waits before each run of a plan until the device is about as cool as before the plan's first run.

A run that begins on a warm device may be slower than the first one. Waiting for a temperature rather than for a
fixed time costs nothing if the device has stayed cool.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from app.core.engines.choices import installed_variant
from app.core.hardware.telemetry.monitor import Monitor
from app.core.messages import sentence
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.core.verdict.preflight import likely_gpu
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

# Idle temperatures vary by this much, so waiting for less could take forever.
MARGIN_C = 3.0
# A device that isn't cool by now is probably heated by something else.
LIMIT_S = 180.0
INTERVAL_S = 0.5
# A driver that doesn't respond for this long has hung.
PATIENCE_S = 5.0
_TICK_S = 0.1
# Yields telemetry at intervals. It ends when the event is set or no telemetry arrives.
Readings: TypeAlias = "Callable[[threading.Event], Generator[Telemetry, None, None]]"


@dataclass(frozen=True, slots=True)
class Cooling:
    """A wait for a device to cool down, in progress.

    Attributes:
        temperature_c: The device's current temperature.
        goal_c: Temperature at which the run starts.
    """

    temperature_c: float
    goal_c: float
    command: str | None = None  # nothing that the user has to run

    @property
    def text(self) -> str:
        """A description of the wait."""
        return sentence("run.cooling_down", now_c=self.temperature_c, goal_c=self.goal_c)


@dataclass(frozen=True, slots=True)
class CooledStart:
    """The start of a run after its device has cooled down.

    Attributes:
        waited_s: How long the run waited for the device to cool down.
        temperature_c: The device's temperature after the wait.
    """

    waited_s: float
    temperature_c: float

    @property
    def metrics(self) -> tuple[events.Metric, ...]:
        """The values to store with the run."""
        return (
            events.Metric(key="cooled_s", value=self.waited_s),
            events.Metric(key="start_temperature_c", value=self.temperature_c),
        )


def telemetry_until(stop: threading.Event) -> Generator[Telemetry, None, None]:
    """Yield telemetry of CPU and GPUs at intervals until the event is set or a driver hangs."""
    arrived: queue.SimpleQueue[Telemetry] = queue.SimpleQueue()
    with Monitor(lambda _, telemetry: arrived.put(telemetry), INTERVAL_S):
        waited_s = 0.0
        while not stop.is_set() and waited_s < PATIENCE_S:
            try:
                telemetry = arrived.get(timeout=_TICK_S)
            except queue.Empty:
                waited_s += _TICK_S
                continue
            waited_s = 0.0
            yield telemetry


class CoolDown:
    """Waits before each run of one plan, in one thread.

    Args:
        gpu_of: Function that returns the index of the GPU that a run will use; None for the CPU.
        readings: Function that yields telemetry until an event is set.
        clock: Function that returns monotonic time in seconds.
        limit_s: Maximum duration of a wait.
    """

    def __init__(
        self,
        gpu_of: Callable[[RunSpec], int | None],
        readings: Readings = telemetry_until,
        clock: Callable[[], float] = time.monotonic,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._gpu_of = gpu_of
        self._readings = readings
        self._clock = clock
        self._limit_s = limit_s
        self._first: Telemetry | None = None  # at the start of the plan's first run

    def wait(
        self, spec: RunSpec, stop: threading.Event, on_waiting: Callable[[Cooling], None] = lambda _: None
    ) -> CooledStart | None:
        """Wait until a run may start. The plan's first run never waits.

        Args:
            spec: Spec of the run.
            stop: Event that ends the wait when set.
            on_waiting: Called after each reading that is too high.

        Returns:
            The start of the run; None if the temperature is unknown or the wait was stopped.
        """
        gpu = self._gpu_of(spec)
        if self._first is not None and temperature_c(self._first, gpu) is None:
            return None
        began_s: float | None = None
        with closing(self._readings(stop)) as readings:
            for telemetry in readings:
                began_s = self._clock() if began_s is None else began_s
                self._first = self._first or telemetry
                now_c, first_c = temperature_c(telemetry, gpu), temperature_c(self._first, gpu)
                if now_c is None or first_c is None:
                    return None
                waited_s, goal_c = self._clock() - began_s, first_c + MARGIN_C
                if now_c <= goal_c or waited_s >= self._limit_s:
                    return CooledStart(waited_s, now_c)
                on_waiting(Cooling(now_c, goal_c))
        return None


def temperature_c(telemetry: Telemetry, gpu: int | None) -> float | None:
    """Return the temperature of a GPU or, for None, of the CPU; None if unknown."""
    if gpu is None:
        return telemetry.cpu_temperature_c
    card = telemetry.gpu(gpu)
    return None if card is None else card.temperature_c


def cool_down_for(plan: Plan, runner: Runner) -> CoolDown | None:
    """Return a CoolDown for a plan; None if its runs never wait, as for single runs, Quick runs and demos."""
    if plan.is_single or not any(map(_is_long, plan.specs)):
        return None
    return CoolDown(lambda spec: likely_gpu(spec, runner.machine, installed_variant(runner.paths, spec.engine)))


def _is_long(spec: RunSpec) -> bool:
    workload = CATALOGUE.get(spec.workload)
    return spec.preset != "quick" and workload is not None and not workload.is_demo
