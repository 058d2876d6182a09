"""Others' results and logs on the Compare page: seen before they are imported, with a bar each, and removed."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.core.analysis.compare import Bar
from app.core.messages import sentence
from app.core.storage.database import Database
from app.core.storage.imported_results import add_results
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.logs import LogPreview
from app.gui.pages.compare.page import ComparePage
from app.gui.services.bundle import Services
from tests.core.result_file.results import golden
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
    """Return what the menu of a bar offers, which the keyboard opens."""
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, page.mapToGlobal(place))
    QApplication.sendEvent(page, event)
    (menu,) = page.findChildren(QMenu)
    (action,) = menu.actions()
    return action


def imported(page: ComparePage) -> list[Bar]:
    return [bar for bar in page.bar_list.bars if bar.kind == "imported"]


def test_an_imported_result_has_its_bar_and_row_until_it_is_removed(
    page: ComparePage, services: Services, told: Told, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        add_results(database, golden(), "lab.json")
    page.refresh()
    qtbot.waitUntil(lambda: len(imported(page)) == 2, timeout=PATIENCE_MS)
    keys = [bar_key(bar) for bar in imported(page)]
    assert keys == ["imported-3", "imported-1"]
    bar = imported(page)[0]
    assert bar.remarks[:3] == (sentence("compare.imported_result"), "TensorFlow 2.21.0", "valid")
    rows = [
        row
        for row in page.table.rows.rows
        if said("compare.imported_numbered", number="3", name="EPYC").is_all_of(row.texts[0])
    ]
    assert rows[0].texts[3:8] == ("CPU", "2026", "TensorFlow 2.21.0", "128", "float32")
    assert said("compare_page.from_imported", source="lab.json", number="3").is_in(rows[0].texts[9])
    page.bar_list.pointed.emit(bar)
    action = only_action(page)
    assert said("compare_page.remove_result").is_all_of(action.text())
    action.trigger()
    qtbot.waitUntil(lambda: [bar_key(bar) for bar in imported(page)] == ["imported-1"], timeout=PATIENCE_MS)
    assert (sentence("compare_page.removed", name="EPYC"), "") in told.messages


HEAD = "epoch,elapsed,loss,acc,val_loss,val_acc\n"
GOOD = HEAD + "0,9,1,1,1,1\n1,3.25,1,1,1,1\n2,3.5,1,1,1,1\n"
TOTALS = HEAD + "".join(f"{number},{5.1 * (number + 1)},1,1,1,1\n" for number in range(10))


def previewed(page: ComparePage, qtbot: QtBot, path: Path, text: str) -> LogPreview:
    path.write_text(text)
    page.logs.show_preview(path, "mnist_mlp")
    qtbot.waitUntil(lambda: page.logs.preview is not None and page.logs.preview.isVisible(), timeout=PATIENCE_MS)
    assert page.logs.preview is not None
    return page.logs.preview


def values(page: ComparePage) -> dict[str, float]:
    return {bar.name: bar.value for bar in page.bar_list.bars if bar.kind == "log"}


def test_a_log_is_shown_before_it_is_imported(page: ComparePage, told: Told, qtbot: QtBot, tmp_path: Path) -> None:
    preview = previewed(page, qtbot, tmp_path / "k80.csv", GOOD)
    assert said("compare_page.log_facts", high="3.50", low="3.25", median="3.38", count="3").is_all_of(
        preview.facts.text()
    )
    assert said("compare_page.log_begins", durations="9.00, 3.25, 3.50").is_all_of(preview.first.text())
    assert preview.caution.isHidden()
    assert preview.differences.isHidden()
    assert preview.name.text() == "k80"
    preview.name.setText(" ")
    assert not preview.import_button.isEnabled()
    preview.name.setText("my K80")
    assert values(page) == {}
    preview.import_button.click()
    qtbot.waitUntil(lambda: values(page) == {"my K80": 3.375}, timeout=PATIENCE_MS)
    assert (sentence("compare_page.imported", name="my K80"), "") in told.messages


def test_totals_are_noticed_and_their_differences_used_unless_unwanted(
    page: ComparePage, qtbot: QtBot, tmp_path: Path
) -> None:
    preview = previewed(page, qtbot, tmp_path / "totals.csv", TOTALS)
    assert preview.caution.isVisible()
    assert said("compare_page.log_facts", median="5.10", count="10").begins(preview.facts.text())
    preview.differences.setChecked(False)
    assert said("compare_page.log_facts", median="30.6", count="10").begins(preview.facts.text())
    preview.differences.setChecked(True)
    preview.import_button.click()
    qtbot.waitUntil(lambda: list(values(page)) == ["totals"], timeout=PATIENCE_MS)
    assert values(page)["totals"] == pytest.approx(5.1)


def test_who_cancels_imports_nothing_and_a_bad_log_is_refused(
    page: ComparePage, told: Told, qtbot: QtBot, tmp_path: Path
) -> None:
    previewed(page, qtbot, tmp_path / "k80.csv", GOOD).reject()
    (tmp_path / "k80.csv").write_text("nonsense")
    page.logs.show_preview(tmp_path / "k80.csv", "mnist_mlp")
    qtbot.waitUntil(lambda: told.messages[-1:] != [] and told.messages[-1][1] == "invalid", timeout=PATIENCE_MS)
    assert said("logs.columns_missing", columns="epoch, elapsed").is_in(told.messages[-1][0])
    assert values(page) == {}


def test_a_log_is_removed_from_its_bars_menu(page: ComparePage, told: Told, qtbot: QtBot, tmp_path: Path) -> None:
    previewed(page, qtbot, tmp_path / "k80.csv", GOOD).import_button.click()
    qtbot.waitUntil(lambda: list(values(page)) == ["k80"], timeout=PATIENCE_MS)
    (bar,) = (bar for bar in page.bar_list.bars if bar.kind == "log")
    page.bar_list.pointed.emit(bar)
    action = only_action(page)
    assert said("compare_page.remove_log").is_all_of(action.text())
    action.trigger()
    qtbot.waitUntil(lambda: values(page) == {}, timeout=PATIENCE_MS)
    assert (sentence("compare_page.removed", name="k80"), "") in told.messages
