"""The four cards of a run: seconds per epoch, loss and accuracy, hardware, and published results."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.core.analysis.ab import is_usable, judge_repeats
from app.core.analysis.bars import Bar
from app.core.analysis.position import chart_note
from app.core.analysis.series import RunSeries
from app.core.messages import sentence
from app.core.metrics import CLOCKS, amount_text, headline_kind, metric_lines
from app.core.plain_text import joined
from app.core.plans.engines import EnginesReport
from app.core.plans.experiments import report_of
from app.core.records import Group, RunSummary
from app.core.report.run_texts import rate_text, repeats_steps
from app.gui.charts.bar_list import BarList
from app.gui.charts.plots import LOW_PX, LOWEST_PX, Plot, time_span
from app.gui.charts.speed_charts import PASS_PCT, EstimateChart, SustainedChart
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import EpochChart, Legend, LossChart, ThroughputChart
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import GAP_PX, LABEL_PX, TEXT_PX
from app.gui.widgets.basics import Card, ClampedLabel, Fold, column, row
from app.gui.widgets.tables import TextTable, set_up_items
from workloads import CATALOGUE

# Total height of all cards if charts have their lowest or their usual minimum height.
TIGHT_PX, ROOMY_PX = 500, 590
ROW_PX = 26
BARS_ROW_MAX_PX = 84  # if bars have the whole right half, as in Quick runs, they fill it
_Chart = TypeVar("_Chart", bound=QWidget)


class MetricTable(QTableWidget):
    """Lists the metrics of a run, for workloads without epochs or losses."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        set_up_items(self, sentence("chart.figures"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.verticalHeader().setMinimumSectionSize(ROW_PX)
        self.verticalHeader().setDefaultSectionSize(ROW_PX)
        self._shown: list[tuple[str, str]] = []

    def show_metrics(self, metrics: Mapping[str, float | None]) -> None:
        lines = metric_lines({key: value for key, value in metrics.items() if key not in CLOCKS})
        if lines == self._shown:
            return
        self._shown = lines
        self.setRowCount(len(lines))
        for number, (name, value) in enumerate(lines):
            self.setItem(number, 0, QTableWidgetItem(name))
            cell = QTableWidgetItem(value)
            cell.setFont(tabular_font(TEXT_PX))
            cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.setItem(number, 1, cell)


class RunCharts(QWidget):
    """The charts of a live or stored run. Created once and reused."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._kind = (True, True, False)
        self._least_px = LOW_PX
        self._speed = QStackedWidget()
        self.throughput = ThroughputChart(theme)
        self.machine = TelemetryChart(theme)
        self.bars = BarList(theme, row_max_px=BARS_ROW_MAX_PX)
        self._machine_legend = Legend(theme)
        self.speed_legend = Legend(theme)
        self.epochs_card = _card(sentence("headline.seconds_per_epoch_s"), self._speed)
        self.epochs_card.body.insertWidget(1, self.speed_legend)
        self.speed_legend.hide()
        self._rate_card = _card(
            sentence("chart.while_training"), self.throughput, self.machine, legend=self._machine_legend
        )
        self.limit = ClampedLabel(lines=2, muted=False, kept=2)
        self._rate_card.body.addWidget(self.limit)
        self.rate_fold = Fold(theme, sentence("chart.while_training"), self._rate_card)
        self.bars_card = _card(sentence("chart.against_known"), self.bars)
        self.scale = ClampedLabel(lines=3, size_px=LABEL_PX)
        self.bars_card.body.addWidget(self.scale)
        loss_legend = Legend(theme)
        loss_legend.show_entries([(colour, sentence(code), dashed) for colour, code, dashed in LossChart.ENTRIES])
        self._loss_card = _card(sentence("chart.loss_and_accuracy"), legend=loss_legend)
        self.figures = MetricTable()
        self._figures_card = _card(sentence("chart.figures"), self.figures)
        self._figures_card.hide()
        # The ranking gets most of the right half, or all of it if there is no loss to show.
        left = column(self.epochs_card, self.rate_fold, spacing_px=2 * GAP_PX)
        right = column(self.bars_card, self._loss_card, self._figures_card, spacing_px=2 * GAP_PX)
        for half in (left, right):
            half.setStretch(0, 5)
            half.setStretch(1, 4)
        left.setStretch(0, 4)
        self.rate_fold.button.toggled.connect(lambda is_open: left.setStretch(1, 5 if is_open else 0))
        self.rate_fold.button.setChecked(True)
        self.rate_fold.button.hide()
        right.setStretch(2, 4)
        right.addStretch()  # keeps the ranking no higher than the area, even if the rest scrolls
        halves = row(left, right, spacing_px=2 * GAP_PX)
        halves.setStretch(0, 1)
        halves.setStretch(1, 1)
        self.setLayout(halves)

    # A chart takes 5 to 10 ms, so those that some runs don't need immediately are created on first use.
    @cached_property
    def epochs(self) -> EpochChart:
        return self._with_speed(EpochChart(self._theme))

    @cached_property
    def loss(self) -> LossChart:
        chart = LossChart(self._theme)
        chart.allow_height(self._least_px)
        self._loss_card.body.addWidget(chart, stretch=1)
        return chart

    @cached_property
    def estimate(self) -> EstimateChart:
        return self._with_speed(EstimateChart(self._theme))

    @cached_property
    def sustained(self) -> SustainedChart:
        return self._with_speed(SustainedChart(self._theme))

    @cached_property
    def engines(self) -> TextTable:
        return self._with_speed(TextTable(sentence("engine_page.table")))

    def fit_into(self, height_px: int) -> None:
        """Limit the bars to this height, and slightly reduce the height of the charts if this avoids scrolling."""
        self._least_px = LOWEST_PX if TIGHT_PX <= height_px < ROOMY_PX else LOW_PX
        for plot in self.findChildren(Plot):
            plot.allow_height(self._least_px)
        self.bars_card.setMaximumHeight(max(height_px, self.bars_card.minimumSizeHint().height()))

    def hasHeightForWidth(self) -> bool:
        """Return False. Otherwise, Qt would use the preferred instead of the minimum height in a scroll area."""
        return False

    def show_series(self, series: RunSeries, summary: RunSummary, memory_bytes: int | None, *, live: bool) -> None:
        """Show the charts of a run. If it is `live`, time axes grow in large steps."""
        self._show_kind(summary)
        self.figures.show_metrics(series.metrics)
        self.loss.show_series(series, summary.epochs, live=live)
        curves = (series.steps_per_s, *series.telemetry.values())
        latest_s = max((curve.x[-1] for curve in curves if curve.x), default=1.0)
        span_s = time_span(latest_s) if live else latest_s
        self.throughput.show_curve(series.steps_per_s, span_s, live=live, interrupted_t_s=series.interrupted_t_s)
        self._show_speed(series, summary, span_s, live=live)
        self.machine.show_curves(series.telemetry, end_s=span_s, memory_bytes=memory_bytes, live=live)
        self.throughput.show_right(self.machine.has_right)
        rate = series.steps_per_s.last if live else series.steps_per_s.median
        steps = (
            []
            if rate is None
            else [(self.throughput.colour_name, sentence("chart.step_rate", steps_per_s=rate), False)]
        )
        if count := len(series.interrupted_t_s):
            steps.append(("caution", sentence("chart.interruptions", count=count), False))
        self._rate_card.note.show_text(rate_text(summary))
        self._machine_legend.show_entries(
            [*steps, *self.machine.entries], sentence("chart.now" if live else "chart.medians")
        )

    def show_group(self, group: Group) -> None:
        """Replace the speed chart with a table of engines or with a bar for each repetition of a group."""
        self.speed_legend.hide()
        self.epochs_card.show()
        report = report_of(group)
        if isinstance(report, EnginesReport):
            self._speed.setCurrentWidget(self.engines)
            self.engines.show_table(report.table())
            self.epochs_card.heading.setText(sentence("chart.engines"))
            self.epochs_card.note.show_text(sentence("chart.engines_note", count=group.plan.rounds))
            return
        runs = [run for run in group.runs if is_usable(run)]
        kind = headline_kind(runs[0].metric if runs else "seconds_per_epoch_s")
        values = [run.value * kind.scale for run in runs if run.value is not None]
        self._speed.setCurrentWidget(self.epochs)
        self.epochs.show_epochs(values, group.planned, is_rate=kind.is_rate, apart=False, live=False)
        self.epochs_card.heading.setText(sentence("chart.speed_by_run"))
        median = amount_text(kind.key, judge_repeats(group).median, is_short=True) if runs else ""
        self.epochs_card.note.show_text(sentence("chart.one_times_median", median=median) if median else "")

    def show_limit(self, text: str) -> None:
        self.limit.show_text(text)

    def show_bars(self, bars: Sequence[Bar], baseline: Bar | None) -> None:
        """Show the run among published results, best first, compared with a baseline."""
        self.bars.show_bars(bars, baseline)
        has_published = any(bar.kind != "you" for bar in bars)
        self.bars_card.heading.setText(
            sentence("chart.against_known" if has_published else "chart.nothing_published")
        )
        self.scale.show_text(chart_note(bars, baseline) if bars else "")

    def _with_speed(self, chart: _Chart) -> _Chart:
        if isinstance(chart, Plot):
            chart.allow_height(self._least_px)
        self._speed.addWidget(chart)
        return chart

    def _show_kind(self, summary: RunSummary) -> None:
        """Hide charts that don't apply to a workload, and show metrics for workloads without a loss."""
        workload = CATALOGUE.get(summary.workload)
        trains = workload is None or workload.trains
        has_epochs = workload is None or workload.has_epochs
        is_short = summary.preset == "quick"  # the loss of a Quick run isn't informative
        if (trains, has_epochs, is_short) == self._kind:
            return
        self._kind = (trains, has_epochs, is_short)
        heading = sentence("chart.while_training" if trains else "chart.while_measuring")
        self._rate_card.heading.setText("" if is_short else heading)
        self.rate_fold.button.setText(heading)
        self.rate_fold.button.setVisible(is_short)
        self.rate_fold.button.setChecked(not is_short)
        self._loss_card.setVisible(trains and not is_short)
        self.epochs_card.setVisible(has_epochs)
        self._figures_card.setVisible(not trains)

    def _show_speed(self, series: RunSeries, summary: RunSummary, span_s: float, *, live: bool) -> None:
        """Show the main chart of a preset: epochs, the estimate with its interval, or sustained speed."""
        self.speed_legend.setVisible(summary.preset == "sustained")
        if summary.preset == "quick":
            self._speed.setCurrentWidget(self.estimate)
            self.estimate.show_estimates(series, summary.metric, span_s, live=live)
            self.epochs_card.heading.setText(sentence("chart.estimated"))
            unit = headline_kind(summary.metric).short_unit
            self.epochs_card.note.show_text(f"{unit} · {sentence('chart.higher_is_faster')}")
        elif summary.preset == "sustained":
            self._speed.setCurrentWidget(self.sustained)
            self.sustained.show_series(series, span_s, live=live)
            self.speed_legend.show_entries([*self.sustained.entries, ("valid", f"{PASS_PCT:.0f} %", True)])
            self.epochs_card.heading.setText(sentence("chart.sustained_heading"))
            code = "chart.sustained_pass" if summary.sustained_pct is None else "chart.sustained_result"
            note = sentence(code, share_pct=summary.sustained_pct, pass_pct=PASS_PCT)
            self.epochs_card.note.show_text(note)
        else:
            self._speed.setCurrentWidget(self.epochs)
            self._show_epochs(series, summary, live=live)

    def _show_epochs(self, series: RunSeries, summary: RunSummary, *, live: bool) -> None:
        durations_s, median_s = series.epoch_durations_s, series.later_median_s
        cut = summary.steps is not None and summary.steps < summary.steps_per_epoch
        self.epochs.show_epochs(durations_s, summary.epochs, median_s, live=live)
        in_rounds = repeats_steps(summary)
        self.epochs_card.heading.setText(
            sentence("chart.speed_by_round", steps=summary.steps or summary.steps_per_epoch)
            if in_rounds
            else sentence("chart.speed_by_epoch")
        )
        notes = []
        if cut and not in_rounds:
            notes.append(sentence("chart.steps_each", steps=summary.steps, whole=summary.steps_per_epoch))
        if median_s is not None:
            median = sentence("chart.seconds", median_s=median_s)
            notes.append(sentence("chart.one_times_median", median=median))
        self.epochs_card.note.show_text(joined(notes))


def _card(heading: str, *charts: QWidget, legend: Legend | None = None) -> Card:
    card = Card(heading)
    if legend is not None and len(charts) > 1:
        card.body.addWidget(legend)  # below the heading, so that many entries can use several lines
    elif legend is not None:
        card.note.hide()
        card.corner.addWidget(legend, stretch=1)
    card.body.setSpacing(4)
    for chart in charts:
        card.body.addWidget(chart, stretch=1)
    return card
