"""The score: points of a part, their mean and its interval, and what parts without a result mean."""

import json
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import sentence
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.export import suite_as_dict, suite_export
from app.core.plans.suite.known import imported_scores
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.score import suite_result
from app.core.plans.suite.texts import places_figure, points_text, suite_lines, suite_table, verdict_texts
from app.core.plans.suite.uncertainty import Score, geometric_mean
from app.core.records import Plan
from app.core.report.export import plan_lines
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import specs_of
from app.core.titles import workload_title
from tests.build import load_suite, set_fields, store_point
from tests.core.plans.suite.conftest import Send, Store
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine


def slow_the_second_round(database: Database) -> None:
    where = "id > 8 AND json_extract(summary, '$.metric') LIKE 'seconds%'"
    set_fields(database, where, **dict.fromkeys(("value", "value_low", "value_high"), lambda value: value * 1.05))


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_suite(runner, "tensorflow", "cpu")


def test_the_reference_machine_scores_1000_in_each_part_and_in_all(plan: Plan, store: Store) -> None:
    result = store(plan)
    for each in result.parts:
        assert sure(each.score).points == pytest.approx(1_000)
        # The runs say from 2 % less to 2 % more: of seconds, or of what is done in a second.
        low, high = (1 / 1.02, 1 / 0.98) if each.part.metric.startswith("seconds_") else (0.98, 1.02)
        assert (sure(each.score).low, sure(each.score).high) == pytest.approx((1_000 * low, 1_000 * high))
    assert sure(result.total).points == pytest.approx(1_000)
    assert result.verdict == "valid"
    assert result.is_finished
    line = suite_lines(result)[0]
    name, verdict = sentence("suite.name", number=1), sentence("level.valid")
    assert said("suite.scored", name=name, points="1,000", verdict=verdict).is_all_of(line)
    assert "TensorFlow" in line
    assert "float32" in line


def test_twice_as_fast_is_twice_the_points_whatever_the_unit(plan: Plan, store: Store) -> None:
    result = store(plan, {"cifar10_keras_cnn": 2.0, "gpt_mini": 2.0, "matmul": 0.5})
    points = {each.part.workload: each.score.points for each in result.parts if each.score}
    assert points["cifar10_keras_cnn"] == pytest.approx(2_000)
    assert points["gpt_mini"] == pytest.approx(2_000)
    assert points["matmul"] == pytest.approx(500)
    assert sure(result.total).points == pytest.approx(1_000 * 2 ** (1 / 8))
    training, prediction = result.mean("training"), result.mean("prediction")
    assert sure(training).points == pytest.approx(1_000 * 4 ** (1 / 6))
    assert sure(prediction).points == pytest.approx(1_000)


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(0.5, 1), st.floats(1, 2)), min_size=1, max_size=20))
def test_a_mean_lies_within_its_interval_and_its_parts(parts: list[tuple[float, float, float]]) -> None:
    scores = [Score(points, points * low, points * high) for points, low, high in parts]
    mean = geometric_mean(scores)
    assert mean.points == pytest.approx(statistics.geometric_mean([each.points for each in scores]))
    assert sure(mean.low) <= mean.points * (1 + 1e-12)
    assert mean.points <= sure(mean.high) * (1 + 1e-12)
    # Errors of several parts cancel out in part: relatively, it's never wider than the widest part.
    assert sure(mean.high) / mean.points <= max(high for _, _, high in parts) * (1 + 1e-9)


def test_a_part_out_of_memory_is_zero_and_so_is_the_score_which_says_why(plan: Plan, store: Store) -> None:
    result = store(plan, {"gpt_mini": "out_of_memory", "matmul": 2.0})
    part = next(each for each in result.parts if each.part.workload == "gpt_mini")
    assert (part.state, part.score) == ("out_of_memory", Score(0.0))
    assert result.total == Score(0.0)
    assert [each.spec.workload for each in result.left] == ["gpt_mini"] * 2, (
        "it may fit when other programs have ended"
    )
    lines = suite_lines(result)
    assert sentence("suite.zeros", count=1, parts=[workload_title("gpt_mini")]) in " ".join(lines)
    rest = points_text(1_000 * 2 ** (1 / 7))
    assert sentence("suite.rest", count=len(SUITE_1.parts) - 1, points=rest) in " ".join(lines)


@pytest.mark.parametrize(
    ("outcome", "why"),
    [("crashed", said("suite.no_score", count="1")), (None, said("suite.not_finished", count="2"))],
)
def test_a_part_that_failed_gives_no_score_and_is_run_again(
    plan: Plan, store: Store, outcome: str | None, why: Saying
) -> None:
    result = store(plan, {"resnet_56": outcome})
    assert result.total is None
    assert [each.spec.workload for each in result.left] == ["resnet_56"] * 2
    assert result.mean("training") is None
    assert result.mean("prediction") is not None
    assert why.begins(suite_lines(result)[0])


def test_an_invalid_part_gives_no_points_and_is_run_again(database: Database, plan: Plan, store: Store) -> None:
    group_id = store(plan).group.id
    set_fields(database, "workload = 'mnist_mlp'", verdict="invalid", reasons="suspended")
    result = load_suite(database, group_id)
    assert result.total is None
    assert [each.spec.workload for each in result.left] == ["mnist_mlp"] * 2
    row = next(row for row in suite_table(result).rows if row[0] == "MNIST MLP")
    invalid = sentence("level.invalid")
    verdict = sentence("suite.with_reason", word=invalid, reason=sentence("short.suspended"))
    assert row[1:] == ("", "", row[3], verdict)
    assert "MNIST MLP" in suite_lines(result)[0]


def test_the_verdict_is_the_worst_of_the_parts_and_names_it(database: Database, plan: Plan, store: Store) -> None:
    group_id = store(plan).group.id
    set_fields(database, "workload = 'matmul'", verdict="caution", reasons="other_load")
    result = load_suite(database, group_id)
    assert result.verdict == "caution"
    reason = sentence("plain.other_load")
    assert said("cli.found_caution", reason=reason).is_all_of(suite_table(result).rows[-1][-1])
    badge = sentence("suite.badge", verdict=sentence("level.caution"), count=1, planned=len(result.parts))
    assert verdict_texts(result)[0] == sentence("suite.badge_because", badge=badge, reason=reason)


def test_a_score_with_a_wide_interval_is_no_better_than_a_caution(
    database: Database, plan: Plan, store: Store
) -> None:
    group_id = store(plan).group.id
    assert load_suite(database, group_id).verdict == "valid"
    slow_the_second_round(database)
    result = load_suite(database, group_id)
    assert (result.verdict, result.is_wide) == ("caution", True)
    assert {part.verdict for part in result.parts} == {"valid"}
    assert sentence("suite.rough") in verdict_texts(result)[0]


@pytest.mark.parametrize(("column", "value"), [("metric", "images_per_s"), ("workload_version", 99)])
def test_a_run_in_another_unit_or_of_another_version_has_no_points(
    database: Database, plan: Plan, store: Store, column: str, value: object
) -> None:
    group_id = store(plan).group.id
    set_fields(database, "workload = 'mnist_mlp'", **{column: value})
    assert load_suite(database, group_id).total is None


@pytest.mark.parametrize(
    ("column", "value"), [("cpu_name", "Ryzen 9 9950X"), ("engine_version", "2.22.0"), ("device_name", "RTX 5090")]
)
def test_parts_of_two_computers_or_engines_have_no_score_together(
    database: Database, plan: Plan, store: Store, column: str, value: str
) -> None:
    result = store(plan, engine_version="2.21.0")
    assert result.total is not None
    other = replace(result.runs[3], **{column: value})  # type: ignore[arg-type]
    runs = tuple(other if run.id == other.id else run for run in result.group.runs)
    mixed = suite_result(replace(result.group, runs=runs), specs_of(database, [run.id for run in runs]))
    assert mixed.total is None
    assert mixed.mean("training") is None
    assert said("suite.changed").begins(suite_lines(mixed)[0])
    assert value in suite_lines(mixed)[0]


def test_the_workloads_are_still_those_of_the_definition() -> None:
    assert {part.workload: part.workload_version for part in SUITE_1.parts} == {
        part.workload: CATALOGUE[part.workload].version for part in SUITE_1.parts
    }


def test_a_part_that_ran_again_counts_with_its_latest_runs(
    plan: Plan, store: Store, database: Database, machine: Machine
) -> None:
    group_id, spec = store(plan).group.id, plan.specs[0]
    part = next(each for each in SUITE_1.parts if each.workload == spec.workload)
    for _ in range(SUITE_1.rounds):
        store_point(database, machine, spec, group_id, 2 * part.reference)
    scores = {each.part.workload: each.score for each in load_suite(database, group_id).parts}
    assert sure(scores[spec.workload]).points == pytest.approx(500)


def test_what_is_exported_is_what_was_scored(plan: Plan, store: Store) -> None:
    result = store(plan, {"gpt_mini": 3.0})
    plain = json.loads("".join(plan_lines(suite_export(result), "json")))
    assert plain["score"] == suite_as_dict(result)["score"]
    assert [part["points"] for part in plain["parts"]] == [
        each.score.points for each in result.parts if each.score
    ]
    lines = "".join(plan_lines(suite_export(result), "csv")).splitlines()
    assert len(lines) == 1 + len(SUITE_1.parts)
    assert lines[0].startswith("format_version,workload,purpose,batch_size,state,points,points_low")


@pytest.mark.parametrize(("device", "is_narrower"), [("cpu", True), ("gpu:0", False)])
def test_one_part_that_names_the_shared_host_speaks_for_all_on_its_cpus(
    database: Database, plan: Plan, store: Store, device: str, is_narrower: bool
) -> None:
    uncertain = store(plan, reasons="interval_wide", verdict="caution", device=device)
    set_fields(database, "id > 8", value=lambda value: value * 1.05)
    before = sure(load_suite(database, uncertain.group.id).mean("prediction"))
    set_fields(database, "workload = 'matmul'", reasons="shared_host")
    after = sure(load_suite(database, uncertain.group.id).mean("prediction"))
    assert (sure(after.high) < sure(before.high)) == is_narrower


@pytest.mark.parametrize(
    ("points", "text"), [(None, "n/a"), (0.0, "0"), (99.94, "99.9"), (999.6, "1,000"), (1_234_567.0, "1,234,567")]
)
def test_points_are_written_with_as_many_digits_as_they_mean(points: float | None, text: str) -> None:
    assert points_text(points) == text


def test_a_file_with_all_parts_is_a_score_elsewhere(
    database: Database, elsewhere: Database, plan: Plan, store: Store, send: Send
) -> None:
    result = store(plan, {"gpt_mini": 2.0}, engine_version="2.21.0", data_source="synthetic")
    send([run.id for run in result.runs], "suite.json")
    (score,) = imported_scores(elsewhere)
    assert score.score.points == pytest.approx(sure(result.total).points)
    assert score.score.low == pytest.approx(sure(result.total).low)
    assert (score.engine, score.verdict) == ("TensorFlow 2.21.0", "valid") == ("TensorFlow 2.21.0", result.verdict)
    assert sure(places_figure(result, [score])).rows[1:] == (
        f"Test CPU, {sentence('heading.imported')}",
        sentence("suite.reference_name"),
    )
    assert imported_scores(database) == [], "one's own are no others"


def test_seven_parts_are_no_score_nor_are_eight_of_two_plans(
    elsewhere: Database, plan: Plan, store: Store, send: Send
) -> None:
    first, second = ([run.id for run in store(plan, data_source="synthetic").runs] for _ in range(2))
    send(first[:14], "seven.json")
    send(second[14:], "one.json")
    assert imported_scores(elsewhere) == []
    send(first[14:], "the eighth.json")
    assert len(imported_scores(elsewhere)) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("batch_size", 64),
        ("precision", "mixed_float16"),
        ("preset", "standard"),
        ("data_source", "real"),
        ("engine_version", "2.20.0"),
    ],
)
def test_a_part_that_was_run_otherwise_is_none(
    database: Database, elsewhere: Database, plan: Plan, store: Store, send: Send, column: str, value: object
) -> None:
    result = store(plan, data_source="synthetic", engine_version="2.21.0")
    set_fields(database, "workload = 'resnet_56'", **{column: value})
    send([run.id for run in result.runs], "suite.json")
    assert imported_scores(elsewhere) == []
