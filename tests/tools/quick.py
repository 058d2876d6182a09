"""How well Quick agrees with a full run, and how much sooner it answers.

    python -m tests.tools.quick [QUICKS] [EPOCHS] [WORKLOAD] [RECORD.jsonl]

Half of the Quick runs come before one Standard run, the other half after it, so that a drift of the machine shows.
With a file's name, the Standard run's events are written there. How much the Quick runs differ beyond what their
own steps tell is DerSimonian and Laird's estimate (Controlled Clinical Trials 7 (1986) 177).
"""

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.core.analysis.headline import own_half_pct
from app.core.hardware.machine import detect_machine
from app.core.paths import Paths, default_paths
from app.core.records import RunSummary
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.core.runs.running import start_run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.spec import RunSpec


def main(quicks: int = 10, epochs: int = 10, workload_id: str = STANDARD, record: str | None = None) -> None:
    """Print each run, then what they come to."""
    workload = CATALOGUE[workload_id]
    quick = workload.default_spec("quick", device="cpu", data="synthetic")
    standard = workload.default_spec(epochs=epochs, device="cpu", data="synthetic")
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        quick_runs = [run(paths, quick) for _ in range(quicks // 2)]
        full, full_s, _ = run(paths, standard, record)
        quick_runs += [run(paths, quick) for _ in range(quicks - quicks // 2)]
    if quick_runs:
        report(quick_runs, full, full_s)


def report(quick_runs: Sequence[tuple[RunSummary, float, float]], full: RunSummary, full_s: float) -> None:
    """Print what Quick runs come to beside a full run that took full_s."""
    assert full.value is not None
    ratios = [each.value / full.value for each, _, _ in quick_runs if each.value is not None]
    low_s, high_s = full.value_low or full.value, full.value_high or full.value
    spread = f"epochs spread {full.spread_pct or 0:.1f} %"
    print(f"full run: {full.value:.2f} s, {low_s:.2f} to {high_s:.2f}, {spread}, {full_s:.0f} s")
    held = sum(_holds(each, full.value, full.value) for each, _, _ in quick_runs)
    met = sum(_holds(each, low_s, high_s) for each, _, _ in quick_runs)
    print(f"the interval of Quick holds the full run's number in {held} of {len(quick_runs)}", end="")
    agree = sum(_agrees(each, full) for each, _, _ in quick_runs)
    print(f", meets its interval in {met}, and agrees with it in {agree}")
    print("Quick over full: " + ", ".join(f"{ratio:.3f}" for ratio in ratios))
    print(f"median {statistics.median(ratios):.3f}, farthest {max(abs(ratio - 1) for ratio in ratios):.3f}")
    print(f"sooner by a factor of {full_s / statistics.median(taken_s for _, taken_s, _ in quick_runs):.1f}")
    values_s = [each.value or 0.0 for each, _, _ in quick_runs]
    print(f"between runs: a standard deviation of {between_pct(values_s, [own for *_, own in quick_runs]):.1f} %")


def between_pct(values_s: Sequence[float], own_pct: Sequence[float]) -> float:
    """Return the standard deviation between runs in percent, beyond the ± that each one's own steps tell."""
    weights = [
        (1.96 * 100 / (value_s * half_pct)) ** 2 for value_s, half_pct in zip(values_s, own_pct, strict=True)
    ]
    total = sum(weights)
    mean_s = sum(weight * value_s for weight, value_s in zip(weights, values_s, strict=True)) / total
    spread = sum(weight * (value_s - mean_s) ** 2 for weight, value_s in zip(weights, values_s, strict=True))
    beyond = (spread - len(weights) + 1) / (total - sum(weight**2 for weight in weights) / total)
    return 100 * math.sqrt(max(0.0, beyond)) / mean_s


def _agrees(quick: RunSummary, full: RunSummary) -> bool:
    """Return whether two runs differ by no more than the 95 % interval of their difference, if both are right.

    Intervals needn't be symmetric: of each the side counts that points to the other.
    """
    if quick.value is None or full.value is None:
        return False
    lower, upper = sorted((quick, full), key=lambda each: each.value or 0.0)
    if lower.value_high is None or upper.value_low is None:
        return False
    sides_s = (lower.value_high - (lower.value or 0.0), (upper.value or 0.0) - upper.value_low)
    return abs(quick.value - full.value) <= math.hypot(*sides_s)


def _holds(quick: RunSummary, low_s: float, high_s: float) -> bool:
    """Return whether a run's interval has anything in common with another one."""
    return (
        quick.value_low is not None
        and quick.value_high is not None
        and quick.value_low <= high_s
        and low_s <= quick.value_high
    )


def run(paths: Paths, spec: RunSpec, record: str | None = None) -> tuple[RunSummary, float, float]:
    """Run to the end; return the record, the seconds from the start to the answer, and the ± of its own steps."""
    lines: list[bytes] = []

    def listen(event: events.Event) -> None:
        lines.append(events.encode(event))

    begin_s = time.monotonic()
    session = start_run(Runner(paths, detect_machine()), spec, listen)
    session.wait()
    taken_s = time.monotonic() - begin_s
    if record is not None:
        Path(record).write_bytes(b"".join(lines))
    with Database(paths.database) as database:
        stored = load_run(database, session.run_id)
    summary, own_pct = stored.summary, own_half_pct(stored)
    assert summary.value is not None
    half_pct = 50 * ((summary.value_high or 0) - (summary.value_low or 0)) / summary.value
    disturbed = f"{summary.interruptions} interruptions of {summary.interruptions_s:.1f} s"
    told = f"{summary.value:.2f} s ± {half_pct:.1f} %, mean {summary.value_mean:.2f}, {taken_s:.0f} s"
    print(f"{spec.preset}: {told}, {disturbed}; {summary.reasons or 'valid'}", flush=True)
    return summary, taken_s, own_pct or math.inf


if __name__ == "__main__":
    asked = dict(enumerate(sys.argv))
    main(int(asked.get(1, 10)), int(asked.get(2, 10)), asked.get(3, STANDARD), asked.get(4))
