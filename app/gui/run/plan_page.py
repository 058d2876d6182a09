"""What pages that run several runs as one have in common: beginning, following, showing and resuming them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.study.figures import Figure
from app.core.records import Group, Plan, PlannedRun
from app.core.storage.database import Database
from app.gui.charts.figure import FigureView
from app.gui.run.actions import ResultActions
from app.gui.run.plan_layout import ResultCard, lay_out_halves, name_box
from app.gui.run.plan_progress import PlanProgress
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError, Resumed
from app.gui.services.tasks import Latest
from app.gui.widgets.basics import Button, Card, column, label, row, scrolled
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import ask_to_run_beside
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

if TYPE_CHECKING:  # a study needs nothing of the suite's, nor the other way round
    from app.core.plans.study.share import StudyCard
    from app.core.plans.suite.share import SuiteCard

TEXT_INTERVAL_S = 0.2
HISTORY_LIMIT = 50


class PlanResult(Protocol):
    """What pages need to know of a study or a suite."""

    @property
    def group(self) -> Group:
        """Its runs."""

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        """What is still to run."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTexts:
    """Message codes of a page.

    Attributes:
        title, purpose: Its name, and what it is for.
        earlier: Name of the history.
        nothing, steps: The instructions: their heading, then sign and sentence of each.
    """

    title: str
    purpose: str
    earlier: str
    nothing: str
    steps: Sequence[tuple[str, str]]


class PlanSetup(Card):
    """The card with which a plan is begun.

    Signals:
        run_requested: A plan is to be run; with the Plan and the Machine.
    """

    run_requested = Signal(object, object)

    def set_busy(self, reason: str) -> None:
        """Refuse to run for a reason of the window's; "" for none."""
        raise NotImplementedError


Result = TypeVar("Result", bound=PlanResult)


class PlanPage(QWidget, Generic[Result]):
    """Begins and follows the plans that are shown on it, and shows stored ones.

    Attributes:
        code: Its folder in app/gui/pages.
        file_name: Of pictures and files, before the plan's number.
        export_codes: Message codes of the question for a file, and of what is said afterwards.
        running: Message code that says that a plan of this page is running.
        foot: Shows the progress; its class sets what to say of the current run.
        history: The stored plans.
        more: What the plan says, below its headline.
        view: One of its charts, chosen with `charts`.

    Signals:
        state_changed: Whether there is something to share may have changed.
    """

    state_changed = Signal()
    code = running = file_name = ""
    export_codes = "", ""

    def __init__(self, services: Services, setup: PlanSetup, foot: PlanProgress) -> None:
        super().__init__()
        self._services, self._setup = services, setup
        self._asked: tuple[Plan, Machine, Resumed | None] | None = None
        self._texts_s = 0.0
        self._latest = Latest()
        self._results: dict[int, Result] = {}
        self._figures: Sequence[Figure] = ()
        self.foot = foot
        self.history, self.charts = ChoiceBox(), ChoiceBox()
        self.more = label(muted=True, wrap=True)
        self.view = FigureView(services.theme)
        self.actions_on_result = ResultActions(services, self)
        self._make_buttons()
        setup.run_requested.connect(self.begin)
        self.history.activated.connect(lambda _: self.refresh())
        self.charts.activated.connect(self._show_figure)
        foot.cancel_button.clicked.connect(self.cancel)
        bridge = services.bridge
        bridge.started.connect(self._on_started)
        bridge.moved_on.connect(self._on_moved_on)
        bridge.advanced.connect(self._on_advanced)
        bridge.ended.connect(self._on_ended)
        bridge.refused.connect(self._on_refused)

    @property
    def is_live(self) -> bool:
        """Whether a plan of this page is running."""
        bridge = self._services.bridge
        return bridge.is_running and bridge.page == self.code

    @property
    def result(self) -> Result | None:
        """The plan being shown, with its results."""
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return self._of_running(*running)
        return self._results.get(self.history.currentData() or 0)

    @property
    def can_share(self) -> bool:
        """Whether there is a result to share."""
        return not self.is_live and self.result is not None and self._has_result(self.result)

    @property
    def can_copy(self) -> bool:
        """Whether there is a text to copy."""
        return self.can_share

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the history, and catch up on a plan that ran while the page was hidden."""
        super().showEvent(event)
        if self.is_live:
            self._show_state()
        else:
            self.refresh()

    def run_again(self, plan: Plan, machine: Machine) -> None:
        """Run a stored plan once more, from the start."""
        self.begin(plan, machine)

    def begin(self, plan: Plan, machine: Machine, resumed: Resumed | None = None, *, beside: bool = False) -> None:
        """Begin a plan; for the arguments, see `RunBridge.start_plan`."""
        self._asked = (plan, machine, resumed)
        self._services.bridge.start_plan(plan, machine, beside=beside, resumed=resumed)
        self.foot.cancel_button.setFocus()

    def cancel(self) -> None:
        """Cancel the current run; the plan can be resumed."""
        if self.is_live:
            self._services.bridge.cancel()
            self.foot.cancel_button.setEnabled(False)
            self._show_progress()

    def resume(self) -> None:
        """Run what is left of the plan being shown."""
        shown, machine = self.result, self._services.finder.machine
        if shown is None or machine is None or self._services.bridge.is_running:
            return
        group_id = shown.group.id

        def done(result: Result) -> None:  # as it is now: a terminal may have gone on with it
            self.resume_button.setEnabled(True)
            if result.left and not self._services.bridge.is_running:
                self.begin(result.group.plan, machine, (result.group, list(result.left)))
            else:
                self.refresh(choose=group_id)

        def failed(error: AppError) -> None:
            self.resume_button.setEnabled(True)
            self._services.complain(error)

        self.resume_button.setEnabled(False)
        self._services.query(lambda database: self._load(database, group_id), done, failed)

    def share(self) -> None:
        """Save a picture: what is on it is all that leaves."""
        self.save_picture()

    def save_picture(self) -> None:
        """Save the picture of what is shown."""
        if (card := self.card()) is not None and self.result is not None:
            name = f"{self.file_name}-{self.result.group.id}"
            self.actions_on_result.save_card(card, name, self._shared_ids(self.result))

    def copy_picture(self) -> None:
        """Put that picture on the clipboard."""
        if (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        """Put what is shown on the clipboard as text."""
        if self.result is not None and self.can_share:
            self.actions_on_result.copy_plain(self._text(self.result))

    def export(self) -> None:
        """Write what is shown to a file."""
        if self.result is not None:
            name, lines = f"{self.file_name}-{self.result.group.id}", partial(self._lines, self.result)
            self.actions_on_result.export_table(self.export_codes, name, lines)

    def card(self) -> "StudyCard | SuiteCard | None":
        """Return the picture of what is shown; None without a result."""
        return self._card_of(self.result) if self.result is not None and self.can_share else None

    def refresh(self, choose: int | None = None) -> None:
        """Reload what is stored, and show the plan with this number, or the newest."""
        wanted = choose or self.history.currentData()

        def look(database: Database) -> tuple[list[Result], Any]:
            results = self._list(database)
            if choose is not None and all(each.group.id != choose for each in results):
                results.append(self._load(database, choose))  # an older one
            shown = next((each for each in results if each.group.id == wanted), results[0] if results else None)
            return results, self._load_more(database, shown)

        def done(answer: tuple[list[Result], Any]) -> None:
            results, more = answer
            self._results = {each.group.id: each for each in results}
            self._keep_more(more)
            self.history.clear()
            for each in results:
                self.history.addItem(self._entry(each), each.group.id)
            self.history.setCurrentIndex(max(0, self.history.findData(wanted)) if results else -1)
            self._show_state()

        self._services.query(look, self._latest.only(done))

    def _list(self, database: Database) -> list[Result]:
        """Return the newest stored plans."""
        raise NotImplementedError

    def _load(self, database: Database, group_id: int) -> Result:
        """Return a stored plan; raises UsageError if it's gone."""
        raise NotImplementedError

    def _load_more(self, database: Database, shown: Result | None) -> object:
        """Return what else a page needs of the plan that will be shown, in the background."""
        del database, shown
        return None

    def _keep_more(self, more: Any) -> None:
        """Keep what `_load_more` returned."""

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> Result:
        """Return the running plan with its results; `asked` is what was asked of each run, by number."""
        raise NotImplementedError

    def _entry(self, result: Result) -> str:
        """Return a plan's name in the history."""
        raise NotImplementedError

    def _has_result(self, result: Result) -> bool:
        """Return whether a stored plan has something to share."""
        raise NotImplementedError

    def _shared_ids(self, result: Result) -> Sequence[int]:
        """Return the runs whose results are inside the picture."""
        return [run.id for run in result.group.runs]

    def _card_of(self, result: Result) -> "StudyCard | SuiteCard":
        """Return the picture of a stored plan."""
        raise NotImplementedError

    def _text(self, result: Result) -> str:
        """Return a stored plan as text."""
        raise NotImplementedError

    def _lines(self, result: Result, form: str) -> Iterable[str]:
        """Return the pieces of a stored plan's file, "csv" or "json"."""
        raise NotImplementedError

    def _show_answer(self) -> None:
        """Show the headline, the charts and the table of `result`, which is there."""
        raise NotImplementedError

    def _show_state(self) -> None:
        """Show the running plan, the chosen one, or the instructions."""
        bridge, live, result = self._services.bridge, self.is_live, self.result
        busy = self.running if live else "ab_page.busy" if bridge.is_running else ""
        self._setup.set_busy(sentence(busy) if busy else "")
        self.history.setVisible(self.history.count() > 0)
        self.history.setEnabled(not live)
        self.foot.setVisible(live)
        self._card.show_result(is_there=result is not None)
        if result is not None:
            self.resume_button.setVisible(not bridge.is_running and not result.is_finished)
            self._show_answer()
            for button in (self.save_button, self.copy_button):
                button.setEnabled(self.can_share)
            for button in (self.save_button, self.copy_button, self.export_button):
                button.setVisible(not live)
            self.state_changed.emit()
        if live:
            self._show_progress()

    def _show_progress(self) -> None:
        self.foot.show_progress(self._services.bridge)

    def _show_charts(self, figures: Sequence[Figure]) -> None:
        """Offer other charts, and show the one of the same name as before, or the first."""
        self._figures = figures
        shown = self.charts.currentText()
        self.charts.clear()
        self.charts.addItems([figure.name for figure in figures])
        self.charts.setCurrentIndex(max(0, self.charts.findText(shown)))
        self.charts.setVisible(len(figures) > 1)
        self._show_figure()

    def _show_figure(self) -> None:
        place = self.charts.currentIndex()
        self.view.show_figure(self._figures[place] if 0 <= place < len(self._figures) else None)

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.resume_button = Button(theme, sentence("plan_page.resume"), "play")
        self.resume_button.clicked.connect(self.resume)
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.save_button.clicked.connect(self.save_picture)
        self.copy_button = Button(theme, sentence("button.copy"), "copy")
        self.copy_button.clicked.connect(self.copy_text)
        self.export_button = Button(theme, sentence("plan_page.export"), "file-down")
        self.export_button.clicked.connect(self.export)

    def _lay_out(self, texts: PageTexts, headline: QWidget, table: QWidget) -> None:
        """Lay the page out; called once, by the page."""
        name_box(self.history, texts.earlier)
        name_box(self.charts, "plan_page.which_chart")
        commands = row(None, self.export_button, self.copy_button, self.save_button)
        shown = QWidget()
        # What is left to run has no room beside the other buttons in a narrow window.
        above = row(self.charts, None, self.resume_button)
        whole = column(headline, scrolled(self.more, above, self.view, table, None), commands)
        whole.setStretch(1, 1)
        shown.setLayout(whole)
        self._card = ResultCard(texts.nothing, texts.steps, self.history, shown, self.foot)
        lay_out_halves(self, (texts.title, texts.purpose), self._setup, self._card)

    def _on_started(self) -> None:
        self.foot.cancel_button.setEnabled(True)
        self._show_state()

    def _on_moved_on(self) -> None:
        if self.is_live and self.isVisible():
            self._show_state()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most five times a second: more would slow down the measurement."""
        now_s = time.monotonic()
        if self.is_live and self.isVisible() and now_s - self._texts_s >= TEXT_INTERVAL_S:
            self._texts_s = now_s
            self._show_progress()

    def _on_ended(self, _: int) -> None:
        bridge = self._services.bridge
        if bridge.page != self.code:
            self._show_state()
            return
        # What is shown stays until the stored plan is loaded: an older one would flash up.
        self.foot.hide()
        self._setup.set_busy("")
        if bridge.trouble is not None:
            self._services.complain(bridge.trouble)
        self.refresh(choose=bridge.group_id)

    def _on_refused(self, error: AppError) -> None:
        bridge = self._services.bridge
        self._show_state()
        if bridge.page != self.code or bridge.is_cancelled:
            return
        if not isinstance(error, BusyError):
            self._services.complain(error)
        elif self._asked is not None and ask_to_run_beside(self, error):
            self.begin(*self._asked, beside=True)
