"""A run's timed steps grouped by kind, for live and stored headlines."""

import bisect
import math
import statistics
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from app.core.analysis.estimator import Estimation, Interruption, estimate_steps, interrupted
from workloads.protocol.events import Steps

# With fewer first steps, their usual duration is unknown.
STARTS_AT_LEAST = 4


def _doubles() -> "array[float]":
    return array("d")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Steps that took far longer than usual."""

    t_s: float  # time of the report, in seconds since the worker started
    steps: int  # number of steps
    excess_s: float  # total time in excess of the usual duration


@dataclass(slots=True)
class StepTimes:
    """Durations of a run's steps in seconds, in order, as arrays, because a long run has millions of them."""

    durations_s: "array[float]" = field(default_factory=_doubles)  # all measured steps
    later_s: "array[float]" = field(default_factory=_doubles)  # steps of epochs after the first
    # First steps of epochs after the first, which also set up the epoch's input.
    starts_s: list[float] = field(default_factory=list)
    # All other steps, except the run's very first step, which traces and compiles.
    usual_s: "array[float]" = field(default_factory=_doubles)
    # Durations of the batches of each timed validation pass; the first pass is warm-up.
    validation_s: list[list[float]] = field(default_factory=list)
    first_epoch_steps: int = 0  # number of usual steps in the first epoch if there is another; otherwise 0
    _starts_t_s: list[float] = field(default_factory=list)
    _ends: list[tuple[int, float]] = field(default_factory=list)  # number of usual steps so far, report time
    # The latest estimation, with the numbers of usual and first steps it is based on.
    _estimated: tuple[tuple[int, int], Estimation | None] = field(default=((0, 0), None), compare=False)

    def add(self, block: Steps) -> None:
        """Add the next steps; an empty block is ignored."""
        if not block.durations_s:
            return
        if block.phase == "validate":
            self.validation_s.append(list(block.durations_s))
        elif block.phase == "start" and block.epoch > 0:
            self.starts_s.extend(block.durations_s)
            self._starts_t_s.extend([block.t_s] * len(block.durations_s))
        elif block.phase == "measure":
            usual_s = array("d", block.durations_s)  # converted once: extending an array by an array is fast
            self.durations_s.extend(usual_s)
            if block.epoch > 0:
                self.later_s.extend(usual_s)
            if block.first_index == 0:
                if block.epoch > 0:
                    self.starts_s.append(usual_s[0])
                    self._starts_t_s.append(block.t_s)
                if block.epoch == 1:
                    self.first_epoch_steps = len(self.usual_s)
                usual_s = usual_s[1:]
            self.usual_s.extend(usual_s)
            self._ends.append((len(self.usual_s), block.t_s))

    def disturbances(self, among_usual: Iterable[Interruption], warmup: int = 0) -> tuple[Disturbance, ...]:
        """Return the interruptions with their times, including slow first steps of epochs.

        Args:
            among_usual: Interruptions among the usual steps.
            warmup: Number of usual steps before the first one that `among_usual` counts.
        """
        disturbances = [
            Disturbance(self._time_s(warmup + each.first), each.steps, each.excess_s) for each in among_usual
        ]
        if len(self.starts_s) >= STARTS_AT_LEAST:
            # Checked one by one, because they belong to different epochs.
            flags, usual_s = interrupted(self.starts_s), statistics.median(self.starts_s)
            disturbances += [
                Disturbance(t_s, 1, duration_s - usual_s)
                for t_s, duration_s, flag in zip(self._starts_t_s, self.starts_s, flags, strict=True)
                if flag
            ]
        return tuple(sorted(disturbances, key=lambda each: each.t_s))

    def _time_s(self, number: int) -> float:
        place = bisect.bisect_right(self._ends, (number, math.inf))
        return self._ends[min(place, len(self._ends) - 1)][1]

    def estimation(self) -> Estimation | None:
        """Estimate the typical step, excluding warm-up and interruptions; None without steps."""
        counts = len(self.usual_s), len(self.starts_s)
        if self._estimated[0] != counts:  # cached, because each headline needs it several times
            # Epochs of one step have only first steps.
            self._estimated = counts, estimate_steps(self.usual_s or self.starts_s)
        return self._estimated[1]

    def start_s(self, step_s: float) -> float:
        """Return the extra time, in seconds, of an epoch's first step; 0.0 if none was recorded."""
        return max(0.0, statistics.median_low(self.starts_s) - step_s) if self.starts_s else 0.0

    def pass_s(self, batches: int) -> float:
        """Return the estimated duration, in seconds, of a validation pass with this many batches; 0.0 if unknown.

        Interrupted batches are replaced by typical ones.
        """
        warm = self.validation_s[1:] or [batches_s[1:] for batches_s in self.validation_s]
        later_s = [duration_s for batches_s in warm for duration_s in batches_s[1:]]
        first_s = [batches_s[0] for batches_s in warm if batches_s]
        if not first_s or not batches:
            return 0.0
        typical = estimate_steps(later_s, has_warmup=False)
        batch_s = typical.step_s if typical is not None else min(first_s)
        return min(first_s) + (batches - 1) * batch_s


def step_times(blocks: Iterable[Steps]) -> StepTimes:
    """Group the steps of blocks by kind."""
    result = StepTimes()
    for block in blocks:
        result.add(block)
    return result


def steps_left_out(blocks: Iterable[Steps]) -> int:
    """Return the number of training steps that are missing from epochs, whether before or between the blocks."""
    left_out, place = 0, ("", -1, 0)
    for block in blocks:
        if block.phase == "validate":
            continue
        phase, epoch, following = place
        expected = following if (block.phase, block.epoch) == (phase, epoch) and block.first_index else 0
        left_out += max(0, block.first_index - expected)
        place = (block.phase, block.epoch, block.first_index + len(block.durations_s))
    return left_out
