"""The columns of the results table: what matters is never cut, and the name gives way first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from app.core.records import Plan
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.queries import set_comment
from app.gui.pages.results.columns import COLUMNS, KEYS, NAME_PX, fitting_columns
from app.gui.pages.results.page import ResultsPage
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

LONGEST = max(CATALOGUE.values(), key=lambda workload: len(workload.title))
PADDING_PX = 24  # of headings, in the style sheet
SIZES = ((1024, 700), (1200, 800), (1440, 900), (1920, 1080))


def open_with(driver: Driver, machine: Machine, *workloads: str) -> ResultsPage:
    """Open the history with a run of each workload, whose names are long."""
    with Database(driver.services.paths.database) as database:
        for workload in workloads:
            run_id = store(
                database,
                machine,
                61.0,
                60.0,
                workload=workload,
                columns={"verdict": "caution", "preset": "sustained"},
            )
            database.connection.execute("UPDATE runs SET value = 8888.8, basis = 'estimate'")
            set_comment(database, run_id, "a name that is much too long for any column " * 4)
    return driver.open_results()


def cut_columns(page: ResultsPage) -> list[str]:
    """Return the visible columns, other than name and device, in which a text or the heading is cut."""
    table, cut = page.table, []
    for number, key in enumerate(COLUMNS):
        if table.isColumnHidden(number) or key in ("comment", "device"):
            continue
        wanted_px = [
            table.sizeHintForIndex(page.model.index(row, number)).width() for row in range(page.model.count())
        ]
        heading_px = table.fontMetrics().horizontalAdvance(
            page.model.headerData(number, Qt.Orientation.Horizontal)
        )
        if max(*wanted_px, heading_px + PADDING_PX) > table.columnWidth(number):
            cut.append(key)
    return cut


@pytest.mark.parametrize(
    "workloads", [("cifar10_keras_cnn",), ("cifar10_keras_cnn", LONGEST.id)], ids=["short", "long"]
)
def test_what_matters_is_never_cut(driver: Driver, machine: Machine, workloads: tuple[str, ...]) -> None:
    page = open_with(driver, machine, *workloads)
    for width, height in SIZES:
        driver.window.resize(width, height)
        driver.until(lambda width=width: driver.window.width() == width)  # type: ignore[misc]
        assert cut_columns(page) == [], width
        for key in ("id", "started_at", "workload", "value", "verdict", "comment"):
            assert not page.table.isColumnHidden(KEYS.index(key))
        assert page.table.horizontalScrollBar().maximum() == 0


def test_devices_have_more_room_on_large_screens(driver: Driver, machine: Machine) -> None:
    page = open_with(driver, machine, "cifar10_keras_cnn")
    widths_px = {}
    for width in (1024, 1920):
        driver.window.resize(width, 1080)
        driver.until(lambda width=width: driver.window.width() == width)  # type: ignore[misc]
        widths_px[width] = page.table.columnWidth(KEYS.index("device"))
        assert page.table.horizontalScrollBar().maximum() == 0
    assert widths_px[1920] > 1.5 * widths_px[1024]
    assert page.table.columnWidth(KEYS.index("comment")) > NAME_PX


def test_a_longer_workload_gets_its_room_when_it_comes(driver: Driver, machine: Machine) -> None:
    page = open_with(driver, machine, "cifar10_keras_cnn")
    place = KEYS.index("workload")
    before_px = page.table.columnWidth(place)
    with Database(driver.services.paths.database) as database:
        store(database, machine, 61.0, 60.0, workload=LONGEST.id)
        group_id = begin_group(database, Plan(kind="repeat", specs=(LONGEST.default_spec(),), times=2))
        store(database, machine, 61.0, 60.0, columns={"group_id": group_id})
    driver.window.resize(1024, 700)
    driver.until(lambda: driver.window.width() == 1024)
    with driver.qtbot.waitSignal(page.model.found):
        page.refresh()
    assert page.table.columnWidth(place) > before_px
    assert cut_columns(page) == []
    assert page.table.horizontalScrollBar().maximum() == 0


def test_the_filter_says_what_it_matches(driver: Driver, machine: Machine) -> None:
    page = open_with(driver, machine, "cifar10_keras_cnn")
    driver.window.resize(1024, 700)
    driver.until(lambda: driver.window.width() == 1024)
    hint = page.filters.search.placeholderText()
    assert all(word in hint for word in ("name", "workload", "device", "engine", "verdict", "day", "number"))
    assert page.filters.search.fontMetrics().horizontalAdvance(hint) < page.filters.search.width() - 24
    assert said("results_page.filter_tip").is_in(page.filters.search.toolTip())


@given(st.fixed_dictionaries({key: st.integers(40, 260) for key in COLUMNS}), st.integers(0, 3_000))
def test_columns_fit_or_only_those_that_are_always_shown_are_left(wanted: dict[str, int], room: int) -> None:
    shown = fitting_columns(room, wanted)
    assert shown[:6] == ["id", "started_at", "workload", "value", "verdict", "comment"]
    assert len(shown) == 6 or sum(wanted[key] for key in shown) <= room
    assert shown == fitting_columns(room, wanted)
    assert set(fitting_columns(room + 500, wanted)) >= set(shown)
