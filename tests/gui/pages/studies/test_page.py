"""The Studies page in the real window: planning, running the demo, resuming, sharing, and stored studies."""

import html
import os
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication

from app.core.messages import sentence
from app.core.plans.study.axes import axis_title
from app.core.plans.study.planning import plan_axes, plan_preset
from app.core.plans.study.points import StudyResult
from app.core.plans.study.presets import PRESETS
from app.core.records import Plan, Study
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.gui.charts.figure import SMALLEST_PX
from app.gui.pages.studies.page import StudiesPage
from app.gui.pages.studies.setup import ITEM_PX, OWN
from app.gui.style.tokens import GAP_PX
from tests.core.plans.study.storing_studies import Outcome, store_study
from tests.gui.clipped import clipped
from tests.gui.driving import Driver
from tests.gui.pages.suite.test_page import rows
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

CIFAR = CATALOGUE["cifar10_keras_cnn"]


def open_page(driver: Driver) -> StudiesPage:
    driver.window.show_page("studies")
    page = driver.window.studies
    driver.until(lambda: page.setup.run_button.isEnabled() or bool(page.setup.problem.text()))
    return page


def choose(driver: Driver, page: StudiesPage, key: str, *, axis: str = "", workload: str = "demo") -> None:
    setup = page.setup
    setup.studies.setCurrentRow([*PRESETS, OWN].index(key))
    setup.workload.setCurrentIndex(setup.workload.findData(workload))
    setup.axis.setText(axis)
    driver.until(lambda: setup.run_button.isEnabled() or bool(setup.problem.text()))


def runner(driver: Driver, machine: Machine) -> Runner:
    return Runner(driver.services.paths, machine)


def speed(spec: RunSpec) -> Outcome:
    return 4_000.0 / spec.batch_size if spec.batch_size < 400 else "out_of_memory"


def batches(driver: Driver, machine: Machine, runs: int | None = None) -> StudyResult:
    with Database(driver.services.paths.database) as database:
        plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200, 400)}, runner(driver, machine))
        return store_study(database, machine, plan, speed, runs=runs)


def shown_id(page: StudiesPage) -> int | None:
    return page.result.group.id if page.result is not None else None


@pytest.mark.slow
def test_each_study_says_what_it_asks_and_which_points_it_has(driver: Driver) -> None:
    page = open_page(driver)
    for key, preset in PRESETS.items():
        page.setup.studies.setCurrentRow(list(PRESETS).index(key))
        item = sure(page.setup.studies.currentItem())
        assert item.text().startswith(preset.question)
        if key == "power":  # no card here
            driver.until(lambda: said("run.no_power_limit").is_in(page.setup.problem.text()))
            shown = sentence("studies_page.cannot_run")
            driver.until(lambda item=item, shown=shown: item.text().endswith(shown))  # type: ignore[misc]
            assert said("run.no_power_limit").is_in(html.unescape(item.toolTip()))
            continue
        if key == "devices":  # the tests pretend that only TensorFlow is installed
            shown = sentence("studies_page.only_one")
            driver.until(lambda item=item, shown=shown: item.text().endswith(shown))  # type: ignore[misc]
        driver.until(lambda: bool(page.setup.points.whole_text) and page.setup.run_button.isEnabled())
        assert said("studies_page.quick_runs").is_in(page.setup.points.whole_text) == (key != "convergence")
        if key == "batch":
            assert axis_title("batch_size", Study()) in page.setup.points.whole_text
        assert page.setup.price.isVisible() == (key == "cost")
        assert page.setup.rounds.value() == preset.rounds


def test_folders_make_a_study_of_drives(driver: Driver, tmp_path: Path) -> None:
    page = open_page(driver)
    setup, folders = page.setup, [tmp_path / name for name in ("fast", "slow")]
    assert not setup.folders.isVisible()
    setup.studies.setCurrentRow(list(PRESETS).index("sizing"))
    assert setup.folders.isVisible()
    for folder in folders:
        folder.mkdir()
    setup.folders.line.setText(os.pathsep.join(map(str, folders)))
    driver.until(
        lambda: said("studies.folder", number="2").is_in(setup.points.whole_text) and setup.run_button.isEnabled()
    )
    assert not setup.workload.isEnabled()
    assert setup.rounds.value() == 2
    setup.folders.line.setText(str(tmp_path / "gone"))
    driver.until(lambda: "gone" in setup.problem.text())
    setup.folders.line.clear()
    driver.until(
        lambda: setup.run_button.isEnabled() and not said("studies.folder").is_in(setup.points.whole_text)
    )
    assert setup.workload.isEnabled()


@pytest.mark.parametrize(
    ("axis", "problem"),
    [
        ("", said("studies.no_axis")),
        ("batch=x", said("studies.not_whole")),
        ("colour=red", said("studies.unknown_axis", name="'colour'")),
    ],
)
def test_an_axis_that_makes_no_sense_is_told_at_once(driver: Driver, axis: str, problem: Saying) -> None:
    page = open_page(driver)
    choose(driver, page, OWN, axis=axis)
    assert problem.is_in(page.setup.problem.text())
    assert not page.setup.run_button.isEnabled()


def test_a_stored_study_shows_points_out_of_memory_and_what_is_left(driver: Driver, machine: Machine) -> None:
    batches(driver, machine, runs=3)
    page = open_page(driver)
    driver.until(lambda: page.result is not None)
    assert page.resume_button.isVisible()
    states = [row[-1] for row in rows(page)]
    assert states.count(sentence("studies.state_waiting")) == 1
    assert set(states) <= {
        sentence("level.valid"),
        sentence("studies.state_waiting"),
        sentence("studies.out_of_memory"),
    }
    assert page.charts.count() == 2
    page.charts.setCurrentIndex(1)
    page.charts.activated.emit(1)
    assert page.view.figure is not None
    assert said("studies.step_title").is_all_of(page.view.figure.value_title)


def test_the_price_is_kept_and_change_the_answer(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        plan: Plan = plan_preset("cost", runner(driver, machine))
        store_study(database, machine, plan, lambda _: 10.0)
    page = open_page(driver)
    driver.until(lambda: page.can_share)
    assert said("studies.cost_no_price").is_in(page.more.text())
    page.setup.studies.setCurrentRow(list(PRESETS).index("cost"))
    settings = driver.services.preferences
    assert (settings.settings.usd_per_hour, page.setup.price.value()) == (None, 0.0)
    page.setup.price.setValue(0.05)
    page.setup.price.editingFinished.emit()
    driver.until(lambda: said("studies.cost_per_hour", price="0.050").is_in(page.more.text()))
    settings.change(usd_per_hour=12.34567)
    assert page.setup.price.value() == 12.346
    page.setup.price.editingFinished.emit()
    assert settings.settings.usd_per_hour == 12.34567, "nobody touched it"
    page.setup.price.setValue(0.0)
    page.setup.price.editingFinished.emit()
    assert settings.settings.usd_per_hour is None


def test_what_is_left_to_run_is_offered_whole_in_a_small_window(driver: Driver, machine: Machine) -> None:
    batches(driver, machine, runs=3)
    page = open_page(driver)
    driver.until(page.resume_button.isVisible)
    page.setup.preflight.show_telemetry(
        (Telemetry(other_cpu_pct=92.0),) * 2, ("python.exe", "a program with a long name", "another one")
    )
    for size in ((1024, 600), (1024, 700)):
        driver.window.resize(*size)
        for _ in range(5):
            QApplication.processEvents()
        assert clipped(driver.window, [page.setup.points, page.setup.preflight.text]) == [], size


def test_the_verdict_is_there_after_a_table_with_more_columns(driver: Driver, machine: Machine) -> None:
    batches(driver, machine)
    with Database(driver.services.paths.database) as database:
        plan = plan_preset("devices", runner(driver, machine))
        store_study(database, machine, plan, lambda spec: 40.0 + spec.batch_size / 100)
    page = open_page(driver)
    driver.until(lambda: page.history.count() == 2)
    for number in (0, 1):
        page.history.setCurrentIndex(number)
        page.history.activated.emit(number)
        driver.until(lambda rows=4 if number else 1: page.table.rowCount() == rows)  # type: ignore[misc]
    assert not page.table.isColumnHidden(page.table.columnCount() - 1)


def test_the_table_follows_the_bars(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        plan = plan_preset("software", runner(driver, machine))
        store_study(database, machine, plan, lambda spec: 40.0 + spec.batch_size / 100)
    page = open_page(driver)
    driver.window.resize(1440, 900)
    driver.until(lambda: page.table.rowCount() > 0)
    QApplication.processEvents()
    assert page.view.height() < SMALLEST_PX, "three bars need less than a chart of lines"
    assert page.table.y() - (page.view.y() + page.view.height()) == GAP_PX


def test_keys_choose_a_study(driver: Driver) -> None:
    page = open_page(driver)
    page.setup.studies.setFocus()
    driver.qtbot.keyClick(page.setup.studies, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    assert page.setup.study == list(PRESETS)[1]


def test_the_chosen_study_is_in_sight_in_the_smallest_window(driver: Driver) -> None:
    page = open_page(driver)
    driver.window.resize(1440, 900)
    choose(driver, page, OWN)
    driver.window.resize(driver.window.minimumSize())
    QApplication.processEvents()
    studies = page.setup.studies
    driver.until(lambda: studies.height() < studies.maximumHeight())
    assert studies.viewport().rect().contains(studies.visualItemRect(studies.currentItem()))


@pytest.mark.parametrize("width", [800, 1024, 1366])
def test_no_question_is_cut(driver: Driver, width: int) -> None:
    driver.become(gpus=(Gpu("NVIDIA GeForce RTX 4070", "nvidia"),) * 2)  # with the questions on several devices
    studies = open_page(driver).setup.studies
    driver.window.resize(width, 700)
    driver.until(lambda: driver.window.width() == width)
    QApplication.processEvents()
    texts_px = studies.viewport().width() - 2 * ITEM_PX
    for item in map(studies.item, range(studies.count())):
        room = QRect(0, 0, texts_px, 1_000)
        text = studies.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, item.text())
        assert text.width() <= texts_px
        assert text.height() <= studies.visualItemRect(item).height()
