"""All numbers and codes that come of stored runs, to be compared between versions of the code to the last digit.

    python -m tests.core.storage.figures    writes tests/data/databases/figures.json.gz anew

The databases were written by version 0.2.0 and brought to format 12: one with several runs of every kind, resumed,
interrupted, failed and partly deleted, with imported results and all studies, and one with real networks.
"""

import dataclasses
import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.core.analysis.ab import judge_pairs, judge_repeats
from app.core.analysis.bars import bars
from app.core.analysis.estimator import estimate_steps
from app.core.analysis.series import series_of
from app.core.paths import default_paths
from app.core.plans.engines import engine_rows
from app.core.plans.experiments import report_of
from app.core.records import Group, Run
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.imported_results import list_results
from app.core.storage.outcomes import end_run
from app.core.storage.runs import all_ids, load_run
from app.core.verdict.bottleneck import explain
from app.core.verdict.energy import energy_columns
from app.core.verdict.rules import judge
from tests.build import load_study, load_suite
from tests.conftest import ROOT
from tests.recording import as_preset, recorded_events, store_recording

DATABASES = ROOT / "tests" / "data" / "databases"
EXPECTED = DATABASES / "figures.json.gz"
# When it was summarised, and by which version of the program, are no figures of a run.
_WHEN = ("started_at", "finished_at", "app_version", "uid")
TRACES = ROOT / "tests" / "data" / "traces"


def formats() -> list[str]:
    return sorted(path.name.removesuffix(".sqlite3.gz") for path in DATABASES.glob("*.sqlite3.gz"))


def stored(name: str, folder: Path) -> Any:
    paths = default_paths({"EPOCHMARK_HOME": str(folder / name)})
    paths.database.parent.mkdir(parents=True)
    paths.database.write_bytes(gzip.decompress((DATABASES / f"{name}.sqlite3.gz").read_bytes()))
    with Database(paths.database) as database:
        read = {run_id: of_run(load_run(database, run_id)) for run_id in all_ids(database)}
        groups = [of_group(database, group) for group in list_groups(database)]
        imports = [
            (each.label, each.source, each.imported_at, each.digest, each.summary.workload, each.summary.value)
            for each in list_results(database)
        ]
        for run_id in all_ids(database):
            status = load_run(database, run_id).summary.status
            if status in ("completed", "cancelled"):
                end_run(database, run_id, status, None)
        again = {run_id: of_run(load_run(database, run_id)) for run_id in all_ids(database)}
    return plain({"read": read, "groups": groups, "imports": imports, "again": again})


def recorded(folder: Path) -> Any:
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
    found = {}
    for path in sorted(TRACES.glob("*.json")):
        epochs_s = json.loads(path.read_text())["epochs_s"]
        found[path.stem] = [estimate_steps(steps_s[1:]) for steps_s in epochs_s]
    return plain(found)


def of_run(run: Run) -> dict[str, Any]:
    """Numbers, codes and stored texts of a run; no sentence that is made when it is shown."""
    summary = run.summary.as_dict()
    del summary["error_message"]  # whose wording may change
    summary = {name: value for name, value in summary.items() if name not in _WHEN}
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


def of_group(database: Database, group: Group) -> dict[str, Any]:
    summary = report_of(group).summary
    figures = {
        "id": group.id,
        "kind": group.kind,
        "runs": [run.id for run in group.runs],
        "planned": group.planned,
        "labels": group.labels,
        "verdict": report_of(group).verdict,
        "typical": report_of(group).typical_ids(),
        "summary": None if summary is None else [summary.value, summary.value_low, summary.value_high],
    }
    return figures | OF_KIND[group.kind](database, group)


def of_suite(database: Database, group: Group) -> dict[str, Any]:
    result = load_suite(database, group.id)
    return {
        "total": result.total,
        "verdict": result.verdict,
        "parts": [(each.state, [run.id for run in each.runs], each.rounds, each.score) for each in result.parts],
        "left": [each.number for each in result.left],
    }


def of_study(database: Database, group: Group) -> dict[str, Any]:
    result = load_study(database, group.id)
    points = [
        (each.place, each.state, [run.id for run in each.runs], each.rounds, each.value, each.low, each.high)
        for each in result.points
    ]
    return {
        "points": points,
        "rates": [each.rate for each in result.points],
        "left": [e.number for e in result.left],
    }


OF_KIND: dict[str, Callable[[Database, Group], dict[str, Any]]] = {
    "repeat": lambda _, group: {"repeats": judge_repeats(group)},
    "ab": lambda _, group: {"pairs": judge_pairs(group)},
    "engines": lambda _, group: {"engines": engine_rows(group)},
    "study": of_study,
    "suite": of_suite,
}


def plain(value: Any) -> Any:
    """The same as JSON has it: every number to its last digit."""
    return json.loads(json.dumps(value, default=dataclasses.asdict))


def everything(folder: Path) -> dict[str, Any]:
    found = {name: stored(name, folder) for name in formats()}
    return found | {"recorded": recorded(folder), "traces": traces()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text = json.dumps(everything(Path(made)), sort_keys=True)
    EXPECTED.write_bytes(gzip.compress(text.encode(), mtime=0))
    sys.exit(0)
