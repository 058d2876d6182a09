"""The Lab page: the questions next to the form of the selected one, or an answer instead of both."""

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.engines.choices import most_gpus
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.plans.experiments import EXPERIMENTS, experiment_of, plan_all
from app.core.plans.report import LAB_PAGE, Experiment, Report, plan_minutes, workloads_title
from app.core.plans.study.axes import POWER_LIMIT
from app.core.plans.study.points import StudyExperiment
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.gui.pages.lab.questions import Question, QuestionList
from app.gui.pages.lab.setup import AB, LabSetup
from app.gui.run.plan_page import Entry, PlanPage
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, line, panel, row, title
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

LIST_PX, EARLIER_PX = 400, 150
ROOMY_PX = 560  # in a lower window, earlier answers would leave no room for the form


class LabPage(PlanPage):
    """Asks questions that take several runs, and answers them."""

    code = LAB_PAGE

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.kinds = {row.stored_kind: None for row in EXPERIMENTS.values() if row.page == LAB_PAGE}
        self._looks = Latest()
        self.questions = QuestionList(sentence("lab.table"))
        self.earlier = QuestionList(sentence("lab.earlier"))
        self.earlier.setMaximumHeight(EARLIER_PX)
        self.setup = LabSetup(services)
        self.back_button = Button(services.theme, sentence("lab.table"), "arrow-left", gives_way=True, do=self.ask)
        self._stack = QStackedWidget()
        self._purpose = label(sentence("studies_page.what"), muted=True)
        self._lay_out()
        self.questions.chosen.connect(self.setup.choose)
        self.earlier.chosen.connect(lambda key: self.refresh(choose=int(key)))
        self.setup.run_requested.connect(self.begin)
        self.setup.price_changed.connect(self.refresh)
        self._show_questions({})
        for changed in (services.finder.found, services.engines.changed):
            changed.connect(self._look)
        self._look()
        self._show_state()

    def ask(self) -> None:
        """Show the questions and the form, unless a plan is in progress."""
        self.close_answer()
        self.questions.setFocus()

    def run_again(self, plan: Plan, machine: Machine) -> None:
        """Start a stored plan again. If it has sides, fill the form with it."""
        if (experiment := experiment_of(plan)).has_sides:
            self._choose(experiment.key)
            self.setup.refill(plan)
        self.begin(plan, machine)

    def vary(self, spec: RunSpec) -> None:
        """Show the form of an A/B test, starting from a run's spec."""
        self.close_answer()
        self._choose(AB.key)
        self.setup.vary(spec)

    def _choose(self, key: str) -> None:
        self.questions.choose(key)
        self.setup.choose(key)

    def _show_questions(self, plans: Mapping[str, Plan | AppError]) -> None:
        questions = []
        for key, experiment in EXPERIMENTS.items():
            if experiment.page == LAB_PAGE:
                note, is_possible = self._note(experiment, plans.get(key))
                questions.append(Question(key, experiment.question, note, is_possible))
        self.questions.show_questions(questions, keeps_one=True)

    def _note(self, experiment: Experiment, plan: Plan | AppError | None) -> tuple[str, bool]:
        """Return the duration of an experiment or why it can't run here, and whether it can."""
        machine = self._services.finder.machine
        if isinstance(experiment, StudyExperiment):
            if experiment.on_several and (machine is None or most_gpus(machine) < 2):
                return sentence("lab.needs_gpus"), False
            if isinstance(plan, AppError):
                return sentence(
                    "lab.no_power_limit" if POWER_LIMIT in experiment.axes else "lab.cannot_run"
                ), False
        if not isinstance(plan, Plan):
            return "", True
        if len(plan.specs) == 1:
            return sentence("lab.only_one"), False
        minutes = plan_minutes(plan)
        if minutes is not None:
            return sentence("setup.minutes", minutes=minutes), True
        return sentence("studies_page.runs", count=plan.count), True

    def _look(self) -> None:
        """Plan all experiments in the background, to learn how long they take and which ones are impossible."""
        if (machine := self._services.finder.machine) is not None:
            plan = partial(plan_all, Runner(self._services.paths, machine))
            self._services.tasks.start(plan, self._looks.only(self._show_questions), self._services.complain)

    def _show_entries(self, entries: Sequence[Entry], shown_id: int | None) -> None:
        questions = [Question(str(entry.group_id), entry.text, entry.date) for entry in entries]
        self.earlier.show_questions(questions)
        self._show_earlier()

    def _show_state(self) -> None:
        is_answer = self.report is not None
        self.setup.set_busy(self._services.bridge.busy_text)
        self._stack.setCurrentIndex(1 if is_answer else 0)
        self._purpose.setText(sentence("studies_page.what") if self.report is None else _question(self.report))
        self.back_button.setVisible(is_answer and not self.is_live)
        super()._show_state()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_earlier()

    def _show_earlier(self) -> None:
        self._earlier.setVisible(bool(self.entries) and self.height() >= ROOMY_PX)

    def _lay_out(self) -> None:
        listed, form, answer = Card(), Card(), Card()
        listed.body.addWidget(self.questions)
        listed.setMaximumWidth(LIST_PX)
        heading = label(sentence("lab.earlier"), muted=True)
        self._earlier = panel(column(line(), heading, self.earlier))
        form.body.addWidget(self.setup, stretch=1)
        form.body.addWidget(self._earlier)
        answer.body.addWidget(self.answer)
        halves = QWidget()
        split = row(listed, form, spacing_px=2 * GAP_PX)
        split.setStretch(0, 2)
        split.setStretch(1, 3)
        halves.setLayout(split)
        for shown in (halves, answer):
            self._stack.addWidget(shown)
        head = row(self.back_button, title(sentence("page.lab")), self._purpose, None)
        whole = column(head, self._stack, spacing_px=GAP_PX + 4, stretch=1)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)


def _question(report: Report) -> str:
    return joined((report.experiment.question, workloads_title(report.group)))
