"""The order of A/B tests and engine comparisons: random, and fair to a job in step with the runs."""

import math
import random

import msgspec
import pytest

from app.core.analysis.ab import compare_pairs
from app.core.plans.ab import ab_plan
from app.core.plans.engines import engines_plan
from app.core.records import Plan
from workloads.protocol import typed
from workloads.protocol.spec import RunSpec

SPECS = RunSpec(workload="demo"), RunSpec(workload="demo", batch_size=7)


@pytest.fixture(autouse=True)
def repeatable() -> None:
    random.seed(19)


def sides_of(plan: Plan) -> str:
    return "".join(planned.side or "" for planned in plan.runs())


def test_each_two_pairs_have_a_random_order_that_the_plan_keeps() -> None:
    plans = [ab_plan(SPECS, 7, ("A", "B")) for _ in range(20)]
    orders = {sides_of(plan) for plan in plans}
    assert len(orders) > 1
    blocks = {order[place : place + 4] for order in orders for place in (0, 4, 8)}
    assert blocks == {"ABBA", "BAAB"}
    for plan in plans:
        assert sides_of(typed.decode(msgspec.json.encode(plan), Plan)) == sides_of(plan)
    assert sides_of(ab_plan(SPECS, 3, ("A", "B"), by_hand=True)) == "ABBAAB"
    engines = engines_plan(SPECS, 4).runs()
    assert sorted(planned.spec.batch_size for planned in engines[:2]) == sorted(spec.batch_size for spec in SPECS)
    assert [planned.spec for planned in engines[2:4]] == [planned.spec for planned in engines[1::-1]]


@pytest.mark.parametrize("pairs", [3, 5, 8, 10])
@pytest.mark.parametrize("slow", [1.02, 1.1, 2.0])
def test_a_job_in_step_gives_no_false_differences(pairs: int, slow: float) -> None:
    """Runs of equal sides vary by 1 %, and each second to eighth one is slower."""
    shown = []
    for _ in range(8):
        order = sides_of(ab_plan((SPECS[0], SPECS[0]), pairs, ("A", "B")))
        for period in range(2, 9):
            for first in range(period):
                values: dict[str, list[float | None]] = {"A": [], "B": []}
                for place, side in enumerate(order):
                    noise = math.exp(random.gauss(0, 0.01))
                    values[side].append(noise * (slow if place % period == first else 1))
                shown.append(compare_pairs(values["A"], values["B"], is_rate=False).is_shown)
    assert sum(shown) / len(shown) <= 0.06
