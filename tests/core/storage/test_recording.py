"""Runs whose stored record is broken: shown as such, and no other run suffers."""

import json
import re

import pytest

from app.core.analysis.headline import Measured, headline_of
from app.core.records import Headline
from app.core.redaction.private_texts import table_private_texts
from app.core.report.formats.csv_table import csv_lines
from app.core.report.formats.json_document import json_lines
from app.core.report.run_texts import result_text
from app.core.storage import outcomes
from app.core.storage.database import Database
from app.core.storage.groups import specs_of
from app.core.storage.outcomes import recover_runs
from app.core.storage.queries import expected_duration_s, set_comment
from app.core.storage.recording import RunGoneError, RunWriter
from app.core.storage.runs import delete_runs, list_runs, load_run, load_runs, rows_for_export
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import judge
from tests.build import begin, block, record, set_fields, store
from tests.saying import said
from workloads.protocol import events
from workloads.protocol.machine import Machine


@pytest.mark.parametrize("preset", ["standard", "quick"])
@pytest.mark.parametrize("workload", ["cifar10_keras_cnn", "fcn_s", "resnet_50_s"])
@pytest.mark.parametrize("durations_s", [(0.0,) * 40, (0.0,), ()])
def test_steps_that_the_clock_was_too_coarse_for_have_no_headline(
    database: Database, machine: Machine, workload: str, preset: str, durations_s: tuple[float, ...]
) -> None:
    steps = [block(seq=1), block(*durations_s, seq=2), block(*durations_s, seq=3, epoch=1)]
    rest = events.Metric(key="epoch_rest_s", value=0.0)
    run = load_run(database, record(database, machine, *steps, rest, workload=workload, preset=preset))
    assert (run.summary.status, run.summary.error_code, run.summary.value) == ("completed", None, None)
    assert judge(run).level != "valid"
    assert result_text(JudgedRun(run))


def test_a_record_that_cannot_be_summarised_is_stored_with_a_code(
    database: Database, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = begin(database, machine), begin(database, machine)
    set_fields(database, owner="{}")

    asked: list[Measured] = []

    def fail_once(measured: Measured) -> Headline:
        asked.append(measured)
        if len(asked) == 1:
            raise OverflowError
        return headline_of(measured)

    monkeypatch.setattr(outcomes, "headline_of", fail_once)
    assert recover_runs(database) == [broken, sound]
    first, second = (load_run(database, run_id) for run_id in (broken, sound))
    assert (first.summary.status, first.summary.error_code) == ("interrupted", "not_summarised")
    assert first.summary.verdict == "invalid"
    assert "not_summarised" in [reason.code for reason in judge(first).reasons]
    assert second.summary.error_code is None
    delete_runs(database, [broken])
    assert [run.id for run in list_runs(database)] == [sound]


def test_unreadable_parts_are_named_and_exported_as_stored(database: Database, machine: Machine) -> None:
    run_id = store(database, machine, 3.0, 2.0, 2.0)
    connection = database.connection
    connection.execute("UPDATE epochs SET loss = 'half of it' WHERE idx = 1")
    set_fields(database, environment='{"engine": ', spread_pct="much", comment=7)
    (summary,) = list_runs(database)
    run = load_run(database, run_id)
    exported = json.loads("".join(json_lines(load_runs(database, [run_id]), {})))["runs"][0]
    table = "".join(csv_lines(rows_for_export(database), table_private_texts(database)))
    assert (summary.status, summary.error_code, summary.verdict) == ("damaged", "damaged_record", "invalid")
    assert said("note.damaged", parts="its summary (spread_pct, comment)").is_all_of(summary.error_message)
    assert summary.value == 2.0
    assert run.damage == ("its summary (spread_pct, comment)", "the engine", "1 of 3 epochs")
    assert [epoch.index for epoch in run.epochs] == [0, 2]
    assert judge(run).reasons[0].code == "damaged_record"
    assert exported["damage"] == list(run.damage)
    assert exported["raw"]["runs"][0]["environment"] == '"{\\"engine\\": "'
    assert exported["raw"]["epochs"][1]["loss"] == "half of it"
    assert "damaged_record" in table


def test_events_of_a_run_that_is_gone_are_not_lost(database: Database, machine: Machine) -> None:
    run_id = begin(database, machine)
    writer = RunWriter(database, run_id)
    database.connection.execute("DELETE FROM runs")
    writer.add(events.Epoch(index=0, duration_s=2.0, train_s=1.0))
    with pytest.raises(RunGoneError, match=said("runs.gone", run_id=run_id).pattern):
        writer.finish("completed", None)
    assert [event.type for event in writer.unsaved()] == ["epoch"]


def test_what_a_newer_version_stored_survives_a_change_and_is_exported(
    database: Database, machine: Machine
) -> None:
    run_id = store(database, machine, 3.0, 2.0)
    fan = {"fan_pct": 41.5, "note": "in /home/anna/x"}
    set_fields(database, **fan)
    (environment,) = database.connection.execute("SELECT json_extract(record, '$.spec') FROM runs").fetchone()
    set_fields(database, spec=json.loads(environment) | {"newer": [1]})
    set_comment(database, run_id, "a name")
    run = load_run(database, run_id)
    assert (run.summary.comment, run.damage) == ("a name", ())
    exported = json.loads("".join(json_lines([run], {"/home/anna": "~"})))["runs"][0]
    assert (exported["fan_pct"], exported["note"], exported["spec"]["newer"]) == (41.5, "in ~/x", [1])


@pytest.mark.parametrize("document", ["summary", "record"])
def test_a_document_that_is_no_json_hides_no_other_run(
    database: Database, machine: Machine, document: str
) -> None:
    broken, sound = (store(database, machine, 3.0, 2.0) for _ in range(2))
    connection = database.connection
    # As a damaged file has it: written without the columns that are made of it.
    (schema,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'runs'").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    plain = re.sub(r" AS \(json_extract\([^)]*\)\) STORED", "", schema)
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'runs'", (plain,))
    with Database(database.path) as other:
        other.connection.execute(f"UPDATE runs SET {document} = '{{\"a' WHERE id = ?", (broken,))
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'runs'", (schema,))
    with Database(database.path) as again:
        assert [run.id for run in list_runs(again)] == [sound, broken]
        assert load_run(again, broken).summary.status == "damaged" or document == "record"
        assert load_run(again, broken).damage
        assert load_run(again, sound).damage == ()
        assert expected_duration_s(again, load_run(again, sound).spec, machine) is not None
        assert set(specs_of(again, [broken, sound])) >= {sound}
        assert table_private_texts(again) is not None
        delete_runs(again, [broken])
