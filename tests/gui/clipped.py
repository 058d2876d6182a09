"""Finds texts in the window that can't be read whole: elided, or larger than the room they have."""

import html
import unicodedata
from collections.abc import Collection, Iterator

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QLabel, QWidget

from app.gui.charts.plots import Plot
from app.gui.widgets.basics import Button, ClampedLabel, ElidedLabel, is_narrow
from app.gui.widgets.choice_box import ChoiceBox

# Fonts have fractions of pixels.
ABOUT_PX = 1


def clipped(root: QWidget, may_elide: Collection[QWidget] = (), left_out: Collection[QWidget] = ()) -> list[str]:
    """Return a line for each visible text of labels, buttons and boxes that isn't shown whole.

    Args:
        root: The window, or a part of it.
        may_elide: Labels and boxes that may be elided, with the whole text as tooltip. In a narrow window all may.
        left_out: What isn't looked at.
    """
    boxes = [box for box in root.findChildren(ChoiceBox) if box.isVisible() and box not in left_out]
    return (
        [
            f"Button {button.toolTip()}: only its icon"
            for button in root.findChildren(Button)
            if button.isVisible()
            and button.property("brief")
            and not is_narrow(button)
            and button not in may_elide
        ]
        + [
            f"{type(box).__name__} {box.currentText()!r}: elided"
            for box in boxes
            if box.shown_text() != box.currentText()
            if not (box in may_elide or is_narrow(box)) or not _has_whole_value(box)
        ]
        + [
            f"{type(widget).__name__} {_text(widget)[:60]!r}: {why}"
            for widget in root.findChildren(QWidget)
            if isinstance(widget, QLabel | QAbstractButton) and widget.isVisible() and _text(widget)
            if widget not in left_out
            for why in _faults(widget, is_allowed=widget in may_elide)
        ]
    )


def _has_whole_value(box: ChoiceBox) -> bool:
    enter(box)
    tip = box.toolTip()
    QApplication.sendEvent(box, QEvent(QEvent.Type.Leave))
    return html.escape(box.currentText()) in tip


def steering(window: QWidget) -> list[str]:
    """Return the labels with characters that nobody sees, but that may turn around what follows."""
    labels = [label for label in window.findChildren(QLabel) if label.isVisible()]
    return [
        repr(label.text()) for label in labels if any(unicodedata.category(each) == "Cf" for each in label.text())
    ]


def enter(widget: QWidget) -> None:
    place = QPointF(widget.rect().center())
    QApplication.sendEvent(widget, QEnterEvent(place, place, place))


def _faults(widget: QLabel | QAbstractButton, *, is_allowed: bool) -> Iterator[str]:
    if isinstance(widget, ElidedLabel | ClampedLabel) and widget.text() != widget.whole_text:
        is_shorter = isinstance(widget, ClampedLabel) and not widget.is_elided  # another text, which is whole
        if not is_allowed and not is_shorter and not is_narrow(widget):
            yield f"elided from {widget.whole_text[:300]!r}"
        elif not widget.toolTip():
            yield "elided without a tooltip"
    need, room = _need(widget), widget.contentsRect().size()
    if need[0] > room.width() + ABOUT_PX or need[1] > room.height() + ABOUT_PX:
        yield f"needs {need}, has {(room.width(), room.height())}"
    if (where := _outside(widget)) is not None:
        yield f"lies outside of {where}"


def _text(widget: QLabel | QAbstractButton) -> str:
    return widget.text().strip()


def _need(widget: QLabel | QAbstractButton) -> tuple[int, int]:
    if isinstance(widget, QAbstractButton):
        inner = widget.size() - widget.contentsRect().size()
        wanted = widget.sizeHint() - inner
        return wanted.width(), wanted.height()
    metrics, text = widget.fontMetrics(), widget.text()
    if widget.wordWrap():
        box = QRect(0, 0, widget.contentsRect().width(), 100_000)
        needed = metrics.boundingRect(box, int(Qt.TextFlag.TextWordWrap), text)
        return needed.width(), needed.height()
    lines = text.split("\n")
    return max(map(metrics.horizontalAdvance, lines)), metrics.height() * len(lines)


def _outside(widget: QWidget) -> str | None:
    child, parent = widget, widget.parentWidget()
    while parent is not None and not child.isWindow():
        above = parent.parentWidget()
        placed = QRect(widget.mapTo(parent, QPoint(0, 0)), widget.size())
        room = parent.rect().adjusted(-ABOUT_PX, -ABOUT_PX, ABOUT_PX, ABOUT_PX)
        if isinstance(above, QAbstractScrollArea) and not isinstance(above, Plot) and above.viewport() is parent:
            cannot_scroll = above.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            is_beside = placed.left() < room.left() or placed.right() > room.right()
            return type(above).__name__ if cannot_scroll and is_beside else None
        if not room.contains(placed):
            return type(parent).__name__
        child, parent = parent, above
    return None
