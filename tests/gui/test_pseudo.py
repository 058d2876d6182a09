"""In another language, no text of the window stays in English, on any page and in any state."""

import re
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QTabBar,
    QWidget,
)

from app.core.storage.database import Database
from app.gui.shell.pages import PAGES
from tests.gui.driving import Driver, replay
from tests.gui.full_pages import FULL
from tests.pseudo import speak_pseudo, unmarked
from tests.recording import recorded_events, store_recording, until_epoch


@pytest.fixture(autouse=True)
def another_language(monkeypatch: pytest.MonkeyPatch, request) -> None:
    speak_pseudo(monkeypatch, is_marked="test_lay" not in request.node.name)


def texts(window: QWidget) -> Iterator[tuple[str, str]]:
    """Yield each text that is seen or read aloud, with the kind of its place."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible():
            continue
        kind = type(widget).__name__
        if isinstance(widget, QLabel | QAbstractButton):
            yield kind, widget.text()
        if isinstance(widget, QLineEdit):
            yield f"{kind} placeholder", widget.placeholderText()
        if isinstance(widget, QComboBox):
            for number in range(widget.count()):
                yield kind, widget.itemText(number)
        if isinstance(widget, QTabBar):
            for number in range(widget.count()):
                yield kind, widget.tabText(number)
        if isinstance(widget, QAbstractItemView) and not isinstance(widget, QHeaderView):
            yield from cells(kind, widget)
        yield f"{kind} tip", widget.toolTip()
        yield f"{kind} name", widget.accessibleName()
        yield f"{kind} description", widget.accessibleDescription()
    for menu in window.findChildren(QMenu):
        for action in menu.actions():
            yield "menu", action.text()


def cells(kind: str, view: QAbstractItemView) -> Iterator[tuple[str, str]]:
    model = view.model()
    columns = model.columnCount() if isinstance(model, QAbstractTableModel) else 1
    for column in range(columns):
        yield f"{kind} heading", str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        for row in range(min(model.rowCount(), 30)):
            yield f"{kind} cell", str(model.index(row, column).data() or "")


def found(driver: Driver) -> list[str]:
    out = []
    for kind, text in texts(driver.window):
        left = unmarked(re.sub(r"<[^>]*>", " ", text))
        if re.search(r"[A-Za-z]{2}", left):
            out.append(f"{kind}: {left}    <- {text[:150]}")
    return out


STATES: dict[str, Callable[[Driver], None]] = {
    page.code: lambda driver, code=page.code: driver.window.show_page(code) for page in PAGES
}


def running(driver):
    replay(driver.window, driver.services, until_epoch(recorded_events(), 5, more_steps=214))


def finished(driver):
    with Database(driver.services.paths.database) as database:
        n = store_recording(database, recorded_events())
    driver.page.show_result(n)
    driver.wait_for_result()


def opened(driver):
    with Database(driver.services.paths.database) as database:
        n = store_recording(database, recorded_events())
    detail = driver.open_run(n)
    driver.press(detail.table_button)


STATES |= FULL | {"running": running, "finished": finished, "opened": opened}


@pytest.mark.parametrize("state", STATES)
def test_look(driver: Driver, state: str) -> None:
    STATES[state](driver)
    driver.qtbot.wait(500)
    with open("/tmp/pseudo.txt", "a") as f:
        f.writelines(f"{state} | {line}\n" for line in dict.fromkeys(found(driver)))

from tests.gui.test_texts import faults
@pytest.mark.parametrize("state", STATES)
def test_lay(driver: Driver, state: str) -> None:
    STATES[state](driver)
    driver.qtbot.wait(300)
    with open("/tmp/layout.txt", "a") as f:
        for line in dict.fromkeys(faults(driver, state, ("light",))):
            f.write(line + "\n")
