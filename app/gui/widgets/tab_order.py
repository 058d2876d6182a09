"""The tab order, which follows the layouts regardless of the order in which widgets were created."""

import itertools
from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget


def order_tabs(root: QWidget) -> None:
    """Set the tab order of all visible widgets in `root`, from top to bottom and column by column."""
    for before, after in itertools.pairwise(_stops(root)):
        QWidget.setTabOrder(before, after)


def bring_into_view(widget: QWidget) -> None:
    """Scroll a widget into view. Qt does so only if the focus was already in the same scroll area."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()


def heir_of(lost: QWidget) -> QWidget | None:
    """Return the widget that should have the focus instead of one that was hidden or disabled.

    This is the main button or, if there is none, the first tab stop next to it.
    """
    around: QWidget | None = lost
    while around is not None:
        stops = [stop for stop in _stops(around) if stop.isVisible() and stop.isEnabled()]
        if stops:
            return next((stop for stop in stops if stop.property("kind") == "primary"), stops[0])
        around = around.parentWidget()
    return None


def _stops(widget: QWidget) -> Iterator[QWidget]:
    """Yield the tab stops in the order of the layouts, followed by tab stops outside layouts."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
        yield widget
    placed = list(_placed(widget.layout()))
    direct = (child for child in widget.children() if isinstance(child, QWidget))
    for child in [*placed, *(child for child in direct if child not in placed)]:
        if not child.isHidden() and not child.isWindow():
            yield from _stops(child)


def _placed(layout: QLayout | None) -> Iterator[QWidget]:
    if layout is None:
        return
    for item in map(layout.itemAt, range(layout.count())):
        if item is not None and (widget := item.widget()) is not None:
            yield widget
        elif item is not None:
            yield from _placed(item.layout())
