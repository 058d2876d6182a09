"""A run among the user's own: against the best and the last, and what changed on the machine."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.trend import against_one_device, against_own, machine_changes, trend_of
from app.core.messages import Message, message, sentence, text
from app.core.records import PastRun, RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from tests.build import store
from tests.conftest import MACHINE
from tests.saying import said


@pytest.fixture
def run(database: Database) -> RunSummary:
    """A valid run of 50 s an epoch on the CPU, without an interval."""
    columns = {
        "verdict": "valid",
        "device": "cpu",
        "engine_version": "2.21.0",
        "started_at": "2026-11-05T10:00:00Z",
    }
    run = next(list_runs(database, ids=[store(database, MACHINE, 50.0, 50.0, 50.0, columns=columns)]))
    return replace(run, id=10, value_low=None, value_high=None)


def other(run: RunSummary, run_id: int, value: float, **changes: Any) -> RunSummary:
    return replace(run, id=run_id, value=value, started_at=f"2026-10-{run_id:02}T10:00:00Z", **changes)


def which(run_id: int, value: str) -> Message:
    return message("trend.earlier", value=value, run_id=run_id, date=f"2026-10-{run_id:02}")


def by(pct: float) -> Message:
    return message("trend.faster" if pct > 0 else "trend.slower", by_pct=abs(pct))


def times(factor: float) -> Message:
    return message("trend.times", times=factor)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], []),
        ([(3, 40.0), (7, 55.0)], [("against_best", by(-20), 3), ("against_last", by(10), 7)]),
        ([(3, 55.0), (7, 40.0)], [("against_best", by(-20), 7)]),
        ([(3, 55.0)], [("is_best", by(10), 3)]),
        ([(3, 55.0), (7, 60.0)], [("is_best", by(10), 3), ("against_last", by(20), 7)]),
        ([(20, 20.0)], [("against_best", times(0.4), 20)]),
        ([(3, 150.0)], [("is_best", times(3), 3)]),
        ([(3, 50.1)], [("against_last", message("trend.level"), 3)]),
    ],
)
def test_against_the_best_and_the_last(
    run: RunSummary, others: list[tuple[int, float]], expected: list[tuple[str, Message, int]]
) -> None:
    values = {run_id: f"{value:.1f}" if value < 100 else f"{value:.0f}" for run_id, value in others}
    parts = [
        sentence(f"trend.{code}", how=how, which=run_id and which(run_id, values[run_id]))
        for code, how, run_id in expected
    ]
    line = against_own(run, [run, *(other(run, *each) for each in others)])
    assert line == " · ".join(parts)


@pytest.mark.parametrize(
    ("value", "interval", "code", "how"),
    [
        (55.0, (53.0, 57.0), "is_best", by(10)),
        (55.0, (51.0, 59.0), "against_last", message("trend.unclear")),
        (45.0, (41.0, 49.0), "against_best", message("trend.unclear")),
        (49.9, (49.0, 51.0), "against_best", message("trend.level")),
    ],
)
def test_what_intervals_can_not_tell_apart_is_not_clearly_faster(
    value: float, interval: tuple[float, float], code: str, how: Message, run: RunSummary
) -> None:
    wide = replace(run, value_low=48.0, value_high=52.0)
    past = other(run, 3, value, value_low=interval[0], value_high=interval[1])
    line = sentence(f"trend.{code}", how=how, which=which(3, str(value)))
    assert against_own(wide, [past]) == line


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 32},
        {"precision": "mixed_float16"},
        {"engine": "torch"},
        {"device": "gpu:0"},
        {"threads": 1},
        {"jit": True},
        {"workload_version": 99},
        {"variant": "lstm=fused"},
        {"status": "cancelled"},
        {"verdict": "invalid"},
    ],
)
def test_only_the_same_work_done_alike_counts(run: RunSummary, changes: dict[str, Any]) -> None:
    assert against_own(run, [other(run, 3, 40.0, **changes)]) == ""
    assert against_own(run, [other(run, 3, 40.0)])


def test_a_run_without_a_result_that_counts_says_nothing(run: RunSummary) -> None:
    for changes in ({"status": "failed"}, {"value": None}, {"verdict": "invalid"}):
        trend = trend_of(replace(run, **changes), [PastRun(run=other(run, 3, 40.0))])
        assert trend.line == ""
        assert len(trend.points) == 1
    assert said("trend.nothing").begins(trend_of(replace(run, value=None), []).sentence())


def test_a_trend_marks_where_the_machine_changed(run: RunSummary) -> None:
    past = [
        PastRun(run=other(run, 9, 40.0), gpu_driver="570.1", power_plan="performance", on_battery=False),
        PastRun(run=other(run, 3, 60.0, engine_version="2.20.0"), gpu_driver="560.2", power_plan="balanced"),
        PastRun(run=other(run, 5, 58.0), gpu_driver=None, power_plan="balanced", on_battery=True),
        PastRun(run=other(run, 7, 70.0, batch_size=32), gpu_driver="1"),
    ]
    trend = trend_of(run, past)
    assert [point.run.id for point in trend.points] == [3, 5, 9]
    engine = message("trend.other_engine", engine="TensorFlow", before="2.20.0", now="2.21.0")
    plan = message("trend.other_power_plan", before="balanced", now="performance")
    plugged = message("part.on_mains")
    assert trend.change_lines() == [
        sentence("trend.changes", number=1, date="2026-10-05", run_id=5, changes=[engine]),
        sentence("trend.changes", number=2, date="2026-10-09", run_id=9, changes=[plan, plugged]),
    ]
    figures = {"count": 3, "first": "2026-10-03", "last": "2026-10-09", "low": "40.0", "high": "60.0"}
    described = sentence("trend.described", unit="s per epoch", **figures)
    assert trend.sentence() == " ".join((described, *trend.change_lines()))


def test_each_part_of_the_machine_that_changes_is_named(run: RunSummary) -> None:
    before = PastRun(
        run=run, gpu_driver="560.2", kernel="6.1", bios_version="F12", power_plan="balanced", on_battery=False
    )
    plan = message("trend.other_power_plan", before="balanced", now="performance")
    for changes, expected in (
        ({"gpu_driver": "570.1"}, sentence("trend.other_driver", before="560.2", now="570.1")),
        ({"kernel": "6.2"}, sentence("trend.other_kernel", before="6.1", now="6.2")),
        ({"bios_version": "F14"}, sentence("trend.other_bios", before="F12", now="F14")),
        ({"power_plan": "performance"}, text(plan)),
        ({"on_battery": True}, sentence("part.on_battery")),
        ({"run": replace(run, cpu_name="Other CPU")}, sentence("trend.other", before="Test CPU", now="Other CPU")),
        ({"run": replace(run, os_name="Test OS 2")}, sentence("trend.other", before="Test OS 1", now="Test OS 2")),
    ):
        assert machine_changes(before, replace(before, **changes)) == (expected,)
    assert machine_changes(before, before) == machine_changes(before, PastRun(run=run)) == ()


def test_a_run_on_several_devices_is_compared_with_the_fastest_on_one(run: RunSummary) -> None:
    two = replace(run, settings="cpus=2 devices=2", value=30.0)
    ones = [other(two, number, value, settings="cpus=2") for number, value in ((3, 60.0), (4, 48.0), (5, 50.0))]
    others = [two, *ones, other(two, 6, 20.0), other(two, 7, 20.0, settings=""), other(two, 8, 9.0, batch_size=7)]
    line = sentence("trend.one_device", times=1.6, which=which(4, "48.0"), share_pct=80)
    assert against_one_device(two, others) == line
    apart = replace(two, settings="cpus=2 devices=2 gpus=0,2")
    assert against_one_device(apart, [apart, *others[1:]]) == line
    assert against_one_device(replace(two, verdict="invalid"), others) == ""
    assert against_one_device(two, [two]) == ""
    assert against_one_device(ones[0], others) == ""
