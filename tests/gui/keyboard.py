"""Uses a window without a mouse: presses Tab until the focus is back where it began."""

import itertools
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QScrollArea, QWidget

from tests.gui.pixels import pixels

PRESSES = 200


def round_trip(start: QWidget, key: Qt.Key = Qt.Key.Key_Tab) -> list[QWidget]:
    """Return where the focus goes from a widget and back to it; fails where it doesn't come back."""
    start.setFocus(Qt.FocusReason.TabFocusReason)
    stops = [start]
    for _ in range(PRESSES):
        QTest.keyClick(focus(), key)
        if focus() is start:
            return stops
        assert focus() not in stops, f"stuck at {said(focus())}"
        stops.append(focus())
    raise AssertionError("The focus never comes back.")


def focus() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def said(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.accessibleName()!r}"


def jumps(stops: list[QWidget], root: QWidget) -> list[str]:
    """Return where the focus goes up, though not to a column farther right, or back beside where it was."""
    result = []
    for before, after in itertools.pairwise(stops):
        place, next_place = (resting_place(*pair, root) for pair in ((before, after), (after, before)))
        goes_up = next_place.bottom() <= place.top() and next_place.left() < place.right()
        goes_back = next_place.right() <= place.left() and next_place.top() < place.center().y()
        if goes_up or goes_back:
            result.append(f"{said(before)} {place} -> {said(after)} {next_place}")
    return result


def resting_place(widget: QWidget, other: QWidget, root: QWidget) -> QRect:
    """Return where it, or all that scrolls with it but not with the other, would be if nothing were scrolled."""
    parent = widget.parentWidget()
    while parent is not None and parent is not root:
        if isinstance(parent, QScrollArea) and not parent.isAncestorOf(other):
            widget = parent
        parent = parent.parentWidget()
    corner = widget.mapTo(root, QPoint(0, 0))
    parent = widget.parentWidget()
    while parent is not None and parent is not root:
        if isinstance(parent, QScrollArea):
            corner += QPoint(0, parent.verticalScrollBar().value())
        parent = parent.parentWidget()
    return QRect(corner, widget.size())


def unreached(stops: list[QWidget], root: QWidget) -> list[str]:
    """Return what a mouse can use and Tab doesn't reach; of several choices, the checked one is enough."""
    usable = [each for each in root.findChildren(QWidget) if is_control(each)]
    mouse_only = [
        each
        for each in root.findChildren(QWidget)
        if isinstance(each, QAbstractButton | QComboBox) and not each.focusPolicy() & Qt.FocusPolicy.TabFocus
        if each.isVisible() and each.isEnabled() and not (isinstance(each, QAbstractButton) and each.isCheckable())
    ]
    return [said(each) for each in (*usable, *mouse_only) if each not in stops]


def is_control(widget: QWidget) -> bool:
    by_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return by_tab and widget.isVisible() and widget.isEnabled() and not widget.window().isHidden()


def without_ring(stops: list[QWidget], settle: Callable[[], None]) -> list[str]:
    faults = []
    for stop in stops:
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        settle()
        ring = picture(stop)
        stop.clearFocus()
        settle()
        if not differs(ring, picture(stop)):
            faults.append(said(stop))
    return faults


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


def differs(one: QImage, other: QImage) -> bool:
    if one.size() != other.size():
        return True
    return int((pixels(one) != pixels(other)).sum()) > min(one.width(), one.height())
