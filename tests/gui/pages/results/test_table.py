"""The table of runs: under the keyboard, its columns, of which what matters is never cut, and its cells."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.records import Plan, RunSummary
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.queries import set_comment
from app.core.storage.runs import list_runs
from app.core.titles import level_title, workload_title
from app.gui.pages.results.cells import cell_text
from app.gui.pages.results.columns import COLUMNS, COMMENT, KEYS, NAME_PX, fitted_widths
from app.gui.pages.results.page import ResultsPage
from tests.build import set_fields, store
from tests.gui.driving import Driver
from tests.gui.pages.results.using import column, found, press_key, select, store_another, type_comment
from tests.saying import said
from tests.sure import only
from workloads import CATALOGUE
from workloads.protocol.machine import Machine


def test_tab_leaves_the_table_and_arrows_stay_inside(driver: Driver, page: ResultsPage) -> None:
    table, window, keys = page.table, driver.window, Qt.Key
    driver.until(lambda: window.focusWidget() is table)
    table.setCurrentIndex(page.model.index(0, 1))
    moves = {keys.Key_Down: (1, 1), keys.Key_Right: (1, 2), keys.Key_Up: (0, 2), keys.Key_Left: (0, 1)}
    for key, place in moves.items():
        QTest.keyClick(table, key)
        assert (table.currentIndex().row(), table.currentIndex().column()) == place
        assert window.focusWidget() is table
    for key in (keys.Key_Tab, keys.Key_Backtab):
        table.setFocus()
        QTest.keyClick(table, key)
        assert window.focusWidget() is not table
        assert table.currentIndex().row() == 0
    table.selectAll()
    assert table.selectionModel().hasSelection()
    assert not table.horizontalHeader().selectionModel().hasSelection()  # it would ask about each row


def test_verdicts_are_shown_sorted_and_found(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for verdict in ("valid", "caution", "invalid", None):
            codes = "on_battery other_load" if verdict == "caution" else None
            store(database, machine, 61.0, 60.0, columns={"verdict": verdict, "reasons": codes})
    page = driver.open_results()
    place = list(COLUMNS).index("verdict")

    def cells(role: Qt.ItemDataRole = Qt.ItemDataRole.DisplayRole) -> list[Any]:
        return [page.model.index(row, place).data(role) for row in range(page.model.rowCount())]

    assert cells() == ["n/a", *map(level_title, ("invalid", "caution", "valid"))]
    tokens, colours = driver.services.theme.tokens, cells(Qt.ItemDataRole.ForegroundRole)
    told = [colour.name().upper() if colour is not None else None for colour in colours]
    assert told == [None, tokens.invalid, tokens.caution, tokens.valid]
    reasons = f"on battery, {sentence('plain.other_load')}"
    assert reasons in cells(Qt.ItemDataRole.ToolTipRole)[2]
    found(driver, page, page.table.sortByColumn, place, Qt.SortOrder.AscendingOrder)
    assert cells() == [*map(level_title, ("caution", "invalid", "valid")), "n/a"]
    found(driver, page, page.filters.search.setText, "valid")
    assert page.model.rows == [1]


LONGEST = max(CATALOGUE.values(), key=lambda workload: len(workload_title(workload.id)))
PADDING_PX = 24  # of headings, in the style sheet
SIZES = ((800, 480), (1024, 700), (1200, 800), (1440, 900), (1920, 1080), (3840, 2160))


def store_long(driver: Driver, machine: Machine, workload: str) -> None:
    with Database(driver.services.paths.database) as database:
        group_id = begin_group(
            database, Plan(kind="repeat", specs=(CATALOGUE[workload].default_spec(),), rounds=2)
        )
        columns = {"verdict": "caution", "preset": "sustained"}
        for group in ({}, {"group_id": group_id}):
            run_id = store(database, machine, 61.0, 60.0, workload=workload, columns=columns | group)
            set_comment(database, run_id, "a name that is much too long for any column " * 4)
        set_fields(database, value=8888.8, basis="estimate")


def cut_columns(page: ResultsPage) -> list[str]:
    """Return the columns, other than name and device, in which a text or the heading is cut."""
    table, cut = page.table, []
    for number, key in enumerate(COLUMNS):
        if key in ("comment", "device"):
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


def test_what_matters_is_never_cut(driver: Driver, machine: Machine) -> None:
    store_long(driver, machine, "cifar10_keras_cnn")
    page = driver.open_results()
    for workloads in (["cifar10_keras_cnn"], ["cifar10_keras_cnn", LONGEST.id]):
        if LONGEST.id in workloads:
            store_long(driver, machine, LONGEST.id)
            found(driver, page, page.refresh)
        devices_px = []
        for width, height in SIZES:
            driver.window.resize(width, height)
            driver.until(lambda width=width: driver.window.width() == width)  # type: ignore[misc]
            assert cut_columns(page) == [] or (width == 800 and cut_columns(page) == ["workload"]), width
            assert page.table.horizontalScrollBar().maximum() == 0 or width == 800
            devices_px.append(page.table.columnWidth(KEYS.index("device")))
        assert devices_px[-1] > 1.5 * devices_px[0]
        assert page.table.columnWidth(KEYS.index("comment")) > NAME_PX


@given(st.fixed_dictionaries({key: st.integers(60, 260) for key in COLUMNS}), st.integers(0, 4_000))
def test_columns_fit_unless_they_are_as_narrow_as_can_be(wanted: dict[str, int], room: int) -> None:
    widths = fitted_widths(room, wanted)
    narrowest = fitted_widths(0, wanted)
    assert sum(widths.values()) <= room or widths == narrowest
    wider = fitted_widths(room + 500, wanted)
    assert all(wider[key] >= widths[key] for key in KEYS)


@pytest.fixture
def run(paths: Paths, machine: Machine) -> RunSummary:
    with Database(paths.database) as database:
        return next(list_runs(database, ids=[store(database, machine, 90.0, 60.0, 62.0)]))


@pytest.mark.parametrize(
    ("key", "changes", "expected"),
    [
        ("value", {}, "61.0 s/epoch"),
        ("value", {"basis": "estimate"}, "≈ 61.0 s/epoch"),
        ("value", {"basis": "first_epoch"}, "1st: 61.0 s/epoch"),
        ("value", {"metric": "flop_per_s", "value": 2.5e12}, "2.50 TFLOP/s"),
        ("value", {"value": None}, "n/a"),
        ("workload", {"workload": "mnist_mlp"}, "MNIST MLP"),
        ("workload", {"workload": "of another version"}, "of another version"),
        ("spread_pct", {"spread_pct": 2.345}, "2.3 %"),
        ("spread_pct", {"spread_pct": None}, "n/a"),
        ("device", {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 4090"}, "RTX 4090"),
        ("comment", {}, ""),
        ("verdict", {"verdict": None}, "n/a"),
        ("batch_size", {}, "100"),
    ],
)
def test_each_cell(run: RunSummary, key: str, changes: dict[str, Any], expected: str) -> None:
    assert cell_text(replace(run, **changes), key) == expected


def test_newest_first_sorted_on_demand_and_filtered(driver: Driver, page: ResultsPage) -> None:
    assert page.model.rows == [4, 3, 2, 1]
    assert said("results_page.runs", count="4").is_all_of(page.count.text())
    assert said("results_page.export_all").is_all_of(page.export_button.accessibleName())
    driver.until(lambda: driver.window.focusWidget() is page.table)
    assert column(page, "value") == ["30.0 s/epoch", "40.0 s/epoch", "50.0 s/epoch", "60.0 s/epoch"]
    found(driver, page, page.table.sortByColumn, KEYS.index("value"), Qt.SortOrder.DescendingOrder)
    assert column(page, "value") == ["60.0 s/epoch", "50.0 s/epoch", "40.0 s/epoch", "30.0 s/epoch"]
    assert column(page, "comment") == ["", "water cooled", "", ""]
    assert column(page, "device") == ["Test CPU"] * 4
    for text, ids in (("WATER", [2]), ("cifar-10", [4, 3, 2, 1]), ("cancelled", [3]), ("nothing has this", [])):
        found(driver, page, page.filters.search.setText, text)
        assert sorted(page.model.rows, reverse=True) == ids
    assert said("results_page.runs_of_all", shown="0", count="4").is_all_of(page.count.text())
    assert page.first_button.isHidden()


def test_naming_a_run(driver: Driver, page: ResultsPage) -> None:
    index = page.model.index(page.model.rows.index(4), COMMENT)
    assert page.model.setData(index, "  overclocked ")
    driver.until(lambda: column(page, "comment")[0] == "overclocked")
    assert driver.stored()[0].comment == "overclocked"
    press_key(driver, type_comment(driver, page, 4, "x" * 300), Qt.Key.Key_Return)
    driver.until(lambda: "200" in driver.message)
    assert column(page, "comment")[0] == driver.stored()[0].comment == "overclocked"
    page.table.setCurrentIndex(page.model.index(0, 2))  # F2 names the run, whichever cell is current
    QTest.keyClick(page.table, Qt.Key.Key_F2)
    editor = only(QLineEdit, page.table.viewport().findChild(QLineEdit))
    QTest.keyClicks(editor, "quiet night")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    driver.until(lambda: driver.stored()[0].comment == "quiet night")


def ask_database(driver: Driver) -> None:
    """Wait for a question to the database, which is asked after those before it."""
    answers: list[None] = []
    driver.services.query(lambda _: None, answers.append)
    driver.until(lambda: bool(answers))


def test_a_comment_being_typed_outlasts_new_runs(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    editor = type_comment(driver, page, 3, "nothing")
    assert store_another(driver, machine) == 5
    page.refresh()
    ask_database(driver)
    assert page.model.rows == [4, 3, 2, 1]
    press_key(driver, editor, Qt.Key.Key_Escape)
    driver.until(lambda: page.model.rows == [5, 4, 3, 2, 1])
    driver.until(lambda: page.table.viewport().findChild(QLineEdit) is None)
    editor = type_comment(driver, page, 3, "night run")
    page.refresh()
    ask_database(driver)
    press_key(driver, editor, Qt.Key.Key_Return)
    driver.until(lambda: column(page, "comment") == ["", "", "night run", "water cooled", ""])


def test_chosen_runs_stay_chosen(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    select(page, 2, 4, 3)
    driver.window.show_page("benchmark")
    with driver.qtbot.assertNotEmitted(page.model.modelReset):
        driver.open_results()
    assert sorted(page.selected_ids()) == [2, 3, 4]
    store_another(driver, machine)
    found(driver, page, page.refresh)
    assert page.selected_ids() == [4, 3, 2]
    assert page.model.rows[page.table.currentIndex().row()] == 3
    found(driver, page, page.filters.search.setText, "completed")
    assert said("results_page.export_some", count="2").is_all_of(page.export_button.text().strip())


def test_deleted_runs_come_back_until_the_window_closes(driver: Driver, page: ResultsPage) -> None:
    assert not page.delete_button.isEnabled()
    select(page, 4, 2)
    found(driver, page, driver.press, page.delete_button)
    assert page.model.rows == [3, 1]
    assert [run.id for run in driver.stored()] == [3, 1]
    assert said("results_page.deleted", count="2").is_in(driver.message)
    assert driver.window.action("menu.undo_delete").isEnabled()
    found(driver, page, driver.press, driver.window.banner.button)
    assert page.model.rows == [4, 3, 2, 1]
    assert not driver.window.action("menu.undo_delete").isEnabled()
    select(page, 1)
    page.table.setFocus()
    found(driver, page, press_key, driver, page.table, Qt.Key.Key_Delete)
    driver.window.close()
    with Database(driver.services.paths.database) as database:
        left = [row[0] for row in database.connection.execute("SELECT id FROM runs ORDER BY id")]
    assert left == [2, 3, 4]
