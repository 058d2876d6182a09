"""A fact about a run is its declaration and its sentence: all that stores, shows and shares runs has it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

DECLARATION = (
    '    gpu_fan_pct: Annotated[Finite | None, Declared(private="gpu", telemetry="gpu_fan_pct")] = None\n'
)
SENTENCE = '    "fact.gpu_fan_pct": "Fans at {value:.0f} %",\n'
PLACES = {
    "app/core/records.py": ("    work_per_j: ", DECLARATION),
    "app/core/messages/english/report.py": ('    "result.about"', SENTENCE),
}
USES = """
import csv, json, sys
from pathlib import Path
from app.core.exchange.importing import import_files
from app.core.exchange.preview import preview, without
from app.core.paths import default_paths
from app.core.report.formats.csv_table import csv_lines
from app.core.report.formats.json_document import json_lines
from app.core.report.formats.result_document import result_file, results_of
from app.core.report.run_texts import result_text
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from app.core.storage.runs import list_runs, load_run, load_runs, rows_for_export
from app.core.verdict.judged_run import JudgedRun
from app.cli import main
from tests.conftest import MACHINE
from tests.build import block, record
from tests.build import telemetry_of
from workloads.protocol import events

environment = events.Environment(engine="tensorflow", device="gpu:0", precision="float32", jit=False)
steps = [block(0.5, 0.5, epoch=epoch, seq=2 * epoch) for epoch in range(2)]
fans = [
    events.TelemetryEvent(t_s=t_s, telemetry=telemetry_of({"gpus": [{"index": 0, "fan_pct": 40.0 + 10 * t_s}]}))
    for t_s in (0.0, 1.0, 2.0)
]
epochs = [events.Epoch(index=index, duration_s=1.0, train_s=1.0, t_s=float(index)) for index in range(2)]
with Database(default_paths().database) as database:
    run_id = record(database, MACHINE, environment, *steps, *fans, *epochs, epochs=2)
    run = load_run(database, run_id)
    (row,) = csv.DictReader("".join(csv_lines(rows_for_export(database))).splitlines())
    (plain,) = json.loads("".join(json_lines(load_runs(database, [run_id]))))["runs"]
    (result,) = results_of(database, [run_id])
    file = Path(sys.argv[1])
    file.write_bytes(result_file(database, [run_id]))
    facts = {field.name: field.text for field in preview(result)}["facts"]
    bare = without(result, ["gpu"])
with Database(file.with_name("elsewhere.sqlite3")) as database:
    list(import_files(database, [file]))
    (imported,) = list_results(database)
value = run.summary.gpu_fan_pct
assert value == 45.0, value
assert [float(row["gpu_fan_pct"]), plain["gpu_fan_pct"]] == [value] * 2
assert (result.statistics.facts, bare.statistics.facts) == ({"gpu_fan_pct": value}, None)
assert imported.summary.gpu_fan_pct == value
assert facts == "Fans at 45 %", facts
assert facts in result_text(JudgedRun(run))
main(["results", "show", str(run_id)])
"""


@pytest.mark.slow
def test_a_declared_fact_is_everywhere(tmp_path: Path) -> None:
    for name in ("app", "workloads", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, line) in PLACES.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.count(before) == 1
        (tmp_path / name).write_text(text.replace(before, line + before), encoding="utf-8")
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    surroundings = os.environ | {"PYTHONPATH": path, "EPOCHMARK_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", USES, str(tmp_path / "mine.epochmark.json")],
        env=surroundings,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Fans at 45 %" in done.stdout
