"""The Suite page: runs a fixed list of tests and shows the score."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtWidgets import QSizePolicy, QStackedWidget

from app.core.messages import sentence
from app.core.plans.experiments import EXPERIMENTS
from app.core.plans.report import SUITE_PAGE, PlanOptions, Report
from app.core.plans.suite.definition import NEWEST, RUN_S, SUITES
from app.core.plans.suite.known import imported_scores
from app.core.plans.suite.report import SuiteReport
from app.core.plans.suite.texts import others_figure
from app.core.report.card import Figure
from app.core.runs.runner import Runner
from app.gui.charts.figure import FigureView
from app.gui.run.plan_page import Entry, PlanPage
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, column, give_way, instructions, label, row, title
from app.gui.widgets.choice_box import ChoiceBox

STEPS = (("1", "suite_page.step_1"), ("2", "suite_page.step_2"))


class SuitePage(PlanPage):
    """Runs, resumes and displays suites. Without a score, it displays the `others` of other computers."""

    code, kinds = SUITE_PAGE, ("suite",)
    starts_with_newest = True

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.others = FigureView(services.theme)
        self.others.hide()
        self._latest_others = Latest()
        self.history = ChoiceBox(sentence("suite_page.earlier"))
        give_way(self.history)
        self.history.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.history.activated.connect(lambda _: self.refresh(choose=self.history.currentData()))
        self._stack = QStackedWidget()
        steps = [(sign, sentence(step)) for sign, step in STEPS]
        self._stack.addWidget(instructions(sentence("suite_page.nothing"), steps, self.others))
        self._stack.addWidget(self.answer)
        card = Card(sentence("heading.result"))
        card.note.hide()
        card.corner.addWidget(self.history, stretch=1)
        card.body.addWidget(self._stack, stretch=1)
        head = row(title(sentence("setup.suite_title")), label(sentence("suite_page.what"), muted=True), None)
        whole = column(head, card, spacing_px=GAP_PX + 4, stretch=1)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self._show_state()

    def refresh(self, choose: int | None = None) -> None:
        """Reload the stored suites and the scores of other computers. `choose` is as in `PlanPage.refresh`."""
        super().refresh(choose)
        definition = SUITES[NEWEST]

        def show(figure: Figure | None) -> None:
            self.others.show_figure(figure)
            self.others.setVisible(figure is not None)

        done = self._latest_others.only(show)
        self._services.query(lambda database: others_figure(imported_scores(database), definition), done)

    def start(self, engine: str, device: str) -> None:
        """Run the suite, unless this computer can't or something else is running."""
        machine, suite = self._services.finder.machine, EXPERIMENTS["suite"]
        if machine is None or self._services.bridge.is_running:
            return
        runner, options = (
            Runner(self._services.paths, machine),
            PlanOptions(choice={"engine": engine, "device": device}),
        )
        self._services.tasks.start(
            lambda: suite.plan(suite, runner, options),
            lambda plan: self.begin(plan, machine),
            self._services.complain,
        )

    def show_known(self) -> None:
        """Show the chart of known computers, which is available if this computer has a score."""
        place = self.charts.findText(sentence("suite.known_computers"))
        if place >= 0:
            self.charts.setCurrentIndex(place)
            self._show_figure()

    def _of_running(self, report: Report) -> Report:
        planned = self._services.bridge.planned
        assert isinstance(report, SuiteReport)
        return replace(report, current_spec=None if planned is None else planned.spec)

    def _left_s(self) -> float | None:
        """Return the remaining time in seconds; before the first run has finished, as measured elsewhere."""
        return super()._left_s() or RUN_S * self._services.bridge.planned_runs

    def _show_entries(self, entries: Sequence[Entry], shown_id: int | None) -> None:
        self.history.clear()
        for entry in entries:
            self.history.addItem(entry.text, entry.group_id)
        self.history.setCurrentIndex(self.history.findData(shown_id))

    def _show_state(self) -> None:
        self._stack.setCurrentIndex(1 if self.report is not None else 0)
        self.history.setVisible(self.history.count() > 0 and not self.is_live)
        super()._show_state()
