"""What a user does in the settings, and in their questions and file dialogs."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMessageBox, QPushButton, QWidget

from tests.sure import sure


def press(button: QPushButton) -> None:
    assert button.isVisible(), button.accessibleName()
    assert button.isEnabled(), button.accessibleName()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def answer(parent: QWidget, text: str = "") -> None:
    question = sure(parent.findChild(QMessageBox))
    cancel = question.defaultButton()
    buttons = question.findChildren(QPushButton)
    press(next(button for button in buttons if (button.text() == text if text else button is cancel)))


def pick(parent: QWidget, *paths: Path) -> None:
    dialog = sure(parent.findChild(QFileDialog))
    field = sure(dialog.findChild(QLineEdit))
    field.setText(" ".join(f'"{path}"' for path in paths) if len(paths) > 1 else str(paths[0]))
    QTest.keyClick(field, Qt.Key.Key_Return)
