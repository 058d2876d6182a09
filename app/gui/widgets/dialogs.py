"""Common dialogs: About, measurement method, internal errors, and a question about concurrent benchmarks."""

import platform
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6 import __version__ as qt_version
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QGuiApplication, QIcon, QTextBlockFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLayout,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
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
from app.gui.widgets.basics import column, label, row

# Minimum size of a report dialog. If it were smaller, its text would be clipped.
LEAST_PX = (460, 300)
MEASUREMENT = DOCUMENTATION / "measurement.md"  # not included in an installed app


def close_box(dialog: QDialog) -> QDialogButtonBox:
    """Return the Close button of a dialog, without the icon that Qt adds on some desktops."""
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    for button in box.buttons():
        button.setIcon(QIcon())
    box.rejected.connect(dialog.reject)
    return box


class Dialog(QDialog):
    """A dialog with resizable content above a Close button."""

    def __init__(
        self, parent: QWidget | None, title: str, *content: QWidget, size_px: tuple[int, int] = (680, 480)
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.resize(*size_px)
        self.setMinimumSize(*LEAST_PX)
        self.buttons = close_box(self)
        whole = column(*content, self.buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)

    def add_button(self, text: str, do: Callable[[], object]) -> QPushButton:
        button = self.buttons.addButton(text, QDialogButtonBox.ButtonRole.ActionRole)
        button.clicked.connect(lambda _=False: do())
        return button

    def add_copy_button(self, editor: QPlainTextEdit) -> QPushButton:
        copy = QGuiApplication.clipboard().setText
        return self.add_button(sentence("button.copy_text"), lambda: copy(editor.toPlainText()))


def question(
    parent: QWidget, title: str, text: str, action: str, keep: str = ""
) -> tuple[QMessageBox, QPushButton]:
    """Return a dialog that asks whether to do something, and the button that confirms it.

    `keep` is the text of the other button, which is the default; "" for "Cancel".
    """
    box = QMessageBox(QMessageBox.Icon.Question, title, text, parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    do = box.addButton(action, QMessageBox.ButtonRole.AcceptRole)
    do_not = box.addButton(keep or sentence("button.cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(do_not)
    box.setEscapeButton(do_not)
    return box, do


def ask(parent: QWidget, title: str, text: str, action: str, keep: str = "") -> bool:
    """Ask whether to do something, and return the answer. The arguments are the same as for `question`."""
    box, do = question(parent, title, text, action, keep)
    box.exec()
    is_wanted = box.clickedButton() is do
    box.deleteLater()
    return is_wanted


def about_dialog(parent: QWidget) -> QDialog:
    dialog = QDialog(parent)
    dialog.setWindowTitle(sentence("menu.about"))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    picture = label()
    picture.setPixmap(application_icon().pixmap(64, 64))
    name = label(sentence("share.version", version=app.__version__), TITLE_PX, QFont.Weight.DemiBold)
    versions = label(sentence("about.versions", python=platform.python_version(), qt=qt_version), muted=True)
    text = label(sentence("about.text"), wrap=True)
    text.setMinimumWidth(400)
    words = column(name, versions, text, close_box(dialog), spacing_px=GAP_PX + 4)
    whole = row(column(picture, None), words, spacing_px=2 * GAP_PX)
    whole.setContentsMargins(3 * GAP_PX, 3 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
    whole.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)  # a smaller dialog would truncate its text
    dialog.setLayout(whole)
    return dialog


class MethodDialog(Dialog):
    """Displays the documentation of the measurement method, and the pages it links to."""

    def __init__(self, parent: QWidget | None) -> None:
        self.page = QTextBrowser(openLinks=False)
        super().__init__(parent, sentence("verdict_dialog.method"), self.page, size_px=(860, 640))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if parent is not None:
            self.resize(self.size().boundedTo(parent.window().size()))
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.page.setAccessibleName(sentence("verdict_dialog.method"))
        self.page.anchorClicked.connect(self._follow)
        self._show(MEASUREMENT)

    def _show(self, page: Path) -> None:
        self.page.setMarkdown(page.read_text(encoding="utf-8"))
        cursor, wraps = QTextCursor(self.page.document()), QTextBlockFormat()
        wraps.setNonBreakableLines(False)  # otherwise, long lines of code would be cut
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.mergeBlockFormat(wraps)

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
    text = sentence("busy.ask_anyway", reason=str(error))
    return ask(parent, sentence("busy.title"), text, sentence("setup.run_anyway"))


class FaultDialog(Dialog):
    """Shows an internal error with a report to copy. The window remains usable."""

    def __init__(self, parent: QWidget | None, report: str, log: str) -> None:
        self.report = QPlainTextEdit(report, readOnly=True)
        self.report.setAccessibleName(sentence("fault.report"))
        texts = label(sentence("fault.explanation"), wrap=True), label(log, muted=True, wrap=True)
        super().__init__(parent, sentence("fault.title"), texts[0], self.report, texts[1], size_px=(680, 420))
        self.copy_button = self.add_copy_button(self.report)


def fault_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """Return a bug report, with versions and traceback but without the user's paths."""
    lines = "".join(traceback.format_exception(kind, error, trace))
    return hide(f"{report_head()}\n\n{lines}", private_texts()) or report_head()


def report_head() -> str:
    return sentence(
        "fault.report_head",
        version=app.__version__,
        python=platform.python_version(),
        qt=qt_version,
        system=platform.system(),
    )
