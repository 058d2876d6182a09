"""Every workload for a few steps on every installed engine: its steps, memory, and share of the measured peak.

    python -m tests.tools.workloads [--share 0.25] [--engine NAME ...] [ID ...]

All networks if none is named, on the CPU, without validation. The share is that of the usual batch. First comes
`matmul`, whose speed is the peak. Prints a Markdown table, a row as each is done; the peak of memory, which
`memory_needs` come from, stands beside what is predicted for that batch. Engines are those of the usual folders
or of EPOCHMARK_HOME.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from app.core.errors import UsageError
from app.core.formats import format_seconds
from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.runs.worker_command import packages_of
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.core.runs.running import start_run
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.spec import RunSpec
from workloads.workload import Workload

PROBE_S = 1.0  # some steps
PEAK_STEPS = 20  # with fewer, it is nobody's peak
COLUMNS = "workload engine batch parameters first step peak predicted ratio reached share"
UNITS = "", "", "", "", "s", "s", "GB", "GB", "", "TFLOP/s", "% of peak"


def main() -> None:
    """Run them one after the other and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--engine", action="append")
    asked = parser.parse_args()
    networks = [name for name, workload in CATALOGUE.items() if workload.memory_need("tensorflow") is not None]
    with tempfile.TemporaryDirectory() as home:
        runner, engines = prepared(home)
        peak = run(runner, CATALOGUE["matmul"].default_spec(epochs=1, steps=PEAK_STEPS, device="cpu"))
        print(f"Peak: {(peak.summary.value or 0) / 1e12:.3f} TFLOP/s\n")
        print_row([" ".join(words) for words in zip(COLUMNS.split(), UNITS, strict=True)])
        print_row(["---"] * len(UNITS))
        for name in asked.ids or networks:
            workload = CATALOGUE[name]
            batch_size = max(1, round(workload.batch_size * asked.share))
            for engine in asked.engine or engines:
                print_row([name, engine, str(batch_size), *measured(runner, probe(workload, engine, batch_size))])


def prepared(home: str) -> tuple[Runner, list[str]]:
    """Return a runner that stores in this folder, and the names of the installed engines."""
    usual = default_paths()
    engines = [name for name in ENGINES if (folder := packages_of(name, usual)) is None or folder.is_dir()]
    paths = replace(default_paths({"EPOCHMARK_HOME": home}), engines_folder=Path(usual.engines))
    paths.create()
    return Runner(paths, detect_machine()), engines


def probe(workload: Workload, engine: str, batch_size: int) -> RunSpec:
    changes = {"data": "synthetic", "device": "cpu", "engine": engine, "batch_size": batch_size}
    return workload.default_spec("quick", measure_s=PROBE_S, **changes)


def peak_bytes(runner: Runner, workload: Workload, engine: str, batch_size: int) -> float | None:
    return run(runner, probe(workload, engine, batch_size)).metrics.get("peak_memory_bytes")


def print_row(cells: list[str]) -> None:
    """Print a row of the table at once."""
    print(f"| {' | '.join(cells)} |", flush=True)


def measured(runner: Runner, spec: RunSpec) -> list[str]:
    """Return the cells of a workload on an engine; a sentence where there are none."""
    try:
        done = run(runner, spec)
    except UsageError as error:
        return [str(error)]
    if done.summary.status != "completed":
        return [str(done.summary.error_message).splitlines()[0][:80]]
    first_s = done.steps[0].durations_s[0] if done.steps else None
    peak_bytes = done.metrics.get("peak_memory_bytes") or 0
    predicted_bytes = CATALOGUE[spec.workload].memory_need_bytes(spec)
    share = done.peak
    return [
        f"{done.model.parameters_count if done.model else 0:,}",
        format_seconds(first_s),
        format_seconds(done.summary.step_median_s),
        f"{peak_bytes / 1e9:.3f}",
        f"{predicted_bytes / 1e9:.3f}" if predicted_bytes else "n/a",
        f"{peak_bytes / predicted_bytes:.2f}" if predicted_bytes else "n/a",
        f"{share.reached_flop_per_s / 1e12:.3f}" if share else "n/a",
        f"{share.share_pct:.0f}" if share and share.share_pct else "n/a",
    ]


def run(runner: Runner, spec: RunSpec) -> Run:
    """Run to the end and return the record; raises UsageError if it is refused."""
    session = start_run(runner, spec)
    session.wait()
    with Database(runner.paths.database) as database:
        return load_run(database, session.run_id)


if __name__ == "__main__":
    main()
