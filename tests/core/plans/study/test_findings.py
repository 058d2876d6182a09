"""What studies say: only what their runs show, with the figures behind it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.messages import Message, message, sentence
from app.core.metrics import headline_kind
from app.core.paths import Paths
from app.core.plans.experiments import STUDIES
from app.core.plans.study.details import Details, load_details, wants_epochs
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.planning import plan_axes
from app.core.plans.study.points import StudyResult
from app.core.report.card import Figure
from app.core.report.export import PLAN_FORMATS, plan_lines
from app.core.runs.memory_check import tokens_at_a_time
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.build import Outcome, Store, load_study, plan_preset, set_fields, study_report
from tests.conftest import pretend_installed
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.events import Epoch
from workloads.protocol.spec import RunSpec

CIFAR = CATALOGUE["cifar10_keras_cnn"]


@pytest.fixture
def study(runner: Runner, stored: Store) -> Callable[..., StudyResult]:
    def make(
        key: str, outcome: Callable[[RunSpec], Outcome], runs: int | None = None, **how: object
    ) -> StudyResult:
        return stored(plan_preset(key, runner, **how), outcome, runs=runs)  # type: ignore[arg-type]

    return make


Make = Callable[..., StudyResult]


@pytest.mark.parametrize("key", ["scaling", "weak_scaling"])
def test_several_devices_are_compared_with_one(key: str, study: Make) -> None:
    outcome = {1: 10.0, 2: 10 / 1.8, 4: 8.0, 8: 6.0, 16: 5.0}
    result = study(key, lambda spec: outcome[spec.device_count], workloads=["mnist_mlp"])
    lines = findings(result)
    rate = "12,000 examples per second"
    assert said("studies.scaling_rate", count="16", rate=rate).is_in(lines[:1])
    assert said("studies.scaling_times", times="1.80", efficiency_pct="90").is_in(lines)
    assert said("studies.scaling_times", times="2.00", efficiency_pct="12").is_in(lines)
    assert said("studies.scaling_on_cpu").is_in(lines)
    ideal = next(each for each in figures(result)[0].series if each.is_dashed)
    assert [sure(spot).value / 6_000 for spot in ideal.spots] == pytest.approx([1, 2, 4, 8, 16])


def test_the_smallest_batch_within_five_percent_is_named(study: Make) -> None:
    rates = {8: 400.0, 16: 700.0, 32: 900.0, 64: 970.0, 128: 1_000.0, 256: 990.0, 512: 980.0, 1_024: 960.0}
    lines = findings(study("batch", lambda spec: 50_000 / rates[spec.batch_size]))
    assert said("studies.batch_best", rate=f"1,000 {headline_kind('images_per_s').unit}", batch="128").is_all_of(
        lines[0]
    )
    assert said("studies.batch_sweet", share_pct="97", batch="64").is_in(lines)
    assert said("studies.batch_gain", batch="8", times="2.50").is_in(lines)


def test_a_batch_that_spills_or_lacks_memory_does_not_fit(database: Database, study: Make) -> None:
    # The largest ones are the fastest, but not in the GPU's memory.
    result = study("batch", lambda spec: 40.0 - spec.batch_size / 100)
    assert said("studies.batch_best", batch="1,024").is_in(findings(result)[0])
    for run in result.group.runs:
        if run.batch_size >= 512:
            set_fields(database, f"id = {run.id}", reasons="other_load memory_spilled")
    lines = findings(load_study(database, result.group.id))
    assert said("studies.batch_best", batch="256").is_in(lines[0])
    assert said("studies.batch_fits", fits="256", full="512").is_in(lines)
    assert said("studies.batch_spilled", batch="512").is_in(lines)
    lines = findings(study("batch", lambda spec: 40.0 if spec.batch_size < 500 else "out_of_memory"))
    assert said("studies.batch_fits", full="512", fits="256").is_in(lines)
    assert not any("failed" in line.lower() for line in lines), "lack of memory is a limit, not a failure"


@pytest.mark.parametrize(
    ("tokens", "sequence", "batch"),
    [
        (512, ("studies.fits_sequence", 512, 1_024), ("studies.fits_batch", 2, 4)),
        (256, ("studies.fits_sequence", 256, 512), ("studies.fits_batch", 1, 2)),
        (9_999, ("studies.fits_sequence_all", 1_024, 0), ("studies.fits_batch_all", 4, 0)),
    ],
)
def test_what_fits_was_tried(
    study: Make, tokens: int, sequence: tuple[str, int, int], batch: tuple[str, int, int]
) -> None:
    result = study("fits", lambda spec: "out_of_memory" if tokens_at_a_time(spec) > tokens else 1_000.0)
    lines = findings(result)
    wanted = [sentence(code, most=most, least=least, tokens=256) for code, most, least in (sequence, batch)]
    assert lines[:2] == wanted
    assert said("studies.fits_method", size="0.6B").is_in(lines[2])


def test_memory_is_drawn_over_tokens(study: Make) -> None:
    result = study("fits", lambda _: 1_000.0)
    points = tuple(
        replace(point, metrics={"peak_memory_bytes": 2.0**20 * tokens_at_a_time(point.spec)})
        for point in result.points
    )
    (chart,) = figures(replace(result, points=points))
    sequences, batches = ([sure(spot) for spot in line.spots] for line in chart.series)
    assert [spot.x for spot in sequences] == [128, 256, 512, 1_024]
    assert [spot.x for spot in batches] == [256, 512, 1_024]  # one, two and four sequences of 256 tokens
    assert all(spot.value == spot.x / 1_024 for spot in (*sequences, *batches))


def test_a_longer_sequence_than_one_that_filled_the_memory_is_skipped(study: Make) -> None:
    result = study("fits", lambda spec: "out_of_memory" if spec.parameters["sequence"] == 512 else 1_000.0, runs=3)
    states = {(point.spec.parameters["sequence"], point.spec.batch_size): point for point in result.points}
    assert {place for place, point in states.items() if point.state == "skipped"} == {(1_024, 1)}
    assert states[1_024, 1].reason == sentence("studies.filled_by_sequence", batch=1, tokens=512)
    assert [planned.spec.batch_size for planned in result.left] == [2, 4]


@pytest.mark.parametrize(("of_16", "is_slower"), [(1.10, True), (1.01, False)])
def test_more_cpus_are_slower_only_beyond_both_intervals(study: Make, of_16: float, is_slower: bool) -> None:
    times = {1: 320.0, 2: 160.0, 4: 82.0, 8: 43.0, 16: 43.0 * of_16}
    lines = findings(study("threads", lambda spec: times[spec.threads or 0]))
    assert said("studies.threads_best", count="8").begins(lines[0])
    assert said("studies.threads_scaling", efficiency_pct="93", times="7.44").is_in(lines)
    assert any(said("studies.threads_slower").is_in(line) for line in lines) == is_slower


def test_what_cannot_be_told_apart_is_not_ranked(study: Make) -> None:
    usual, compiled, without = iter((39.0, 40.0, 41.0)), iter((40.5, 39.5, 40.3)), iter((50.0, 50.2, 50.1))
    lines = findings(
        study("software", lambda spec: next(without if spec.onednn is False else compiled if spec.jit else usual))
    )
    assert said("studies.fastest_is", points="TensorFlow, TensorFlow compiled").is_all_of(lines[0])
    assert lines[1].startswith("1.25× (1.")


# Share of the speed, and examples per joule, by power limit.
SPEEDS = {370: (1.0, 2.7), 335: (0.98, 2.9), 295: (0.95, 3.2), 260: (0.87, 3.4), 220: (0.62, 3.1)}


def power_study(stored: Store, with_card: Runner, database: Database, speeds: dict[int, float]) -> StudyResult:
    plan = plan_preset("power", with_card)

    def outcome(spec: RunSpec) -> Outcome:
        return 40.0 / speeds[int(spec.settings["power_limit_w"])]

    result = stored(plan, outcome, device="gpu:0", device_name="NVIDIA GeForce RTX 3090")
    for planned, run in zip(plan.runs(), sorted(result.group.runs, key=lambda run: run.id), strict=True):
        limit_w = int(planned.spec.settings["power_limit_w"])
        limits = {"power_limit_w": limit_w, "power_default_w": 370.0}
        set_fields(database, f"id = {run.id}", work_per_j=SPEEDS[limit_w][1], **limits)
    return load_study(database, result.group.id)


def test_power_names_the_fastest_the_knee_and_the_most_efficient_limit(
    stored: Store, with_card: Runner, database: Database
) -> None:
    result = power_study(stored, with_card, database, {limit_w: speed for limit_w, (speed, _) in SPEEDS.items()})
    lines = findings(result)
    assert said("studies.power_best", limit_w="370").is_all_of(lines[0])
    assert said("studies.power_knee", limit_w="260", speed_pct="87", power_pct="70").is_all_of(lines[1])
    work = said("power.work_per_joule", amount="3.40", unit="images per joule", device="GPU")
    assert said("studies.power_efficient", limit_w="260", work=work).is_all_of(lines[2])
    speed, work_figure = figures(result)
    assert [x for x, _ in speed.marks] == [260.0]
    (line,) = work_figure.series
    assert [(spot.x, spot.value) for spot in line.spots if spot] == [
        (x, SPEEDS[int(x)][1]) for x in sorted(SPEEDS)
    ]
    card = study_report(result).card()
    assert card.headline == lines[0]
    assert card.machine.count("RTX 3090") == 1, "the limits are in the chart"


def test_a_power_study_without_energy_says_why(stored: Store, with_card: Runner) -> None:
    result = stored(plan_preset("power", with_card), lambda _: 40.0)
    lines = findings(result)
    assert not said("studies.power_efficient").is_in(lines)
    assert said("studies.power_not_measured").is_in(lines)
    assert len(figures(result)) == 1
    on_card = stored(plan_preset("power", with_card), lambda _: 40.0, device="gpu:0")
    assert not said("studies.power_not_measured").is_in(findings(on_card)), "a GPU's energy needs no rights"


@pytest.mark.parametrize("key", [key for key in STUDIES if key != "power"])
def test_every_study_with_a_result_says_something_and_has_a_picture(study: Make, key: str) -> None:
    result = study(key, lambda spec: 40.0 + spec.batch_size / 100)
    assert findings(result)[0].endswith(".")
    for usd_per_hour in (None, 0.5):
        card = study_report(result, usd_per_hour=usd_per_hour).card()
        assert card.headline.endswith(".")
        assert only(Figure, card.chart).series


def in_phase(prediction_jax: float, prediction: float, jax: float, usual: float) -> Callable[[RunSpec], Outcome]:
    values = {(True, "jax"): prediction_jax, (True, "tensorflow"): prediction, (False, "jax"): jax}
    return lambda spec: values.get((spec.workload.endswith("_inference"), spec.engine), usual)


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
    assert said("studies.badge_caution", runs="6", count="6").is_all_of(study_report(result).card().badge[0])
    assert said("studies.cautions", runs="6", count="6").is_in(findings(result))


def test_runs_on_a_divided_cpu_are_compared_and_said_to_be_for_testing(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CATALOGUE["mnist_mlp"].default_spec("quick"), {"devices": (2, 4)}, runner)
    result = stored(plan, lambda spec: 40.0 / spec.device_count, verdict="invalid", reasons="divided_cpu spread")
    assert [point.state for point in result.points] == ["done", "done"]
    assert said("studies.for_testing", runs="2", count="2").is_in(findings(result))
    assert said("studies.badge_invalid").is_all_of(study_report(result).card().badge[0])


def test_the_gain_on_an_axis_of_ones_own_has_its_interval(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"onednn": (True, False)}, runner, rounds=3)
    rounds = {True: iter((40.0, 41.0, 40.5)), False: iter((80.0, 81.0, 82.0))}
    result = stored(plan, lambda spec: next(rounds[bool(spec.onednn)]))
    times = said("studies.times_between", times="2.00", low="1.94", high="2.06")
    assert said("studies.times_slowest", times=times, point="without oneDNN").is_in(findings(result))


def test_sizing_says_how_many_cpus_are_enough_and_what_limited_them(study: Make) -> None:
    times = {1: 90.0, 2: 47.0, 4: 40.0, 8: 39.0, 16: 39.5}
    result = study("sizing", lambda spec: times[int(spec.settings["cpus"])])
    details = Details(limits={"1": "CPU-bound.", "2": "CPU-bound.", "4": "GPU-bound."})
    lines = findings(result, details)
    assert said("studies.cpus_enough", most="16", count="4").is_all_of(lines[0])
    assert "1, 2: CPU-bound." in lines
    assert "4: GPU-bound." in lines


def curves_of(
    result: StudyResult,
    accuracies_of: Callable[[int], Sequence[float]] = lambda _: (0.2, 0.3),
    lasts_s: Callable[[int], float] = lambda _: 30.0,
) -> Details:
    """Return details with an epoch for each accuracy that a batch size reaches, which lasts so long."""
    epochs = {}
    for point in result.done:
        size = point.spec.batch_size
        epochs[sure(point.best_run).id] = tuple(
            Epoch(index=number, duration_s=lasts_s(size), train_s=1.0, loss=2.0 - accuracy, accuracy=accuracy)
            for number, accuracy in enumerate(accuracies_of(size))
        )
    return Details(epochs=epochs)


def test_convergence_compares_the_time_to_what_all_reach(study: Make) -> None:
    result = study("convergence", lambda _: 40.0)
    accuracies = {50: (0.30, 0.50, 0.60), 100: (0.35, 0.45, 0.55), 400: (0.2, 0.3, 0.4)}
    lasts_s = {50: 60.0, 100: 40.0, 400: 30.0}
    details = curves_of(result, lambda size: accuracies[size], lambda size: lasts_s[size])
    ways = ((100, 80.0), (400, 90.0), (50, 120.0))
    times = [
        sentence("studies.time_with", point=sentence("studies.batch_of", batch=size), time_s=time_s)
        for size, time_s in ways
    ]
    assert findings(result, details)[0] == sentence("studies.times_to", accuracy=40.0, times=times)
    figure = only(Figure, study_report(result, details).card().chart)
    assert said("metric.loss").is_all_of(figure.name)
    assert [spot.x for spot in figure.series[0].spots if spot] == [60.0, 120.0, 180.0]


def test_failures_and_doubts_are_told_once_each(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200)}, runner)
    lines = findings(stored(plan, lambda spec: 40.0 if spec.batch_size == 50 else "crashed", verdict="caution"))
    assert lines.count("100, 200: It ended.") == 1
    assert said("studies.cautions", runs="1").is_in(lines)


def test_a_study_of_ones_own_shows_how_training_went_if_it_has_epochs(runner: Runner, stored: Store) -> None:
    axes = {"precision": ("float32", "mixed_bfloat16")}
    whole = plan_axes(CIFAR.default_spec("standard", epochs=2), axes, runner)
    result = stored(whole, lambda _: 40.0)
    assert [figure.name for figure in figures(result, curves_of(result))][1:] == [
        sentence("metric.loss"),
        sentence("metric.accuracy"),
        sentence("studies.chart_epochs"),
    ]
    lines = findings(result, curves_of(result))
    assert any(said("studies.times_to", accuracy="30.0").is_in(line) for line in lines)
    quick = plan_axes(CIFAR.default_spec("quick"), axes, runner)
    result = stored(quick, lambda _: 40.0)
    assert not wants_epochs(result)
    assert len(figures(result, curves_of(result))) == 1


@pytest.mark.parametrize("key", ["scaling", "weak_scaling"])
def test_several_devices_also_show_how_training_went_if_there_are_epochs(key: str, study: Make) -> None:
    def result_with(preset: str) -> StudyResult:
        return study(key, lambda spec: 60.0 / spec.device_count, workloads=["mnist_mlp"], preset=preset)

    result, quick = result_with("standard"), result_with("quick")
    names = [figure.name for figure in figures(result, curves_of(result))]
    assert names[-3:] == [sentence(code) for code in ("metric.loss", "metric.accuracy", "studies.chart_epochs")]
    assert len(names) == 3 + len(figures(quick, curves_of(quick)))
    lines = findings(result, curves_of(result))
    assert said("studies.scaling_rate").is_in(lines[:1])
    assert any(said("studies.times_to", accuracy="30.0").is_in(line) for line in lines)
    assert not wants_epochs(quick)


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


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    places = [tmp_path / "fast drive", tmp_path / "slow drive"]
    for place in places:
        place.mkdir()
    return list(map(str, places))


@pytest.fixture
def result(runner: Runner, stored: Store, folders: list[str]) -> StudyResult:
    plan = plan_preset("sizing", runner, folders=folders)
    assert plan.rounds == 2
    return stored(plan, lambda _: 100.0, device="gpu:0")


def measured(result: StudyResult, rates: Callable[[int, int], dict[str, float]], spread: float = 1.01) -> Details:
    phases = {}
    for point in result.done:
        once = rates(int(point.spec.settings["cpus"]), int(point.place[1].split()[1]))
        phases[point.name] = {case: (rate / spread, rate * (2 - 1 / spread)) for case, rate in once.items()}
    return Details(phases=phases)


def test_each_folder_is_a_point_with_each_number_of_cpus(result: StudyResult, folders: list[str]) -> None:
    assert result.axes == ("cpus", "folders")
    assert {point.spec.workload for point in result.points} == {"storage"}
    asked = [(point.spec.settings["cpus"], point.spec.parameters["folders"]) for point in result.points]
    assert asked == [(cpus, folder) for folder in folders for cpus in (1, 2, 4, 8, 16)]


def test_what_helps_a_phase_is_its_limit(result: StudyResult) -> None:
    def rates(cpus: int, folder: int) -> dict[str, float]:
        decoded, written = 100.0 * min(cpus, 4), 800.0 if folder == 1 else 300.0
        return {
            "preprocess": decoded,
            "train_jpeg": 250.0,
            "train_cache": 255.0,
            "infer_jpeg": written,
            "infer_cache": 5_000.0,
        }

    lines = findings(result, measured(result, rates))
    one, two = (message("studies.folder", number=number) for number in (1, 2))
    prepare, jpeg, infer = (
        message(f"studies.phase_{name}") for name in ("preprocess", "train_jpeg", "infer_jpeg")
    )

    def smallest(phase: Message, cpus: int, folders: list[Message], rate: str) -> str:
        setup = message("studies.setup", count=cpus, folders=folders)
        return sentence("studies.phase_smallest", phase=phase, setup=setup, rate=rate)

    assert lines[:7] == [
        sentence("studies.reading_enough", setup=message("studies.setup", count=4, folders=[one])),
        sentence("studies.phase_cpu", phase=prepare, times=4.0, cpus=4, fewer=1),
        smallest(prepare, 4, [one, two], "400"),
        sentence("studies.phase_gpu", phase=jpeg, share_pct=98),
        smallest(jpeg, 1, [one, two], "250"),
        sentence("studies.phase_io", phase=infer, times=8 / 3, fast=one, slow=two),
        smallest(infer, 1, [one], "800"),
    ]


def test_what_overlaps_is_no_difference_and_one_round_is_said(result: StudyResult) -> None:
    def rates(cpus: int, folder: int) -> dict[str, float]:
        return {"preprocess": 300.0 / folder}

    assert said("studies.phase_io").is_all_of(findings(result, measured(result, rates))[1])
    lines = findings(result, measured(result, rates, spread=3.0))
    assert said("studies.phase_open").is_in(lines[1])
    assert not any(said("studies.reading_once").is_in(line) for line in lines)
    once = {point.name: {"preprocess": (100.0,)} for point in result.done}
    assert any(said("studies.reading_once").is_in(line) for line in findings(result, Details(phases=once)))


def test_no_setup_may_be_the_best_in_every_phase(result: StudyResult) -> None:
    details = measured(
        result, lambda _, at: {"preprocess": 100.0 * at, "train_jpeg": 100.0 / at, "infer_jpeg": 50.0}
    )
    assert said("studies.reading_none").begins(findings(result, details)[0])


def test_each_phase_has_a_chart_with_a_line_for_each_folder(result: StudyResult) -> None:
    details = measured(result, lambda cpus, folder: {"preprocess": cpus * 10.0, "train_jpeg": folder * 7.0})
    charts = figures(result, details)
    phases = ("preprocess", "train_jpeg")
    assert [chart.name for chart in charts] == [sentence(f"studies.phase_{phase}") for phase in phases]
    folders = [sentence("studies.folder", number=number) for number in (1, 2)]
    assert [series.name for series in charts[0].series] == folders
    rates = [spot.value for spot in charts[0].series[1].spots if spot]
    assert rates == pytest.approx([10.0, 20.0, 40.0, 80.0, 160.0])


def test_the_folders_are_told_to_the_user_only(result: StudyResult, folders: list[str], tmp_path: Path) -> None:
    details = measured(result, lambda cpus, _: {"preprocess": cpus * 10.0})
    lines = study_report(result, details).lines()
    second = sentence("studies.folder", number=2)
    assert said("studies.folder_is", name=second, folder=folders[1]).is_in(lines)
    report = study_report(result, details)
    leaving = [str(report.card()), report.text(), json.dumps([figure.rows for figure in figures(result)])]
    leaving += ["".join(plan_lines(report.export(), form)) for form in PLAN_FORMATS]
    for text in leaving:
        assert "drive" not in text
        assert str(tmp_path) not in text


def test_cases_are_read_from_the_runs(result: StudyResult, database: Database) -> None:
    sql = "INSERT INTO metrics (run_id, key, value) VALUES (?, 'folder1_preprocess_images_per_s', ?)"
    for point in result.done:
        for run, rate in zip(point.runs, (123.0, 125.0), strict=True):
            database.connection.execute(sql, (run.id, rate))
    phases = load_details(database, result).phases
    assert set(phases) == {point.name for point in result.points}
    assert list(phases[f"4 CPUs · {sentence('studies.folder', number=2)}"].items()) == [
        ("preprocess", (123.0, 125.0))
    ]


@pytest.mark.parametrize(("reasons", "low", "high"), [(None, "1.00", "1.00"), ("shared_host", "0.92", "1.10")])
def test_two_rounds_on_a_shared_host_do_not_make_a_difference_certain(
    reasons: str | None, low: str, high: str, runner: Runner, stored: Store
) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"threads": (1, 2)}, runner, rounds=2)
    rounds = iter(range(4))
    result = stored(
        plan, lambda spec: 40 - 0.1 * (spec.threads or 0) + 0.001 * (next(rounds) // 2), reasons=reasons
    )
    assert said("studies.times_between", low=low, high=high).is_in(" ".join(findings(result)))
