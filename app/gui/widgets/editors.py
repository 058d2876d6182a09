"""Editors for the values of parameters, one for each kind."""

import os
from typing import TypeVar

from PySide6.QtCore import QDir, QSignalBlocker, Signal, SignalInstance
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.core.messages import sentence, text
from app.core.titles import choice_title
from app.gui.widgets.basics import row, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from workloads.protocol.parameters import Choice, Folders, Fraction, OnOff, Parameter, Whole
from workloads.protocol.spec import ParameterValue

INT_LIMIT = 2**31 - 1
FLOAT_LIMIT = 1e12


class FolderEdit(QWidget):
    """Edits one or more paths, separated as in PATH, with a button to choose folders."""

    changed = Signal()

    def __init__(self, text: str) -> None:
        super().__init__()
        hint = sentence("folder_edit.hint", separator=os.pathsep)
        self.line = QLineEdit(text, placeholderText=hint, clearButtonEnabled=True)
        self.add_button = QPushButton(sentence("folder_edit.add"))
        set_tip(self.add_button, sentence("folder_edit.choose"))
        self.line.textChanged.connect(self.changed)
        self.add_button.clicked.connect(self._choose)
        self.setFocusProxy(self.line)
        both = row(self.line, self.add_button)
        both.setStretch(0, 1)
        self.setLayout(both)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.line.setAccessibleName(name)
        self.add_button.setAccessibleName(sentence("folder_edit.add_to", name=name))

    def _choose(self) -> None:
        last = self.line.text().rpartition(os.pathsep)[2]
        folder = QFileDialog.getExistingDirectory(self, sentence("folder_edit.choose"), last)
        if folder:
            folders = [part for part in self.line.text().split(os.pathsep) if part]
            self.line.setText(os.pathsep.join([*folders, QDir.toNativeSeparators(folder)]))


class Switch(QCheckBox):
    """A check box that can be locked when there is no choice."""

    def __init__(self) -> None:
        super().__init__()
        self._own: tuple[bool, str] | None = None  # state and tooltip to restore

    def keep_on(self, reason: str) -> None:
        """Check and lock the box for this reason, without emitting signals; "" restores its previous state."""
        if reason and self._own is None:
            self._own = (self.isChecked(), self.accessibleDescription())
            self._show(checked=True, tip=reason)
        elif not reason and self._own is not None:
            was_checked, tip = self._own
            self._own = None
            self._show(checked=was_checked, tip=tip)

    def _show(self, *, checked: bool, tip: str) -> None:
        with QSignalBlocker(self):
            self.setChecked(checked)
        set_tip(self, tip)
        self.setEnabled(self._own is None)


Editor = QSpinBox | QDoubleSpinBox | QCheckBox | QComboBox | FolderEdit


def make_editor(parameter: Parameter, changed: SignalInstance) -> Editor:
    """Return a parameter's editor, which enforces any limits. `changed` is emitted whenever the value changes."""
    kind = parameter.kind
    if isinstance(kind, Choice):
        combo = ChoiceBox()
        for choice in kind.choices:
            combo.addItem(choice_title(choice), choice)
        combo.setCurrentIndex(combo.findData(str(parameter.default)))
        combo.currentIndexChanged.connect(changed)
        return combo
    if isinstance(kind, OnOff):
        box = Switch()
        box.setChecked(bool(parameter.default))
        box.toggled.connect(changed)
        return box
    if isinstance(kind, Folders):
        folders = FolderEdit(str(parameter.default))
        folders.changed.connect(changed)
        return folders
    assert isinstance(kind, Fraction)
    low, high = kind.minimum, kind.maximum
    spin: QSpinBox | QDoubleSpinBox
    if isinstance(kind, Whole):
        spin = QSpinBox()
        spin.setRange(-INT_LIMIT if low is None else int(low), INT_LIMIT if high is None else int(high))
        if kind.zero and low == 0:  # Qt displays the special text at the minimum
            spin.setSpecialValueText(text(kind.zero))
        spin.setValue(int(parameter.default))
    else:
        spin = QDoubleSpinBox(decimals=4)
        spin.setRange(-FLOAT_LIMIT if low is None else low, FLOAT_LIMIT if high is None else high)
        spin.setValue(float(parameter.default))
    spin.valueChanged.connect(changed)
    spin.setSuffix(f" {kind.unit}" if kind.unit else "")
    return indented(spin)


_Spin = TypeVar("_Spin", bound=QAbstractSpinBox)


def indented(spin: _Spin) -> _Spin:
    """Align a spin box's text with the text of other editors. A style sheet can't do this."""
    spin.lineEdit().setTextMargins(7, 0, 0, 0)
    return spin


def edited_value(editor: Editor) -> ParameterValue:
    if isinstance(editor, QComboBox):
        return str(editor.currentData())
    if isinstance(editor, QCheckBox):
        return editor.isChecked()
    if isinstance(editor, FolderEdit):
        return editor.line.text()
    return editor.value()


def set_edited(editor: Editor, value: ParameterValue) -> None:
    if isinstance(editor, QComboBox):
        place = editor.findData(str(value))
        editor.setCurrentIndex(place if place >= 0 else editor.findText(str(value)))
    elif isinstance(editor, QCheckBox):
        editor.setChecked(bool(value))
    elif isinstance(editor, FolderEdit):
        editor.line.setText(str(value))
    else:
        editor.setValue(value)  # type: ignore[arg-type]
