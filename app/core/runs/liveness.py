"""Decides when a worker is silent, slow or hung, and when one that doesn't stop is ended."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.core.messages import message
from app.core.runs.event_messages import warn
from app.core.runs.live_verdict import VERDICT_INTERVAL_S
from workloads.protocol import events

_COUNTED_S = 1.0


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Time limits of a run in seconds."""

    # Silence before a warning. The run isn't ended before `start_s`, because compiling the first step may take a
    # long time.
    silence_s: float = 120.0
    # Silence before a warning if several computers take part, in seconds and as a number of typical steps; the
    # longer one applies.
    slow_s: float = 10.0
    slow_steps: float = 20.0
    # Silence after which a worker counts as hung if it hasn't completed the first step. According to NVIDIA,
    # compiling kernels for a GPU without prebuilt code can take up to 30 minutes.
    start_s: float = 2_400.0
    unheard_s: float = events.HUNG_S  # silence after which a worker that regularly sends `alive` counts as hung
    loads_s: float = events.LOADS_S  # the same as `unheard_s`, but until the engine has been imported
    # Silence after which a worker counts as hung once the first step is done, in seconds and as a number of
    # typical steps; the longer one applies.
    hung_s: float = 300.0
    hung_steps: float = 400.0
    cancel_s: float = 5.0  # time between asking a worker to stop and terminating it
    terminate_s: float = 3.0  # time between terminating a worker and killing it
    # Time between a worker's last event and killing its process and any remaining children; also the time between
    # killing a process and abandoning it, because a process stuck in a driver can't be killed.
    exit_s: float = 5.0
    store_s: float = 60.0  # how long to retry storing a run's end while the database is locked or the disk is full
    verdict_s: float = VERDICT_INTERVAL_S  # time between live verdicts


class Liveness:
    """The signs of life of a worker that has just been started.

    Attributes:
        silent_s: Time since the last event, counted in waits for the empty queue rather than by the clock: the
            worker isn't silent just because this process was suspended or a view was slow.

    Args:
        limits: Time limits of the run.
        has_computers: Whether other computers take part. The worker then sends `alive` from the start.
        clock: Function that returns monotonic time in seconds.
    """

    def __init__(
        self, limits: RunLimits, *, has_computers: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.silent_s = 0.0
        self._limits = limits
        self._has_computers = has_computers
        self._clock = clock
        self._unheard_s = 0.0 if has_computers else None  # also reset by `alive`; None until it is expected
        self._counted_s = clock()
        self._has_engine = False
        self._step_s: float | None = None
        self._warned: set[str] = set()
        self._cancelled_s: float | None = None
        self._is_terminated = False

    def hear(self, event: events.Event) -> None:
        """Note an event. Telemetry isn't the worker's."""
        if isinstance(event, events.TelemetryEvent):
            return
        if isinstance(event, events.Alive) or self._unheard_s is not None:
            self._unheard_s = 0.0
        if isinstance(event, events.Alive):
            return
        self.silent_s = 0.0
        self._warned.discard("silent_worker")
        self._has_engine |= isinstance(event, events.Environment)
        if isinstance(event, events.Steps):
            self._step_s = sum(event.durations_s) / max(1, len(event.durations_s))

    def count(self) -> None:
        """Count the time since the last call, capped in case this process was suspended or a view was slow."""
        now_s = self._clock()
        if self._unheard_s is not None:
            self._unheard_s += min(now_s - self._counted_s, _COUNTED_S)
        self._counted_s = now_s

    @property
    def is_hung(self) -> bool:
        limits = self._limits
        if (self._unheard_s or 0.0) > (limits.unheard_s if self._has_engine else limits.loads_s):
            return True
        if self._step_s is None:
            return self.silent_s > limits.start_s
        return self.silent_s > max(limits.hung_s, limits.hung_steps * self._step_s)

    def warning(self) -> events.Warn | None:
        """Return a new warning about a silent worker, or about a step that takes suspiciously long."""
        limits = self._limits
        if self.silent_s > limits.silence_s and "silent_worker" not in self._warned:
            self._warned.add("silent_worker")
            return warn("silent_worker", message("run.silent", silent_s=self.silent_s))
        if self._step_s is None or not self._has_computers or "slow_peers" in self._warned:
            return None
        if self.silent_s <= max(limits.slow_s, limits.slow_steps * self._step_s):
            return None
        self._warned.add("slow_peers")
        return warn("slow_peers", message("run.slow_peers", silent_s=self.silent_s, step_s=self._step_s))

    def cancelling(self) -> Literal["ask", "terminate", "kill"] | None:
        """Return what to do next about a worker that should stop; None to wait."""
        now_s = self._clock()
        if self._cancelled_s is None:
            self._cancelled_s = now_s
            return "ask"
        late_s = now_s - self._cancelled_s - self._limits.cancel_s
        if late_s > self._limits.terminate_s:
            return "kill"
        if late_s > 0 and not self._is_terminated:
            self._is_terminated = True
            return "terminate"
        return None
