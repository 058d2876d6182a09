"""Folders that were chosen for a run: kept in the store, and in nothing that leaves the computer."""

import json
import os
from pathlib import Path

from app.core.records import Run
from app.core.redaction.private_texts import chosen_folders, table_private_texts
from app.core.report.formats.csv_table import csv_lines
from app.core.report.formats.json_document import json_lines, run_as_dict
from app.core.report.run_texts import result_text
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run, rows_for_export
from app.core.verdict.judged_run import JudgedRun
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec, spec_as_dict

PLACES = ("/mnt/secret project", "/mnt/secret project/inner", "/")
MESSAGE = (
    "The folder /mnt/secret project/inner went away; /mnt/secret project is there, '/mnt/secret projects' too."
)
HIDDEN = "The folder <folder 2> went away; <folder 1> is there, '/mnt/secret projects' too."


def stored(database: Database, machine: Machine, *folders: str) -> Run:
    workload = CATALOGUE["storage"]
    spec = workload.default_spec(parameters={"folders": os.pathsep.join(folders)})
    run_id = begin_run(database, spec, workload, machine)
    writer = RunWriter(database, run_id)
    writer.add(events.Metric(key="images_per_s", value=365.0))
    writer.add(events.Warn(code="leftovers", message=MESSAGE))
    writer.finish("failed", events.Error(code="bad_parameters", message=MESSAGE))
    return load_run(database, run_id)


def test_they_are_hidden_in_json(database: Database, machine: Machine) -> None:
    run = stored(database, machine, *PLACES)
    assert chosen_folders(run.spec) == [str(Path(place)) for place in PLACES]
    plain = run_as_dict(run, {})
    assert plain["spec"]["parameters"] == {
        "folders": os.pathsep.join(("<folder 1>", "<folder 2>", "<folder 3>")),
        "images": 1_000,
        "network": "small",
    }
    assert plain["error_message"] == plain["warnings"][0]["message"] == HIDDEN
    assert json.loads("".join(json_lines([run], {})))["runs"][0]["spec"] == plain["spec"]
    assert run.spec.parameters["folders"] == os.pathsep.join(PLACES), "the stored run keeps them"


def test_they_are_hidden_in_tables_and_texts(database: Database, machine: Machine) -> None:
    run = stored(database, machine, *PLACES)
    table = "".join(csv_lines(rows_for_export(database), table_private_texts(database)))
    assert HIDDEN in table
    assert "<folder 2>" in table
    for text in (table, result_text(JudgedRun(run))):
        assert "secret project " not in text
        assert "inner" not in text


def test_other_runs_keep_their_specs(database: Database, machine: Machine) -> None:
    demo = CATALOGUE["demo"]
    run = load_run(database, begin_run(database, demo.default_spec(), demo, machine))
    assert run_as_dict(run)["spec"] == spec_as_dict(run.spec)
    assert chosen_folders(RunSpec(workload="from another version")) == []
    assert chosen_folders(RunSpec(workload="storage")) == []


def test_a_folder_inside_the_users_is_hidden_as_one(database: Database, machine: Machine, tmp_path: Path) -> None:
    run = stored(database, machine, str(tmp_path))
    assert str(tmp_path) not in json.dumps(run_as_dict(run))
