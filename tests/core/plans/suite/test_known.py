"""Scores of other computers: the rank among all that are drawn."""

import pytest

from app.core.messages import sentence
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.known import KnownScore
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.texts import rank_text
from app.core.plans.suite.uncertainty import Score
from app.core.records import Plan
from app.core.report.card import Figure
from app.core.runs.runner import Runner
from tests.build import suite_report
from tests.core.plans.suite.conftest import Store


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_suite(runner, "tensorflow", "cpu")


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
