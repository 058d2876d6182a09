"""The verdict dialog: the verdict with its reasons, the evidence of training, and the comparison key."""

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QDialog, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.core.analysis.comparability import comparison_key
from app.core.messages import sentence
from app.core.report.run_texts import estimate_basis, headline, headline_note
from app.core.titles import level_title
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.training_proof import proof_lines
from app.gui.style.icons import LEVELS, pixmap
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import Button, Fold, column, label, panel, row
from app.gui.widgets.dialogs import MEASUREMENT, MethodDialog
from workloads.protocol import events

_SIZE, _LEAST_PX, _NAMES_PX = (640, 440), 480, 176


def verdict_look(theme: Theme, level: str) -> tuple[str, str]:
    tokens = theme.tokens
    colours = {"valid": tokens.valid, "caution": tokens.caution, "invalid": tokens.invalid, "fact": tokens.muted}
    return LEVELS[level], colours[level]


class CautionsDialog(QDialog):
    """Lists conditions that would disturb a run, with advice."""

    def __init__(self, theme: Theme, reasons: Sequence[events.Reason], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(sentence("preflight.cautions"))
        self.setMinimumWidth(_LEAST_PX)
        self.head = label(sentence("preflight.cautions"), TITLE_PX, QFont.Weight.DemiBold, wrap=True)
        self.reasons = [_reason(theme, reason) for reason in advice_once(reasons)]
        self.close_button = Button(theme, sentence("button.close"), do=self.reject)
        lines = (self.head, *self.reasons, None, row(None, self.close_button))
        whole = column(*lines, spacing_px=GAP_PX + 4)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self.close_button.setDefault(True)
        self.close_button.setFocus()


class VerdictDialog(QDialog):
    """Shows the verdict on a stored run with its reasons, and with everything else folded under "Evidence"."""

    def __init__(self, theme: Theme, run: JudgedRun, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("verdict_dialog.title"))
        self.resize(*_SIZE)
        verdict = run.verdict
        self.head = label(sentence(f"verdict_dialog.{verdict.level}"), TITLE_PX, QFont.Weight.DemiBold, wrap=True)
        reasons = advice_once(verdict.reasons)
        self.reasons = [_reason(theme, reason) for reason in reasons if reason.level != "fact"]
        facts = [_reason(theme, reason) for reason in reasons if reason.level == "fact"]
        body = QWidget()
        body.setObjectName("scrolled")
        note = headline_note(run.run.summary, estimated_from=estimate_basis(run.verdict))
        value, _, _ = headline(run.run.summary).partition("\n")
        self.evidence = Fold(
            theme,
            sentence("verdict_dialog.evidence"),
            *facts,
            *self._section(sentence("heading.result"), [(value, note)] if note else []),
            *self._section(sentence("verdict_dialog.proof"), proof_lines(run.run)),
            *self._section(sentence("verdict_dialog.comparable"), comparison_key(run.run)),
        )
        body.setLayout(column(*self.reasons, self.evidence, None, spacing_px=GAP_PX + 4))
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setAccessibleName(sentence("verdict_dialog.reasons"))
        scroll.setWidget(body)
        self.close_button = Button(theme, sentence("button.close"), do=self.reject)
        self.method_button = Button(theme, sentence("verdict_dialog.method"), "file-text")
        self.method_button.clicked.connect(lambda: MethodDialog(self).open())
        buttons = row(self.method_button, None, self.close_button)
        whole = column(row(_icon(theme, verdict.level, 24), self.head), scroll, buttons, spacing_px=GAP_PX + 4)
        whole.setStretch(1, 1)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self.method_button.setVisible(MEASUREMENT.is_file())  # if shown without a parent, it would become a window
        self.close_button.setDefault(True)
        self.close_button.setFocus()

    def _section(self, heading: str, lines: list[tuple[str, str]]) -> list[QWidget | QVBoxLayout]:
        """Return a heading, and a row with label and text for each line; empty if there are no lines."""
        if not lines:
            return []
        rows = []
        for name, text in lines:
            left = label(name, muted=True, wrap=True)
            left.setFixedWidth(_NAMES_PX)
            left.setAlignment(Qt.AlignmentFlag.AlignTop)
            line = row(left, label(text, wrap=True), stretch=1)
            rows.append(line)
        title = label(heading, weight=QFont.Weight.DemiBold)
        title.setContentsMargins(0, GAP_PX, 0, 0)
        return [title, column(*rows, spacing_px=4)]


def advice_once(reasons: Sequence[events.Reason]) -> list[events.Reason]:
    advice = [reason.advice for reason in reasons]
    return [
        replace(reason, advice="") if reason.advice in advice[number + 1 :] else reason
        for number, reason in enumerate(reasons)
    ]


def _icon(theme: Theme, level: str, size_px: int) -> QWidget:
    name, colour = verdict_look(theme, level)
    picture = label()
    picture.setPixmap(pixmap(name, colour, size_px))
    picture.setFixedWidth(size_px)
    return picture


def _reason(theme: Theme, reason: events.Reason) -> QWidget:
    texts = [label(reason.text, wrap=True)]
    if reason.advice:
        texts.append(label(reason.advice, muted=True, wrap=True))
    words = column(*texts, spacing_px=2)
    result = panel(row(column(_icon(theme, reason.level, 16), None), words, stretch=1))
    name = sentence("verdict.spoken", level=level_title(reason.level), text=reason.text, advice=reason.advice)
    result.setAccessibleName(name.strip())
    return result
