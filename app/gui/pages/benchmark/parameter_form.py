"""A form made from declarations of parameters: a row for each, an editor by its kind."""

import os
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QDir, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import guard_wheel, label, plain_tip, row
from workloads.protocol.spec import ParameterValue
from workloads.workload import Parameter

INT_LIMIT = 2**31 - 1
FLOAT_LIMIT = 1e12


class FolderEdit(QWidget):
    """Edits one or more folders, separated as in PATH, and lets further ones be chosen.

    Signals:
        changed: The text is another one now.
    """

    changed = Signal()

    def __init__(self, text: str) -> None:
        super().__init__()
        self.line = QLineEdit(text, placeholderText=f"Folders, separated by {os.pathsep}", clearButtonEnabled=True)
        self.add_button = QPushButton("Add …")
        self.add_button.setToolTip(plain_tip("Choose a folder, which is added to those in the line"))
        self.line.textChanged.connect(self.changed)
        self.add_button.clicked.connect(self._choose)
        self.setFocusProxy(self.line)
        both = row(self.line, self.add_button)
        both.setStretch(0, 1)
        self.setLayout(both)

    def setAccessibleName(self, name: str) -> None:
        """Name both parts."""
        super().setAccessibleName(name)
        self.line.setAccessibleName(name)
        self.add_button.setAccessibleName(f"Add to: {name}")

    def _choose(self) -> None:
        last = self.line.text().rpartition(os.pathsep)[2]
        folder = QFileDialog.getExistingDirectory(self, "Choose a folder to measure", last)
        if folder:
            folders = [part for part in self.line.text().split(os.pathsep) if part]
            self.line.setText(os.pathsep.join([*folders, QDir.toNativeSeparators(folder)]))


Editor = QSpinBox | QDoubleSpinBox | QCheckBox | QComboBox | FolderEdit


class ParameterForm(QWidget):
    """Edits values within their declared limits.

    Signals:
        changed: A value is another one now.
    """

    changed = Signal()

    def __init__(self, parameters: Sequence[Parameter], names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._editors: dict[str, Editor] = {}
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setSpacing(GAP_PX)
        for parameter in parameters:
            name = (names or {}).get(parameter.name, parameter.name.replace("_", " ").capitalize())
            editor = self._editor(parameter)
            guard_wheel(editor)
            editor.setAccessibleName(name)
            editor.setToolTip(plain_tip(parameter.description))
            text: QLabel = label(name, muted=True)
            text.setToolTip(plain_tip(parameter.description))
            form.addRow(text, editor)
            self._editors[parameter.name] = editor

    def values(self) -> dict[str, ParameterValue]:
        """Return the values by the parameters' names."""
        return {name: _value(editor) for name, editor in self._editors.items()}

    def set_value(self, name: str, value: ParameterValue) -> None:
        """Set one value, as if the user had."""
        editor = self._editors[name]
        if isinstance(editor, QComboBox):
            editor.setCurrentText(str(value))
        elif isinstance(editor, QCheckBox):
            editor.setChecked(bool(value))
        elif isinstance(editor, FolderEdit):
            editor.line.setText(str(value))
        else:
            editor.setValue(value)  # type: ignore[arg-type]

    def _editor(self, parameter: Parameter) -> Editor:
        if parameter.kind == "choice":
            combo = QComboBox()
            combo.addItems(parameter.choices)
            combo.setCurrentText(str(parameter.default))
            combo.currentTextChanged.connect(self.changed)
            return combo
        if parameter.kind == "bool":
            box = QCheckBox()
            box.setChecked(bool(parameter.default))
            box.toggled.connect(self.changed)
            return box
        if parameter.kind == "folders":
            folders = FolderEdit(str(parameter.default))
            folders.changed.connect(self.changed)
            return folders
        low, high = parameter.minimum, parameter.maximum
        spin: QSpinBox | QDoubleSpinBox
        if parameter.kind == "int":
            spin = QSpinBox()
            spin.setRange(-INT_LIMIT if low is None else int(low), INT_LIMIT if high is None else int(high))
            spin.setValue(int(parameter.default))
            spin.valueChanged.connect(self.changed)
        else:
            spin = QDoubleSpinBox(decimals=4)
            spin.setRange(-FLOAT_LIMIT if low is None else low, FLOAT_LIMIT if high is None else high)
            spin.setValue(float(parameter.default))
            spin.valueChanged.connect(self.changed)
        spin.setSuffix(f" {parameter.unit}" if parameter.unit else "")
        return spin


def _value(editor: Editor) -> ParameterValue:
    if isinstance(editor, QComboBox):
        return editor.currentText()
    if isinstance(editor, QCheckBox):
        return editor.isChecked()
    if isinstance(editor, FolderEdit):
        return editor.line.text()
    return editor.value()
