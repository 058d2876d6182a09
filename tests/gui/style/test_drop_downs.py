"""Drop-down lists show each of their entries."""

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.gui.style.theme import Theme
from app.gui.widgets.choice_box import ChoiceBox


@pytest.mark.parametrize("count", [2, 5])
def test_an_opened_list_shows_all_that_it_has_room_for(count: int, qtbot: QtBot, application_theme: Theme) -> None:
    box = ChoiceBox("Colours")
    box.addItems([f"Colour {number}" for number in range(count)])
    window = QWidget()
    application_theme.dress(window)
    QVBoxLayout(window).addWidget(box)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    box.setFocus()  # as a click does
    qtbot.waitUntil(box.hasFocus)
    box.showPopup()
    shown = box.view()
    qtbot.waitUntil(shown.isVisible)
    assert shown.visualRect(box.model().index(count - 1, 0)).bottom() <= shown.viewport().rect().bottom()
    assert shown.verticalScrollBar().maximum() == 0
    box.hidePopup()


def test_a_box_is_as_high_with_the_focus_as_without(qtbot: QtBot, application_theme: Theme) -> None:
    window = QWidget()
    application_theme.dress(window)
    layout = QVBoxLayout(window)
    boxes = [ChoiceBox("Colours"), ChoiceBox("Formats")]
    for box in boxes:
        layout.addWidget(box)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    boxes[0].setFocus()
    qtbot.waitUntil(boxes[0].hasFocus)
    assert boxes[0].sizeHint() == boxes[1].sizeHint()
