"""The Quick preset: times steps until the parent has enough data or time is up, then the rest of an epoch."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from workloads.engines.setup import cpu_speed
from workloads.protocol import events
from workloads.protocol.errors import bad_parameters
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec
from workloads.training.stopwatch import stopwatch
from workloads.training.trainer import Trainer
from workloads.workload import Workload

# Time from the engine's start to the result.
BUDGET_S = 60.0
# The first step includes tracing and compilation. On a CPU, a step of a large network can take half a minute.
STEPS_AT_LEAST = 4
# Steps of an epoch if the study has no epochs.
EPOCH_STEPS = 250
EPOCHS_LIMIT = 1_000_000
# The other parts of an epoch are timed in this many one-step epochs. The first one is a warm-up.
SHORT_EPOCHS = 3
BATCHES_LIMIT = 20
# If steps are this slow, another step exceeds the budget, and setting up an epoch's input takes a negligible time.
SLOW_STEP_S = 1.0
# A Quick run that needs more than this for its fewest steps isn't started.
LONGEST_S = 300.0
# Networks with fewer operations per step end in time on any CPU, so its speed needn't be measured.
MANY_OPERATIONS = 10**12
# Validating an example takes only the forward pass.
VALIDATION_SHARE = 1 / 3


class Budget:
    """Decides when to stop timing steps.

    Args:
        reporter: Its `enough` event is set when the parent has measured enough.
        end_s: Time by which the result is due, according to time.perf_counter.
        after_steps: Duration of the remaining work, expressed in typical steps.
    """

    def __init__(self, reporter: Reporter, end_s: float, after_steps: float) -> None:
        self._reporter = reporter
        self._end_s = end_s
        self._after_steps = after_steps
        self._ends_s: deque[float] = deque(maxlen=10)
        self._count = 0

    @property
    def step_s(self) -> float | None:
        """Mean duration of recent steps in seconds; None before the second step."""
        if len(self._ends_s) < 2:
            return None
        return (self._ends_s[-1] - self._ends_s[0]) / (len(self._ends_s) - 1)

    def is_over(self) -> bool:
        """Count a step, and return whether it was the last one."""
        now_s = time.perf_counter()
        self._ends_s.append(now_s)
        self._count += 1
        if self._count < STEPS_AT_LEAST:
            return False
        left = self._after_steps + 1  # stop before a step that would end too late
        return self._reporter.enough.is_set() or now_s + left * (self.step_s or 0.0) > self._end_s


@dataclass(frozen=True, slots=True)
class Quick:
    """A Quick run of a compiled network."""

    workload: Workload
    spec: RunSpec
    trainer: Trainer
    reporter: Reporter

    def check_time(self, operations: int | None) -> None:
        """Raise WorkloadError if the fewest steps take too long on a CPU.

        Args:
            operations: Operations of a step per example; None if unknown.
        """
        step_operations = self.spec.batch_size * (operations or 0)
        if step_operations < MANY_OPERATIONS or self.trainer.engine.gpus():
            return
        step_s = step_operations / cpu_speed()  # no step is faster than matrix products
        if STEPS_AT_LEAST * step_s > LONGEST_S:  # False for NaN
            code = "training.too_slow_for_quick"
            raise bad_parameters(code, step_s=step_s, steps=STEPS_AT_LEAST, limit_s=LONGEST_S)

    def measure(self, proof_steps: int | None) -> None:
        """Time steps of epochs without validation, then the other parts of an epoch.

        Args:
            proof_steps: Number of steps after which the loss is evidence of training; None if unknown.
        """
        # For a rate, only the steps are needed.
        has_epochs = self.workload.samples_per_epoch > 0 and self.workload.metric.startswith("seconds_per_")
        batches = min(BATCHES_LIMIT, self.trainer.feed.validation_batches(self.spec.batch_size))
        after_steps = SHORT_EPOCHS * (1 + VALIDATION_SHARE * batches) if has_epochs else 0.0
        due_s = self.reporter.engine_ready_s + (self.spec.duration_s or BUDGET_S)
        budget = Budget(self.reporter, due_s, after_steps)
        self._time_steps(due_s - time.perf_counter(), budget.is_over, proof_steps)
        if has_epochs:
            is_slow = self.trainer.engine.agreed((budget.step_s or 0.0) > SLOW_STEP_S)
            self._time_parts(batches, slow=is_slow)

    def probe(self) -> None:
        """Time steps for the duration stated in the spec, starting at the end of the first step."""
        duration_s = self.spec.measure_s or 0.0
        ends_s: list[float] = []

        def is_over() -> bool:
            ends_s.append(time.perf_counter())
            return len(ends_s) > 2 and ends_s[-1] - ends_s[0] > duration_s

        self._time_steps(duration_s, is_over, None)

    def _time_steps(self, budget_s: float, is_over: Callable[[], bool], proof_steps: int | None) -> None:
        whole = EPOCH_STEPS
        if self.workload.samples_per_epoch:
            whole = self.workload.steps_per_epoch(self.spec)
        self.reporter.epoch_steps = 0  # no epoch has a validation pass
        self.reporter.phase("measure", budget_s=max(1.0, budget_s))
        agreed = self.trainer.engine.agreed
        batches = self.workload.batches_per_step(self.spec)
        watch = stopwatch(
            self.reporter, is_over=lambda: agreed(is_over()), proof_steps=proof_steps, batches_per_step=batches
        )
        # Arrays have a known length, but batches may not.
        steps = None if self.trainer.feed.y is not None else whole * batches
        feed = replace(self.trainer.feed, validation=None)
        self.trainer.fit(feed, watch, epochs=EPOCHS_LIMIT, steps_per_epoch=steps)

    def _time_parts(self, batches: int, *, slow: bool) -> None:
        """Time the start and end of an epoch: setting up its input, some validation batches and the rest."""
        if batches:
            whole = float(self.trainer.feed.validation_batches(self.spec.batch_size))
            self.reporter.send(events.Metric(key="validation_batches", value=whole))
        self.reporter.time_parts()
        feed = self.trainer.feed
        short = replace(feed.cut(self.spec.batch_size), validation=feed.validation if batches else None)
        self.trainer.fit(
            short,
            stopwatch(self.reporter),
            epochs=1 if slow else SHORT_EPOCHS,
            steps_per_epoch=None if short.y is not None else 1,
            validation_steps=batches or None,
        )
