"""Replays timed steps as a Quick run that watches them arrive: estimates, the stop, the record, the verdict."""

import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.analysis.estimator import estimate_steps
from app.core.runs.live_verdict import LiveVerdict
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import list_runs, load_run
from app.core.verdict.rules import judge
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.reporter import BLOCK_INTERVAL_S
from workloads.training.quick import BUDGET_S, STEPS_AT_LEAST

MACHINE = Machine("Simulated CPU", 4, 8, 16_000_000_000, "Test OS 1", "x86_64", "3.11.7", False)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What Quick says of a trace.

    Attributes:
        step_s: The typical step, in seconds.
        low_s, high_s: Its 95 % confidence interval; None without one.
        stopped_after_s: Seconds of steps that it watched.
        verdict: valid, caution or invalid.
        reasons: Why it is not valid, in sentences.
        codes: The same as codes.
    """

    step_s: float
    low_s: float | None
    high_s: float | None
    stopped_after_s: float
    verdict: str
    reasons: tuple[str, ...]
    codes: tuple[str, ...]


def replay(steps_s: Sequence[float], budget_s: float = BUDGET_S) -> Replayed:
    """Return what Quick says of steps in order: the first one, as in any run, is the one that traces and compiles.

    Args:
        steps_s: Durations in seconds; at least four of them.
        budget_s: When Quick must answer, in seconds of steps.

    Raises:
        ValueError: Too few steps, or one that is no positive, finite number.
    """
    if len(steps_s) < STEPS_AT_LEAST:
        raise ValueError(f"Quick needs at least {STEPS_AT_LEAST} steps, not {len(steps_s)}.")
    if not all(math.isfinite(step_s) and step_s > 0 for step_s in steps_s):
        raise ValueError("Every step needs a duration above zero, in seconds.")
    with (
        tempfile.TemporaryDirectory(prefix="epochmark-replay-") as folder,
        Database(Path(folder) / "runs") as database,
    ):
        return _replay(database, steps_s, budget_s)


def _replay(database: Database, steps_s: Sequence[float], budget_s: float) -> Replayed:
    workload = CATALOGUE[STANDARD]
    spec = workload.default_spec("quick", device="cpu", data="real")
    run_id = begin_run(database, spec, workload, MACHINE)
    (summary,) = list_runs(database, ids=[run_id])
    state, writer, now_s = RunState(spec, summary, keeps_steps=True), RunWriter(database, run_id), 0.0
    live = LiveVerdict(state, database, verdict_s=math.inf, clock=lambda: now_s)
    count = 0
    for event in _events(steps_s, budget_s):
        now_s = event.t_s
        for follower in (state, live):
            follower.follow(event)
        writer.add(event)
        if isinstance(event, events.Steps):
            count += len(event.durations_s)
        for _ in live.news():
            pass
        if live.is_enough:
            break
    writer.add(events.Metric(t_s=now_s, key="epoch_rest_s", value=0.0))
    writer.finish("completed", None)
    judged = judge(load_run(database, run_id, with_peak=False))
    estimation = estimate_steps(steps_s[1:count])
    assert estimation is not None
    reasons = [reason for reason in judged.reasons if reason.level != "fact"]
    return Replayed(
        step_s=estimation.step_s,
        low_s=estimation.low_s,
        high_s=estimation.high_s,
        stopped_after_s=now_s,
        verdict=judged.level,
        reasons=tuple(reason.text for reason in reasons),
        codes=tuple(reason.code for reason in reasons),
    )


def _events(steps_s: Sequence[float], budget_s: float) -> Iterator[events.Event]:
    """Yield the events of a worker that takes these steps until its time is up."""
    seq = itertools.count()
    yield events.Phase(seq=next(seq), t_s=0.0, name="measure", budget_s=budget_s)
    now_s = sent_s = 0.0
    first, block_s = 0, [0.0][:0]
    for number, step_s in enumerate(steps_s):
        is_last = number + 1 == len(steps_s) or (
            number + 1 >= STEPS_AT_LEAST and now_s + step_s + steps_s[number + 1] > budget_s
        )
        now_s += step_s
        block_s.append(step_s)
        if now_s - sent_s >= BLOCK_INTERVAL_S or is_last:
            durations_s = tuple(block_s)
            yield events.Steps(
                seq=next(seq), t_s=now_s, phase="measure", epoch=0, first_index=first, durations_s=durations_s
            )
            first, sent_s = number + 1, now_s
            block_s.clear()
        if is_last:
            return
