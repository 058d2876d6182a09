"""Every workload for a few steps on every installed engine, interleaved: first step, other steps, peak memory.

    python -m tests.benchmarks.engines [ID ...]    (all networks if none is named)

Prints a Markdown table, a row as each workload is done. Engines are those of the usual folders, or of
EPOCHMARK_HOME; results are kept nowhere.
"""

import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.paths import Paths, default_paths
from app.core.runs.runner import Runner
from app.core.runs.worker_command import packages_of
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES, engine_title
from workloads.protocol import events
from workloads.protocol.machine import Machine

STEPS = 4


def main(ids: list[str]) -> None:
    """Run them one after the other and print what each took."""
    usual = default_paths()
    engines = [name for name in ENGINES if (folder := packages_of(name, usual)) is None or folder.is_dir()]
    chosen = ids or [name for name, workload in CATALOGUE.items() if workload.trains and not workload.is_demo]
    columns = [f"{engine_title(name)} {what}" for name in engines for what in ("first s", "step s", "GB")]
    print("| workload | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    machine = detect_machine()
    with tempfile.TemporaryDirectory() as home:
        paths = replace(default_paths({"EPOCHMARK_HOME": home}), engines_folder=Path(usual.engines))
        paths.create()
        for name in chosen:
            cells = [cell for engine in engines for cell in measured(name, engine, paths, machine)]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def measured(name: str, engine: str, paths: Paths, machine: Machine) -> list[str]:
    """Return the first step, the median of the others, both in seconds, and the peak memory in GB."""
    steps_s: list[float] = []
    seen: dict[str, float | None] = {}
    errors: list[str] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Steps) and event.phase == "measure":
            steps_s.extend(event.durations_s)
        elif isinstance(event, events.Metric):
            seen[event.key] = event.value
        elif isinstance(event, events.Error):
            errors.append(event.message.splitlines()[0][:80])

    spec = CATALOGUE[name].default_spec(epochs=1, steps=STEPS, data="synthetic", engine=engine)
    try:
        Runner(paths, machine).start(spec, listen).wait()
    except UsageError as error:
        errors.append(str(error))
    if errors:
        return [*errors[:1], "", ""]
    typical_s = statistics.median(steps_s[1:])
    return [f"{steps_s[0]:.2f}", f"{typical_s:.4f}", f"{(seen['peak_memory_bytes'] or 0) / 1e9:.2f}"]


if __name__ == "__main__":
    main(sys.argv[1:])
