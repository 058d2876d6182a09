"""The log of a run: its events as text, and the end of its worker's output."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QPushButton, QWidget

from app.core.messages import sentence
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import column, label, row
from app.gui.widgets.timers import timer

TAIL_BYTES = 200_000
TICK_MS = 1_000


class LogDialog(QDialog):
    """Displays the log of the latest run, and updates it while open."""

    def __init__(
        self, parent: QWidget, lines: Callable[[], Sequence[str]], file: Callable[[], Path | None]
    ) -> None:
        super().__init__(parent)
        self._lines, self._file = lines, file
        self._shown = ("-", -1)
        self.setWindowTitle(sentence("log.title"))
        self.resize(760, 480)
        self.text = QPlainTextEdit(readOnly=True)
        fixed: QFont = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        fixed.setPixelSize(12)
        self.text.setFont(fixed)
        self.text.setAccessibleName(sentence("benchmark.log"))
        self.place = label(muted=True)
        self.copy_button = QPushButton(sentence("button.copy_text"))
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        foot = row(self.place, None, self.copy_button)
        whole = column(self.text, foot)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self._timer = timer(self, TICK_MS)
        self._timer.timeout.connect(self.refresh)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def refresh(self) -> None:
        lines, file = self._lines(), self._file()
        size = _size(file)
        last = lines[-1] if lines else ""
        if (last, size) == self._shown or self.text.textCursor().hasSelection():
            return  # nothing is new, or the user may be copying
        self._shown = (last, size)
        printed = _tail(file, size)
        parts = [*lines, "", sentence("log.printed"), printed] if printed else list(lines)
        bar = self.text.verticalScrollBar()
        before, at_end = bar.value(), bar.value() == bar.maximum()
        self.text.setPlainText("\n".join(parts) or sentence("log.nothing"))
        bar.setValue(bar.maximum() if at_end else before)
        self.place.setText(str(file) if file else "")


def _size(file: Path | None) -> int:
    try:
        return file.stat().st_size if file else 0
    except OSError:
        return 0


def _tail(file: Path | None, size: int) -> str:
    if file is None or not size:
        return ""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, size - TAIL_BYTES))
            return stream.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
