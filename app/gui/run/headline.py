"""The card that shows the headline and the progress of a run."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.core.analysis.comparability import engine_name
from app.core.analysis.facts import fact_texts
from app.core.analysis.headline import marked_value
from app.core.analysis.power import device_at_limit
from app.core.errors import AppError
from app.core.formats import format_seconds
from app.core.messages import format_time_left, sentence, text
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.plans.experiments import report_of
from app.core.records import Group, RunSummary
from app.core.report.run_texts import (
    LONG_STEP_S,
    certainty_text,
    error_advice,
    meaning_text,
    measured_text,
    verdict_chip,
)
from app.core.runs.progress import Progress
from app.core.titles import data_title, level_title, precision_title, status_title
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import derived_epoch, share_of_peak
from app.gui.run.headline_row import HeadlineRow, ProgressLine
from app.gui.run.verdict_dialog import VerdictDialog
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import GAP_PX, TEXT_PX, TITLE_PX
from app.gui.widgets.basics import Button, Card, ClampedLabel, ElidedLabel, Tone, column, label, panel, row
from app.gui.widgets.busy_bar import BusyBar
from workloads import CATALOGUE
from workloads.engines.registry import compiler_name, engine_title
from workloads.protocol import events

PROGRESS_STEPS, STATE_PX = 1_000, 38
_ENDINGS: dict[str, tuple[str, Tone]] = {
    "cancelled": ("status.cancelled", "caution"),
    "failed": ("status.failed", "invalid"),
    "interrupted": ("status.interrupted", "caution"),
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
    """Displays the headline of a live or stored run. `buttons` is the layout for its buttons."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.why_button = Button(theme, sentence("run.why"), kind="flat", name=sentence("run.why_name"))
        self.why_button.clicked.connect(self._on_why)
        self.why_button.hide()
        self._row = HeadlineRow(theme, self.why_button)
        self.value, self.unit, self.pill = self._row.value, self._row.unit, self._row.pill
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.progress_text.setFont(tabular_font(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(tabular_font(TEXT_PX))
        self._where = ProgressLine(self.progress_text, self.remaining)
        self.progress_bar = BusyBar(theme, PROGRESS_STEPS)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.rank = ElidedLabel("", TITLE_PX - 2, QFont.Weight.DemiBold)
        self.note = ElidedLabel("", muted=True)
        self.facts = ElidedLabel("", muted=True)
        self.message = ClampedLabel(lines=2, muted=False)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(GAP_PX)
        self._state = QStackedWidget()
        self._lay_out()
        self._run: JudgedRun | None = None
        self._has_value = False

    def show_live(
        self, run: RunSummary | None, progress: Progress, *, cancelled: bool, verdict: events.Judged | None = None
    ) -> None:
        """Show a run in progress. `run` is None until it is stored, and `verdict` until there is one."""
        self._state.setCurrentIndex(0)
        self._show_pill(*_so_far(verdict))
        self._show_value(run, progress.step_s)
        self._has_value = bool(self.value.text())
        if run is not None and run.basis == "estimate":
            self.note.show_text(_narrowing(run))
        self.show_progress(progress, cancelled=cancelled)
        self.facts.show_text(_facts(run) if run else "")
        self._show_message(_advice(verdict) if verdict else "", keeps_room=True)

    def show_progress(self, progress: Progress, *, cancelled: bool) -> None:
        self._show_where(sentence("run.cancelling") if cancelled else _where(progress))
        left = format_time_left(progress.remaining_s)
        self.remaining.setText(sentence("run.time_left", time_left=left) if left and not cancelled else "")
        self._where.place()
        busy = progress.fraction is None or progress.phase in ("import", "data", "build", "finish")
        self.progress_bar.setMaximum(0 if busy else PROGRESS_STEPS)
        if not busy:
            self.progress_bar.setValue(round(PROGRESS_STEPS * (progress.fraction or 0.0)))

    def show_waiting(self, text: str) -> None:
        self._show_where(text)
        self.remaining.setText("")
        self._where.place()
        self.progress_bar.setMaximum(0)

    def _show_where(self, text: str) -> None:
        if not self._has_value:
            self._row.show_number("", text, muted=True)
        self.progress_text.show_text(text if self._has_value else "")

    def show_stored(self, run: JudgedRun, own: str = "") -> None:
        summary, verdict = run.summary, run.verdict
        self._state.setCurrentIndex(1)
        self._show_pill(*_ending(summary, verdict), run)
        is_doubtful = summary.status == "failed" or verdict.level == "invalid"
        self._show_value(summary, summary.step_median_s, muted=is_doubtful)
        self.rank.show_text(run.position)
        self.facts.show_text(joined((text(share_of_peak(run.run)), _facts(summary))))
        failure = (summary.error_message, error_advice(summary.error_code, summary.engine))
        said = " ".join(_sentence(text) for text in failure if text) if summary.status == "failed" else ""
        about = text(derived_epoch(summary)) or meaning_text(summary)
        texts = " ".join(filter(None, (said or _advice(verdict), about)))
        self._show_message(
            " ".join(filter(None, (texts, _sentence(own) if own else ""))), [texts] if texts else ()
        )

    def show_group(self, run: JudgedRun, group: Group) -> None:
        """Show the result of several runs. `run` is the last of them."""
        report = report_of(group)
        summary = report.summary
        if summary is None:
            self.show_stored(run)
        else:
            is_last_whole = run.summary.status == "completed"
            self._state.setCurrentIndex(1)
            pill = _of_all(group) if is_last_whole else _ending(run.summary, run.verdict)
            self._show_pill(*pill)
            self._show_value(summary, None)
            self.note.show_text(report.basis(summary))
            self.rank.show_text(report.rank(summary))
            self.facts.show_text(_facts(summary))
        texts = (run.summary.error_message, *report.remarks(with_interval=False))
        self._show_message(" ".join(filter(None, texts)))

    def show_lost(self, run: RunSummary, error: AppError) -> None:
        self._state.setCurrentIndex(1)
        self._show_pill((sentence("run.not_stored"), sentence("run.not_stored_shortly")), "invalid")
        self._show_value(run, run.step_median_s, muted=True)
        self.rank.show_text("")
        self.facts.show_text(_facts(run))
        self._show_message(" ".join(filter(None, (error.message_text, error.advice_text))))

    def _show_value(self, run: RunSummary | None, step_s: float | None, *, muted: bool = False) -> None:
        metric = run.metric if run is not None else "seconds_per_epoch_s"
        value, unit, note = "", headline_kind(metric).short_unit, ""
        if run is not None and run.value is not None:
            value, note = marked_value(run), certainty_text(run)
        elif run is not None and run.steps is not None and step_s is not None and metric == "seconds_per_epoch_s":
            value, unit = _step_duration(step_s)
            note = sentence("run.short", steps=run.steps, whole=run.steps_per_epoch)
        self._row.show_number(value, unit if value else "", muted=muted)
        self.note.show_text(note)

    def _show_pill(self, texts: Sequence[str], tone: Tone, run: JudgedRun | None = None) -> None:
        """Show a verdict. If `run` is finished, clicking the button opens the verdict dialog."""
        self._run = run
        self.why_button.setVisible(run is not None)
        self.pill.show_verdict(texts, tone, measured_text(run.verdict) if run is not None else "")
        self._row.place()

    def _show_message(self, text: str, shorter: Sequence[str] = (), *, keeps_room: bool = False) -> None:
        self.message.show_text(text, shorter)
        self._message_room.setVisible(bool(text) or keeps_room)

    def _on_why(self) -> None:
        if self._run is not None:
            dialog = VerdictDialog(self._theme, self._run, self.window())
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.open()

    def _lay_out(self) -> None:
        self._state.addWidget(_page(self._where, self.progress_bar))
        self._state.addWidget(_page(self.rank))
        self._state.setFixedHeight(STATE_PX)
        top = row(self._row, self.buttons, spacing_px=2 * GAP_PX, stretch=0)
        words = row(self.note, self.facts, spacing_px=2 * GAP_PX, stretch=1)
        self.facts.setAlignment(Qt.AlignmentFlag.AlignRight)
        # Shorten the facts before the note.
        self.note.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        # Reserve two lines while the run is in progress, so that the layout doesn't jump when text appears.
        self._message_room = QWidget()
        self._message_room.setFixedHeight(2 * self.message.fontMetrics().lineSpacing() + 2)
        self._message_room.setLayout(column(self.message, None))
        self.body.setSpacing(4)
        self.body.addLayout(top)
        self.body.addWidget(self._state)
        self.body.addLayout(words)
        self.body.addWidget(self._message_room)


def _page(*items: QWidget | QHBoxLayout | QVBoxLayout) -> QWidget:
    return panel(column(None, *items, None))


def _where(progress: Progress) -> str:
    if progress.phase == "measure" and progress.steps_per_epoch:
        epoch = min(progress.epoch + 1, progress.epochs)
        steps = {"step": progress.step, "steps": progress.steps_per_epoch}
        return sentence("run.at_step_of", epoch=epoch, epochs=progress.epochs, **steps)
    if progress.phase == "measure":  # limited by time, so the total number of steps is unknown
        return sentence("run.at_step", epoch=progress.epoch + 1, step=progress.step)
    return sentence(f"phase.{progress.phase or 'import'}")


def _facts(run: RunSummary) -> str:
    precision = precision_title(run.precision)
    parts = [
        device_at_limit(run, run.device_name or (run.device or "").upper()),
        engine_name(run.engine, run.engine_version),
        sentence("run.precision_with_xla", precision=precision, compiler=compiler_name(run.engine))
        if run.jit
        else precision,
        data_title(run.data_source),
        *fact_texts(run),
    ]
    return joined(parts)


def _step_duration(step_s: float) -> tuple[str, str]:
    if step_s >= LONG_STEP_S:
        return format_seconds(step_s), sentence("run.s_per_step")
    return f"{1000 * step_s:.1f}", sentence("run.ms_per_step")


def _so_far(verdict: events.Judged | None) -> tuple[Sequence[str], Tone]:
    if verdict is None:
        return (), ""
    if any(reason.level != "fact" for reason in verdict.reasons):
        return verdict_chip(verdict), verdict.level
    if stalls := len(verdict.interrupted_t_s):
        return (sentence("run.pauses_so_far", count=stalls),), ""
    return (sentence("run.no_problems"),), "valid"


def _ending(run: RunSummary, verdict: events.Judged) -> tuple[Sequence[str], Tone]:
    """Return the pill's texts and tone for a finished run: its verdict, or why it has none."""
    if run.status == "completed":
        return verdict_chip(verdict), verdict.level
    code, tone = _ENDINGS.get(run.status, ("", ""))
    short = sentence(code) if code else status_title(run.status)
    if run.status == "failed":
        code = _FAILURES.get(run.error_code or "", code)
    outcome = sentence(code, engine=engine_title(run.engine)) if code else status_title(run.status)
    if run.preset == "standard":
        arguments = {"outcome": outcome, "done": run.epochs_done, "planned": run.epochs}
        return (sentence("run.outcome_of_epochs", **arguments), outcome, short), tone
    return (outcome, short), tone


def _of_all(group: Group) -> tuple[Sequence[str], Tone]:
    """Return the pill's texts and tone for several runs: the worst verdict, and how many runs have it."""
    level, count = report_of(group).worst_verdict()
    short = level_title(level)
    if level == "valid":
        return (short,), level
    return (sentence("run.verdict_of_runs", verdict=short, count=count, planned=len(group.runs)), short), level


def _advice(verdict: events.Judged) -> str:
    reason = next((each for each in verdict.reasons if each.level == verdict.level), None)
    return "" if reason is None else reason.advice or _sentence(reason.text)


def _narrowing(run: RunSummary) -> str:
    workload = CATALOGUE.get(run.workload)
    validates = run.metric == "seconds_per_epoch_s" and (workload is None or workload.validation_samples > 0)
    parts = (certainty_text(run), sentence("run.validation_not_counted") if validates else "")
    return joined(parts)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
