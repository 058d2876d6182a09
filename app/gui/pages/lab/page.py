"""The Lab page: the questions next to the form of the selected one, or the answer instead of both."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QWidget

from app.core.engines.choices import most_gpus
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.study.axes import POWER_LIMIT
from app.core.plans.study.kind import plan_minutes
from app.core.plans.study.planning import preset_plans
from app.core.plans.study.presets import PRESETS, StudyPreset
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.gui.pages.lab.ab.page import AbPage
from app.gui.pages.lab.ab.setup import PAIRS
from app.gui.pages.lab.questions import Question, QuestionList
from app.gui.pages.lab.studies.page import StudiesPage
from app.gui.run.plan_page import PlanPage
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, row, title

AB = "ab"
LIST_PX = 400


class LabPage(QWidget):
    """Contains the pages of A/B tests and studies, by code, which display a form or an answer."""

    shown = Signal(str)  # another one of these pages, with this code, is displayed

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest = Latest()
        self.ab, self.studies = AbPage(services), StudiesPage(services)
        self.pages: dict[str, PlanPage[Any]] = {self.ab.code: self.ab, self.studies.code: self.studies}
        self.questions = QuestionList()
        self.back_button = Button(services.theme, sentence("lab.table"), "arrow-left", gives_way=True, do=self.ask)
        self._stack, self._earlier = QStackedWidget(), QStackedWidget()
        self._list_card = Card()
        self._purpose = label(sentence("studies_page.what"), muted=True)
        self._lay_out()
        for page in self.pages.values():
            page.state_changed.connect(self._show_state)
        self.questions.chosen.connect(self._on_question)
        self._show_questions({})
        for changed in (services.finder.found, services.engines.changed):
            changed.connect(self._look)
        self._look()

    @property
    def code(self) -> str:
        """The code of the displayed page."""
        return next(code for code, page in self.pages.items() if page is self._stack.currentWidget())

    def show_plans(self, code: str) -> None:
        """Display one of the pages."""
        self.questions.choose(AB if code == AB else self.studies.setup.study)
        self._show(code)

    def ask(self) -> None:
        """Show the questions and the form, unless a plan is in progress."""
        self.pages[self.code].close_answer()
        self._on_question(self.questions.key)
        self.questions.setFocus()

    def _show_questions(self, plans: Mapping[str, Plan | AppError]) -> None:
        minutes = sentence("setup.minutes", minutes=2 * PAIRS)
        questions = [Question(AB, sentence("lab.question_ab"), minutes)]
        for key, preset in PRESETS.items():
            note, is_possible = self._note(preset, plans.get(key))
            questions.append(Question(key, preset.question, note, is_possible))
        self.questions.show_questions(questions)

    def _note(self, preset: StudyPreset, plan: Plan | AppError | None) -> tuple[str, bool]:
        """Return the duration of a study or why it can't run here, and whether it can."""
        machine = self._services.finder.machine
        if preset.on_several and (machine is None or most_gpus(machine) < 2):
            return sentence("lab.needs_gpus"), False
        if isinstance(plan, AppError):
            return sentence("lab.no_power_limit" if POWER_LIMIT in preset.axes else "lab.cannot_run"), False
        if plan is not None and len(plan.specs) == 1:
            return sentence("lab.only_one"), False
        minutes = plan_minutes(plan) if plan is not None else None
        if minutes is not None:
            return sentence("setup.minutes", minutes=minutes), True
        return sentence("studies_page.runs", count=plan.count) if plan is not None else "", True

    def _look(self) -> None:
        """Plan all studies in the background, to learn how long they take and which ones are impossible."""
        if (machine := self._services.finder.machine) is not None:
            plan = partial(preset_plans, Runner(self._services.paths, machine))
            self._services.tasks.start(plan, self._latest.only(self._show_questions), self._services.complain)

    def _on_question(self, key: str) -> None:
        if key != AB:
            self.studies.setup.choose(key)
        self._show(self.ab.code if key == AB else self.studies.code)

    def _show(self, code: str) -> None:
        self._stack.setCurrentWidget(self.pages[code])
        self._earlier.setCurrentIndex(self._stack.currentIndex())
        self._show_state()
        self.shown.emit(code)

    def _show_state(self) -> None:
        page = self.pages[self.code]
        for part in (self._list_card, self._purpose):
            part.setVisible(not page.shows_answer)
        self.back_button.setVisible(page.shows_answer and not page.is_live)

    def _lay_out(self) -> None:
        for page in self.pages.values():
            self._stack.addWidget(page)
            page.history.setPlaceholderText(page.history.accessibleName())
            earlier = QWidget()
            layout = row(None, page.history)
            layout.setStretch(1, 20)
            page.history.setMaximumWidth(LIST_PX)
            earlier.setLayout(layout)
            self._earlier.addWidget(earlier)
        self._earlier.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._list_card.body.addWidget(self.questions)
        self._list_card.setMaximumWidth(LIST_PX)
        halves = QHBoxLayout()
        halves.setSpacing(2 * GAP_PX)
        halves.addWidget(self._list_card, stretch=2)
        halves.addWidget(self._stack, stretch=3)
        head = row(self.back_button, title(sentence("page.lab")), self._purpose, self._earlier, stretch=3)
        whole = column(head, halves, spacing_px=GAP_PX + 4, stretch=1)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
