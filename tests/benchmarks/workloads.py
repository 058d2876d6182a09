"""Every workload for a few steps: parameters, peak memory, seconds per step, share of the measured peak.

    python -m tests.benchmarks.workloads [ID ...]    (all but demo and storage if none is named)

First `matmul`, which the shares are of. Prints a Markdown table, a row as each is done.
"""

import sys
import tempfile

from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.metrics import format_seconds
from app.core.paths import Paths, default_paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

ROUNDS, STEPS = 1, 3
WITHOUT = ("demo", "storage", "host_to_device")


def main(ids: list[str]) -> None:
    """Run them one after the other and print what each took."""
    chosen = ids or [name for name, workload in CATALOGUE.items() if workload.kind != "limits"]
    machine = detect_machine()
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        peak = run("matmul", paths, machine, steps=5)
        print(f"Peak: {(peak.summary.value or 0) / 1e12:.3f} TFLOP/s\n")
        print("| workload | batch | parameters | peak memory GB | s per step | TFLOP/s | share of peak |")
        print("|---|---|---|---|---|---|---|")
        for name in chosen:
            if name not in WITHOUT:
                print(row(name, paths, machine), flush=True)


def row(name: str, paths: Paths, machine: Machine) -> str:
    """Return a workload's line of the table."""
    try:
        done = run(name, paths, machine)
    except UsageError as error:
        return f"| {name} | {error} |"
    summary, share = done.summary, done.peak
    if summary.status != "completed":
        return f"| {name} | {summary.batch_size} | {summary.error_message} |"
    memory_bytes = done.metrics.get("peak_memory_bytes") or 0
    cells = [
        name,
        str(summary.batch_size),
        f"{done.model.parameters_count if done.model else 0:,}",
        f"{memory_bytes / 1e9:.2f}",
        format_seconds(summary.step_median_s),
        f"{share.reached_flop_per_s / 1e12:.3f}" if share else "n/a",
        f"{share.share_pct:.0f} %" if share and share.share_pct else "n/a",
    ]
    return f"| {' | '.join(cells)} |"


def run(name: str, paths: Paths, machine: Machine, steps: int = STEPS) -> Run:
    """Run one workload for a few steps; raises UsageError if it is refused."""
    spec = CATALOGUE[name].default_spec(epochs=ROUNDS, steps=steps, data="synthetic", device="cpu")
    session = Runner(paths, machine).start(spec)
    session.wait()
    with Database(paths.database) as database:
        return load_run(database, session.run_id)


if __name__ == "__main__":
    main(sys.argv[1:])
