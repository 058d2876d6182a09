"""The detail view of a stored run, with its name, charts, trend and commands."""

from collections.abc import Iterator
from functools import cached_property

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QStackedWidget, QWidget

from app.core.analysis.trend import Trend, trend_of
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.records import Run, RunSummary
from app.core.storage.past_runs import past_runs
from app.core.storage.queries import COMMENT_LIMIT
from app.core.verdict.judged_run import JudgedRun
from app.gui.charts.trend_chart import TrendChart
from app.gui.pages.results.commands import Handlers, RunCommands
from app.gui.run.view import RunView
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, column, label, row, scrolled

LIST_PX, NAME_MAX_PX = 120, 320


class TrendView(QWidget):
    """Compares a run with the user's earlier ones: in `line`, shown elsewhere, and in a chart with changes."""

    loaded = Signal()  # the trend has been loaded

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest, self._run_id = Latest(), 0
        self.trend: Trend | None = None  # the displayed trend; None until it is loaded
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
        super().showEvent(event)
        self._draw()

    def show_run(self, run: RunSummary) -> None:
        self._run_id, self.trend = run.id, None
        self.line.show_text("")
        done = self._latest.only(self._show)
        self._services.query(lambda database: trend_of(run, past_runs(database, run.workload)), done)

    def _show(self, trend: Trend) -> None:
        self.trend = trend
        self.line.show_text(trend.line)
        unit = headline_kind(trend.metric).unit
        self.card.note.show_text(sentence("trend.note", unit=unit, better=sentence("chart.higher_is_faster")))
        self.changes.setText("\n".join(trend.change_lines()) or sentence("trend.no_changes"))
        self._draw()
        self.loaded.emit()

    def _draw(self) -> None:
        if self.trend is not None and self.isVisible():
            self.chart.show_trend(self.trend, self._run_id)


class RunDetail(QWidget):
    """Displays a stored run."""

    left = Signal()
    commented = Signal(str)  # the user changed the run's name to this one

    def __init__(self, services: Services, handlers: Handlers, view: RunView) -> None:
        super().__init__()
        self.judged: JudgedRun | None = None
        theme = self._theme = services.theme
        own: Handlers = {code: do for code, do in handlers.items() if code != "open"} | {"rename": self.edit_name}
        self.commands = RunCommands(theme, self, own, with_keys=("rename",))
        self.place = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.place.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.back_button = Button(
            theme, sentence("results_page.all_results"), "arrow-left", kind="flat", gives_way=True, do=self.left
        )
        self.comment = QLineEdit(maxLength=COMMENT_LIMIT, placeholderText=sentence("results_page.comment"))
        self.comment.setAccessibleName(sentence("results_page.comment"))
        self.comment.editingFinished.connect(self._on_commented)
        self.charts_button = Button(theme, sentence("results_page.charts"), kind="segment")
        self.trend_button = Button(theme, sentence("results_page.trend"), kind="segment")
        self.charts_button.setChecked(True)
        self.trend_button.toggled.connect(lambda shown: self.pages.setCurrentIndex(int(shown)))
        self.trend = TrendView(services)
        self.trend.loaded.connect(self._offer_trend)
        self.view = view
        self.share_button = self.commands.button("share", "primary")
        self.more_button = Button(theme, "", "ellipsis", name=sentence("results_page.more"), do=self._open_more)
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
        self._offer_trend()
        yield from self.view.show_in_parts(run)
        yield
        self.judged = run

    def edit_name(self) -> None:
        self.comment.setFocus()
        self.comment.selectAll()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.commands.open_menu(event.globalPos())

    def rename(self, run_id: int, comment: str) -> None:
        """Update the displayed name, unless the user is editing a name."""
        if self.judged is not None and self.judged.summary.id == run_id:
            self.judged.rename(comment)

    def _offer_trend(self) -> None:
        offers = self.trend.trend is not None and len(self.trend.trend.points) > 1
        for button in (self.charts_button, self.trend_button):
            button.setVisible(offers)
        if not offers:
            self.charts_button.setChecked(True)

    def _lay_out(self) -> None:
        self.pages = QStackedWidget()
        for page in (self.view, self.trend):
            self.pages.addWidget(page)
        self.comment.setMaximumWidth(NAME_MAX_PX)
        head = row(
            self.back_button,
            self.comment,
            None,
            self.charts_button,
            self.trend_button,
            self.share_button,
            self.more_button,
            spacing_px=GAP_PX,
        )
        head.setStretch(1, 1)
        line = row(self.place, self.trend.line, spacing_px=GAP_PX, stretch=1)
        self.setLayout(column(head, line, self.pages, spacing_px=GAP_PX // 2, stretch=2))

    def _open_more(self) -> None:
        self.commands.open_menu(self.more_button.mapToGlobal(self.more_button.rect().bottomLeft()))

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
