"""Imported results: kept apart, recognised when they come again, and removed without a trace."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.analysis.bars import Bar, bars
from app.core.analysis.own_runs import best_and_latest, runs_like
from app.core.analysis.position import position
from app.core.analysis.provenance import provenance
from app.core.errors import UsageError
from app.core.exchange.preview import without
from app.core.external_results import ImportedResult
from app.core.messages import sentence
from app.core.plans.suite.score import list_suites
from app.core.records import RunSummary
from app.core.report.export import FORMATS
from app.core.report.formats.result_document import results_of
from app.core.result_file.canonical import UnfitError, sealed, without_durations
from app.core.result_file.identity import uid_of
from app.core.result_file.record import Result
from app.core.result_file.short_form import read_short_form, short_form
from app.core.result_file.summary import summary_of
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.imported_results import add_results, list_results, load_result, remove_result
from app.core.storage.past_runs import past_runs
from app.core.storage.queries import Query, expected_duration_s, find_history, find_ids, own_runs, trash_runs
from app.core.storage.runs import all_ids, load_run, peak_share
from app.core.titles import level_title
from tests.broken import make_results
from tests.build import golden, named
from tests.recording import as_preset, recorded_events, store_recording
from tests.saying import said
from workloads.protocol.machine import Machine


def other(number: int = 2, **spec: object) -> Result:
    result = golden()[number]
    return sealed(msgspec.structs.replace(result, spec=msgspec.structs.replace(result.spec, **spec)))


def test_results_are_stored_listed_and_removed(database: Database) -> None:
    added = add_results(database, golden(), "lab \u202e.json")
    assert (added.imported, added.duplicates, added.own_runs) == ((1, 2, 3, 4), (), ())
    listed = list_results(database)
    assert [(result.id, result.label) for result in listed] == [(n, "EPYC") for n in (4, 3, 2, 1)]
    assert listed[0].source == "lab \\u202e.json"
    assert [result.id for result in list_results(database, "mnist_mlp")] == [3, 1]
    assert [result.id for result in list_results(database, "mnist_mlp", 1)] == [3]
    assert load_result(database, 3) == without_durations(golden()[2])
    remove_result(database, 3)
    assert [result.id for result in list_results(database)] == [4, 2, 1]
    for refused in (remove_result, load_result):
        with pytest.raises(UsageError, match=said("imports.unknown", number="3").pattern):
            refused(database, 3)


def changed(result: Result, **sections: dict[str, Any]) -> Result:
    """Return a result with other values in some of its sections, and a digest that fits."""
    parts = {name: msgspec.structs.replace(getattr(result, name), **values) for name, values in sections.items()}
    return sealed(msgspec.structs.replace(result, **parts))


def test_what_comes_again_is_recognised_also_in_another_form(database: Database) -> None:
    again = without_durations(named()[2])
    poorer = sealed(msgspec.structs.replace(again, steps=None, telemetry=None, epochs=None))
    undated = sealed(msgspec.structs.replace(again, started_at=None, finished_at=None, comment="Another name"))
    code = read_short_form(short_form(again))
    assert add_results(database, [named()[2]], "a").imported == (1,)
    assert add_results(database, [again, poorer, undated], "b").duplicates == (1,)
    assert add_results(database, [code], "c").duplicates == (1,)


@pytest.mark.parametrize("left_out", [None, "cpu", "date"])
def test_a_file_takes_the_place_of_what_its_code_told(database: Database, left_out: str | None) -> None:
    whole = named()[2]
    code = read_short_form(short_form(whole if left_out is None else without(whole, [left_out])))
    assert add_results(database, [code], "typed").imported == (1,)
    assert add_results(database, [named()[1]], "another").imported == (2,)
    added = add_results(database, [whole], "whole.json")
    assert (added.imported, added.upgraded) == ((), (1,))
    assert load_result(database, 1) == without_durations(whole)
    assert [(each.id, each.source) for each in list_results(database)] == [(2, "another"), (1, "whole.json")]
    assert add_results(database, [code], "typed").duplicates == (1,)
    assert len(list_results(database)) == 2


@pytest.mark.parametrize(
    "sections",
    [
        {"statistics": {"value": 2.281}},
        {"statistics": {"low": 2.19}},
        {"machine": {"cpu_name": "Another CPU"}},
        {"spec": {"batch_size": 64}},
    ],
    ids=str,
)
def test_the_same_uid_with_other_content_is_refused(
    database: Database, sections: dict[str, dict[str, Any]]
) -> None:
    first = msgspec.structs.replace(named()[2], epochs=None)
    whole = changed(first, statistics={"low": 2.2, "high": 2.35, "confidence_pct": 95.0})
    other_one = changed(whole, **sections)
    code = read_short_form(short_form(whole))
    add_results(database, [whole], "first")
    with pytest.raises(UnfitError) as refused:
        add_results(database, [named()[1], other_one], "second")
    assert refused.value.problem.code == "exchange.other_content"
    assert refused.value.problem.arguments["uid"] == whole.uid
    assert [each.source for each in list_results(database)] == ["first"], "nothing of the file is taken"
    if "value" in sections.get("statistics", {}) or "spec" in sections:
        with pytest.raises(UnfitError):
            add_results(database, [read_short_form(short_form(other_one))], "typed")
    assert add_results(database, [code], "typed").duplicates == (1,)


def test_own_runs_are_recognised_in_every_form(database: Database) -> None:
    run_id = store_recording(database, as_preset(recorded_events(), "quick"))
    (result,) = results_of(database, [run_id])
    code = read_short_form(short_form(result))
    undated = sealed(msgspec.structs.replace(result, started_at=None, finished_at=None))
    old = sealed(msgspec.structs.replace(result, uid=None))  # as a version without uids wrote it
    for form in (result, code, undated, old):
        assert add_results(database, [form], "mine").own_runs == (run_id,)
    for form in (
        changed(result, statistics={"value": result.statistics.value * 1.01}),
        changed(code, spec={"batch_size": 7}),
    ):
        with pytest.raises(UnfitError):
            add_results(database, [form], "forged")
    assert list_results(database) == []
    trash_runs(database, [run_id])
    assert add_results(database, [result], "mine").imported == (1,)


@pytest.mark.slow
def test_nothing_of_them_is_among_the_users_own(database: Database, machine: Machine) -> None:
    make_results(database, machine)
    database.connection.execute("DELETE FROM imported")

    # A run on the computer of the file with the peak, so that nothing but its place keeps it apart.
    mine = store_recording(database, as_preset(recorded_events(), "quick"))
    plan = load_run(database, mine).spec
    assert plan.workload == "cifar10_keras_cnn"
    theirs = [*golden(), other(workload=plan.workload)]

    def own() -> dict[str, object]:
        run = load_run(database, mine)
        runs = own_runs(database, plan.workload, 10)
        return {
            "runs": all_ids(database),
            "history": find_history(database, Query()),
            "found by words": find_ids(database, Query(text="epyc")),
            "statistics": own_runs(database, "mnist_mlp", 10),
            "best and latest": best_and_latest(runs),
            "like it": runs_like(runs, run.spec, run.summary.device, run.summary.cpu_name),
            "trend": [past_runs(database, name) for name in (plan.workload, "mnist_mlp", "matmul")],
            "peak": peak_share(database, run),
            "estimate": expected_duration_s(database, run.spec, run.machine),
            "A/B, studies and other groups": list_groups(database),
            "suites": list_suites(database),
            **{name: "".join(export.lines(database, [])) for name, export in FORMATS.items()},
        }

    before = own()
    assert len(add_results(database, theirs, "others.json").imported) == 5
    after = own()
    assert {name: after[name] for name in before if after[name] != before[name]} == {}


def imported(result: Result, number: int = 5) -> ImportedResult:
    names = {"uid": uid_of(result), "digest": result.digest or "", "label": "EPYC", "source": "x.png"}
    moment = "2026-11-23T00:00:00Z"
    return ImportedResult(id=number, plan_uid=None, imported_at=moment, summary=summary_of(result), **names)


def drawn(run: RunSummary | None, *results: Result) -> list[Bar]:
    shown = bars("mnist_mlp", run, imported=[imported(each, 5 + n) for n, each in enumerate(results)])
    return [bar for bar in shown if bar.kind == "imported"]


@pytest.fixture
def mine(summary: RunSummary) -> RunSummary:
    return replace(summary, workload="mnist_mlp", batch_size=128, samples_per_epoch=60_000, steps_per_epoch=469)


def test_a_bar_says_that_it_is_imported_and_under_which_conditions(mine: RunSummary) -> None:
    (bar,) = drawn(mine, other())
    assert (bar.name, bar.value) == ("EPYC (x)", golden()[2].statistics.value)
    assert bar.remarks[:3] == (sentence("compare.imported_result"), "TensorFlow 2.21.0", level_title("valid"))
    assert sentence("setting_value.data_synthetic") in bar.remarks
    rows = dict(provenance(bar))
    assert rows[sentence("provenance.from")] == sentence(
        "provenance.imported", number="5", source="x.png", date="2026-11-23"
    )
    assert rows[sentence("heading.uid")] == uid_of(other())
    assert drawn(None, other())[0].remarks[:2] == bar.remarks[:2]


@pytest.mark.parametrize(
    "changes", [{"batch_size": 64}, {"precision": "mixed_float16"}, {"workload_version": 9}, {"variant": "x=1"}]
)
def test_what_does_not_compare_is_not_drawn_beside_a_run(mine: RunSummary, changes: dict[str, object]) -> None:
    assert drawn(mine, other())
    assert not drawn(mine, other(**changes))  # type: ignore[arg-type]
    assert not drawn(None, other(workload="mnist_cnn"))


def test_two_of_one_name_have_their_numbers_and_neither_counts_in_the_rank(mine: RunSummary) -> None:
    two = drawn(mine, other(), other(seed=3))
    names = {sentence("compare.imported_numbered", name="EPYC (x)", number=number) for number in (5, 6)}
    assert {bar.name for bar in two} == names
    with_them = bars("mnist_mlp", mine, imported=[imported(other())])
    assert position(mine, chart=with_them) == position(mine)
