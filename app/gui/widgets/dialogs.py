"""Dialogs of the window itself: about, and what is said when Epochmark has a fault of its own."""

import platform
import traceback
from types import TracebackType

from PySide6 import __version__ as qt_version
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QMessageBox, QPlainTextEdit, QWidget

import app
from app.core.errors import AppError
from app.core.report.export import hide, private_texts
from app.gui.style.icons import application_icon
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import column, label, row

ABOUT = (
    "How fast does this computer train neural networks, and how does that compare?\n\n"
    "The method is open, every raw duration is kept, and nothing leaves this computer.\n\n"
    "MIT licence. Type: Inter, SIL Open Font License. Icons: Lucide, ISC licence. "
    "Window: Qt for Python, LGPL 3. Published measurements: see resources/reference/SOURCES.md."
)


def about_dialog(parent: QWidget) -> QDialog:
    """Return the dialog that says what this is."""
    dialog = QDialog(parent)
    dialog.setWindowTitle("About Epochmark")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    picture = label()
    picture.setPixmap(application_icon().pixmap(64, 64))
    name = label(f"Epochmark {app.__version__}", TITLE_PX, QFont.Weight.DemiBold)
    versions = label(f"Python {platform.python_version()}, Qt {qt_version}", muted=True)
    text = label(ABOUT, wrap=True)
    text.setMinimumWidth(400)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    words = column(name, versions, text, buttons, spacing_px=GAP_PX + 4)
    whole = row(column(picture, None), words, spacing_px=2 * GAP_PX)
    whole.setContentsMargins(3 * GAP_PX, 3 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
    dialog.setLayout(whole)
    return dialog


def ask_to_run_beside(parent: QWidget, error: AppError) -> bool:
    """Ask whether to run although another Epochmark runs something too, as the error says."""
    text = f"{error}\n\nBoth would be slower, and neither number would be this computer's. Run anyway?"
    buttons = QMessageBox.StandardButton
    answer = QMessageBox.question(parent, "Already running", text, buttons.Yes | buttons.No, buttons.No)
    return answer == buttons.Yes


class FaultDialog(QDialog):
    """Shows a fault of Epochmark with the text to report; the window goes on."""

    def __init__(self, parent: QWidget | None, report: str, log: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Epochmark has a fault")
        self.resize(680, 420)
        told = (
            "Something went wrong inside Epochmark; the window goes on, and your results are safe. "
            "Please report it with the text below."
        )
        self.report = QPlainTextEdit(report, readOnly=True)
        self.report.setAccessibleName("Report")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy_button = buttons.addButton("Copy the text", QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.clicked.connect(self._on_copy)
        buttons.rejected.connect(self.reject)
        whole = column(label(told, wrap=True), self.report, label(log, muted=True, wrap=True), buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())


def fault_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """Return what to report of a fault: versions and traceback, without the user's folders."""
    lines = "".join(traceback.format_exception(kind, error, trace))
    head = f"Epochmark {app.__version__}, Python {platform.python_version()}, Qt {qt_version}, {platform.system()}"
    return hide(f"{head}\n\n{lines}", private_texts()) or head
