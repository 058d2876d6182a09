"""All numbers and codes that come of stored runs, to be compared between versions of the code to the last digit.

    python -m tests.core.storage.figures    writes tests/data/databases/figures.json.gz anew

The databases were written by the versions that had these formats, each by real runs.
"""

import dataclasses
import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from app.core.analysis.ab import judge_pairs, judge_repeats
from app.core.analysis.compare import bars
from app.core.analysis.estimator import estimate_steps
from app.core.analysis.series import series_of
from app.core.paths import default_paths
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.outcomes import end_run
from app.core.storage.runs import all_ids, load_run
from app.core.verdict.bottleneck import explain
from app.core.verdict.energy import energy_columns
from app.core.verdict.rules import judge
from tests.conftest import ROOT
from tests.recording import as_preset, recorded_events, store_recording

DATABASES = ROOT / "tests" / "data" / "databases"
EXPECTED = DATABASES / "figures.json.gz"
# When it was summarised, and by which version of the program, are no figures of a run.
_WHEN = ("started_at", "finished_at", "app_version")
# Columns that came with later formats, and are empty in earlier ones.
_LATER = ("settings",)
TRACES = ROOT / "tests" / "data" / "traces"


def formats() -> list[str]:
    """The databases that are kept, by name."""
    return sorted(path.name.removesuffix(".sqlite3.gz") for path in DATABASES.glob("*.sqlite3.gz"))


def stored(name: str, folder: Path) -> Any:
    """Everything in a database of an earlier version, as read, and as summarised again."""
    paths = default_paths({"EPOCHMARK_HOME": str(folder / name)})
    paths.database.parent.mkdir(parents=True)
    paths.database.write_bytes(gzip.decompress((DATABASES / f"{name}.sqlite3.gz").read_bytes()))
    with Database(paths.database) as database:
        read = {run_id: of_run(load_run(database, run_id)) for run_id in all_ids(database)}
        groups = [of_group(group) for group in list_groups(database)]
        for run_id in all_ids(database):
            status = load_run(database, run_id).summary.status
            if status in ("completed", "cancelled"):
                end_run(database, run_id, status, None)
        again = {run_id: of_run(load_run(database, run_id)) for run_id in all_ids(database)}
    return plain({"read": read, "groups": groups, "again": again})


def recorded(folder: Path) -> Any:
    """What comes of the recorded run, asked for in each way."""
    events = recorded_events()
    paths = default_paths({"EPOCHMARK_HOME": str(folder / "recorded")})
    with Database(paths.database) as database:
        kinds = {
            "standard": events,
            "quick": as_preset(events, "quick"),
            "sustained": as_preset(events, "sustained"),
        }
        found = {name: of_run(load_run(database, store_recording(database, each))) for name, each in kinds.items()}
    return plain(found)


def traces() -> Any:
    """What the estimator makes of recorded steps."""
    found = {}
    for path in sorted(TRACES.glob("*.json")):
        epochs_s = json.loads(path.read_text())["epochs_s"]
        found[path.stem] = [estimate_steps(steps_s[1:]) for steps_s in epochs_s]
    return plain(found)


def of_run(run: Run) -> dict[str, Any]:
    """Numbers, codes and stored texts of a run; no sentence that is made when it is shown."""
    summary = dataclasses.asdict(run.summary)
    summary = {name: value for name, value in summary.items() if name not in (*_WHEN, *_LATER)}
    series = series_of(run)
    verdict = judge(run)
    limited = explain(run)
    chart = bars(run.summary.workload, run.summary)
    return {
        "summary": summary,
        "verdict": [verdict.level, *((reason.code, reason.level) for reason in verdict.reasons)],
        "bottleneck": limited.code if limited is not None else None,
        "energy": energy_columns(run),
        "peak": run.peak,
        "epochs": [(epoch.duration_s, epoch.loss) for epoch in run.epochs],
        "steps": [len(run.steps), sum(sum(block.durations_s) for block in run.steps)],
        "metrics": run.metrics,
        "warnings": [(warning.code, warning.message) for warning in run.warnings],
        "series": {
            "throughput": [len(series.steps_per_s.x), series.steps_per_s.median],
            "loss": [len(series.loss.x), series.loss.last],
            "estimate": [series.estimate.last, series.low.last, series.high.last],
            "interrupted_t_s": series.interrupted_t_s,
            "telemetry": {name: (len(curve.x), curve.median) for name, curve in sorted(series.telemetry.items())},
        },
        "bars": [(bar.name, bar.value) for bar in chart if bar.kind != "you"],
    }


def of_group(group: Any) -> dict[str, Any]:
    """The numbers of a group."""
    return {
        "id": group.id,
        "kind": group.kind,
        "run_ids": group.run_ids,
        "planned": group.planned,
        "labels": group.labels,
        "pairs": judge_pairs(group),
        "repeats": judge_repeats(group),
    }


def plain(value: Any) -> Any:
    """The same as JSON has it: every number to its last digit."""
    return json.loads(json.dumps(value, default=dataclasses.asdict))


def everything(folder: Path) -> dict[str, Any]:
    """All of it."""
    found = {name: stored(name, folder) for name in formats()}
    return found | {"recorded": recorded(folder), "traces": traces()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text = json.dumps(everything(Path(made)), sort_keys=True)
    EXPECTED.write_bytes(gzip.compress(text.encode(), mtime=0))
    sys.exit(0)
