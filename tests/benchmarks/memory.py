"""How much memory each network needs on each installed engine, and what that makes of `memory_needs`.

    python -m tests.benchmarks.memory [--share 0.25] [--engine NAME ...] [ID ...]

Trains (or predicts) for a few steps at a share of the usual batch, or at the batch itself, and prints the peak
beside what is predicted for that batch, a row as each workload is done. Results are kept nowhere.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.runs.runner import Runner
from app.core.runs.worker_command import packages_of
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

PROBE_S = 1.0  # some steps, without validation


def main() -> None:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--engine", action="append")
    asked = parser.parse_args()
    usual = default_paths()
    engines = [name for name in ENGINES if (folder := packages_of(name, usual)) is None or folder.is_dir()]
    measured = [name for name, workload in CATALOGUE.items() if workload.memory_need("tensorflow") is not None]
    print("| workload | engine | batch | peak GB | predicted GB | ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as home:
        paths = replace(default_paths({"EPOCHMARK_HOME": home}), engines_folder=Path(usual.engines))
        paths.create()
        runner = Runner(paths, detect_machine())
        for name in asked.ids or measured:
            workload = CATALOGUE[name]
            batch_size = max(1, round(workload.batch_size * asked.share))
            for engine in asked.engine or engines:
                changes = {"measure_s": PROBE_S, "data": "synthetic", "batch_size": batch_size}
                spec = workload.default_spec("quick", engine=engine, device="cpu", **changes)
                print(f"| {name} | {engine} | {batch_size} | {_row(runner, spec)} |", flush=True)


def _row(runner: Runner, spec: RunSpec) -> str:
    seen: dict[str, float | None] = {}
    errors: list[str] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Metric):
            seen[event.key] = event.value
        elif isinstance(event, events.Error):
            errors.append(event.message.splitlines()[0][:80])

    try:
        runner.start(spec, listen).wait()
    except UsageError as error:
        errors.append(str(error))
    peak_bytes = seen.get("peak_memory_bytes")
    if peak_bytes is None:
        return f"{errors[0] if errors else 'no peak'} | | "
    predicted_bytes = CATALOGUE[spec.workload].memory_need_bytes(spec)
    if predicted_bytes is None:
        return f"{peak_bytes / 1e9:.3f} | | "
    return f"{peak_bytes / 1e9:.3f} | {predicted_bytes / 1e9:.3f} | {peak_bytes / predicted_bytes:.2f}"


if __name__ == "__main__":
    main()
