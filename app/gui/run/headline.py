"""The card with the headline, and beside it the run's progress or result."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.core.analysis.comparability import engine_name
from app.core.analysis.compare import position
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.metrics import format_time_left, format_value, headline_kind
from app.core.records import Run, RunSummary
from app.core.report.wording import error_advice, estimated_from_s, headline_note, interval_text, verdict_line
from app.core.runs.progress import Progress
from app.core.verdict.rules import judge
from app.gui.run.verdict_dialog import VerdictDialog, verdict_look
from app.gui.style.icons import pixmap
from app.gui.style.theme import Theme, figures
from app.gui.style.tokens import GAP_PX, HEADLINE_PX, TEXT_PX, TITLE_PX
from app.gui.widgets.basics import (
    Button,
    Card,
    ClampedLabel,
    ElidedLabel,
    Tone,
    column,
    label,
    row,
    set_tone,
)
from workloads import CATALOGUE
from workloads.engines.registry import compiler_name, engine_title
from workloads.protocol import events

PROGRESS_STEPS = 1_000
_PHASES = {
    "import": "phase.import",
    "data": "phase.data",
    "build": "phase.build",
    "warmup": "phase.warmup",
    "evaluate": "phase.evaluate",
    "finish": "phase.finish",
}
_ENDINGS: dict[str, tuple[str, Tone]] = {
    "completed": ("ending.completed", "valid"),
    "cancelled": ("ending.cancelled", "caution"),
    "failed": ("ending.failed", "invalid"),
    "interrupted": ("ending.interrupted", "caution"),
    "running": ("ending.running", ""),
    "damaged": ("ending.damaged", "invalid"),
}
_FAILURES = {
    "out_of_memory": "failure.out_of_memory",
    "engine_missing": "failure.engine_missing",
    "device_unavailable": "failure.device_unavailable",
    "data_missing": "failure.data_missing",
    "non_finite_loss": "failure.non_finite_loss",
    "crashed": "failure.crashed",
    "hung": "failure.hung",
}


class HeadlineCard(Card):
    """Shows one run, live or stored, always at the same size; `buttons` takes its buttons."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.value = label("–", HEADLINE_PX, QFont.Weight.Bold)
        self.unit = label(headline_kind("seconds_per_epoch_s").short_unit, TITLE_PX, muted=True)
        self.note = ElidedLabel("", muted=True)
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.value.setFont(figures(HEADLINE_PX, QFont.Weight.Bold))
        self.progress_text.setFont(figures(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(figures(TEXT_PX))
        self.progress_bar = QProgressBar(maximum=PROGRESS_STEPS, textVisible=False)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.facts = ElidedLabel("", muted=True)
        self.outcome = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.message = ClampedLabel(lines=2)
        self.outcome_facts = ElidedLabel("", muted=True)
        self.verdict_head = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.verdict = ElidedLabel("", muted=True)
        self._verdict_icon = label()
        self.why_button = Button(theme, sentence("run.why"), kind="flat")
        self.why_button.setAccessibleName(sentence("run.why_name"))
        self.why_button.clicked.connect(self._on_why)
        self.why_button.hide()
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(GAP_PX)
        self._state = QStackedWidget()
        self._lay_out()
        theme.changed.connect(self._on_theme)
        self._level: Tone = ""
        self._run: Run | None = None

    def show_live(
        self, run: RunSummary | None, progress: Progress, *, cancelled: bool, verdict: events.Judged | None = None
    ) -> None:
        """Show a running run; run is None until it is stored, the verdict until there is one."""
        self._state.setCurrentIndex(0)
        self._show_value(run, progress.step_s)
        if run is not None and run.basis == "estimate":
            self.note.show_text(_narrowing(run))
        self.show_progress(progress, cancelled=cancelled)
        self.facts.show_text(_facts(run) if run else "")
        self._show_so_far(verdict)

    def show_progress(self, progress: Progress, *, cancelled: bool) -> None:
        """Show the run's progress only."""
        self.progress_text.show_text(sentence("run.cancelling") if cancelled else _where(progress))
        left = format_time_left(progress.remaining_s)
        self.remaining.setText(sentence("run.time_left", time_left=left) if left and not cancelled else "")
        busy = progress.fraction is None or progress.phase in ("import", "data", "build", "finish")
        self.progress_bar.setMaximum(0 if busy else PROGRESS_STEPS)
        if not busy:
            self.progress_bar.setValue(round(PROGRESS_STEPS * (progress.fraction or 0.0)))

    def show_stored(self, run: Run) -> None:
        """Show a finished run."""
        summary = run.summary
        self._state.setCurrentIndex(1)
        self._show_value(summary, summary.step_median_s)
        if (measured_s := estimated_from_s(run)) is not None:
            self.note.show_text(headline_note(summary, measured_s=measured_s))
        code, tone = _ENDINGS.get(summary.status, ("", ""))
        if summary.status == "failed":
            code = _FAILURES.get(summary.error_code or "", code)
        outcome = sentence(code, engine=engine_title(summary.engine)) if code else summary.status
        if summary.status != "completed" and summary.preset == "standard":
            done, planned = summary.epochs_done, summary.epochs
            outcome = sentence("run.outcome_of_epochs", outcome=outcome, done=done, planned=planned)
        self.outcome.show_text(outcome)
        set_tone(self.outcome, tone)
        self.message.show_text(summary.error_message or position(summary) or "")
        self.outcome_facts.show_text(_facts(summary))
        self._show_notes(run)

    def show_lost(self, run: RunSummary, error: AppError) -> None:
        """Show a finished run that couldn't be stored."""
        self._state.setCurrentIndex(1)
        self._show_value(run, run.step_median_s)
        self.outcome.show_text(sentence("run.not_stored"))
        set_tone(self.outcome, "invalid")
        self.message.show_text(error.message)
        self.outcome_facts.show_text(_facts(run))
        self._show_verdict(sentence("run.caution_not_stored"), error.advice or "", "caution")

    def _show_notes(self, run: Run) -> None:
        """Show the advice for a failure, or else the verdict's reasons."""
        verdict = judge(run)
        reasons = " ".join(_sentence(reason.text) for reason in verdict.reasons)
        if run.summary.status == "failed":
            reasons = error_advice(run.summary.error_code, run.summary.engine) or reasons
        self._show_verdict(verdict_line(verdict), reasons, verdict.level, run)

    def _show_so_far(self, verdict: events.Judged | None) -> None:
        reasons = [reason for reason in verdict.reasons if reason.level != "fact"] if verdict else []
        if verdict is None:
            self._show_verdict("", "", "")
        elif reasons:
            advised = " ".join(f"{reason.text} {reason.advice}".strip() for reason in reasons)
            self._show_verdict(verdict_line(verdict), advised, verdict.level)
        else:
            self._show_verdict(sentence("run.no_problems"), "", "valid")

    def _show_value(self, run: RunSummary | None, step_s: float | None) -> None:
        metric = run.metric if run is not None else "seconds_per_epoch_s"
        value, unit, note = "–", headline_kind(metric).short_unit, ""
        if run is not None and run.value is not None:
            about = "≈ " if run.basis == "estimate" else ""
            value, note = about + format_value(metric, run.value), _note(run)
        elif run is not None and run.steps is not None and step_s is not None and metric == "seconds_per_epoch_s":
            value, unit = f"{1000 * step_s:.1f}", sentence("run.ms_per_step")
            note = sentence("run.short", steps=run.steps, whole=run.steps_per_epoch)
        if value != self.value.text():
            self.value.setText(value)
            self.value.setAccessibleName(f"{value} {unit}")
        self.unit.setText(unit)
        self.note.show_text(note)

    def _show_verdict(self, head: str, text: str, level: Tone, run: Run | None = None) -> None:
        """Show a verdict and its reasons; with a finished run, the verdict's dialog can be opened."""
        self.verdict_head.show_text(head)
        self.verdict.show_text(text)
        self._run = run
        self.why_button.setVisible(run is not None)
        if level != self._level:
            self._level = level
            set_tone(self.verdict_head, level)
            self._on_theme()

    def _on_theme(self) -> None:
        if not self._level:
            self._verdict_icon.clear()
            return
        self._verdict_icon.setPixmap(pixmap(*verdict_look(self._theme, self._level), 16))

    def _on_why(self) -> None:
        if self._run is not None:
            dialog = VerdictDialog(self._theme, self._run, self.window())
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.open()

    def _lay_out(self) -> None:
        self.value.setFixedHeight(QFontMetrics(self.value.font()).height() - 6)
        number = row(self.value, self.unit, None)
        number.setAlignment(self.unit, Qt.AlignmentFlag.AlignBottom)
        self.unit.setContentsMargins(0, 0, 0, 8)
        left = QWidget()
        left.setLayout(number)
        # As wide as its widest number, so that nothing moves when digits change.
        widest = QFontMetrics(self.value.font()).horizontalAdvance("≈ 8888")
        left.setFixedWidth(widest + 90)
        where = row(self.progress_text, self.remaining)
        where.setStretch(0, 1)
        self._state.addWidget(_page(where, self.progress_bar, self.facts))
        self._state.addWidget(_page(self.outcome, self.message, self.outcome_facts))
        self._state.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._state.setFixedHeight(92)
        self._verdict_icon.setFixedSize(16, 16)
        top = QHBoxLayout()
        top.setSpacing(2 * GAP_PX)
        top.addWidget(left, alignment=Qt.AlignmentFlag.AlignTop)
        top.addWidget(self._state, stretch=1)
        top.addLayout(self.buttons)
        self.body.setSpacing(2)
        self.body.addLayout(top)
        self.body.addWidget(self.note)
        words = column(self.verdict_head, self.verdict, spacing_px=2)
        foot = row(column(self._verdict_icon, None), words, self.why_button)
        foot.setStretch(1, 1)
        verdict = QWidget()
        verdict.setLayout(foot)
        # Room for two lines and the button, even before there is any text.
        line_px = self.verdict.fontMetrics().lineSpacing()
        verdict.setFixedHeight(max(2 * line_px + 4, self.why_button.sizeHint().height()))
        self.body.addWidget(verdict)


def _page(*items: QWidget | QHBoxLayout | QVBoxLayout) -> QWidget:
    page = QWidget()
    page.setLayout(column(None, *items, None))
    return page


def _where(progress: Progress) -> str:
    """Return the run's progress as text."""
    if progress.phase == "measure" and progress.steps_per_epoch:
        epoch = min(progress.epoch + 1, progress.epochs)
        return sentence(
            "run.at_step_of",
            epoch=epoch,
            epochs=progress.epochs,
            step=progress.step,
            steps=progress.steps_per_epoch,
        )
    if progress.phase == "measure":  # for a time: epochs and steps are not known in advance
        return sentence("run.at_step", epoch=progress.epoch + 1, step=progress.step)
    return sentence(_PHASES.get(progress.phase or "import", "phase.import"))


def _facts(run: RunSummary) -> str:
    """Return the engine and the hardware in one line."""
    parts = [
        run.device_name or (run.device or "…").upper(),
        engine_name(run.engine, run.engine_version),
        sentence("run.precision_with_xla", precision=run.precision, compiler=compiler_name(run.engine))
        if run.jit
        else run.precision,
        sentence("share.data", source=run.data_source) if run.data_source else "",
    ]
    return " · ".join(part for part in parts if part)


def _note(run: RunSummary) -> str:
    """Return the headline's note without the first epoch, which has its own bar."""
    return headline_note(run, with_first_epoch=False)


def _narrowing(run: RunSummary) -> str:
    """Return how certain an estimate is so far, and what it doesn't include until the run's end."""
    workload = CATALOGUE.get(run.workload)
    validates = run.metric == "seconds_per_epoch_s" and (workload is None or workload.validation_samples > 0)
    parts = (
        interval_text(run),
        sentence("result.estimated"),
        sentence("run.validation_not_counted") if validates else "",
    )
    return " · ".join(part for part in parts if part)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
