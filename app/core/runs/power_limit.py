"""Waits before a run until the user has set the power limit required by the run."""

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from app.core.analysis.power import differs
from app.core.engines.choices import installed_variant
from app.core.errors import UsageError
from app.core.hardware.device_limit import device_limit, limit_command, limit_in_force_w
from app.core.hardware.telemetry.monitor import Monitor
from app.core.messages import message, sentence
from app.core.records import Plan, PlannedRun
from app.core.runs.runner import Runner
from app.core.verdict.preflight import likely_gpu
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

INTERVAL_S = 0.5
# A driver that doesn't respond for this long has hung.
PATIENCE_S = 5.0
_TICK_S = 0.1
# Yields telemetry at intervals. It ends when the event is set or no telemetry arrives.
Readings: TypeAlias = "Callable[[threading.Event], Generator[Telemetry, None, None]]"


@dataclass(frozen=True, slots=True)
class LimitWait:
    """A wait for the required power limit, in progress."""

    limit_w: float  # power limit required by the run
    now_w: float | None  # power limit in force; None if unknown, for example while a card is asleep
    command: str | None  # command that sets the required limit; None if there is none on this system

    @property
    def text(self) -> str:
        if self.now_w is None:
            return sentence("run.set_unknown_limit", limit_w=self.limit_w)
        return sentence("run.set_limit", limit_w=self.limit_w, now_w=self.now_w)


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


class PowerLimits:
    """Waits before each run of one plan, in one thread.

    Attributes:
        restore_command: Command that restores a GPU's default limit, or the CPU's limit at the start of the plan;
            None if that limit is in force or there is no such command.

    Args:
        gpu_of: Function that returns the index of the GPU that a run will use; None for the CPU.
        readings: Function that yields telemetry until an event is set.
        command_of: Function like `limit_command`.
    """

    def __init__(
        self,
        machine: Machine,
        gpu_of: Callable[[RunSpec], int | None],
        readings: Readings = telemetry_until,
        command_of: Callable[[Machine, int | None, float | None], str | None] = limit_command,
    ) -> None:
        self.restore_command: str | None = None
        self._machine = machine
        self._gpu_of = gpu_of
        self._readings = readings
        self._command_of = command_of
        # By device: the limit found at the start of the plan, and the command for the limit to restore.
        self._found: dict[int | None, tuple[float, str | None]] = {}

    def wait(
        self, planned: PlannedRun, stop: threading.Event, on_waiting: Callable[[LimitWait], None] = lambda _: None
    ) -> bool:
        """Wait until the power limit of a run is in force; return True.

        A run without a limit waits for the limit found at the start of the plan, in case it has been changed.

        Args:
            stop: Event that ends the wait when set.
            on_waiting: Called after each reading until the limit is in force.

        Raises:
            UsageError: The limit can no longer be read.
        """
        spec = planned.spec
        wanted_w, index = spec.settings.get("power_limit_w"), self._gpu_of(spec)
        device = device_limit(self._machine, index)
        if device is None:
            return True
        with closing(self._readings(stop)) as readings:
            for telemetry in readings:
                now_w = limit_in_force_w(telemetry, index)
                if now_w is not None and index not in self._found:
                    self._found[index] = now_w, self._command_of(self._machine, index, None)
                limit_w = wanted_w if isinstance(wanted_w, int) else self._found.get(index, (None, None))[0]
                if limit_w is None:
                    return True
                if now_w is not None and not differs(now_w, limit_w, device.full_w):
                    found_w, command = self._found[index]
                    usual_w = device.full_w if index is not None and device.full_w else found_w
                    self.restore_command = command if differs(now_w, usual_w, device.full_w) else None
                    return True
                on_waiting(LimitWait(limit_w, now_w, self._command_of(self._machine, index, limit_w)))
        if not stop.is_set():
            raise UsageError(message("run.limit_not_read"))
        return True


def power_limits_for(plan: Plan, runner: Runner) -> PowerLimits | None:
    """Return the PowerLimits for a plan; None if none of its runs requires a power limit."""
    if not any("power_limit_w" in spec.settings for spec in plan.specs):
        return None
    return PowerLimits(
        runner.machine, lambda spec: likely_gpu(spec, runner.machine, installed_variant(runner.paths, spec.engine))
    )
