"""What studies say: only what their runs show, with the figures behind it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.study.costs import Costs
from app.core.plans.study.details import Details, wants_epochs
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.planning import plan_axes, plan_preset
from app.core.plans.study.points import StudyResult
from app.core.plans.study.presets import PRESETS
from app.core.plans.study.report import StudyReport
from app.core.report.card import Figure
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.conftest import pretend_installed
from tests.core.plans.study.storing_studies import Outcome, Store, store_study
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.events import Epoch
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

CIFAR = CATALOGUE["cifar10_keras_cnn"]


@pytest.fixture
def study(runner: Runner, stored: Store) -> Callable[..., StudyResult]:
    """Store a study that is one click, with what each point gave."""

    def make(key: str, outcome: Callable[[RunSpec], Outcome], **how: object) -> StudyResult:
        return stored(plan_preset(key, runner, **how), outcome)  # type: ignore[arg-type]

    return make


Make = Callable[..., StudyResult]


def test_the_smallest_batch_within_five_percent_is_named(study: Make) -> None:
    rates = {8: 400.0, 16: 700.0, 32: 900.0, 64: 970.0, 128: 1_000.0, 256: 990.0, 512: 980.0, 1_024: 960.0}
    lines = findings(study("batch", lambda spec: 50_000 / rates[spec.batch_size]))
    assert said("studies.batch_best", rate=f"1,000 {sentence('studies.unit_images')}", batch="128").is_all_of(
        lines[0]
    )
    assert said("studies.batch_sweet", share_pct="97", batch="64").is_in(lines)
    assert said("studies.batch_gain", batch="8", times="2.50").is_in(lines)


def test_lack_of_memory_is_a_limit_not_a_failure(study: Make) -> None:
    lines = findings(study("batch", lambda spec: 40.0 if spec.batch_size < 500 else "out_of_memory"))
    assert said("studies.batch_fits", full="512", fits="256").is_in(lines)
    assert not any("failed" in line.lower() for line in lines)


@pytest.mark.parametrize(("of_16", "is_slower"), [(1.10, True), (1.01, False)])
def test_more_cpus_are_slower_only_beyond_both_intervals(study: Make, of_16: float, is_slower: bool) -> None:
    times = {1: 320.0, 2: 160.0, 4: 82.0, 8: 43.0, 16: 43.0 * of_16}
    lines = findings(study("threads", lambda spec: times[spec.threads or 0]))
    assert said("studies.threads_best", count="8").begins(lines[0])
    assert said("studies.threads_scaling", efficiency_pct="93", times="7.44").is_in(lines)
    assert any(said("studies.threads_slower").is_in(line) for line in lines) == is_slower


def test_what_cannot_be_told_apart_is_not_ranked(study: Make) -> None:
    rounds = {None: iter((39.0, 40.0, 41.0)), True: iter((40.5, 39.5, 40.3)), False: iter((50.0, 50.2, 50.1))}
    kinds = {True: True, False: None}

    def outcome(spec: RunSpec) -> Outcome:
        return next(rounds[False if spec.onednn is False else kinds[spec.jit]])

    lines = findings(study("software", outcome))
    assert said("studies.fastest_is", points="TensorFlow, TensorFlow compiled").is_all_of(lines[0])
    assert lines[1].startswith("1.25× (1.")


def test_one_engine_alone_is_told_so(study: Make) -> None:
    lines = findings(study("devices", lambda _: 40.0))
    assert said("studies.only_point", point="TensorFlow").is_all_of(lines[0])


@pytest.mark.parametrize("key", list(PRESETS))
def test_every_study_with_a_result_says_something_and_has_a_picture(study: Make, key: str) -> None:
    result = study(key, lambda spec: 40.0 + spec.batch_size / 100)
    assert findings(result)[0].endswith(".")
    for costs in (None, Costs()):
        card = StudyReport(result, costs=costs).card()
        assert card.headline.endswith(".")
        assert only(Figure, card.chart).series


def in_phase(
    prediction_of_jax: float, prediction: float, training_of_jax: float, training: float
) -> Callable[[RunSpec], Outcome]:
    """Return what each engine gives in each phase."""

    def outcome(spec: RunSpec) -> Outcome:
        if spec.workload.endswith("_inference"):
            return prediction_of_jax if spec.engine == "jax" else prediction
        return training_of_jax if spec.engine == "jax" else training

    return outcome


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (in_phase(100.0, 50.0, 90.0, 60.0), "studies.ranking_turns"),
        (in_phase(90.0, 50.0, 90.0, 50.0), "studies.ranking_turns"),  # higher is better for images per second only
        (in_phase(60.5, 60.0, 60.5, 60.0), "studies.ranking_stays"),  # nearer than two percent
    ],
)
def test_a_ranking_that_turns_round_beyond_the_intervals_is_told(
    runner: Runner, paths: Paths, stored: Store, outcome: Callable[[RunSpec], Outcome], code: str
) -> None:
    pretend_installed("jax", paths)
    lines = findings(stored(plan_preset("phases", runner), outcome))
    codes = ("studies.ranking_turns", "studies.ranking_stays")
    assert [each for each in codes if any(said(each).is_in(line) for line in lines)] == [code]


def test_the_picture_counts_runs_not_points(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100)}, runner, rounds=3)
    result = stored(plan, lambda _: 40.0, verdict="caution")
    assert said("studies.badge_caution", runs="6", count="6").is_all_of(StudyReport(result).card().badge[0])
    assert said("studies.cautions", runs="6", count="6").is_in(findings(result))


def test_the_gain_on_an_axis_of_ones_own_has_its_interval(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"onednn": (True, False)}, runner, rounds=3)
    rounds = {True: iter((40.0, 41.0, 40.5)), False: iter((80.0, 81.0, 82.0))}
    result = stored(plan, lambda spec: next(rounds[bool(spec.onednn)]))
    times = said("studies.so_many_times_between", times="2.00", low="1.94", high="2.06")
    assert said("studies.times_slowest", times=times, point="without oneDNN").is_in(findings(result))


def test_sizing_says_how_many_cpus_are_enough_and_what_limited_them(study: Make) -> None:
    times = {1: 90.0, 2: 47.0, 4: 40.0, 8: 39.0, 16: 39.5}
    result = study("sizing", lambda spec: times[int(spec.settings["cpus"])])
    details = Details(limits={"1": "CPU-bound.", "2": "CPU-bound.", "4": "GPU-bound."})
    lines = findings(result, details)
    assert said("studies.cpus_enough", most="16", count="4").is_all_of(lines[0])
    assert said("bottleneck.cpu_bound", busy="1, 2").is_in(lines)
    assert "4: GPU-bound." in lines


def test_convergence_compares_the_time_to_what_all_reach(study: Make) -> None:
    result = study("convergence", lambda _: 40.0)
    curves = {50: (0.30, 0.50, 0.60), 100: (0.35, 0.45, 0.55), 400: (0.2, 0.3, 0.4)}
    lasts_s = {50: 60.0, 100: 40.0, 400: 30.0}
    epochs = {}
    for point in result.done:
        size = point.spec.batch_size
        epochs[sure(point.best_run).id] = tuple(
            Epoch(index=number, duration_s=lasts_s[size], train_s=1.0, loss=2.0 - accuracy, accuracy=accuracy)
            for number, accuracy in enumerate(curves[size])
        )
    lines = findings(result, Details(epochs=epochs))
    assert said("studies.first_to", time_s="80.0", accuracy="40.0", point="100").is_all_of(lines[0])
    assert lines[1] == sentence(
        "studies.others",
        others=[
            sentence("studies.then", point=400, time_s=90.0),
            sentence("studies.then", point=50, time_s=120.0),
        ],
    )
    figure = only(Figure, StudyReport(result, Details(epochs=epochs)).card().chart)
    assert said("studies.chart_loss").is_all_of(figure.name)
    assert [spot.x for spot in figure.series[0].spots if spot] == [60.0, 120.0, 180.0]


def test_without_a_result_it_says_so(study: Make) -> None:
    assert said("studies.nothing_yet").is_all_of(findings(study("batch", lambda _: None))[0])
    assert said("studies.waiting", count="8").is_in(findings(study("batch", lambda _: None)))


def test_failures_and_doubts_are_told_once_each(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200)}, runner)

    def outcome(spec: RunSpec) -> Outcome:
        return 40.0 if spec.batch_size == 50 else "crashed"

    lines = findings(stored(plan, outcome, verdict="caution"))
    assert lines.count("100, 200: It ended.") == 1
    assert said("studies.cautions", runs="1").is_in(lines)


def test_a_demo_says_that_it_means_nothing(runner: Runner, database: Database, eight_cores: Machine) -> None:
    plan = plan_axes(CATALOGUE["demo"].default_spec("quick"), {"seed": (1, 2)}, runner)
    result = store_study(database, replace(eight_cores), plan, lambda _: 1.0, verdict="invalid")
    assert said("verdict.demo").begins(findings(result)[-1])


def curves_of(result: StudyResult) -> Details:
    epochs = {}
    for point in result.done:
        epochs[sure(point.best_run).id] = tuple(
            Epoch(index=number, duration_s=30.0, train_s=1.0, loss=2.0 - number, accuracy=0.2 + 0.1 * number)
            for number in range(2)
        )
    return Details(epochs=epochs)


def test_a_study_of_ones_own_shows_how_training_went_if_it_has_epochs(runner: Runner, stored: Store) -> None:
    axes = {"precision": ("float32", "mixed_bfloat16")}
    whole = plan_axes(CIFAR.default_spec("standard", epochs=2), axes, runner)
    result = stored(whole, lambda _: 40.0)
    assert [figure.name for figure in figures(result, curves_of(result))][1:] == [
        sentence("studies.chart_loss"),
        sentence("studies.chart_accuracy"),
        sentence("studies.chart_epochs"),
    ]
    lines = findings(result, curves_of(result))
    assert any(said("studies.first_to", accuracy="30.0").is_in(line) for line in lines)
    quick = plan_axes(CIFAR.default_spec("quick"), axes, runner)
    result = stored(quick, lambda _: 40.0)
    assert not wants_epochs(result)
    assert len(figures(result, curves_of(result))) == 1


@pytest.mark.parametrize(
    ("settled_bytes", "wanted"),
    [
        (1_300 * 2**20, [sentence("studies.memory_growth", memory_bytes=100 * 2**20)]),
        (1_390 * 2**20, [sentence("studies.memory_level")]),
        (None, []),
    ],
)
def test_sizing_says_whether_memory_grows(study: Make, settled_bytes: int | None, wanted: list[str]) -> None:
    result = study("sizing", lambda _: 40.0)
    metrics = {"peak_memory_bytes": 1_400.0 * 2**20}
    if settled_bytes is not None:
        metrics["settled_memory_bytes"] = float(settled_bytes)
    points = tuple(replace(point, metrics=metrics) for point in result.points)
    lines = findings(replace(result, points=points))
    growth = said("studies.memory_growth"), said("studies.memory_level")
    assert [line for line in lines if any(each.is_all_of(line) for each in growth)] == wanted
