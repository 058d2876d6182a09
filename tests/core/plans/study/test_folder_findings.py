"""Instance sizing with folders: what limits each phase, how little is enough, and no folder's name on pictures."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import UsageError
from app.core.messages import Message, message, sentence
from app.core.plans.study.details import Details, load_details
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.planning import plan_preset
from app.core.plans.study.points import StudyResult
from app.core.plans.study.report import StudyReport
from app.core.report.export import PLAN_FORMATS, plan_lines
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.core.plans.study.storing_studies import Store
from tests.saying import said
from tests.sure import sure

Rates = Callable[[int, int], dict[str, float]]


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Two folders that exist."""
    places = [tmp_path / "fast drive", tmp_path / "slow drive"]
    for place in places:
        place.mkdir()
    return list(map(str, places))


@pytest.fixture
def result(runner: Runner, stored: Store, folders: list[str]) -> StudyResult:
    plan = plan_preset("sizing", runner, folders=folders)
    assert plan.rounds == 2
    return stored(plan, lambda _: 100.0, device="gpu:0")


def measured(result: StudyResult, rates: Rates, spread: float = 1.01) -> Details:
    """Return what the points measured in two rounds, by CPUs and number of the folder."""
    phases = {}
    for point in result.done:
        once = rates(int(point.spec.settings["cpus"]), int(point.place[1].split()[1]))
        phases[point.name] = {case: (rate / spread, rate * (2 - 1 / spread)) for case, rate in once.items()}
    return Details(phases=phases)


def test_each_folder_is_a_point_with_each_number_of_cpus(result: StudyResult, folders: list[str]) -> None:
    assert result.study.axes == ("cpus", "folders")
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


def test_what_nothing_helps_is_left_open(result: StudyResult) -> None:
    lines = findings(result, measured(result, lambda cpus, folder: {"preprocess": 100.0 + cpus / 8 + folder}))
    assert said("studies.phase_open", phase=sentence("studies.phase_preprocess")).is_in(lines)


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
    def rates(_: int, folder: int) -> dict[str, float]:
        return {"preprocess": 100.0 * folder, "train_jpeg": 100.0 / folder, "infer_jpeg": 50.0}

    assert said("studies.reading_none").begins(findings(result, measured(result, rates))[0])


def test_each_phase_has_a_chart_with_a_line_for_each_folder(result: StudyResult) -> None:
    details = measured(result, lambda cpus, folder: {"preprocess": cpus * 10.0, "train_jpeg": folder * 7.0})
    charts = figures(result, details)
    assert [chart.name for chart in charts] == [
        sentence("studies.phase_preprocess"),
        sentence("studies.phase_train_jpeg"),
    ]
    assert [series.name for series in charts[0].series] == [
        sentence("studies.folder", number=1),
        sentence("studies.folder", number=2),
    ]
    assert [spot.value for spot in charts[0].series[1].spots if spot] == pytest.approx(
        [10.0, 20.0, 40.0, 80.0, 160.0]
    )


def test_the_folders_are_told_to_the_user_only(result: StudyResult, folders: list[str], tmp_path: Path) -> None:
    details = measured(result, lambda cpus, _: {"preprocess": cpus * 10.0})
    lines = StudyReport(result, details).lines()
    second = sentence("studies.folder", number=2)
    assert said("studies.folder_is", name=second, folder=folders[1]).is_in(lines)
    report = StudyReport(result, details)
    leaving = [
        str(report.card()),
        report.text(),
        json.dumps([figure.rows for figure in figures(result)]),
    ]
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
    assert list(phases[f"4 · {sentence('studies.folder', number=2)}"].items()) == [("preprocess", (123.0, 125.0))]


def test_a_folder_that_is_missing_leaves_the_others(runner: Runner, folders: list[str]) -> None:
    plan = plan_preset("sizing", runner, folders=[folders[0], folders[0] + os.sep + "gone"])
    assert {spec.parameters["folders"] for spec in plan.specs} == {folders[0]}
    assert len(sure(plan.study).refused) == len(plan.specs)


@pytest.mark.parametrize(("key", "workloads"), [("batch", ()), ("sizing", ("mnist_cnn",))])
def test_folders_are_refused_where_nothing_reads_them(
    runner: Runner, folders: list[str], key: str, workloads: tuple[str, ...]
) -> None:
    with pytest.raises(
        UsageError, match=said("studies.reads_nothing", workload="storage", presets="sizing").pattern
    ):
        plan_preset(key, runner, workloads=workloads, folders=folders)
