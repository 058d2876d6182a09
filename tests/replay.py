"""Replays timed steps as a run that watches them arrive: estimates, Quick's stop, the record, the verdict."""

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

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
from workloads.protocol.telemetry import Telemetry
from workloads.training.quick import BUDGET_S, STEPS_AT_LEAST

# What telemetry reports of a second since the start.
Reader = Callable[[int], Telemetry]
MACHINE = Machine(
    "Simulated CPU", 4, 8, 16_000_000_000, "Test OS 1", "x86_64", "3.11.7", False, cpu_base_mhz=2_600.0
)


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


def settled(_: int) -> Telemetry:
    """Report a CPU at its base clock, which no boost can end."""
    return Telemetry(cpu_clock_mhz=MACHINE.cpu_base_mhz)


def replay(
    steps_s: Sequence[float], budget_s: float = BUDGET_S, reader: Reader = settled, machine: Machine = MACHINE
) -> Replayed:
    """Return what Quick says of steps in order: the first one, as in any run, is the one that traces and compiles.

    Args:
        steps_s: Durations in seconds; at least four of them.
        budget_s: When Quick must answer, in seconds of steps.
        reader: Reads telemetry.
        machine: What the steps are taken on.

    Raises:
        ValueError: Too few steps, or one that is no positive, finite number.
    """
    if len(steps_s) < STEPS_AT_LEAST:
        raise ValueError(f"Quick needs at least {STEPS_AT_LEAST} steps, not {len(steps_s)}.")
    if not all(math.isfinite(step_s) and step_s > 0 for step_s in steps_s):
        raise ValueError("Every step needs a duration above zero, in seconds.")
    with _database() as database:
        return _replay(database, steps_s, budget_s, reader, machine)


@contextmanager
def _database() -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="epochmark-replay-") as folder, Database(Path(folder, "runs")) as made:
        yield made


def replay_epochs(
    epochs_s: Sequence[Sequence[float]], validation_s: float = 1.0, reader: Reader | None = None
) -> events.Judged:
    """Return the verdict on a Standard run of whole epochs.

    Args:
        epochs_s: The steps of each epoch, in seconds.
        validation_s: How long each validation pass takes.
        reader: Reads telemetry; None for a run without any.
    """
    workload = CATALOGUE[STANDARD]
    batch_size = math.ceil(workload.samples_per_epoch / len(epochs_s[0]))
    spec = workload.default_spec(
        "standard", device="cpu", data="real", epochs=len(epochs_s), batch_size=batch_size
    )
    with _database() as database:
        run_id = begin_run(database, spec, workload, MACHINE)
        writer, end_s = RunWriter(database, run_id), 0.0
        for seq, event in enumerate(_epoch_events(epochs_s, validation_s)):
            writer.add(msgspec.structs.replace(event, seq=seq))
            end_s = event.t_s
        if reader is not None:
            for second in range(1, int(end_s) + 1):
                writer.add(events.TelemetryEvent(t_s=float(second), telemetry=reader(second)))
        writer.finish("completed", None)
        return judge(load_run(database, run_id, with_peak=False))


def _epoch_events(epochs_s: Sequence[Sequence[float]], validation_s: float) -> Iterator[events.Event]:
    """Yield the events of a worker that trains whole epochs."""
    now_s = 0.0
    for index, steps_s in enumerate(epochs_s):
        begin_s = now_s
        for block in _blocks(steps_s, now_s, index):
            now_s = block.t_s
            yield block
        train_s, now_s = now_s - begin_s, now_s + validation_s
        yield events.Epoch(t_s=now_s, index=index, duration_s=now_s - begin_s, train_s=train_s, loss=1.5)
    count = float(sum(map(len, epochs_s)))
    for key, value in (("updates_done", count), ("updates_asked", count), ("weights_changed", 0.2)):
        yield events.Metric(t_s=now_s, key=key, value=value)


def _blocks(steps_s: Sequence[float], begin_s: float, epoch: int) -> Iterator[events.Steps]:
    now_s = sent_s = begin_s
    first = 0
    for number, step_s in enumerate(steps_s):
        now_s += step_s
        if now_s - sent_s >= BLOCK_INTERVAL_S or number + 1 == len(steps_s):
            block_s = tuple(steps_s[first : number + 1])
            yield events.Steps(t_s=now_s, phase="measure", epoch=epoch, first_index=first, durations_s=block_s)
            first, sent_s = number + 1, now_s


def _replay(
    database: Database, steps_s: Sequence[float], budget_s: float, reader: Reader, machine: Machine
) -> Replayed:
    workload = CATALOGUE[STANDARD]
    spec = workload.default_spec("quick", device="cpu", data="real")
    run_id = begin_run(database, spec, workload, machine)
    (summary,) = list_runs(database, ids=[run_id])
    state, writer, now_s = RunState(spec, summary, keeps_steps=True), RunWriter(database, run_id), 0.0
    live = LiveVerdict(state, database, machine, verdict_s=math.inf, clock=lambda: now_s)
    count = second = 0
    for event in _events(steps_s, budget_s):
        now_s = event.t_s
        heard = [event]
        while second + 1 <= now_s:
            second += 1
            heard.append(events.TelemetryEvent(t_s=float(second), telemetry=reader(second)))
        for each in heard:
            for follower in (state, live):
                follower.follow(each)
            writer.add(each)
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
    yield events.Environment(
        seq=next(seq), t_s=0.0, engine="tensorflow", device="cpu", precision="float32", jit=False
    )
    yield events.Phase(seq=next(seq), t_s=0.0, name="measure", budget_s=budget_s)
    taken, now_s = 0, 0.0
    for step_s in steps_s:
        if taken >= STEPS_AT_LEAST and now_s + step_s > budget_s:
            break
        taken, now_s = taken + 1, now_s + step_s
    for block in _blocks(steps_s[:taken], 0.0, 0):
        yield msgspec.structs.replace(block, seq=next(seq))
