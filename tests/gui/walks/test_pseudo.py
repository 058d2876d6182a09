"""In another language, nothing in the window stays in English, and longer texts fit: on any page, in any state."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest
from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.core.errors import AppError
from app.core.messages import message
from app.gui.shell.pages import PAGES
from app.gui.widgets.basics import ClampedLabel, ElidedLabel
from app.gui.widgets.dialogs import ask_to_run_concurrently
from tests.build import in_database
from tests.conftest import pretend_installed
from tests.gui.driving import Driver, replay
from tests.gui.full_pages import FULL
from tests.gui.walks.test_accessibility import DIALOGS
from tests.gui.walks.test_texts import SIZES, faults, show_result
from tests.pseudo import english_in, names_of, speak_pseudo
from tests.recording import recorded_events, store_recording, until_epoch
from tests.sure import sure

ROWS = 30
_KEYS = re.compile(r"\b(?:Ctrl|Shift|Alt|Return|Enter|Del|Esc|F\d+|PgUp|PgDown|Tab|Space|Left|Right)\b")
WIDE = SIZES[1:]


@pytest.fixture(autouse=True)
def another_language(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    speak_pseudo(monkeypatch, is_marked=request.node.originalname != test_longer_texts_fit.__name__)


def show(driver: Driver, code: str) -> None:
    driver.window.show_page(code)


def stored(driver: Driver) -> int:
    return in_database(driver.services.paths.database, store_recording, recorded_events())


def show_running(driver: Driver) -> None:
    replay(driver.window, driver.services, until_epoch(recorded_events(), 5, more_steps=214))


def show_finished(driver: Driver) -> None:
    show_result(driver, stored(driver))


def show_more_settings(driver: Driver) -> None:
    driver.page.setup.advanced_button.setChecked(True)


PAGE_STATES: dict[str, Callable[[Driver], None]] = {page.code: partial(show, code=page.code) for page in PAGES}
PAGE_STATES |= FULL | {
    "more settings": show_more_settings,
    "running": show_running,
    "finished": show_finished,
    "opened run": lambda driver: driver.open_run(stored(driver)),
}


@pytest.mark.slow
@pytest.mark.parametrize("state", [*PAGE_STATES, *DIALOGS])
def test_nothing_stays_in_english(driver: Driver, state: str) -> None:
    if state in DIALOGS:
        DIALOGS[state](driver).show()
    else:
        PAGE_STATES[state](driver)
    driver.until(lambda: driver.services.finder.machine is not None)
    QApplication.processEvents()
    assert list(dict.fromkeys(in_english(driver, filter(QWidget.isVisible, QApplication.allWidgets())))) == []


@pytest.mark.slow
@pytest.mark.parametrize("state", PAGE_STATES)
def test_longer_texts_fit(driver: Driver, state: str) -> None:
    PAGE_STATES[state](driver)
    # The whole text of what is elided, or of a button with its icon alone, is its tooltip.
    excused = ("elided from", ": elided", "only its icon")
    assert [
        each for each in faults(driver, state, ("light",), WIDE) if not any(map(each.__contains__, excused))
    ] == []


@pytest.mark.slow
def test_no_question_stays_in_english(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def read(box: QMessageBox) -> None:
        asked.append(box.text())
        assert list(dict.fromkeys(in_english(driver, [box, *box.findChildren(QWidget)]))) == []
        sure(box.escapeButton()).click()

    monkeypatch.setattr(QMessageBox, "exec", read)
    ask_to_run_concurrently(driver.window, AppError(message("busy.other_epochmark")))
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    driver.window.close()
    driver.page.cancel()
    driver.wait_for_result()
    pretend_installed("jax", driver.services.paths)
    driver.window.show_page("settings")
    card = driver.window.settings.engines_card
    driver.services.engines.look()
    driver.until(lambda: "jax" in card.rows and card.rows["jax"].row.state == "ready")
    driver.until(card.rows["jax"].remove_button.isVisible)
    driver.press(card.rows["jax"].remove_button)
    read(sure(card.findChild(QMessageBox)))
    assert len(asked) == 3


def in_english(driver: Driver, widgets: Iterable[QWidget]) -> Iterator[str]:
    """Yield what doesn't come from the catalogue, and is no name."""
    names = [*names_of(driver.machine), "automatic", "1 thread", "Œuvre"]  # the last ones: names of recorded runs
    for kind, text in (each for widget in widgets for each in texts_of(widget)):
        if left := english_in(re.sub(r"<[^>]*>", " ", text), names):
            yield f"{kind}: {left!r} of {text[:200]!r}"


def texts_of(widget: QWidget) -> Iterator[tuple[str, str]]:
    """Yield what is seen and heard of a widget, with its kind."""
    kind = type(widget).__name__
    yield f"{kind}'s tip", widget.toolTip()
    yield f"{kind}'s name", widget.accessibleName()
    yield f"{kind}'s description", widget.accessibleDescription()
    for text in shown(widget):
        yield kind, text


def shown(widget: QWidget) -> Iterator[str]:
    match widget:
        case ElidedLabel() | ClampedLabel():
            yield widget.whole_text
        case QPushButton() if is_qts_own(widget):
            return
        case QLabel() | QAbstractButton():
            yield _KEYS.sub(" ", widget.text())
        case QLineEdit():
            yield widget.placeholderText()
        case QPlainTextEdit():
            yield widget.toPlainText()
        case QComboBox():
            yield from map(widget.itemText, range(widget.count()))
        case QMenu():
            yield from (action.text() for action in widget.actions())
        case QHeaderView():
            return
        case QAbstractItemView():
            yield from cells(widget)


def is_qts_own(button: QPushButton) -> bool:
    """Return whether it is a button such as Close, which Qt translates itself."""
    box = button.parent()
    return isinstance(box, QDialogButtonBox) and box.standardButton(button) != box.StandardButton.NoButton


def cells(view: QAbstractItemView) -> Iterator[str]:
    model = view.model()
    columns = model.columnCount() if isinstance(model, QAbstractTableModel) else 1
    for column in range(columns):
        yield str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        yield from (str(model.index(row, column).data() or "") for row in range(min(model.rowCount(), ROWS)))
