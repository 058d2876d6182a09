"""The detail view of a stored run, with its name, charts or tables, and commands."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QLineEdit,
    QSizePolicy,
    QStackedWidget,
    QTableWidget,
    QWidget,
)

from app.core.analysis.trend import Trend, trend_of
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.messages import text as text_of
from app.core.metrics import format_metric, headline_kind, metric_label
from app.core.records import Run, RunSummary
from app.core.report.run_texts import energy_text
from app.core.report.telemetry_table import telemetry_rows
from app.core.storage.database import Database
from app.core.storage.past_runs import past_runs
from app.core.storage.queries import COMMENT_LIMIT
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import damaged
from app.gui.charts.trend_chart import TrendChart
from app.gui.pages.results.commands import Handlers, RunCommands
from app.gui.run.view import RunView
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, column, label, row, scrolled
from app.gui.widgets.split_button import SplitButton
from app.gui.widgets.tables import fill_items, set_up_items

_HEADINGS = (
    *("heading.epoch", "heading.seconds", "heading.training_s", "heading.validation_s"),
    *("metric.loss", "metric.accuracy", "heading.val_loss", "heading.val_accuracy"),
    *("heading.cpu_energy", "heading.gpu_energy"),
)
EPOCHS_SHOWN = 1_000
LIST_PX = 120


class TrendView(QWidget):
    """Compares a run with the user's earlier runs, in a sentence and a chart that marks changes to the computer.

    Attributes:
        line: The sentence, shown elsewhere, which compares the run with the best and latest runs.
        trend: The displayed trend; None until it is loaded.
    """

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._run_id = 0
        self.trend: Trend | None = None
        self.line = ElidedLabel("", muted=True)
        self.changes = label(wrap=True)
        self.changes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        scroll = scrolled(self.changes, None)
        scroll.setMaximumHeight(LIST_PX)
        self.card = Card(sentence("trend.chart"))
        self.card.body.addWidget(scroll)
        self.setLayout(column(self.card))

    @cached_property
    def chart(self) -> TrendChart:
        """The chart. Created when first shown, because creating it takes 10 ms."""
        chart = TrendChart(self._services.theme)
        self.card.body.insertWidget(self.card.body.count() - 1, chart, stretch=1)
        chart.show()
        return chart

    def showEvent(self, event: QShowEvent) -> None:
        """Draw the trend if it is loaded."""
        super().showEvent(event)
        self._draw()

    def show_run(self, run: RunSummary) -> None:
        self._run_id, self.trend = run.id, None
        self.line.show_text("")

        def look(database: Database) -> Trend:
            return trend_of(run, past_runs(database, run.workload))

        self._services.query(look, partial(self._show, run.id))

    def _show(self, run_id: int, trend: Trend) -> None:
        if run_id != self._run_id:
            return  # another run has been opened
        self.trend = trend
        self.line.show_text(trend.line)
        unit = headline_kind(trend.metric).unit
        self.card.note.show_text(sentence("trend.note", unit=unit, better=sentence("chart.higher_is_faster")))
        code = (
            ("trend.nothing", "trend.only_one")[len(trend.points)] if len(trend.points) < 2 else "trend.no_changes"
        )
        self.changes.setText("\n".join(trend.change_lines()) or sentence(code))
        self._draw()

    def _draw(self) -> None:
        if self.trend is not None and self.isVisible():
            self.chart.show_trend(self.trend, self._run_id)


_ENERGIES = {"cpu": 8, "gpu": 9}
_TELEMETRY_HEADINGS = ("heading.telemetry", "heading.lowest", "heading.median", "heading.highest")


class RunDetail(QWidget):
    """Displays a stored run.

    Signals:
        commented: The user changed the run's name. The argument is the new name.
    """

    left = Signal()
    commented = Signal(str)

    def __init__(self, services: Services, handlers: Handlers, view: RunView) -> None:
        super().__init__()
        self.judged: JudgedRun | None = None
        theme = self._theme = services.theme
        own: Handlers = {code: do for code, do in handlers.items() if code != "open"} | {"rename": self.edit_name}
        self.commands = RunCommands(theme, self, own, with_keys=("rename",))
        self.place = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.place.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.back_button = Button(
            theme, sentence("results_page.all_results"), "arrow-left", kind="flat", gives_way=True
        )
        self.back_button.clicked.connect(self.left)
        self.comment = QLineEdit(maxLength=COMMENT_LIMIT, placeholderText=sentence("results_page.comment"))
        self.comment.setAccessibleName(sentence("results_page.comment"))
        self.comment.editingFinished.connect(self._on_commented)
        self.charts_button = Button(theme, sentence("results_page.charts"), kind="segment")
        self.table_button = Button(theme, sentence("label.table"), kind="segment")
        self.trend_button = Button(theme, sentence("results_page.trend"), kind="segment")
        self.charts_button.setChecked(True)
        for number, button in enumerate((self.charts_button, self.table_button, self.trend_button)):
            button.toggled.connect(partial(self._on_page, number))
        self.trend = TrendView(services)
        self.view = view
        self.table = QTableWidget(0, len(_HEADINGS))
        self.telemetry_table = QTableWidget(0, len(_TELEMETRY_HEADINGS))
        self.numbers = label(muted=True, wrap=True)
        self._add_buttons()
        self._lay_out()
        keys = QKeySequence(QKeySequence.StandardKey.Cancel)
        QShortcut(keys, self, self._on_escape, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)

    @property
    def run(self) -> Run | None:
        return self.judged.run if self.judged is not None else None

    def show_run(self, run: JudgedRun) -> None:
        for _ in self.show_in_parts(run):
            pass

    def show_in_parts(self, run: JudgedRun) -> Iterator[None]:
        """Show a run as `show_run` does, one part at each step, so that no step blocks the window for long."""
        at = local_time(run.summary.started_at)
        self.place.show_text(sentence("results_page.run_at", run_id=run.summary.id, at=at))
        self.comment.setText(run.summary.comment or "")
        is_measured = run.summary.value is not None
        self.commands.allow(dict.fromkeys(("share", "picture", "copy_picture", "compare"), is_measured))
        self.trend.show_run(run.summary)
        yield from self.view.show_in_parts(run)
        yield
        self.judged = run
        self._fill_tables()

    def edit_name(self) -> None:
        self.comment.setFocus()
        self.comment.selectAll()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.commands.open_menu(event.globalPos())

    def rename(self, run_id: int, comment: str) -> None:
        """Update the displayed name, unless the user is editing a name."""
        if self.judged is not None and self.judged.summary.id == run_id:
            self.judged.rename(comment)

    def _add_buttons(self) -> None:
        theme, actions, button = self._theme, self.commands.actions, self.commands.button
        self.share_button, self.again_button = button("share", "primary"), button("again")
        entries = (actions[code] for code in ("picture", "copy_picture", "copy"))
        self._share = SplitButton(theme, self.share_button, entries, sentence("share.more"))
        entries = (actions[code] for code in ("compare", "change", "export", "rename", "delete"))
        self.more = SplitButton(theme, self.again_button, entries, sentence("results_page.more"))

    def _lay_out(self) -> None:
        for table, headings, name in (
            (self.table, _HEADINGS, sentence("setting.epochs")),
            (self.telemetry_table, _TELEMETRY_HEADINGS, sentence("heading.hardware_during_run")),
        ):
            set_up_items(table, name, headings)
            table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.telemetry_table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        card = Card(sentence("setting.epochs"))
        card.body.addWidget(self.table, stretch=1)
        card.body.addWidget(self.numbers)
        machine = Card(sentence("heading.hardware_during_run"))
        machine.body.addWidget(self.telemetry_table, stretch=1)
        tables = QWidget()
        tables.setLayout(column(card, machine, spacing_px=2 * GAP_PX))
        self.pages = QStackedWidget()
        for page in (self.view, tables, self.trend):
            self.pages.addWidget(page)
        head = row(
            self.back_button,
            self.comment,
            self.charts_button,
            self.table_button,
            self.trend_button,
            self._share,
            self.more,
            spacing_px=GAP_PX,
        )
        head.setStretch(1, 1)
        line = row(self.place, self.trend.line, spacing_px=GAP_PX)
        line.setStretch(1, 1)
        whole = column(head, line, self.pages, spacing_px=GAP_PX // 2)
        whole.setStretch(2, 1)
        self.setLayout(whole)

    def _on_page(self, number: int, shown: bool) -> None:
        if shown:
            self.pages.setCurrentIndex(number)
            self._fill_tables()

    def _fill_tables(self) -> None:
        """Fill the tables only when they are shown, because this iterates over all epochs and telemetry."""
        if self.pages.currentIndex() != 1 or self.judged is None:
            return
        self._fill_table(self.judged)
        fill_items(self.telemetry_table, telemetry_rows(self.judged))

    def _on_escape(self) -> None:
        """Undo unsaved changes to the name or, if there are none, go back."""
        before = (self.run.summary.comment or "") if self.run is not None else ""
        if self.comment.hasFocus() and self.comment.text() != before:
            self.comment.setText(before)
        else:
            self.left.emit()

    def _on_commented(self) -> None:
        text = self.comment.text().strip()
        if self.run is not None and text != (self.run.summary.comment or ""):
            self.commented.emit(text)

    def _fill_table(self, judged: JudgedRun) -> None:
        run, energies = judged.run, judged.energies
        # Qt creates an object per cell. A hundred thousand epochs would take seconds and a gigabyte.
        left_out = max(0, len(run.epochs) - EPOCHS_SHOWN)
        if left_out:
            half = EPOCHS_SHOWN // 2
            run = replace(run, epochs=(*run.epochs[:half], *run.epochs[-half:]))
            energies = [*energies[:half], *energies[-half:]]
        rows = []
        for epoch, spent in zip(run.epochs, energies, strict=True):
            seconds = (epoch.duration_s, epoch.train_s, epoch.validation_s)
            cells = [str(epoch.index + 1), *("n/a" if value is None else f"{value:.2f}" for value in seconds)]
            cells += [format_metric("loss", epoch.loss), format_metric("accuracy", epoch.accuracy)]
            cells += [format_metric("loss", epoch.val_loss), format_metric("accuracy", epoch.val_accuracy)]
            cells += ["n/a" if spent[part] is None else f"{spent[part]:,.0f} J" for part in _ENERGIES]
            rows.append(cells)
        fill_items(self.table, rows)
        for part, place in _ENERGIES.items():
            self.table.setColumnHidden(place, all(each[part] is None for each in energies))
        facts = [f"{metric_label(key)}: {format_metric(key, value)}" for key, value in run.metrics.items()]
        sentences = [text for text in (judged.bottleneck, energy_text(run.summary)) if text]
        if left_out:
            sentences.insert(0, sentence("results_page.epochs_left_out", left_out=left_out))
        if run.damage:
            sentences.insert(0, text_of(damaged(run.damage)))
        self.numbers.setText("\n".join([" · ".join(facts), *sentences]))
