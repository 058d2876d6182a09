"""Rules that check whether the training steps did the declared work in the stated time."""

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from app.core.analysis.comparability import recorded
from app.core.messages import Message, message
from app.core.records import Run, RunSummary
from app.core.verdict.context import Evidence, Rule
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.workload import Proof

# Real data contains few duplicates, such as 43 of the 60,000 pictures in Fashion-MNIST.
DISTINCT_PCT = 90.0
# Both processes read the same clock, so any difference is delivery time: milliseconds, or half a second on a
# computer that is out of memory. One second in ten is more than that.
CLOCK_PCT = 2.0
CLOCK_S = 0.5
# Engines spend 1 to 60 ms of each epoch outside its steps and validation, more once to set up validation, and up
# to 2.8 s if several devices are used. A larger share means that steps are timed before their work is done.
OUTSIDE_PCT = 10.0
OUTSIDE_EPOCH_S, OUTSIDE_EPOCH_OF_SEVERAL_S = 0.1, 5.0
OUTSIDE_ONCE_S = 0.4


def applicable_proof(run: RunSummary) -> Proof | None:
    """Return the expected losses of a run's workload; None if the run learns in another way, or if unknown."""
    workload = CATALOGUE.get(run.workload)
    if workload is None or run.workload_version != workload.version:
        return None
    return workload.proof if workload.learns_as_default(run.variant, partial(recorded, run)) else None


def _examples_missing(evidence: Evidence) -> Message | None:
    metrics = evidence.run.metrics
    done, asked = metrics.get("examples_done"), metrics.get("examples_asked")
    if done is None or asked is None or done >= asked:
        return None
    return message("verdict.examples_missing", done=done, asked=asked)


def _validation_missing(evidence: Evidence) -> Message | None:
    metrics = evidence.run.metrics
    done, asked = metrics.get("validation_done"), metrics.get("validation_asked")
    return None if done is None or done == asked else message("verdict.validation_missing", done=done, asked=asked)


def _frozen_changed(evidence: Evidence) -> Message | None:
    kept, asked = (evidence.run.metrics.get(f"frozen_{kind}") for kind in ("kept", "asked"))
    return None if kept == asked else message("verdict.frozen_changed", kept=kept or 0.0, all=asked or 0.0)


def _examples_repeated(evidence: Evidence) -> Message | None:
    metrics = evidence.run.metrics
    distinct, declared = metrics.get("examples_distinct"), metrics.get("examples_declared")
    if distinct is None or declared is None or 100 * distinct >= DISTINCT_PCT * declared:
        return None
    return message("verdict.examples_repeated", distinct=distinct, declared=declared)


def _not_counted(evidence: Evidence) -> Message | None:
    """Return a caution if the engine couldn't count the examples used; None for older records."""
    metrics = evidence.run.metrics
    is_uncounted = metrics.get("steps_counted") == 0 and metrics.get("examples_done") is None
    return message("verdict.not_counted") if is_uncounted else None


def _clock_slow(evidence: Evidence) -> Message | None:
    metrics = evidence.run.metrics
    worker_s, parent_s = metrics.get("worker_clock_s"), metrics.get("parent_clock_s")
    if worker_s is None or parent_s is None:
        return None  # an old record, or a run that was too short
    if _is_behind(worker_s, parent_s):
        return message("verdict.clock_slow", worker_s=worker_s, parent_s=parent_s)
    pairs = list(_stated_and_passed(evidence))
    stated_s, passed_s = (sum(each) for each in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    is_short = _is_behind(stated_s, passed_s)
    return message("verdict.durations_short", stated_s=stated_s, passed_s=passed_s) if is_short else None


def _steps_incomplete(evidence: Evidence) -> Message | None:
    is_alone = evidence.run.summary.device_count == 1
    limit_s = OUTSIDE_EPOCH_S if is_alone else OUTSIDE_EPOCH_OF_SEVERAL_S
    for outside_s, timed_s, epochs in (outside_steps(evidence.run), _outside_short_epoch(evidence.run)):
        if outside_s > OUTSIDE_PCT / 100 * (outside_s + timed_s) and outside_s > OUTSIDE_ONCE_S + limit_s * epochs:
            return message("verdict.steps_incomplete", outside_s=outside_s, timed_s=timed_s)
    return None


def outside_steps(run: Run) -> tuple[float, float, int]:
    """Return a run's time outside its steps and validation, the time within them, and its number of epochs.

    The run's first step is excluded because it also compiles, which would hide a difference.
    """
    blocks = [block for block in run.steps if block.phase == "measure" and block.durations_s]
    recorded_s: dict[int, float] = defaultdict(float)
    counts: dict[int, int] = defaultdict(int)
    for block in blocks:
        recorded_s[block.epoch] += math.fsum(block.durations_s)
        counts[block.epoch] += len(block.durations_s)
    outside_s = timed_s = 0.0
    for epoch in run.epochs:
        steps_s = recorded_s[epoch.index] if counts[epoch.index] == epoch.steps else epoch.train_s
        recorded_s[epoch.index] = steps_s
        timed_s += epoch.validation_s or 0.0
        outside_s += epoch.duration_s - steps_s - (epoch.validation_s or 0.0)
    outside_s = max(run.metrics.get("outside_steps_s") or 0.0, outside_s)
    timed_s += math.fsum(recorded_s.values()) - (blocks[0].durations_s[0] if blocks else 0.0)
    return outside_s, timed_s, len(recorded_s)


def _outside_short_epoch(run: Run) -> tuple[float, float, int]:
    """Return the same for the last of the short epochs that a Quick run ends with."""
    start_s = [block.durations_s[-1] for block in run.steps if block.phase == "start" and block.durations_s]
    passes_s = [math.fsum(block.durations_s) for block in run.steps if block.phase == "validate"]
    rest_s = run.metrics.get("epoch_rest_s") if start_s else None
    return rest_s or 0.0, sum(start_s[-1:]) + sum(passes_s[-1:]), 1


def _is_behind(stated_s: float, passed_s: float) -> bool:
    return passed_s - stated_s > CLOCK_PCT / 100 * passed_s + CLOCK_S


def _stated_and_passed(evidence: Evidence) -> Iterator[tuple[float, float]]:
    """Yield the durations of steps and epochs, both as stated and as measured between their events."""
    blocks = [block for block in evidence.run.steps if block.phase == "measure" and block.durations_s]
    begins_s: dict[int, float] = {}
    ends_s: dict[int, float] = {}
    for block in blocks:
        if block.first_index == 0:
            begins_s.setdefault(block.epoch, block.t_s - sum(block.durations_s))
        ends_s[block.epoch] = block.t_s
    for before, block, after in zip(blocks, blocks[1:], blocks[2:], strict=False):
        # Only within an epoch, because its last block is sent at the end, after validation.
        if _follows(before, block) and _follows(block, after):
            yield sum(block.durations_s), block.t_s - before.t_s
    for epoch in evidence.run.epochs:
        # The last block is used because the epoch's event, sent just after it, may wait for a blocked reader.
        if epoch.index in begins_s:
            yield epoch.duration_s, ends_s[epoch.index] - begins_s[epoch.index]


def _follows(before: events.Steps, block: events.Steps) -> bool:
    return block.epoch == before.epoch and block.first_index == before.first_index + len(before.durations_s)


TRAINING_RULES = (
    Rule("examples_missing", "invalid", _examples_missing, "advice.internal", at_end=True),
    Rule("validation_missing", "invalid", _validation_missing, "advice.internal", at_end=True),
    Rule("examples_repeated", "invalid", _examples_repeated, "advice.internal", at_end=True),
    Rule("frozen_changed", "invalid", _frozen_changed, "advice.internal", at_end=True),
    Rule("not_counted", "caution", _not_counted, "advice.uncompiled", at_end=True),
    Rule("steps_incomplete", "invalid", _steps_incomplete, "advice.internal", at_end=True),
    Rule("clock_slow", "invalid", _clock_slow, "advice.internal", at_end=True),
)
