"""The Lab in the real window: A/B tests, studies and a new experiment, run and stored."""

import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QListWidgetItem

from app.core.messages import sentence
from app.core.plans.experiments import EXPERIMENTS, STUDIES
from app.core.plans.report import LAB_PAGE
from app.core.plans.study.axes import axis_title
from app.core.plans.study.planning import plan_axes
from app.core.plans.study.points import StudyResult
from app.core.records import Group, Plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.gui.pages.lab.page import LabPage
from app.gui.pages.lab.questions import QuestionList
from app.gui.widgets.editors import set_edited
from tests.build import Outcome, in_database, plan_preset, store_study
from tests.gui.clipped import clipped
from tests.gui.driving import Driver
from tests.gui.full_pages import show_ab
from tests.gui.pages.benchmark.test_page import NO, YES, answer, workers
from tests.gui.pages.lab.test_sides import let_differ, planned
from tests.gui.pages.results.using import save_to
from tests.gui.pages.suite.test_page import rows
from tests.saying import said
from tests.sure import sure
from tests.test_experiments import KEY, register
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


def open_ab(driver: Driver, *, pairs: int = 2, batch: int = 200) -> LabPage:
    """Open the page with the demo chosen, whose epochs take half as long with twice the batch."""
    page = open_page(driver)
    setup = page.setup
    setup.workload.setCurrentIndex(setup.workload.findData("demo"))
    setup.more.button.setChecked(True)
    driver.press(setup.preset.buttons["standard"])
    let_differ(setup, "batch_size")
    set_edited(setup.sides.sides[1].editors["batch_size"], batch)
    setup.rounds.setValue(pairs)
    return page


def press_run(driver: Driver) -> None:
    planned(driver)
    driver.press(driver.window.lab.setup.run_button)


def wait_for_end(driver: Driver) -> Group:
    """Wait until a plan of the Lab has ended and is shown as it is stored."""
    page, bridge = driver.window.lab, driver.services.bridge
    driver.until(lambda: not bridge.is_running and not page.foot.isVisible() and page.report is not None)
    newest = in_database(driver.services.paths.database, list_groups)[0]
    driver.until(lambda: page.report is not None and len(page.report.group.runs) == len(newest.runs))
    return sure(page.report).group


def runner(driver: Driver, machine: Machine) -> Runner:
    return Runner(driver.services.paths, machine)


def speed(spec: RunSpec) -> Outcome:
    return 4_000.0 / spec.batch_size if spec.batch_size < 400 else "out_of_memory"


def batches(driver: Driver, machine: Machine, runs: int | None = None) -> StudyResult:
    with Database(driver.services.paths.database) as database:
        plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200, 400)}, runner(driver, machine))
        return store_study(database, machine, plan, speed, runs=runs)


def store_preset(driver: Driver, machine: Machine, key: str) -> None:
    with Database(driver.services.paths.database) as database:
        plan: Plan = plan_preset(key, runner(driver, machine))
        store_study(database, machine, plan, lambda spec: 40.0 + spec.batch_size / 100)


@pytest.mark.slow
def test_an_ab_is_run_shown_and_run_again_with_its_settings(driver: Driver) -> None:
    page, bridge, window = open_ab(driver), driver.services.bridge, driver.window
    a, b = page.setup.sides.sides
    let_differ(page.setup, "several")
    a.name.setText("usual")
    assert not window.action("menu.save_picture").isEnabled()
    press_run(driver)
    driver.until(lambda: len(bridge.done) >= 2)
    assert page.foot.cancel_button.isVisible()
    assert len(page.plot.pairs) == 2
    assert " of 4 · " in page.foot.progress_text.whole_text
    driver.until(lambda: page.foot.remaining.text().endswith(" left"))
    group = wait_for_end(driver)
    assert "".join(run.side or "" for run in group.runs) in ("ABBA", "BAAB")
    assert "“batch 200” is " in page.sentence.whole_text
    if page.headline.value.text() != sentence("ab_page.no_difference"):  # two pairs may leave it open
        assert 1.2 < float(page.headline.value.text().rstrip("×")) < 4
        assert page.headline.unit.text() == sentence("ab_page.faster", label="batch 200")
    assert page.more.whole_text.startswith("A: usual · B: batch 200 · s per epoch")
    assert page.plot.accessibleDescription().startswith("pair 1: usual 0.1")
    assert not workers()
    window.action("menu.copy_picture").trigger()
    driver.until(lambda: driver.message == sentence("picture.copied"))
    assert QGuiApplication.clipboard().image().width() == 1200
    page.setup.workload.setCurrentIndex(page.setup.workload.findData("mnist_mlp"))
    page.setup.rounds.setValue(9)
    a.name.setText("")
    results = driver.open_results()
    results.table.selectRow(0)
    results.commands.actions["again"].trigger()
    driver.until(lambda: page.isVisible() and len(bridge.done) == 3)
    driver.press(page.foot.cancel_button)
    assert page.foot.progress_text.whole_text == sentence("run.cancelling")
    assert wait_for_end(driver).runs[-1].status == "cancelled"
    assert said("ab.only_pair").is_in(page.sentence.whole_text)
    page.refresh(choose=(entries := page.entries)[0].group_id)
    page.ask()  # while the answer is still being read
    driver.until(lambda: page.entries is not entries)
    assert page.report is None
    plan = planned(driver)
    assert (plan.specs[0].workload, plan.rounds, plan.label_a, plan.label_b) == ("demo", 2, "usual", "batch 200")
    assert [spec.batch_size for spec in plan.specs] == [100, 200]
    assert (a.name.text(), b.name.text()) == ("usual", "")


@pytest.mark.slow
def test_only_one_page_runs_at_a_time(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    page, bridge, setup = open_ab(driver, pairs=20), driver.services.bridge, driver.page.setup
    with monkeypatch.context() as patch:
        patch.setattr("app.gui.services.run_bridge.has_running", lambda *_: True)
        asked = answer(patch, NO)
        press_run(driver)
        driver.until(lambda: len(asked) == 1)
        assert said("busy.other_epochmark").is_in(asked[0])
        driver.until(page.setup.run_button.isEnabled)
        answer(patch, YES)
        press_run(driver)
        driver.until(lambda: bridge.planned is not None)
    assert not page.setup.run_button.isEnabled()
    driver.window.show_page("benchmark")
    assert setup.problem.text() == sentence("benchmark.running")
    assert not setup.run_button.isEnabled()
    assert not driver.window.action("menu.run").isEnabled()
    driver.window.action("menu.cancel").trigger()
    wait_for_end(driver)
    assert setup.run_button.isEnabled()
    assert setup.isVisible(), "what ended was not this page's"
    driver.choose_demo(epochs=500)
    driver.press(setup.run_button)
    driver.until(lambda: bridge.is_running)
    driver.window.show_page("lab")
    assert "A benchmark is running" in page.setup.problem.text()
    assert not page.setup.run_button.isEnabled()
    assert page.report is not None, "the earlier one is still shown"
    driver.window.action("menu.cancel").trigger()
    page.ask()
    driver.until(page.setup.run_button.isEnabled)


@pytest.mark.slow
def test_by_hand_asks_before_each_change_and_can_be_stopped(driver: Driver) -> None:
    page = open_ab(driver)
    let_differ(page.setup, "by_hand")
    for side, name in zip(page.setup.sides.sides, ("plugged in", "on battery"), strict=True):
        side.name.setText(name)
    press_run(driver)
    driver.until(page.foot.go_button.isVisible)
    what = sentence("plan_page.side", side="A", label="plugged in")
    assert said("plan_page.set_up", planned="4", number="1", what=what).is_all_of(page.foot.question.whole_text)
    driver.window.action("menu.cancel").trigger()
    driver.until(lambda: not driver.services.bridge.is_running)
    assert not driver.stored()
    driver.until(lambda: page.report is None and page.setup.run_button.isEnabled())
    press_run(driver)
    driver.until(page.foot.go_button.isVisible)
    driver.press(page.foot.go_button)
    assert page.foot.cancel_button.isVisible()
    driver.until(page.foot.go_button.isVisible)
    assert said("plan_page.side", label="on battery", side="B").is_in(page.foot.question.whole_text)
    assert len(driver.stored()) == 1
    driver.press(page.foot.stop_button)
    wait_for_end(driver)
    assert said("group.not_begun", planned="4", count="3").is_in(page.more.whole_text)


def test_an_ab_that_cannot_start_is_reported_and_not_stored(driver: Driver) -> None:
    page, spec = open_ab(driver), CATALOGUE["demo"].default_spec
    plan = Plan(kind="ab", order="pairs", specs=(spec(), spec(batch_size=5_000)), rounds=1)
    page.setup.run_requested.emit(plan, driver.machine)
    driver.until(lambda: said("workload.batch_too_large", batch_size="5,000").is_in(driver.message))
    driver.until(page.setup.run_button.isEnabled)
    assert not in_database(driver.services.paths.database, list_groups)


def test_earlier_answers_are_chosen_with_keys(driver: Driver, machine: Machine) -> None:
    show_ab(driver)
    page = driver.window.lab
    first = sure(page.report).group
    store_preset(driver, machine, "batch")
    page.close_answer()
    driver.until(lambda: len(page.entries) == 2)
    page.earlier.setFocus()
    driver.qtbot.keyClick(page.earlier, Qt.Key.Key_End)  # type: ignore[no-untyped-call]
    driver.until(lambda: page.report is not None)
    assert (sure(page.report).group.id, sure(page.report).group.labels) == (first.id, ("automatic", "1 thread"))


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
    setup, folders = open_page(driver).setup, [tmp_path / name for name in ("fast", "slow")]
    assert not setup.folders.isVisible()
    setup.choose("sizing")
    assert setup.folders.isVisible()
    for folder in folders:
        folder.mkdir()
    setup.folders.line.setText(os.pathsep.join(map(str, folders)))
    counted = said("studies.folder", number="2")
    driver.until(lambda: counted.is_in(setup.points.whole_text) and setup.run_button.isEnabled())
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
    driver.until(page.resume_button.isVisible)
    states = [row[-1] for row in rows(page)]
    valid, waiting = sentence("level.valid"), sentence("studies.state_waiting")
    assert states.count(waiting) == 1
    assert set(states) <= {valid, waiting, sentence("failure.out_of_memory")}
    assert page.charts.count() == 2
    page.charts.setCurrentIndex(1)
    page.charts.activated.emit(1)
    assert page.view.figure is not None
    assert said("studies.step_title").is_all_of(page.view.figure.value_title)
    for size in ((1024, 600), (1024, 700)):
        driver.window.resize(*size)
        for _ in range(5):
            QApplication.processEvents()
        assert clipped(driver.window, [page.more]) == [], size


def test_the_price_is_kept_and_changes_the_answer(driver: Driver, machine: Machine) -> None:
    store_preset(driver, machine, "cost")
    page = open_newest(driver)
    driver.until(lambda: page.can_share)
    assert said("studies.cost_no_price").is_in(page.more.whole_text)
    page.setup.choose("cost")
    settings, price = driver.services.preferences, page.setup.price
    assert (settings.settings.usd_per_hour, price.value()) == (None, 0.0)
    price.setValue(0.05)
    price.editingFinished.emit()
    driver.until(lambda: said("studies.cost_per_hour", price="0.050").is_in(page.more.whole_text))
    settings.change(usd_per_hour=12.34567)
    assert price.value() == 12.346
    price.editingFinished.emit()
    assert settings.settings.usd_per_hour == 12.34567, "nobody touched it"
    price.setValue(0.0)
    price.editingFinished.emit()
    assert settings.settings.usd_per_hour is None


@pytest.mark.slow
def test_a_new_experiment_is_run_shown_and_written(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch)
    page = open_page(driver)
    page.questions.choose(KEY)
    driver.until(page.setup.run_button.isEnabled)
    assert page.setup.heading.text() == sentence(f"lab.question_{KEY}")
    assert not page.setup.sides.isVisible()
    driver.press(page.setup.run_button)
    for _ in range(2):
        driver.until(page.foot.go_button.isVisible)
        driver.press(page.foot.go_button)
    driver.until(lambda: not driver.services.bridge.is_running and page.export_button.isVisible())
    expected = sentence("hidden.count", count=2, shown=1)
    driver.until(lambda: page.sentence.whole_text == expected)
    assert page.table.rowCount() == 2
    save_to(monkeypatch, tmp_path / "plan.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "plan.json").is_file)
    written = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    assert (written["kind"], written["sentence"], len(written["runs"])) == (KEY, expected, 2)
    page.close_answer()
    page.earlier.setCurrentRow(0)
    driver.until(lambda: page.report is not None)
    assert sure(page.report).experiment.key == KEY


def open_list(driver: Driver) -> QuestionList:
    """Open the Lab, and wait until the list says what is impossible; no test computer has a power limit."""
    driver.window.show_page("lab")
    questions = driver.window.lab.questions
    driver.until(lambda: notes(questions).get("power") == sentence("lab.no_power_limit"))
    return questions


def items(questions: QuestionList) -> dict[str, QListWidgetItem]:
    listed = [questions.item(number) for number in range(questions.count())]
    return {item.data(Qt.ItemDataRole.UserRole): item for item in listed}


def notes(questions: QuestionList) -> dict[str, str]:
    return {
        key: questions.itemWidget(item).findChildren(QLabel)[-1].text() for key, item in items(questions).items()
    }


def test_all_questions_are_listed_and_impossible_ones_are_last(driver: Driver) -> None:
    questions = open_list(driver)
    listed = items(questions)
    assert set(listed) == {key for key, experiment in EXPERIMENTS.items() if experiment.page == LAB_PAGE}
    assert next(iter(listed)) == "ab"
    possible = [bool(item.flags()) for item in listed.values()]
    assert possible == sorted(possible, reverse=True)
    shown = notes(questions)
    assert {key for key, item in listed.items() if not item.flags()} == {
        "power",
        "scaling",
        "weak_scaling",
        "devices",
    }
    assert shown["scaling"] == sentence("lab.needs_gpus")
    assert shown["devices"] == sentence("lab.only_one"), "the tests pretend that only TensorFlow is installed"
    assert shown["batch"] == sentence("setup.minutes", minutes=8)
