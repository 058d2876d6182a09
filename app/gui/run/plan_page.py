"""What pages that run several runs as one have in common: beginning, following and ending them."""

import time

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.core.errors import AppError
from app.core.records import Plan
from app.gui.run.actions import ResultActions
from app.gui.run.plan_progress import PlanProgress
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError, Resumed
from app.gui.widgets.basics import Card
from app.gui.widgets.dialogs import ask_to_run_beside
from workloads.protocol import events
from workloads.protocol.machine import Machine

TEXT_INTERVAL_S = 0.2


class PlanPage(QWidget):
    """Begins and follows the plans that are shown on it.

    Attributes:
        code: Its folder in app/gui/pages.
        foot: Shows the progress; its class sets what to say of the current run.

    Signals:
        state_changed: Whether there is something to share may have changed.
    """

    state_changed = Signal()
    code = ""

    def __init__(self, services: Services, foot: PlanProgress) -> None:
        super().__init__()
        self._services = services
        self._asked: tuple[Plan, Machine, Resumed | None] | None = None
        self._texts_s = 0.0
        self.foot = foot
        self.actions_on_result = ResultActions(services, self)
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

    def refresh(self, choose: int | None = None) -> None:
        """Reload what is stored, and show the plan with this number, or the newest."""
        raise NotImplementedError

    def _show_state(self) -> None:
        """Show the running plan, the chosen one, or the instructions."""
        raise NotImplementedError

    def _show_progress(self) -> None:
        """Show how far the running plan is."""
        raise NotImplementedError

    def _setup(self) -> "PlanSetup":
        """Return the card with which it's begun."""
        raise NotImplementedError

    def _on_started(self) -> None:
        self.foot.cancel_button.setEnabled(True)
        self._show_state()

    def _on_moved_on(self) -> None:
        if self.is_live and self.isVisible():
            self._show_state()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most four times a second: more would slow down the measurement."""
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
        self._setup().set_busy("")
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


class PlanSetup(Card):
    """The card with which a plan is begun."""

    def set_busy(self, reason: str) -> None:
        """Refuse to run for a reason of the window's; "" for none."""
        raise NotImplementedError
