"""Studies in the Lab, in the real window: planning, and stored studies."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.core.messages import sentence
from app.core.plans.experiments import STUDIES
from app.core.plans.study.axes import axis_title
from app.core.plans.study.planning import plan_axes
from app.core.plans.study.points import StudyResult
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.gui.charts.figure import SMALLEST_PX
from app.gui.pages.lab.page import LabPage
from app.gui.style.tokens import GAP_PX
from tests.core.plans.study.storing_studies import Outcome, store_study
from tests.gui.clipped import clipped
from tests.gui.driving import Driver
from tests.gui.pages.suite.test_page import rows
from tests.plans import plan_preset
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

CIFAR = CATALOGUE["cifar10_keras_cnn"]


def open_page(driver: Driver) -> LabPage:
    driver.window.show_page("lab")
    page = driver.window.lab
    driver.until(lambda: page.setup.run_button.isEnabled() or bool(page.setup.problem.text()))
    return page


def open_newest(driver: Driver) -> LabPage:
    page = open_page(driver)
    driver.until(lambda: len(page.entries) > 0)
    page.refresh(choose=page.entries[0].group_id)
    driver.until(lambda: page.report is not None)
    return page


def runner(driver: Driver, machine: Machine) -> Runner:
    return Runner(driver.services.paths, machine)


def speed(spec: RunSpec) -> Outcome:
    return 4_000.0 / spec.batch_size if spec.batch_size < 400 else "out_of_memory"


def batches(driver: Driver, machine: Machine, runs: int | None = None) -> StudyResult:
    with Database(driver.services.paths.database) as database:
        plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200, 400)}, runner(driver, machine))
        return store_study(database, machine, plan, speed, runs=runs)


def shown_id(page: LabPage) -> int | None:
    return page.report.group.id if page.report is not None else None


@pytest.mark.slow
def test_each_study_says_which_points_it_has(driver: Driver) -> None:
    setup = open_page(driver).setup
    for key, preset in STUDIES.items():
        setup.choose(key)
        if key == "power":  # no card here
            driver.until(lambda: said("run.no_power_limit").is_in(setup.problem.text()))
            continue
        driver.until(lambda: bool(setup.points.whole_text) and setup.run_button.isEnabled())
        assert said("studies_page.quick_runs").is_in(setup.points.whole_text) == (preset.preset == "quick")
        if key == "batch":
            axis = axis_title("batch_size")
            assert said("studies_page.range", axis=axis, first="8").is_in(setup.points.whole_text)
        assert setup.price.isVisible() == (key == "cost")
        assert setup.rounds.value() == preset.rounds


def test_folders_make_a_study_of_drives(driver: Driver, tmp_path: Path) -> None:
    page = open_page(driver)
    setup, folders = page.setup, [tmp_path / name for name in ("fast", "slow")]
    assert not setup.folders.isVisible()
    setup.choose("sizing")
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


def test_a_stored_study_shows_points_out_of_memory_and_what_is_left(driver: Driver, machine: Machine) -> None:
    batches(driver, machine, runs=3)
    page = open_newest(driver)
    assert page.resume_button.isVisible()
    states = [row[-1] for row in rows(page)]
    assert states.count(sentence("studies.state_waiting")) == 1
    assert set(states) <= {
        sentence("level.valid"),
        sentence("studies.state_waiting"),
        sentence("failure.out_of_memory"),
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
    page = open_newest(driver)
    driver.until(lambda: page.can_share)
    assert said("studies.cost_no_price").is_in(page.more.whole_text)
    page.setup.choose("cost")
    settings = driver.services.preferences
    assert (settings.settings.usd_per_hour, page.setup.price.value()) == (None, 0.0)
    page.setup.price.setValue(0.05)
    page.setup.price.editingFinished.emit()
    driver.until(lambda: said("studies.cost_per_hour", price="0.050").is_in(page.more.whole_text))
    settings.change(usd_per_hour=12.34567)
    assert page.setup.price.value() == 12.346
    page.setup.price.editingFinished.emit()
    assert settings.settings.usd_per_hour == 12.34567, "nobody touched it"
    page.setup.price.setValue(0.0)
    page.setup.price.editingFinished.emit()
    assert settings.settings.usd_per_hour is None


def test_what_is_left_to_run_is_offered_whole_in_a_small_window(driver: Driver, machine: Machine) -> None:
    batches(driver, machine, runs=3)
    page = open_newest(driver)
    driver.until(page.resume_button.isVisible)
    for size in ((1024, 600), (1024, 700)):
        driver.window.resize(*size)
        for _ in range(5):
            QApplication.processEvents()
        assert clipped(driver.window, [page.more]) == [], size


def test_the_verdict_is_there_after_a_table_with_more_columns(driver: Driver, machine: Machine) -> None:
    batches(driver, machine)
    with Database(driver.services.paths.database) as database:
        plan = plan_preset("devices", runner(driver, machine))
        store_study(database, machine, plan, lambda spec: 40.0 + spec.batch_size / 100)
    page = open_page(driver)
    driver.until(lambda: len(page.entries) == 2)
    for number in (0, 1):
        page.refresh(choose=page.entries[number].group_id)
        driver.until(lambda rows=4 if number else 1: page.table.rowCount() == rows)  # type: ignore[misc]
    assert not page.table.isColumnHidden(page.table.columnCount() - 1)


def test_the_table_follows_the_bars(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        plan = plan_preset("software", runner(driver, machine))
        store_study(database, machine, plan, lambda spec: 40.0 + spec.batch_size / 100)
    page = open_newest(driver)
    driver.window.resize(1440, 900)
    driver.until(lambda: page.table.rowCount() > 0)
    QApplication.processEvents()
    assert page.view.height() < SMALLEST_PX, "three bars need less than a chart of lines"
    assert page.table.y() - (page.view.y() + page.view.height()) == GAP_PX
