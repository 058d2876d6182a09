"""Own runs among published machines, as bars and as a table."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFrame,
    QInputDialog,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.analysis.comparability import run_refusal
from app.core.analysis.compare import Bar, bars, chart_metric, find_baseline, left_out, run_name
from app.core.metrics import headline_kind
from app.core.records import ImportedLog, RunSummary
from app.core.storage.database import Database
from app.core.storage.imported_logs import import_log, list_logs
from app.core.storage.queries import own_runs
from app.gui.charts.bar_list import BarList
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.table import CompareTable, bar_year, device_kind
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, give_way, label, row, title
from app.gui.widgets.segments import Segments
from workloads import CATALOGUE

SLOT = ("You", "Run the benchmark to take your place")
OWN_LIMITS = (5, 20, 100)
ROW_PX, COMBO_MAX_PX = 40, 300
LINES_LIMIT, NAMES_LIMIT = 4, 10


class ComparePage(QWidget):
    """Shows the newest own run, earlier ones and published machines, fastest first."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._asked = 0
        self._runs: list[RunSummary] = []
        self._logs: list[ImportedLog] = []
        self._bars: list[Bar] = []
        self._chosen_baseline = ""
        self._make_controls()
        self.bar_list = BarList(services.theme, row_max_px=ROW_PX, detailed=True)
        self.table = CompareTable()
        self.nothing = label("Nothing fits these filters; choose others above.", muted=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reasons = label(muted=True, wrap=True)
        self._lay_out()
        self._connect()
        self._show_runs([])

    def showEvent(self, event: QShowEvent) -> None:
        """Look whether there are new runs."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        """Look for own runs again."""
        self._asked += 1
        number, path = self._asked, self._services.paths.database
        workload, limit = self.workload.currentData(), self.limit.currentData()

        def look() -> tuple[int, list[RunSummary], list[ImportedLog]]:
            with Database(path) as database:
                return number, own_runs(database, workload, limit), list_logs(database, workload)

        self._services.tasks.start(look, self._on_found, self._services.complain)

    def _make_controls(self) -> None:
        theme = self._services.theme
        workloads = [(workload.title, name) for name, workload in CATALOGUE.items() if workload.kind != "demo"]
        self.workload = _combo("Workload", workloads)
        self.baseline = _combo("Baseline", ())
        self.baseline.setPlaceholderText("None")
        self.device = _combo("Device", (("All devices", ""), ("CPUs", "cpu"), ("GPUs", "gpu"), ("TPUs", "tpu")))
        self.match = _combo("Match", (("Exact and close", ""), ("Exact only", "exact")))
        self.year = _combo("Year", (("All years", None),))
        self.limit = _combo("Own runs", [(f"{number} own runs", number) for number in OWN_LIMITS])
        self.limit.setCurrentIndex(1)
        self.scale = Segments(theme, "Scale", (("log", "Log"), ("linear", "Linear")))
        self.scale.take("log")
        self.view = Segments(theme, "Show", (("bars", "Bars"), ("table", "Table")))
        self.view.take("bars")
        self.copy_button = Button(theme, "Copy table", "copy")
        self.import_button = Button(theme, "Import log …", "folder-open")

    def _lay_out(self) -> None:
        content = QWidget()
        content.setObjectName("scrolled")
        content.setLayout(column(self.bar_list, None))
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(content)
        self.stack = QStackedWidget()
        for page in (scroll, self.table, self.nothing):
            self.stack.addWidget(page)
        self.card = Card("Seconds per epoch")
        self.card.body.addWidget(self.stack, stretch=1)
        self.card.body.addWidget(self.reasons)
        head = row(title("Compare"), None, self.view, self.copy_button, self.import_button)
        first = row(
            label("Workload", muted=True),
            self.workload,
            label("Baseline", muted=True),
            self.baseline,
            None,
            self.scale,
        )
        for number in (1, 3):
            first.setStretch(number, 1)
        for combo in (self.workload, self.baseline):
            combo.setMaximumWidth(COMBO_MAX_PX)
        filters = row(self.device, self.match, self.year, self.limit, None)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        whole = column(head, first, filters, self.card, spacing_px=GAP_PX + 4)
        whole.setStretch(3, 1)
        layout.addLayout(whole)

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.limit.currentIndexChanged.connect(self.refresh)
        self.baseline.activated.connect(self._on_baseline)
        for combo in (self.device, self.match, self.year):
            combo.currentIndexChanged.connect(self._draw)
        self.scale.chosen.connect(self._draw)
        self.view.chosen.connect(self._draw)
        self.copy_button.clicked.connect(self._on_copy)
        self.import_button.clicked.connect(self._on_import)
        self._services.bridge.ended.connect(self._on_ended)

    def _on_workload(self) -> None:
        self._chosen_baseline = ""
        self._logs = []
        self._show_runs([])
        self.refresh()

    def _on_baseline(self) -> None:
        self._chosen_baseline = self.baseline.currentData()
        self._draw()

    def _on_ended(self, _: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_found(self, answer: tuple[int, list[RunSummary], list[ImportedLog]]) -> None:
        number, runs, logs = answer
        if number == self._asked:  # else a later question is on its way
            self._logs = logs
            self._show_runs(runs)

    def _on_import(self) -> None:
        """Take in a log that study 000 wrote, or one like it."""
        workload = CATALOGUE[self.workload.currentData()]
        file, _ = QFileDialog.getOpenFileName(self, "Import a log of epochs", "", "Logs (*.csv);;All files (*)")
        if not file:
            return
        text = f"The machine that trained {workload.title}:"
        name, given = QInputDialog.getText(self, "Import a log of epochs", text, text=Path(file).stem)
        if given:
            self.import_log(Path(file), name)

    def import_log(self, file: Path, name: str) -> None:
        """Import a log for the workload that is shown."""
        workload, path = CATALOGUE[self.workload.currentData()], self._services.paths.database

        def read() -> ImportedLog:
            with Database(path) as database:
                return import_log(database, file, workload, name)

        self._services.tasks.start(read, self._on_imported, self._services.complain)

    def _on_imported(self, log: ImportedLog) -> None:
        self._services.tell(f"The log of {log.name} is imported.", "", "", None)
        self.refresh()

    def _on_copy(self) -> None:
        count = self.table.copy()
        told = "One row is" if count == 1 else f"{count} rows are"
        self._services.tell(f"{told} on the clipboard as a table.", "", "", None)

    def _show_runs(self, runs: list[RunSummary]) -> None:
        self._runs = runs
        metric = chart_metric(self.workload.currentData(), runs[0] if runs else None)
        self.card.heading.setText(headline_kind(metric).label)
        self._bars = bars(self.workload.currentData(), runs[0] if runs else None, runs[1:], self._logs)
        self._fill_baselines()
        years = sorted({year for bar in self._bars if (year := bar_year(bar))}, reverse=True)
        _fill(self.year, [("All years", None), *((str(year), year) for year in years)])
        reasons = _reasons(runs)
        self.reasons.setText("\n".join(reasons))
        self.reasons.setVisible(bool(reasons))
        self._draw()

    def _fill_baselines(self) -> None:
        _fill(self.baseline, [(bar.name, bar_key(bar)) for bar in self._bars])
        default = find_baseline(self._bars, None, self.workload.currentData())
        wanted = self._chosen_baseline or (bar_key(default) if default else "")
        at = self.baseline.findData(wanted)
        if at < 0 and default is not None:
            at = self.baseline.findData(bar_key(default))
        self.baseline.setCurrentIndex(at)
        self.baseline.setEnabled(bool(self._bars))

    def _draw(self) -> None:
        """Show what fits the filters; the newest own run always does."""
        shown = [bar for bar in self._bars if self._fits(bar)]
        wanted = self.baseline.currentData()
        baseline = next((bar for bar in self._bars if bar_key(bar) == wanted), None)
        slot = None if self._runs else SLOT
        as_table, log = self.view.value == "table", self.scale.value == "log"
        self.bar_list.show_bars(shown, baseline, log=log, slot=slot)
        self.table.rows.show_bars(shown, baseline)
        self.stack.setCurrentIndex(2 if not shown else 1 if as_table else 0)
        scale = "" if as_table else f"{'log' if log else 'linear'} scale · "
        times = f"×: times as fast as the {baseline.name}" if baseline is not None else "shorter is faster"
        self.card.note.show_text(scale + times)
        self.scale.setEnabled(not as_table)
        self.copy_button.setEnabled(bool(shown))

    def _fits(self, bar: Bar) -> bool:
        if bar.kind == "you":
            return True
        kind, year = self.device.currentData(), self.year.currentData()
        exact = self.match.currentData() != "exact" or bar.row is None or bar.row.match == "exact"
        return exact and kind in ("", device_kind(bar)) and year in (None, bar_year(bar))


def _combo(name: str, items: Sequence[tuple[str, object]]) -> QComboBox:
    combo = QComboBox()
    combo.setAccessibleName(name)
    combo.setToolTip(name)
    give_way(combo)
    _fill(combo, items)
    return combo


def _fill(combo: QComboBox, items: Sequence[tuple[str, object]]) -> None:
    """Offer other choices, and keep what is chosen where it is still there."""
    chosen = combo.currentData()
    combo.blockSignals(True)
    combo.clear()
    for text, value in items:
        combo.addItem(text, value)
    combo.setCurrentIndex(max(0, combo.findData(chosen)))
    combo.blockSignals(False)


def _reasons(runs: Sequence[RunSummary]) -> list[str]:
    """Say what is not drawn beside the newest run, and why: it would not be like with like."""
    if not runs:
        return []
    refused = [text.rpartition(": ")[::2] for text in left_out(runs[0])]
    for other in runs[1:]:
        reason = run_refusal(runs[0], other)
        if reason is not None:
            refused.append((f"{run_name(other)} (run {other.id})", reason))
    names: dict[str, list[str]] = {}
    for name, reason in refused:
        names.setdefault(reason, []).append(name)
    lines = [f"{reason}: {_listed(group)}" for reason, group in names.items()]
    more = len(lines) - LINES_LIMIT
    lines = lines[:LINES_LIMIT] + ([f"and for {more} other reasons"] if more > 0 else [])
    return ["Not drawn, because they are not like your newest run:", *lines] if lines else []


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_LIMIT
    return ", ".join(names[:NAMES_LIMIT]) + (f" and {more} more" if more > 0 else "")
