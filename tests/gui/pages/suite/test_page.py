"""The Suite page in the real window: running the demo, cancelling, resuming, sharing, and stored suites."""

from collections.abc import Mapping

from PySide6.QtWidgets import QTableWidget

from app.core.messages import sentence
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.planning import plan_suite
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.gui.pages.suite.page import SuitePage
from app.gui.run.plan_page import PlanPage
from tests.build import Outcome, load_suite, store_point
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import sure
from workloads.protocol.machine import Machine


def open_page(driver: Driver) -> SuitePage:
    driver.window.show_page("suite")
    return driver.window.suite


def store(driver: Driver, machine: Machine, outcomes: Mapping[str, Outcome] | None = None, runs: int = 16) -> int:
    """Store a suite as fast as the reference machine, but for what some workloads gave."""
    with Database(driver.services.paths.database) as database:
        plan = plan_suite(Runner(driver.services.paths, machine), "tensorflow", "cpu")
        group_id = begin_group(database, plan)
        for planned, part in list(zip(plan.runs(), SUITE_1.parts * plan.rounds, strict=True))[:runs]:
            outcome = (outcomes or {}).get(part.workload, part.reference)
            store_point(database, machine, planned.spec, group_id, outcome, engine_version="2.21.0")
    return group_id


def rows(page: PlanPage) -> list[list[str]]:
    table = sure(page.findChild(QTableWidget))
    return [
        [table.item(row, column).text() for column in range(table.columnCount())]  # type: ignore[union-attr]
        for row in range(table.rowCount())
    ]


def test_a_stored_suite_shows_score_parts_and_all_scores(driver: Driver, machine: Machine) -> None:
    store(driver, machine)
    store(driver, machine, {"matmul": 2 * SUITE_1.parts[-1].reference})
    page = open_page(driver)
    driver.until(lambda: page.report is not None)
    assert page.headline.value.text() == "1,091"
    assert said("level.valid").is_all_of(page.headline.pill.whole_text)
    tests = sure(page.view.figure)
    assert tests.rows == tuple(part.title for part in SUITE_1.parts)
    assert sure(tests.series[0].spots[-1]).text == "2,000"
    assert page.more.whole_text.startswith(sentence("suite.means", training="1,000", prediction="1,000"))
    assert sentence("suite_page.step_2") in page.more.whole_text
    assert page.charts.count() == 3
    page.charts.setCurrentIndex(2)
    page.charts.activated.emit(2)
    assert sure(page.view.figure).rows == (
        sentence("suite.score_of", engine="TensorFlow", device="Test CPU", group_id=2),
        sentence("suite.score_of", engine="TensorFlow", device="Test CPU", group_id=1),
    )


def test_a_part_that_does_not_fit_scores_nothing_and_says_so(driver: Driver, machine: Machine) -> None:
    store(driver, machine, {"gpt_mini": "out_of_memory"})
    page = open_page(driver)
    driver.until(lambda: page.report is not None)
    assert page.headline.value.text() == "0"
    assert said("suite.zeros", parts="GPT mini").is_in(page.more.whole_text)
    assert page.resume_button.isVisible()


def test_what_a_terminal_finished_meanwhile_is_not_run_again(driver: Driver, machine: Machine) -> None:
    group_id = store(driver, machine, runs=15)
    page = open_page(driver)
    driver.until(page.resume_button.isVisible)
    assert said("suite.no_interval").is_in(page.headline.unit.text())
    assert sentence("suite.one_round") in page.more.whole_text
    with Database(driver.services.paths.database) as database:
        spec, part = load_suite(database, group_id).left[0].spec, SUITE_1.parts[-1]
        store_point(database, machine, spec, group_id, part.reference, engine_version="2.21.0")
    driver.press(page.resume_button)
    driver.until(lambda: not page.resume_button.isVisible())
    assert not driver.services.bridge.is_running
    assert page.headline.value.text() == "1,000"
    assert not said("suite.no_interval").is_in(page.headline.unit.text())
