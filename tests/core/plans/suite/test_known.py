"""Scores of other computers: the rank among all that are drawn, and suites that come as codes."""

from typing import Any

import pytest

from app.core.exchange.importing import Outcome, import_text
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.known import KnownScore, imported_scores
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.score import SuiteResult
from app.core.plans.suite.short_form import suite_form
from app.core.plans.suite.texts import rank_text
from app.core.plans.suite.uncertainty import Score
from app.core.records import Plan, Suite
from app.core.report.card import Figure
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results, remove_result
from app.core.storage.runs import delete_runs
from tests.build import load_suite, set_fields, suite_report
from tests.core.plans.suite.conftest import Send, Store
from tests.saying import said
from tests.sure import sure


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_suite(runner, "tensorflow", "cpu")


def test_a_suite_stands_beside_the_others_of_its_kind(
    store: Store, plan: Plan, database: Database, paths: Paths
) -> None:
    first, second = store(plan), store(plan)
    beside = suite_report(first).with_details(database, paths).others
    assert [each.group.id for each in sure(beside)] == [second.group.id]


def test_the_rank_counts_only_what_is_drawn_and_is_honest_about_few(plan: Plan, store: Store) -> None:
    result = store(plan, {part.workload: 2.0 for part in SUITE_1.parts})
    alone = suite_report(result, others=())
    assert alone.notes()[-1] == sentence("suite_page.step_2")
    assert [figure.name for figure in alone.figures()] == [
        sentence("suite.parts"),
        sentence("suite.known_computers"),
    ]
    faster, slower = (KnownScore(1, "PC", "JAX", Score(points), "valid") for points in (4_000.0, 500.0))
    report = suite_report(result, others=(), elsewhere=(slower, faster, slower))
    rank = sentence("suite.rank", rank=2, count=5)
    assert report.notes()[0] == sentence("suite.rank_sentence", rank=rank)
    places = report.figures()[0]
    assert len(places.rows) == 5
    assert places.rows[1] == sentence("compare.you")
    marked = [spot is not None and spot.is_marked for spot in places.series[0].spots]
    assert marked == [False, True, False, False, False]
    assert report.card(0).place == rank
    assert report.card(1).notes == alone.card(0).notes, "no rank without its chart"
    assert rank_text(store(plan, {"gpt_mini": "crashed"}), (faster,)) == ""


@pytest.mark.parametrize(("better", "worse", "place"), [(0, 30, 0), (30, 0, 8), (15, 15, 5), (1, 2, 1)])
def test_a_picture_has_room_for_the_scores_nearest_to_ones_own(
    plan: Plan, store: Store, better: int, worse: int, place: int
) -> None:
    speeds = [*range(2, 2 + better), *(0.9 / number for number in range(1, 1 + worse))]
    known = [KnownScore(1, f"PC {speed}", "JAX", Score(1_001.0 * speed), "valid") for speed in speeds]
    result = store(plan, {part.workload: 1.001 for part in SUITE_1.parts})
    report = suite_report(result, others=(), elsewhere=known)
    chart = report.card(0).chart
    assert isinstance(chart, Figure)
    assert len(report.figures()[0].rows) == better + worse + 2
    assert len(chart.rows) == len(chart.series[0].spots) == min(10, better + worse + 2)
    assert chart.rows.index(sentence("compare.you")) == place
    whole = report.figures()[0].rows
    assert "|".join(chart.rows) in "|".join(whole), "in the same order, and nothing between is left out"


SPEEDS = {part.workload: 1.0123456789 + number / 7 for number, part in enumerate(SUITE_1.parts)}
CARD = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 5070", "settings": "tf32=off"}


@pytest.fixture(params=["cpu", "gpu:0"])
def result(store: Store, request: pytest.FixtureRequest, database: Database) -> SuiteResult:
    on_card = request.param != "cpu"
    specs = tuple(
        part.spec(engine="tensorflow", device=request.param, without_tf32=on_card) for part in SUITE_1.parts
    )
    plan = Plan(kind="suite", specs=specs, rounds=2, suite=Suite(number=1))
    columns: dict[str, Any] = CARD if on_card else {}
    group_id = store(plan, SPEEDS, engine_version="2.21.0", data_source="synthetic", **columns).group.id
    set_fields(
        database, "id > 8", **dict.fromkeys(("value", "value_low", "value_high"), lambda value: value * 1.01)
    )
    return load_suite(database, group_id)


def type_in(database: Database, result: SuiteResult) -> Outcome:
    outcome = import_text(database, suite_form(result))
    assert outcome.refusal is None
    return outcome


def ids(result: SuiteResult) -> list[int]:
    return [run.id for run in result.runs]


def only_score(database: Database) -> KnownScore:
    (score,) = imported_scores(database)
    return score


def test_a_code_is_a_score_and_again_it_is_nothing_new(elsewhere: Database, result: SuiteResult) -> None:
    first = type_in(elsewhere, result).added
    assert len(first.imported) == 16
    again = type_in(elsewhere, result).added
    assert (again.imported, again.duplicates) == ((), first.imported)
    assert only_score(elsewhere).score.points == pytest.approx(sure(result.total).points, rel=1e-5)
    assert only_score(elsewhere).score.low is None


def test_the_file_takes_the_place_of_the_code(elsewhere: Database, result: SuiteResult, send: Send) -> None:
    type_in(elsewhere, result)
    send(ids(result), "suite.json")
    assert [each.source for each in list_results(elsewhere)] == ["suite.json"] * 16
    assert only_score(elsewhere).score == result.total
    assert len(type_in(elsewhere, result).added.duplicates) == 16
    assert len(list_results(elsewhere)) == 16


def test_ones_own_suite_is_recognised(database: Database, result: SuiteResult) -> None:
    added = type_in(database, result).added
    assert (added.imported, sorted(added.own_runs)) == ((), sorted(ids(result)))
    assert imported_scores(database) == []
    delete_runs(database, ids(result)[:1])
    added = type_in(database, result).added
    assert (added.imported, sorted(added.own_runs)) == ((), sorted(ids(result)[1:]))


@pytest.mark.parametrize("first", ["file", "code"])
def test_a_suite_of_which_a_result_was_removed_is_still_one(
    elsewhere: Database, result: SuiteResult, send: Send, first: str
) -> None:
    if first == "file":
        send(ids(result), "suite.json")
    else:
        type_in(elsewhere, result)
    remove_result(elsewhere, list_results(elsewhere)[0].id)
    added = type_in(elsewhere, result).added
    assert len(added.duplicates) == 15
    if first == "code":
        assert (len(added.imported), len(list_results(elsewhere))) == (1, 16)
        remove_result(elsewhere, list_results(elsewhere)[0].id)
        send(ids(result), "suite.json")
        assert [each.source for each in list_results(elsewhere)] == ["suite.json"] * 16
    assert len(imported_scores(elsewhere)) == 1


def test_the_code_after_the_second_round_adds_to_the_first_ones(
    database: Database, elsewhere: Database, result: SuiteResult
) -> None:
    set_fields(database, "id > 8", status="interrupted")
    after_one = load_suite(database, result.group.id)
    assert len(type_in(elsewhere, after_one).added.imported) == 8
    added = type_in(elsewhere, result).added
    assert (len(added.duplicates), len(added.imported)) == (8, 8)
    assert only_score(elsewhere).score.points == pytest.approx(sure(result.total).points, rel=1e-5)
    assert len(type_in(elsewhere, after_one).added.duplicates) == 8


@pytest.mark.parametrize("first", ["file", "code"])
def test_another_result_of_the_same_plan_is_refused(
    database: Database, elsewhere: Database, result: SuiteResult, send: Send, first: str
) -> None:
    if first == "file":
        send(ids(result), "suite.json")
    else:
        type_in(elsewhere, result)
    set_fields(database, value=lambda value: value * 1.0001)
    outcome = import_text(elsewhere, suite_form(load_suite(database, result.group.id)))
    assert outcome.refusal is not None
    assert said("exchange.other_content").is_in(str(outcome.refusal))
    assert len(list_results(elsewhere)) == 16


def test_two_suites_in_one_file_take_the_places_of_both_codes(
    database: Database, elsewhere: Database, result: SuiteResult, store: Store, send: Send
) -> None:
    plan = result.group.plan
    columns: dict[str, Any] = CARD if result.runs[0].device != "cpu" else {}
    second = store(
        plan, dict.fromkeys(SPEEDS, 3.00000123), engine_version="2.21.0", data_source="synthetic", **columns
    )
    type_in(elsewhere, result)
    type_in(elsewhere, second)
    assert len(imported_scores(elsewhere)) == 2
    send(ids(result) + ids(second), "all.json")
    assert len(list_results(elsewhere)) == 32
    assert {each.source for each in list_results(elsewhere)} == {"all.json"}
