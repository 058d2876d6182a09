"""Reads a window as a screen reader does: Qt's accessibility tree, and what in it would be said badly."""

import re
from collections.abc import Iterator

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QGraphicsView, QWidget

ROLE, TEXT = QAccessible.Role, QAccessible.Text
CONTROLS = {
    ROLE.Button,
    ROLE.CheckBox,
    ROLE.RadioButton,
    ROLE.ComboBox,
    ROLE.EditableText,
    ROLE.SpinBox,
    ROLE.Table,
    ROLE.List,
    ROLE.ProgressBar,
    ROLE.Slider,
    ROLE.MenuItem,
}
TAG = re.compile(r"</?[a-z][^>]*>|&[a-z]+;|&#")


def nodes(widget: QWidget) -> Iterator[QAccessibleInterface]:
    """Yield what is visible of a widget, itself first; of tables only the table."""
    yield from _below(QAccessible.queryAccessibleInterface(widget))


def faults(widget: QWidget) -> list[str]:
    """Return what a screen reader's user would not understand."""
    return [f"{_place(node)}: {fault}" for node in nodes(widget) for fault in _faults(node)]


def charts(widget: QWidget) -> list[QWidget]:
    """Return the visible widgets that a screen reader can know from their description only."""
    seen = (node.object() for node in nodes(widget))
    return [each for each in seen if isinstance(each, QWidget) and _is_painted(each)]


def spoken_name(node: QAccessibleInterface) -> str:
    """Return what a screen reader calls it: on Linux, Qt tells a combo box's name only by its label."""
    if node.role() != ROLE.ComboBox:
        return node.text(TEXT.Name)
    labels = node.relations(QAccessible.RelationFlag.Label)
    return " ".join(label.text(TEXT.Name) for label, _ in labels)


def _below(node: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    if node.state().invisible:
        return
    yield node
    if node.role() != ROLE.Table:
        for number in range(node.childCount()):
            yield from _below(node.child(number))


def _faults(node: QAccessibleInterface) -> Iterator[str]:
    widget, name, description = node.object(), spoken_name(node), node.text(TEXT.Description)
    painted = isinstance(widget, QWidget) and _is_painted(widget)
    if (painted or node.role() in CONTROLS or node.state().focusable) and not name.strip():
        yield "has no name"
    if node.role() == ROLE.ComboBox and name == node.text(TEXT.Value):
        yield f"is named as its value: {name}"
    if TAG.search(name) or TAG.search(description):
        yield f"has tags: {name!r}, {description!r}"
    if isinstance(widget, QGraphicsView) and not description:
        yield "doesn't describe what it shows"


def _is_painted(widget: QWidget) -> bool:
    """Return whether it is a chart, the part of one where it is drawn, or painted by ourselves."""
    if isinstance(widget, QGraphicsView) or isinstance(widget.parent(), QGraphicsView):
        return True
    return any("paintEvent" in vars(kind) for kind in type(widget).__mro__ if kind.__module__.startswith("app."))


def _place(node: QAccessibleInterface) -> str:
    widget: QObject | None = node.object()
    names = []
    while widget is not None:
        names.append(type(widget).__name__)
        widget = widget.parent()
    return " < ".join(names[:4]) + f" {node.text(TEXT.Name)!r}"
