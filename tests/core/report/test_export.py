"""Exports: every column, read back as it was, no formula, nothing private, memory flat."""

import csv
import io
import json
import os
import sys
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import app
from app.core.messages import sentence
from app.core.records import RUN_FIELDS, EpochColumns, Run, RunSummary
from app.core.redaction.private_texts import chosen_folders, table_private_texts
from app.core.report.formats.csv_table import CSV_COLUMNS, csv_lines
from app.core.report.formats.export_format import FORMAT_VERSION
from app.core.report.formats.json_document import json_lines, run_as_dict
from app.core.report.run_table import COLUMNS, csv_of, text_of
from app.core.report.run_texts import result_text
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run, rows_for_export
from app.core.verdict.bottleneck import explain
from app.core.verdict.judged_run import JudgedRun
from tests.build import telemetry_of
from tests.recording import recorded_run
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec

EPOCHS = EpochColumns(
    epoch_durations_s="68.9 66.3",
    epoch_train_s="68.1 65.5",
    epoch_validation_s="0.8 0.8",
    epoch_loss="1.5 -0.25",
    epoch_accuracy="0.45 0.6",
    epoch_val_loss=None,
    epoch_val_accuracy=None,
)
PRIVATE = {"/home/anna": "~", "/anna": "/user", "\\anna": "\\user"}


def read_back(*summaries: RunSummary, private: dict[str, str] | None = None) -> list[dict[str, str]]:
    rows = ((summary, astuple(EPOCHS)) for summary in summaries)
    return list(csv.DictReader(io.StringIO("".join(csv_lines(rows, private)), newline="")))


def as_stored(text: str) -> Message:
    return Message("verdict.as_stored", {"text": text})


def a_run(summary: RunSummary, **changes: Any) -> Run:
    full: dict[str, Any] = {
        "summary": summary,
        "spec": RunSpec(workload=summary.workload),
        "machine": replace(UNKNOWN_MACHINE, cpu_name="Test CPU"),
        "environment": None,
        "dataset": events.Dataset(name="cifar10", source="real", samples=1),
        "model": None,
        "epochs": (events.Epoch(seq=9, t_s=80.0, index=0, duration_s=68.9, train_s=68.1, loss=1.5),),
        "steps": (events.Steps(seq=5, t_s=11.5, phase="measure", epoch=0, first_index=0, durations_s=(0.2, 0.1)),),
        "metrics": {"test_loss": None},
        "warnings": (events.Warn(code="slow", message="in /home/anna/x"),),
        "telemetry": (events.TelemetryEvent(t_s=1.0, telemetry=telemetry_of({"cpu_pct": 50.0})),),
    }
    return Run(**(full | changes))


def test_the_columns_are_the_fields_of_the_records_in_their_order(summary: RunSummary) -> None:
    names = {field.name for field in fields(RunSummary)} - {"error_said"} | {"error_message"}
    assert sorted(RUN_FIELDS) == sorted(names)
    assert list(CSV_COLUMNS) == ["format_version", *RUN_FIELDS, *(field.name for field in fields(EpochColumns))]
    assert list(read_back(summary)[0]) == list(CSV_COLUMNS)


def test_a_row_says_what_the_run_says(summary: RunSummary) -> None:
    (row,) = read_back(summary)
    assert row["format_version"] == str(FORMAT_VERSION)
    for name in RUN_FIELDS:
        value = getattr(summary, name)
        expected = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        assert row[name] == expected, name
    assert (row["epoch_durations_s"], row["epoch_loss"], row["epoch_val_loss"]) == ("68.9 66.3", "1.5 -0.25", "")


def test_the_table_for_people_has_few_columns_and_round_numbers(summary: RunSummary) -> None:
    run = replace(
        summary, value=66.3456789, value_low=65.0, value_high=67.0, reasons="other_load spread", comment="=x"
    )
    (row,) = csv.DictReader(io.StringIO("".join(csv_of([run])), newline=""))
    assert list(row) == [sentence(code) for code, _ in COLUMNS]
    assert len(row) <= 16
    shown = {code: row[sentence(code)] for code, _ in COLUMNS}
    assert (shown["heading.result"], shown["heading.unit"], shown["heading.uncertainty_pct"]) == (
        "66.35",
        "s per epoch",
        "2.0",
    )
    assert shown["heading.cautions"] == ", ".join(sentence(f"plain.{code}") for code in ("other_load", "spread"))
    assert shown["heading.name"] == "'=x", "no formula"


@pytest.mark.parametrize(("form", "lines"), [("spreadsheet", 3), ("markdown", 4), ("bbcode", 5)])
def test_several_runs_can_be_posted(summary: RunSummary, form: str, lines: int) -> None:
    hostile = replace(summary, cpu_name="A|B [url]x[/url]\n*bold*", device="cpu")
    text = text_of([summary, hostile], form)
    assert len(text.splitlines()) == lines
    assert "CIFAR-10 CNN" in text
    assert {"markdown": r"A\|B", "bbcode": "(url)x(/url)", "spreadsheet": "A|B"}[form] in text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
@pytest.mark.parametrize("column", ["cpu_name", "device_name", "os_name", "error_message", "workload", "comment"])
def test_text_that_a_spreadsheet_would_run_is_neutralised(summary: RunSummary, column: str, start: str) -> None:
    text = f'{start}HYPERLINK("http://x")'
    change: dict[str, Any] = {"error_said": as_stored(text)} if column == "error_message" else {column: text}
    (row,) = read_back(replace(summary, **change))
    assert row[column][0] == "'"
    assert row[column].endswith('HYPERLINK("http://x")')


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_comes_back_from_a_csv_reader(summary: RunSummary, text: str) -> None:
    first, second = read_back(replace(summary, cpu_name=text, error_said=as_stored(text)), summary, private={})
    marked = "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text
    for cell in (first["cpu_name"], first["error_message"]):
        assert cell == marked.replace("\r\n", "\n").replace("\r", "\n")
    assert second["id"] == str(summary.id)


def test_json_holds_the_version_and_all_raw_durations(summary: RunSummary) -> None:
    document = json.loads("".join(json_lines([a_run(summary), a_run(replace(summary, id=8))], PRIVATE)))
    assert (document["format_version"], document["app_version"]) == (FORMAT_VERSION, app.__version__)
    first, second = document["runs"]
    assert (first["id"], second["id"]) == (7, 8)
    assert set(RUN_FIELDS) <= set(first)
    assert first["epoch_records"] == [
        {"t_s": 80.0, "index": 0, "duration_s": 68.9, "train_s": 68.1, "validation_s": None, "steps": None}
        | {"loss": 1.5, "accuracy": None, "val_loss": None, "val_accuracy": None}
        | {"cpu_energy_j": None, "gpu_energy_j": None}
    ]
    assert first["step_records"][0]["durations_s"] == [0.2, 0.1]
    assert first["step_records"][0]["t_s"] == 11.5
    (look,) = first["telemetry"]
    told = {name: value for name, value in look.items() if value is not None}
    assert told == {"t_s": 1.0, "cpu_pct": 50.0, "gpus": []}
    assert first["warnings"] == [{"code": "slow", "message": "in ~/x"}]


def test_json_holds_each_epochs_energy_but_not_the_number_of_the_machine(summary: RunSummary) -> None:
    samples = tuple(
        events.TelemetryEvent(t_s=float(t_s), telemetry=telemetry_of({"cpu_energy_j": 10.0 * t_s}))
        for t_s in range(90)
    )
    run = replace(
        a_run(summary),
        telemetry=samples,
        machine=replace(UNKNOWN_MACHINE, cpu_name="A CPU", machine_id="9f3b6a0c1d2e4f57"),
    )
    told = run_as_dict(run, {})
    assert told["epoch_records"][0]["cpu_energy_j"] == pytest.approx(689.0)
    assert told["machine"]["cpu_name"] == "A CPU"
    assert "machine_id" not in told["machine"]
    assert said("bottleneck.too_short").is_all_of(told["limit"])


def test_json_never_contains_nan(summary: RunSummary) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        list(json_lines([a_run(summary, metrics={"loss": float("nan")})], {}))


def test_home_and_user_are_hidden_in_both_formats(summary: RunSummary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/anna"))
    message = "/home/anna/data: full; then /media/anna and D:\\Users\\anna\\x and '/home/anna'."
    run = a_run(replace(summary, error_said=as_stored(message)))
    hidden = "~/data: full; then /media/user and D:\\Users\\user\\x and '~'."
    assert read_back(run.summary)[0]["error_message"] == hidden
    assert run_as_dict(run)["error_message"] == hidden
    assert "anna" not in "".join(json_lines([run]))


def test_the_programs_and_epochmarks_own_folders_are_hidden(
    summary: RunSummary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python"))
    monkeypatch.setattr(app, "__file__", str(tmp_path / "venv" / "site" / "app" / "__init__.py"))
    monkeypatch.setenv("EPOCHMARK_HOME", str(tmp_path / "kept"))
    places = ("venv/site/workloads/x.py", "venv/bin", "python/os.py", "kept/data/runs", "kept/cache/logs", "other")
    run = a_run(replace(summary, error_said=as_stored(" ".join(str(tmp_path / place) for place in places))))
    hidden = "<program>/workloads/x.py <python>/bin <python>/os.py <epochmark>/runs <epochmark>/logs ~/other"
    for message in (read_back(run.summary)[0]["error_message"], run_as_dict(run)["error_message"]):
        assert message.replace("\\", "/") == hidden


def test_json_names_the_bottleneck_that_the_window_names() -> None:
    run = recorded_run()
    shown = sure(explain(run))
    assert shown.code == "cpu_bound"
    (exported,) = json.loads("".join(json_lines([run], {})))["runs"]
    assert exported["limit"] == shown.text
    assert exported == json.loads(json.dumps(run_as_dict(run, {})))


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
