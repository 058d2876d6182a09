"""How far off a score may be: what each part has by itself, and what all parts have in common."""

import math
import random
from collections.abc import Sequence

import pytest

from app.core.analysis.shared_host import BETWEEN_RUNS_PCT
from app.core.plans.suite.uncertainty import Score, hull, mean_of_rounds
from tests.conftest import ROOT
from tests.sure import sure

PARTS = 8


def part(points: float, half: float = 0.003) -> Score:
    return Score(points, points * math.exp(-half), points * math.exp(half))


def suite(together: Sequence[float], alone: float, chance: random.Random, shared: float = 0.0) -> Score:
    """Return a score whose true value is 1,000: rounds that are so far off, parts that are off by chance."""
    rounds = [[1_000 * math.exp(common + chance.gauss(0, alone)) for common in together] for _ in range(PARTS)]
    scores = [hull([part(points) for points in each]) for each in rounds]
    return mean_of_rounds(scores, rounds, shared)


def held(common: float, alone: float, shared: float = 0.0, suites: int = 2_000) -> float:
    """Return how often the interval holds the true score, if so much differs between rounds and runs."""
    chance, times = random.Random(7), 0
    for _ in range(suites):
        mean = suite([chance.gauss(0, common), chance.gauss(0, common)], alone, chance, shared)
        times += sure(mean.low) <= 1_000 <= sure(mean.high)
    return times / suites


@pytest.mark.parametrize(
    ("common", "share"), [(0.0, 0.93), (0.005, 0.93), (0.01, 0.93), (0.02, 0.85), (0.08, 0.85)]
)
@pytest.mark.parametrize("alone", [0.002, 0.03])
def test_the_interval_holds_the_true_score_whether_parts_change_alike_or_not(
    common: float, share: float, alone: float
) -> None:
    """Runs on a computer of one's own usually vary by less than a percent."""
    assert held(common, alone) > share


def test_two_rounds_that_differ_a_little_are_no_reason_for_caution() -> None:
    mean = mean_of_rounds([part(1_000.0)] * PARTS, [[1_007.5, 992.5]] * PARTS, shared=0.0)
    assert 1.0 < sure(mean.half_pct) < 3.0


def test_on_a_shared_host_what_was_measured_between_runs_keeps_the_interval_from_chance() -> None:
    assert held(BETWEEN_RUNS_PCT / 100, 0.01, shared=1.0) > 0.95
    chance = random.Random(7)
    alike, apart = (suite(together, 0.0, chance, shared=1.0) for together in ((0.0, 0.0), (-0.04, 0.04)))
    assert sure(alike.high) / alike.points > 1.05, "two rounds alike by chance promise nothing"
    own = suite((-0.04, 0.04), 0.0, chance)
    assert sure(alike.high) < sure(apart.high) < sure(own.high), "nor does one difference say all"


def test_the_figures_in_the_docs_are_what_is_computed() -> None:
    docs = " ".join((ROOT / "docs" / "suite.md").read_text(encoding="utf-8").split())
    for rounds, shared, text in (
        ([1_000.0, 1_010.0], 0.0, "by 1 % give an interval of ± {:.1f} %"),
        ([1_000.0] * 2, 1.0, "never narrower than ± {:.0f} %"),
    ):
        exact = [Score(points, points, points) for points in rounds]
        mean = mean_of_rounds([hull(exact[:1])], [rounds], shared)
        assert text.format(100 * (sure(mean.high) / mean.points - 1)) in docs


def test_a_part_without_an_interval_leaves_the_mean_without_one() -> None:
    mean = mean_of_rounds([part(100.0), Score(400.0)], [[100.0, 100.0], [400.0, 400.0]], 0.0)
    assert (mean.low, mean.high) == (None, None)
    assert mean.points == pytest.approx(200.0)


def test_a_parts_interval_reaches_over_all_its_runs() -> None:
    both = hull([part(900.0), part(1_100.0)])
    assert both.points == pytest.approx(math.sqrt(900 * 1_100))
    assert (both.low, both.high) == (part(900.0).low, part(1_100.0).high)
