"""Brings the window's pages into the states in which they hold most: finished plans, and others' results."""

from collections.abc import Callable

from app.core.plans.repeat import repeat_plan
from app.core.records import PlanPlace
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.imported_results import add_results, load_result
from tests.build import golden, in_database
from tests.gui.driving import Driver
from tests.recording import asked, recorded_events, store_recording
from tests.study_pictures import SUITE_FACTORS, store_studies, store_suite
from tests.tools.screenshots import store_ab


def show_ab(driver: Driver) -> None:
    group_id = in_database(driver.services.paths.database, store_ab, recorded_events())
    driver.window.show_page("lab")
    driver.window.lab.refresh(choose=group_id)
    driver.until(lambda: driver.window.lab.report is not None)


def show_study(driver: Driver) -> None:
    services, page = driver.services, driver.window.lab
    assert services.finder.machine is not None
    with Database(services.paths.database) as database:
        stored = dict(store_studies(database, services.paths, services.finder.machine))
    driver.window.show_page("lab")
    page.refresh(choose=stored["batch"])
    driver.until(lambda: page.report is not None and page.report.group.id == stored["batch"])


def show_suite(driver: Driver) -> None:
    services, page = driver.services, driver.window.suite
    assert services.finder.machine is not None
    with Database(services.paths.database) as database:
        store_suite(database, services.paths, services.finder.machine, SUITE_FACTORS[0], runs=4)
    driver.window.show_page("suite")
    driver.until(lambda: page.report is not None)


def store_repeats(database: Database) -> int:
    recorded = recorded_events()
    group_id = begin_group(database, repeat_plan(asked(recorded)[0], 2))
    for number in (1, 2):
        store_recording(database, recorded, place=PlanPlace(group_id, number))
    return group_id


def show_group(driver: Driver) -> None:
    group_id = in_database(driver.services.paths.database, store_repeats)
    results = driver.open_results()
    results.open_group(group_id)
    driver.until(lambda: results.group is not None)


def show_imported(driver: Driver) -> None:
    with Database(driver.services.paths.database) as database:
        store_recording(database, recorded_events())
        add_results(database, golden(), "lab.epochmark.json")
    results = driver.open_results()
    results.filters.source.setCurrentIndex(results.filters.source.findData("all"))
    driver.until(lambda: bool(results.imported.results))


def show_imported_result(driver: Driver) -> None:
    show_imported(driver)
    imported = driver.window.results.imported
    result = imported.results[0]
    with Database(driver.services.paths.database) as database:
        imported.opened.emit(result, load_result(database, result.id))


def show_compare(driver: Driver) -> None:
    show_imported(driver)
    driver.window.show_page("compare")
    driver.window.compare.show_workload("mnist_mlp")


FULL: dict[str, Callable[[Driver], None]] = {
    "finished A/B": show_ab,
    "finished study": show_study,
    "half a suite": show_suite,
    "group": show_group,
    "imported": show_imported,
    "imported result": show_imported_result,
    "imported in compare": show_compare,
}
