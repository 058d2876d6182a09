"""A run among the user's own of the past: one line, and a chart with what changed on the machine."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.core.analysis.trend import Trend, trend_of
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.past_runs import past_runs
from app.gui.charts.trend_chart import TrendChart
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Card, ElidedLabel, column, label, scrolled

LIST_PX = 120


class TrendView(QWidget):
    """Loads and shows the trend of a run.

    Attributes:
        line: The run against the best and the last, for another place.
        trend: What is shown; None until it is loaded.
    """

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._run_id = 0
        self.trend: Trend | None = None
        self.line = ElidedLabel("", muted=True)
        self.chart = TrendChart(services.theme)
        self.changes = label(wrap=True)
        self.changes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        scroll = scrolled(self.changes, None)
        scroll.setMaximumHeight(LIST_PX)
        self.card = Card(sentence("trend.chart"))
        self.card.body.addWidget(self.chart, stretch=1)
        self.card.body.addWidget(scroll)
        self.setLayout(column(self.card))

    def show_run(self, run: RunSummary) -> None:
        """Show another run's trend as soon as it is loaded."""
        self._run_id, self.trend = run.id, None
        self.line.show_text("")

        def look(database: Database) -> Trend:
            return trend_of(run, past_runs(database, run.workload))

        self._services.query(look, partial(self._show, run.id))

    def _show(self, run_id: int, trend: Trend) -> None:
        if run_id != self._run_id:
            return  # another run is shown by now
        self.trend = trend
        self.line.show_text(trend.line)
        kind = headline_kind(trend.metric)
        better = sentence("compare.higher_is_better" if kind.is_rate else "compare.lower_is_better")
        self.card.note.show_text(sentence("trend.note", unit=kind.unit, better=better))
        self.chart.show_trend(trend, run_id)
        code = (
            ("trend.nothing", "trend.only_one")[len(trend.points)] if len(trend.points) < 2 else "trend.no_changes"
        )
        self.changes.setText("\n".join(trend.change_lines()) or sentence(code))
