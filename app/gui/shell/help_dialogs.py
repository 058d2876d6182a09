"""Dialogs of the Help menu: keyboard shortcuts, and a problem report."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction, QDesktopServices, QFont, QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QPlainTextEdit, QWidget

from app.core.exchange.updates import Release
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.redaction.private_texts import hide, private_texts
from app.core.report.run_texts import machine_line
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import column, label
from app.gui.widgets.dialogs import Dialog, close_box, report_head
from workloads.protocol.machine import Machine

LOG_LINES, LOG_LIMIT_BYTES = 40, 64 * 1024
# Shortcuts of individual pages. They aren't menu actions.
_PAGE_KEYS = (
    ("Ctrl+F", "shortcuts.filter"),
    ("F2", "shortcuts.rename"),
    ("Return", "shortcuts.open"),
    ("Del", "shortcuts.delete"),
    ("Esc", "shortcuts.back"),
    ("Shift+F10", "shortcuts.menu"),
)


class ShortcutSheet(QDialog):
    """Lists all keyboard shortcuts, both in the menu and on individual pages."""

    def __init__(self, parent: QWidget, actions: Iterable[QAction]) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("menu.shortcuts"))
        keys: dict[str, list[str]] = {}
        for action in actions:
            text = action.text().replace("&", "").removesuffix(" …")
            keys.setdefault(text, []).extend(map(_shown, action.shortcuts()))
        self.rows = [(text, several) for text, several in keys.items() if several]
        self.rows += [(sentence(code), [_shown(QKeySequence(key))]) for key, code in _PAGE_KEYS]
        grid = QGridLayout()
        grid.setHorizontalSpacing(4 * GAP_PX)
        grid.setVerticalSpacing(GAP_PX // 2)
        half = (len(self.rows) + 1) // 2
        for number, (text, several) in enumerate(self.rows):
            column_number, row_number = 2 * (number // half), number % half
            grid.addWidget(label(text), row_number, column_number)
            grid.addWidget(label(joined(several), muted=True), row_number, column_number + 1)
        head = label(sentence("menu.shortcuts"), TITLE_PX, QFont.Weight.DemiBold)
        whole = column(head, grid, close_box(self), spacing_px=2 * GAP_PX)
        whole.setContentsMargins(3 * GAP_PX, 3 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)


class ReportDialog(Dialog):
    """A problem report that the user can complete and copy. The app doesn't send it."""

    def __init__(self, parent: QWidget, report: str) -> None:
        self.report = QPlainTextEdit(report, tabChangesFocus=True)
        self.report.setAccessibleName(sentence("report.title"))
        explanation = label(sentence("report.explanation"), wrap=True)
        super().__init__(parent, sentence("report.title"), explanation, self.report)
        self.copy_button = self.add_copy_button(self.report)


class UpdateDialog(Dialog):
    """The changes in a newer version, with a button that opens the page from which it can be downloaded."""

    def __init__(self, parent: QWidget, release: Release, page: str) -> None:
        title = sentence("updates.newer", version=release.version)
        changes = "\n".join(f"• {note}" for note in release.notes)
        notes = QPlainTextEdit(changes, readOnly=True, tabChangesFocus=True)
        notes.setAccessibleName(sentence("updates.notes"))
        super().__init__(parent, title, label(title, TITLE_PX, QFont.Weight.DemiBold), notes)
        self.page_button = self.add_button(
            sentence("updates.open_page"), lambda: QDesktopServices.openUrl(QUrl(page))
        )


def problem_report(machine: Machine | None, log_file: Path) -> str:
    """Return the problem report: questions for the user, versions, computer, and the end of the log.

    The report contains no user names or paths. A log that can't be read is omitted.
    """
    computer = machine_line(machine) if machine is not None else "n/a"
    parts = [sentence("report.questions"), report_head(), sentence("report.computer", computer=computer)]
    if lines := _last_lines(log_file):
        parts.append(sentence("report.log", lines="\n".join(lines)))
    return hide("\n\n".join(parts), private_texts()) or report_head()


def _last_lines(log_file: Path) -> list[str]:
    try:
        with log_file.open("rb") as file:
            file.seek(max(0, log_file.stat().st_size - LOG_LIMIT_BYTES))
            text = file.read(LOG_LIMIT_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-LOG_LINES:]


def _shown(key: QKeySequence) -> str:
    return key.toString(QKeySequence.SequenceFormat.NativeText)
