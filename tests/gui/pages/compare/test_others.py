"""Others' results on the Compare page: with a bar each, and removed."""

import msgspec
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.core.analysis.bars import Bar
from app.core.messages import sentence
from app.core.result_file.canonical import sealed
from app.core.storage.imported_results import add_results
from app.core.titles import level_title
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.page import ComparePage
from app.gui.services.bundle import Services
from tests.build import golden, in_database
from tests.gui.conftest import Told
from tests.gui.driving import added
from tests.saying import said

PATIENCE_MS = 10_000


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> ComparePage:
    page = added(qtbot, ComparePage(services))
    page.workload.setCurrentIndex(page.workload.findData("mnist_mlp"))
    page.show()
    return page


def only_action(page: ComparePage) -> QAction:
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, page.mapToGlobal(place))
    QApplication.sendEvent(page, event)
    menu = page.findChildren(QMenu)[-1]
    (action,) = menu.actions()
    return action


def imported(page: ComparePage) -> list[Bar]:
    return [bar for bar in page.bar_list.bars if bar.kind == "imported"]


def test_an_imported_result_has_its_bar_and_row_until_it_is_removed(
    page: ComparePage, services: Services, told: Told, qtbot: QtBot
) -> None:
    in_database(services.paths.database, add_results, golden(), "lab.json")
    page.refresh()
    qtbot.waitUntil(lambda: len(imported(page)) == 2, timeout=PATIENCE_MS)
    keys = [bar_key(bar) for bar in imported(page)]
    assert keys == ["imported-3", "imported-1"]
    bar = imported(page)[0]
    assert bar.remarks[:3] == (sentence("compare.imported_result"), "TensorFlow 2.21.0", level_title("valid"))
    rows = [
        row
        for row in page.table.rows.rows
        if said("compare.imported_numbered", number="3", name="EPYC (lab)").is_all_of(row.texts[0])
    ]
    assert rows[0].texts[3:8] == ("CPU", "2026", "TensorFlow 2.21.0", "128", "float32")
    assert said("compare_page.from_imported", source="lab.json", number="3").is_in(rows[0].texts[9])
    page.bar_list.pointed.emit(bar)
    action = only_action(page)
    assert said("compare_page.remove_result").is_all_of(action.text())
    action.trigger()
    qtbot.waitUntil(lambda: [bar_key(bar) for bar in imported(page)] == ["imported-1"], timeout=PATIENCE_MS)
    assert (sentence("compare_page.removed", name="EPYC"), "") in told.messages


def test_an_imported_result_of_other_work_is_named_with_its_reason(
    page: ComparePage, services: Services, qtbot: QtBot
) -> None:
    usual = golden()[0]
    other = msgspec.structs.replace(usual, spec=msgspec.structs.replace(usual.spec, batch_size=64))
    in_database(services.paths.database, add_results, (sealed(other),), "lab.json")
    page.refresh()
    heading = said("compare_page.not_shown")
    qtbot.waitUntil(lambda: heading.is_in(page.reasons.text()), timeout=PATIENCE_MS)
    assert said("compare.other_setting", theirs="batch 64", mine="batch 128").is_in(page.reasons.text())
    assert imported(page) == []
