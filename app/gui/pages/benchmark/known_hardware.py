"""Published results of the selected workload, together with this computer's."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent

from app.core.analysis.bars import Bar, around, bars, find_baseline, shortlist
from app.core.analysis.likeness import is_like_row
from app.core.analysis.own_runs import runs_like
from app.core.analysis.position import chart_note
from app.core.engines.choices import Choice
from app.core.messages import sentence
from app.core.plans.suite.definition import NEWEST, SUITES, suite_name
from app.core.records import RunSummary
from app.core.storage.queries import own_runs
from app.core.titles import workload_title
from app.gui.charts.bar_list import BarList
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import LABEL_PX
from app.gui.widgets.basics import Card, ClampedLabel, label, scrolled
from workloads import STANDARD
from workloads.protocol.spec import RunSpec

BARS_LIMIT, RUNS_LIMIT, ROW_MAX_PX = 12, 100, 64


class KnownHardware(Card):
    """A card with the results as bars."""

    run_chosen = Signal(int)

    def __init__(self, services: Services) -> None:
        super().__init__(workload_title(STANDARD))
        self._services = services
        self._workload_id = STANDARD
        self._setup: tuple[RunSpec, str | None] | None = None
        self._gpu = ""
        self._runs: list[RunSummary] = []
        self._latest = Latest()
        self._can_run, self._is_suite = True, False
        self.bars = BarList(services.theme, row_max_px=ROW_MAX_PX)
        self.bars.opens_runs = True
        self.bars.chosen.connect(self._on_bar)
        self.scale = ClampedLabel(2, LABEL_PX)
        self.body.addWidget(self.scale)
        self.body.addWidget(self.bars, stretch=1)
        tests = "\n".join(part.title for part in SUITES[NEWEST].parts)
        self._suite = scrolled(label(tests, wrap=True), None)
        self._suite.hide()
        self.body.addWidget(self._suite)
        services.bridge.ended.connect(self.refresh)

    def show_workload(self, workload_id: str) -> None:
        self._workload_id, self._setup, self._runs = workload_id, None, []
        self._draw()
        self.refresh()

    def show_setup(self, spec: RunSpec | None, choice: Choice | None) -> None:
        """Show the user's runs that match a setup, if that can run, and its device, if that is known."""
        setup = None if spec is None else (spec, choice.device if choice is not None else None)
        gpu = choice.gpu.name if choice is not None and choice.gpu is not None else ""
        if (setup, gpu) != (self._setup, self._gpu):
            self._setup, self._gpu = setup, gpu
            self._draw()

    def show_suite(self, *, is_shown: bool) -> None:
        if is_shown != self._is_suite:
            self._is_suite = is_shown
            self._draw()

    def allow_run(self, *, allowed: bool) -> None:
        if allowed != self._can_run:
            self._can_run = allowed
            self._draw()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def refresh(self, *_: object) -> None:
        workload_id = self._workload_id
        done = self._latest.only(self._on_runs)
        self._services.query(lambda database: own_runs(database, workload_id, RUNS_LIMIT), done)

    def _on_runs(self, runs: list[RunSummary]) -> None:
        if runs != self._runs:
            self._runs = runs
            self._draw()

    def _on_bar(self, bar: Bar) -> None:
        if bar.run is not None:
            self.run_chosen.emit(bar.run.id)

    def _draw(self) -> None:
        self.bars.setVisible(not self._is_suite)
        self._suite.setVisible(self._is_suite)
        if self._is_suite:
            suite = SUITES[NEWEST]
            self.heading.setText(suite_name(NEWEST))
            self.scale.show_text(sentence("setup.suite_reference", machine=suite.machine))
            return
        self.heading.setText(workload_title(self._workload_id))
        machine = self._services.finder.machine
        own: list[RunSummary] = []
        if self._setup is not None and machine is not None:
            own = runs_like(self._runs, *self._setup, machine.cpu_name)
        if own:
            shown, card = shortlist(bars(self._workload_id, own[0], own[1:]), BARS_LIMIT), None
            slot = None
        else:
            everything = bars(self._workload_id, None)
            spec = self._setup[0] if self._setup is not None else None
            ranked = [
                bar
                for bar in everything
                if spec and bar.row and is_like_row(bar.row, spec.precision, spec.batch_size)
            ]
            shown, card = around(ranked or everything, self._gpu, BARS_LIMIT)
            hint = "compare_page.run_to_see_place" if self._can_run else "compare_page.slot_not_ready"
            slot = sentence("compare.you"), sentence(hint)
        baseline = card or find_baseline(shown, None, self._workload_id)
        self.bars.show_bars(shown, baseline, slot=slot, slot_opens=self._can_run)
        self.scale.show_text(chart_note(shown, baseline) if shown else "")
