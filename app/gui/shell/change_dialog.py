"""The dialog that asks what should change, and leads to the A/B test, study or page for comparing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QWidget

from app.core.engines.choices import most_gpus
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.study.planning import idle_presets
from app.core.plans.study.presets import PRESETS
from app.core.runs.runner import Runner
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import Button, column, label, scrolled
from app.gui.widgets.dialogs import LEAST_PX, button_box

WIDTH_PX, HEIGHT_PX, LINE_PX = 660, 560, 200


@dataclass(frozen=True, slots=True)
class Question:
    """Something that can change from run to run.

    Attributes:
        key: Name in message codes.
        page: Code of the page that compares it.
        choice: Study, or setting of an A/B test, to select on the page; "" for none.
    """

    key: str
    page: str
    choice: str = ""


QUESTIONS = (
    Question("engine", "ab", "engine"),
    Question("device", "studies", "devices"),
    Question("devices", "studies", "scaling"),
    Question("batch", "studies", "batch"),
    Question("precision", "studies", "precision"),
    Question("compile", "ab", "jit"),
    Question("cpus", "studies", "threads"),
    Question("power", "studies", "power"),
    Question("setting", "ab"),
    Question("by_hand", "ab", "by_hand"),
    Question("computer", "compare"),
)


class ChangeDialog(QDialog):
    """Lists what can change. Anything that can't be compared on this computer is disabled, with the reason.

    Attributes:
        buttons, lines: The button of each question, and the line next to it, by key.
        is_complete: Whether the questions that can't be answered on this computer have been disabled.
    """

    chosen = Signal(object)

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(sentence("change_dialog.title"))
        self.setMinimumSize(*LEAST_PX)
        self.resize(WIDTH_PX, min(HEIGHT_PX, parent.height()))
        questions = [each for each in QUESTIONS if each.key != "devices" or _has_several_gpus(services)]
        self.is_complete = False
        self.buttons = {each.key: Button(services.theme, _title(each)) for each in questions}
        self.lines = {each.key: label(_line(each), muted=True, wrap=True) for each in questions}
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * GAP_PX)
        grid.setColumnStretch(1, 1)
        for number, question in enumerate(questions):
            self.buttons[question.key].clicked.connect(partial(self._on_chosen, question))
            self.buttons[question.key].setAccessibleDescription(_line(question))
            self.lines[question.key].setMinimumWidth(LINE_PX)
            grid.addWidget(self.buttons[question.key], number, 0)
            grid.addWidget(self.lines[question.key], number, 1)
        closing = button_box(QDialogButtonBox.StandardButton.Cancel)
        closing.rejected.connect(self.reject)
        head = label(sentence("change_dialog.title"), TITLE_PX, QFont.Weight.DemiBold)
        whole = column(head, scrolled(grid, None), closing, spacing_px=2 * GAP_PX)
        whole.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        if len(services.engines.installed) < 2:
            self._disable("engine", sentence("change_dialog.one_engine"))
        latest = Latest()
        self.finished.connect(latest.drop)
        if (machine := services.finder.machine) is not None:
            look = partial(idle_presets, Runner(services.paths, machine))
            services.tasks.start(look, latest.only(self._show_idle), services.complain)

    def _show_idle(self, idle: Mapping[str, AppError | None]) -> None:
        self.is_complete = True
        for question in QUESTIONS:
            if question.page == "studies" and question.choice in idle and question.key in self.buttons:
                reason = idle[question.choice]
                self._disable(question.key, str(reason) if reason else sentence("studies_page.only_one"))

    def _disable(self, key: str, reason: str) -> None:
        self.buttons[key].setEnabled(False)
        self.buttons[key].setAccessibleDescription(reason)
        self.lines[key].setText(reason)

    def _on_chosen(self, question: Question, _: bool = False) -> None:
        self.accept()
        self.chosen.emit(question)


def _has_several_gpus(services: Services) -> bool:
    machine = services.finder.machine
    return machine is not None and most_gpus(machine) > 1


def _title(question: Question) -> str:
    return sentence(f"change_dialog.{question.key}")


def _line(question: Question) -> str:
    if question.page == "studies":
        return sentence("change_dialog.study", question=PRESETS[question.choice].question)
    return sentence(f"change_dialog.{question.key}_line")
