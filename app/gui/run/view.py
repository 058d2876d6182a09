"""A live or stored run with headline and charts. Import this module late, because it imports the charts."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QFont, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollBar, QWidget

from app.core.analysis.bars import Bar, bars, find_baseline, shortlist
from app.core.analysis.series import RunSeries
from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.records import Group, RunSummary
from app.core.runs.progress import Progress
from app.core.titles import preset_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.charts import RunCharts
from app.gui.run.headline import HeadlineCard
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import ClampedLabel, column, label, row, scrolled
from workloads import CATALOGUE
from workloads.protocol import events

# Every tick of the bridge, every third and every fourth. Slightly shorter, because ticks are irregular.
TEXT_INTERVAL_S, TELLING_INTERVAL_S, CHART_INTERVAL_S = 0.2, 0.7, 0.95
# Rare events, which are drawn sooner.
_TELLING = {events.Phase, events.Epoch, events.Environment, events.Error, events.End}
BARS_LIMIT = 12


class RunView(QWidget):
    """Displays a run. `headline.buttons` is for actions, `corner` for navigation."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._title = label("", TITLE_PX, QFont.Weight.DemiBold)
        self.about = ClampedLabel(lines=2)
        self.headline = HeadlineCard(theme)
        self.charts = RunCharts(theme)
        self._bridge: RunBridge | None = None
        self._texts_s = self._charts_s = 0.0
        self._bars_of: tuple[Any, ...] = ()
        self.corner = QHBoxLayout()
        self.corner.setSpacing(GAP_PX)
        head = row(self._title, self.about, self.corner, stretch=1)
        # Charts keep a readable height. In a small window, they scroll below the headline.
        scroll = self.charts_area = scrolled(self.charts)
        scroll.viewport().installEventFilter(self)
        bar, pages, steps = scroll.verticalScrollBar(), QKeySequence.StandardKey, QScrollBar.SliderAction
        for key, step in (
            (pages.MoveToNextPage, steps.SliderPageStepAdd),
            (pages.MoveToPreviousPage, steps.SliderPageStepSub),
        ):
            does = partial(bar.triggerAction, step)
            QShortcut(QKeySequence(key), self, does, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.setLayout(column(head, self.headline, scroll, spacing_px=GAP_PX + 4, stretch=2))

    def follow(self, bridge: RunBridge) -> None:
        self._bridge = bridge
        bridge.started.connect(self.refresh)
        bridge.moved_on.connect(self.refresh)
        bridge.advanced.connect(self._on_advanced)

    def show_run(self, run: JudgedRun, group: Group | None = None, own: str = "") -> None:
        """Show a stored run, with the result of its group or how it compares with the user's own other runs."""
        for _ in self.show_in_parts(run, group, own):
            pass

    def show_in_parts(self, run: JudgedRun, group: Group | None = None, own: str = "") -> Iterator[None]:
        """Show a stored run as `show_run` does, but one part at each step, so that no step blocks the window."""
        parameters = run.run.model.parameters_count if run.run.model is not None else None
        self.charts.show()
        if group is None:
            self._show_head(run.summary, parameters)
            self.headline.show_stored(run, own)
        else:
            number = next(number for number, each in group.numbered if each.id == run.summary.id)
            self._show_head(run.summary, parameters, (number, group.planned))
            self.headline.show_group(run, group)
        yield
        if group is None:
            self._show_charts(run.series, run.summary, run.bars, live=False)
        else:
            self._show_charts(run.series, report_of(group).summary or run.summary, live=False)
            self.charts.show_group(group)
        self.charts.show_limit(run.bottleneck)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._bridge is not None and self._bridge.is_running:
            QTimer.singleShot(0, self.refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.charts.fit_into(self.charts_area.viewport().height())
        return super().eventFilter(watched, event)

    def refresh(self) -> None:
        bridge = self._bridge
        if bridge is None or bridge.state is None or bridge.has_own_page:
            return
        state = bridge.state
        live = state.live()
        self._texts_s = self._charts_s = time.monotonic()
        self.headline.show_live(live, state.progress, cancelled=bridge.is_cancelled, verdict=state.verdict)
        self._show_progress(bridge, state.progress)
        self.charts.setVisible(live is not None)  # until there is something to show, not the charts of another run
        if live is not None:
            place = (bridge.planned.number, bridge.planned.count) if bridge.planned is not None else None
            self._show_head(live, CATALOGUE[live.workload].parameters_count, place)
            self._show_charts(state.series, live, live=True)
            self.charts.show_limit(sentence("chart.nothing_yet"))

    def _on_advanced(self, kinds: set[type[events.Event]]) -> None:
        """Update texts at most four times per second, and charts once, so as not to slow down the measurement."""
        bridge = self._bridge
        if bridge is None or bridge.state is None or bridge.has_own_page or not self.isVisible():
            return
        now_s = time.monotonic()
        since_s = now_s - self._charts_s
        if since_s >= CHART_INTERVAL_S or (kinds & _TELLING and since_s >= TELLING_INTERVAL_S):
            self.refresh()
        elif now_s - self._texts_s >= TEXT_INTERVAL_S or bridge.waiting is not None:
            self._texts_s = now_s
            self._show_progress(bridge, bridge.state.progress)

    def _show_progress(self, bridge: RunBridge, progress: Progress) -> None:
        if bridge.waiting is not None and not bridge.is_cancelled:
            self.headline.show_waiting(bridge.waiting.text)
        else:
            self.headline.show_progress(progress, cancelled=bridge.is_cancelled)

    def _show_head(
        self, summary: RunSummary, parameters: int | None, place: tuple[int, int] | None = None
    ) -> None:
        self._title.setText(workload_title(summary.workload))
        code = "run.about_network" if parameters else "run.about"
        about = sentence(
            code, parameters=parameters, batch_size=summary.batch_size, preset=preset_title(summary.preset)
        )
        if place is not None and place[1] > 1:
            about = sentence("run.about_one_of", number=place[0], planned=place[1], about=about)
        self.about.show_text(about)

    def _show_charts(
        self, series: RunSeries, summary: RunSummary, known_bars: Sequence[Bar] | None = None, *, live: bool
    ) -> None:
        self.charts.show_series(series, summary, summary.memory_bytes, live=live)
        # Redraw the bars only if their content has changed.
        bars_of = (summary.id, summary.value, summary.basis, summary.device, summary.status)
        if bars_of != self._bars_of:
            if self._bars_of[:1] != bars_of[:1]:  # start at the top for another run
                self.charts_area.verticalScrollBar().setValue(0)
            self._bars_of = bars_of
            all_bars = bars(summary.workload, summary) if known_bars is None else known_bars
            ranking = shortlist(all_bars, BARS_LIMIT)
            baseline = find_baseline(ranking, None, summary.workload)
            self.charts.show_bars(ranking, baseline)
