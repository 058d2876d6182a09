"""Common dialogs: About, measurement method, internal errors, and a question about concurrent benchmarks."""

import platform
import re
import traceback
from pathlib import Path
from types import TracebackType

from PySide6 import __version__ as qt_version
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QGuiApplication, QTextCursor
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLayout,
    QMessageBox,
    QPlainTextEdit,
    QTextBrowser,
    QWidget,
)

import app
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.paths import DOCUMENTATION
from app.core.redaction.private_texts import hide, private_texts
from app.gui.style.icons import application_icon
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import column, label, plain_tip, row

# Minimum size of a report dialog. If it were smaller, its text would be clipped.
LEAST_PX = (460, 300)
MEASUREMENT = DOCUMENTATION / "measurement.md"  # not included in an installed app


def about_dialog(parent: QWidget) -> QDialog:
    """Return the About dialog."""
    dialog = QDialog(parent)
    dialog.setWindowTitle(sentence("menu.about"))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    picture = label()
    picture.setPixmap(application_icon().pixmap(64, 64))
    name = label(sentence("share.version", version=app.__version__), TITLE_PX, QFont.Weight.DemiBold)
    versions = label(sentence("about.versions", python=platform.python_version(), qt=qt_version), muted=True)
    text = label(sentence("about.text"), wrap=True)
    text.setMinimumWidth(400)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    words = column(name, versions, text, buttons, spacing_px=GAP_PX + 4)
    whole = row(column(picture, None), words, spacing_px=2 * GAP_PX)
    whole.setContentsMargins(3 * GAP_PX, 3 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
    whole.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)  # a smaller dialog would truncate its text
    dialog.setLayout(whole)
    return dialog


class MethodDialog(QDialog):
    """Displays the documentation of the measurement method, and the pages it links to."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(sentence("verdict_dialog.method"))
        self.resize(860, 640)
        self.setMinimumSize(*LEAST_PX)
        self.page = QTextBrowser(openLinks=False)
        self.page.setAccessibleName(sentence("verdict_dialog.method"))
        self.page.anchorClicked.connect(self._follow)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        whole = column(self.page, buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self._show(MEASUREMENT)

    def _show(self, page: Path) -> None:
        self.page.setMarkdown(page.read_text(encoding="utf-8"))

    def _follow(self, link: QUrl) -> None:
        """Open another page of the documentation, or scroll to a heading by its anchor."""
        page = DOCUMENTATION / Path(link.path()).name
        if link.path() and page.is_file():
            self._show(page)
        block = self.page.document().begin()
        while block.isValid():
            name = re.sub(r"[^\w -]", "", block.text().lower()).replace(" ", "-")
            if block.blockFormat().headingLevel() and name == link.fragment():
                self.page.moveCursor(QTextCursor.MoveOperation.End)  # so that the heading appears at the top
                self.page.setTextCursor(QTextCursor(block))
                return
            block = block.next()


def ask_to_run_concurrently(parent: QWidget, error: AppError) -> bool:
    """Ask whether to run while another instance of Epochmark is running a benchmark."""
    text = plain_tip(sentence("busy.ask_anyway", reason=str(error)))
    buttons = QMessageBox.StandardButton
    answer = QMessageBox.question(parent, sentence("busy.title"), text, buttons.Yes | buttons.No, buttons.No)
    return answer == buttons.Yes


class FaultDialog(QDialog):
    """Shows an internal error with a report to copy. The window remains usable."""

    def __init__(self, parent: QWidget | None, report: str, log: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("fault.title"))
        self.resize(680, 420)
        self.setMinimumSize(*LEAST_PX)
        explanation = sentence("fault.explanation")
        self.report = QPlainTextEdit(report, readOnly=True)
        self.report.setAccessibleName(sentence("fault.report"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy_button = buttons.addButton(sentence("button.copy_text"), QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.clicked.connect(self._on_copy)
        buttons.rejected.connect(self.reject)
        whole = column(label(explanation, wrap=True), self.report, label(log, muted=True, wrap=True), buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())


def fault_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """Return the report of a bug, with versions and traceback but without the user's paths."""
    lines = "".join(traceback.format_exception(kind, error, trace))
    return hide(f"{report_head()}\n\n{lines}", private_texts()) or report_head()


def report_head() -> str:
    """Return the versions of Epochmark and its environment. All reports start with this line."""
    return sentence(
        "fault.report_head",
        version=app.__version__,
        python=platform.python_version(),
        qt=qt_version,
        system=platform.system(),
    )
