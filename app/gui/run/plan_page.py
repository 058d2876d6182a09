"""Base classes for pages that run plans of several runs: they start, follow, show and resume plans."""

import time
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLayout, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import Group, Plan, PlannedRun
from app.core.storage.database import Database
from app.gui.run.actions import ResultActions
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError, Resumed
from app.gui.services.tasks import Latest
from app.gui.widgets.basics import Button, Card, column, panel, row
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import ask_to_run_concurrently
from app.gui.widgets.form_scroll import FormScroll
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

TEXT_INTERVAL_S = 0.2
HISTORY_LIMIT = 50
FORM_MAX_PX = 720


class PlanResult(Protocol):
    """The interface of studies and suites that the pages use."""

    @property
    def group(self) -> Group: ...  # the runs

    @property
    def left(self) -> tuple[PlannedRun, ...]: ...  # the remaining runs

    @property
    def is_finished(self) -> bool: ...  # whether there are no remaining runs


class PlanSetup(Card):
    """The card that sets up a plan."""

    run_requested = Signal(object, object)  # the user wants to run a Plan on a Machine

    def add_form(self, content: QLayout, *below: QWidget) -> None:
        form = QWidget()
        form.setMaximumWidth(FORM_MAX_PX)
        form.setLayout(column(FormScroll(panel(content)), *below, None))
        line = row(form, None, spacing_px=0)
        line.setStretch(0, 100)
        self.body.addLayout(line)

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        raise NotImplementedError


class PlanActions(Protocol):
    """The bar that displays the progress of a plan at the bottom of a page."""

    @property
    def cancel_button(self) -> Button: ...  # the button that cancels the current run. The page connects it


Result = TypeVar("Result", bound=PlanResult)


class PlanPage(QWidget, Generic[Result]):
    """Starts plans, tracks their progress, and displays stored ones. Subclasses lay out `share_button`."""

    state_changed = Signal()  # whether there is anything to share may have changed
    code = ""  # name of the page's package in app/gui/pages
    running = ""  # message code: one of this page's plans is in progress
    starts_with_newest = True  # whether the newest plan is displayed until the user chooses another one

    def __init__(self, services: Services, setup: PlanSetup | None, foot: PlanActions) -> None:
        super().__init__()
        self._services, self._setup = services, setup
        self._asked: tuple[Plan, Machine, Resumed | None] | None = None
        self._texts_s = 0.0
        self._latest = Latest()
        self._results: dict[int, Result] = {}
        self.foot = foot  # Displays the progress. Its class defines the text about the current run.
        self.history = ChoiceBox()
        self.actions_on_result = ResultActions(services, self)
        self.share_button = Button(services.theme, sentence("menu.share"), "image", kind="primary", gives_way=True)
        self.share_button.clicked.connect(self.share)
        if setup is not None:
            setup.run_requested.connect(self.begin)
        self.history.activated.connect(self._on_chosen)
        foot.cancel_button.clicked.connect(self.cancel)
        bridge = services.bridge
        bridge.started.connect(self._on_started)
        bridge.moved_on.connect(self._on_moved_on)
        bridge.advanced.connect(self._on_advanced)
        bridge.ended.connect(self._on_ended)
        bridge.refused.connect(self._on_refused)

    @property
    def is_live(self) -> bool:
        bridge = self._services.bridge
        return bridge.is_running and bridge.page == self.code

    @property
    def result(self) -> Result | None:
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return self._of_running(*running)
        return self._results.get(self.history.currentData() or 0)

    @property
    def shows_answer(self) -> bool:
        return self.is_live or self.result is not None

    @property
    def can_share(self) -> bool:
        raise NotImplementedError

    @property
    def can_copy(self) -> bool:
        return self.can_share

    def share(self) -> None:
        raise NotImplementedError

    def save_picture(self) -> None:
        raise NotImplementedError

    def copy_picture(self) -> None:
        raise NotImplementedError

    def copy_text(self) -> None:
        raise NotImplementedError

    def showEvent(self, event: QShowEvent) -> None:
        """Reload the history, or show the progress of a plan that ran while the page was hidden."""
        super().showEvent(event)
        if self.is_live:
            self._show_state()
        else:
            self.refresh()

    def run_again(self, plan: Plan, machine: Machine) -> None:
        self.begin(plan, machine)

    def begin(
        self, plan: Plan, machine: Machine, resumed: Resumed | None = None, *, allow_concurrent: bool = False
    ) -> None:
        """Start a plan. For the arguments, see `RunBridge.start`."""
        self._asked = (plan, machine, resumed)
        self._services.bridge.start(plan, machine, allow_concurrent=allow_concurrent, resumed=resumed)
        self.foot.cancel_button.setFocus()

    def cancel(self) -> None:
        if self.is_live:
            self._services.bridge.cancel()
            self.foot.cancel_button.setEnabled(False)
            self._show_progress()

    def close_answer(self) -> None:
        if not self.is_live:
            self.history.setCurrentIndex(-1)
            self._show_state()

    def refresh(self, choose: int | None = None) -> None:
        """Reload the stored plans, and show the one with the number `choose` if it is given."""
        wanted = choose or self.history.currentData()

        def look(database: Database) -> tuple[list[Result], Any]:
            results = self._list(database)
            if choose is not None and all(each.group.id != choose for each in results):
                chosen = self._load(database, choose)  # older than those listed
                results += [chosen] if chosen.group.runs or chosen.left else []
            newest = results[0] if results and self.starts_with_newest else None
            shown = next((result for result in results if result.group.id == wanted), newest)
            return results, self._load_more(database, shown)

        def done(answer: tuple[list[Result], Any]) -> None:
            results, more = answer
            self._results = {each.group.id: each for each in results}
            self._keep_more(more)
            self.history.clear()
            for each in results:
                self.history.addItem(self._entry(each), each.group.id)
            place = self.history.findData(wanted)
            self.history.setCurrentIndex(0 if place < 0 and results and self.starts_with_newest else place)
            self._show_state()

        self._services.query(look, self._latest.only(done))

    def _list(self, database: Database) -> list[Result]:
        raise NotImplementedError

    def _load(self, database: Database, group_id: int) -> Result:
        raise NotImplementedError

    def _load_more(self, database: Database, shown: Result | None) -> object:
        del database, shown
        return None

    def _keep_more(self, more: Any) -> None:
        """Store the result of `_load_more`."""

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> Result:
        """Return the plan in progress with its results. `asked` contains the requested specs by run number."""
        raise NotImplementedError

    def _entry(self, result: Result) -> str:
        raise NotImplementedError

    def _show_state(self) -> None:
        raise NotImplementedError

    def _show_progress(self) -> None:
        raise NotImplementedError

    def _on_chosen(self, _: int) -> None:
        self.refresh()

    def _on_started(self) -> None:
        self.foot.cancel_button.setEnabled(True)
        self._show_state()

    def _on_moved_on(self) -> None:
        if self.is_live and self.isVisible():
            self._show_state()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most every TEXT_INTERVAL_S. Faster updates would slow down the measurement."""
        now_s = time.monotonic()
        if self.is_live and self.isVisible() and now_s - self._texts_s >= TEXT_INTERVAL_S:
            self._texts_s = now_s
            self._show_progress()

    def _on_ended(self, _: int) -> None:
        bridge = self._services.bridge
        if bridge.page != self.code:
            self._show_state()
            return
        # Keep the current content until the stored plan is loaded. Otherwise an older one would flash up.
        self.foot.cancel_button.setEnabled(False)
        if self._setup is not None:
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
        elif self._asked is not None and ask_to_run_concurrently(self, error):
            self.begin(*self._asked, allow_concurrent=True)
