"""The Benchmark page: sets up and runs a workload and shows the result."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.core.analysis.trend import trend_of
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import Group, Plan, Run
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.storage.past_runs import past_runs
from app.core.storage.runs import delete_runs, load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.pages.benchmark.setup import SetupView
from app.gui.run.log_dialog import LogDialog
from app.gui.run.workload_box import RECENT_LIMIT
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, column, panel
from app.gui.widgets.dialogs import ask_to_run_concurrently
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

if TYPE_CHECKING:
    from app.gui.run.actions import ResultActions
    from app.gui.run.view import RunView


class BenchmarkPage(QWidget):
    """Displays the setup or the latest run."""

    state_changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._asked: tuple[Plan, Machine] | None = None  # the latest request
        self.judged: JudgedRun | None = None
        self._of_all: tuple[JudgedRun, Group] | None = None  # the representative run, if several were requested
        self.setup = SetupView(services)
        self.view: RunView | None = None
        self.log = LogDialog(self, lambda: services.bridge.lines, self._log_file)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.setup)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.addWidget(self._stack)
        self._before: tuple[int, int | None] | None = None  # run and group of the result that was displayed last
        self._made_actions: ResultActions | None = None
        self._make_buttons()
        self.setup.run_requested.connect(self._on_run_requested)
        services.bridge.started.connect(self._on_busy)
        services.bridge.ended.connect(self._on_ended)
        services.bridge.refused.connect(self._on_refused)

    def prepare(self) -> None:
        """Create the charts while the app is idle, because creating them is slow the first time."""
        if self.view is not None:
            return
        from app.gui.run.view import RunView

        self.view = RunView(self._services.theme)
        self.view.follow(self._services.bridge)
        for button in (self.new_button, self.again_button, self.log_button):
            self.view.corner.addWidget(button)
        self.view.headline.buttons.addWidget(self.cancel_button)
        self.view.headline.buttons.addWidget(self._after)
        self._stack.addWidget(self.view)

    @property
    def run(self) -> Run | None:
        return self.judged.run if self.judged is not None else None

    @property
    def can_copy(self) -> bool:
        return self.run is not None and self._stack.currentIndex() == 1

    @property
    def can_share(self) -> bool:
        has_value = self._of_all is not None or (self.run is not None and self.run.summary.value is not None)
        return self.can_copy and has_value

    def start(self) -> None:
        """Start a run with the current setup, or repeat the displayed run."""
        if self._services.bridge.is_running:
            return
        if self._stack.currentIndex() == 1 and self._asked is not None:
            self._begin(*self._asked, when_quiet=True)
        else:
            self.setup.run()

    def run_again(self, plan: Plan, machine: Machine) -> None:
        self.setup.refill(plan)
        self._begin(plan, machine, when_quiet=True)

    def cancel(self) -> None:
        if self._services.bridge.is_running and not self._services.bridge.has_own_page:
            self._services.bridge.cancel()
            self.cancel_button.setEnabled(False)
            if self.view is not None:
                self.view.refresh()

    def choose(self) -> None:
        self.setup.refresh()
        self._stack.setCurrentIndex(0)
        self.setup.run_button.setFocus()
        self.state_changed.emit()

    @property
    def _actions(self) -> "ResultActions":
        """The actions for results, created on first use to keep the startup fast."""
        if self._made_actions is None:
            from app.gui.run.actions import ResultActions

            self._made_actions = ResultActions(self._services, self)
        return self._made_actions

    def save_picture(self) -> None:
        if self.run is not None:
            self._actions.save_picture(*self._shared(), again=self.start)

    def share(self) -> None:
        if self.run is not None:
            self._actions.share(*self._shared(), again=self.start)

    def copy_picture(self) -> None:
        if self.run is not None:
            self._actions.copy_picture(*self._shared())

    def copy_text(self) -> None:
        if self.run is not None:
            self._actions.copy_text(*self._shared())

    def show_run_view(self) -> None:
        self.prepare()
        assert self.view is not None
        if self.judged is not None:
            self._before = self.judged.summary.id, None if self._of_all is None else self._of_all[1].id
        self.judged = self._of_all = None
        self._stack.setCurrentWidget(self.view)
        self._show_buttons(running=True)

    def show_result(self, run_id: int) -> None:
        self.show_run_view()
        self._load(run_id, None)

    def _shared(self) -> tuple[JudgedRun, Group | None]:
        assert self.judged is not None
        return self._of_all or (self.judged, None)

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.log_button = Button(theme, sentence("benchmark.log"), "file-text", gives_way=True, do=self.log.show)
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop", gives_way=True)
        self.cancel_button.clicked.connect(self.cancel)
        self.share_button = Button(theme, sentence("menu.share"), "image", kind="primary", gives_way=True)
        self.share_button.clicked.connect(self.share)
        self.again_button = Button(theme, sentence("button.run_again"), "rotate-ccw", gives_way=True)
        self.again_button.clicked.connect(self.start)
        self.retry_button = Button(
            theme, sentence("button.run_again"), "rotate-ccw", kind="primary", gives_way=True, do=self.start
        )
        self.new_button = Button(theme, sentence("benchmark.new_run"), "arrow-left", gives_way=True)
        self.new_button.clicked.connect(self.choose)
        self._after = panel(column(None, self.retry_button, self.share_button, None))

    def _on_run_requested(self, spec: RunSpec, machine: Machine) -> None:
        # Imported late, here and below, because the window opens without plans.
        from app.core.plans.engines import ENOUGH_ROUNDS, engines_plan, specs_with
        from app.core.plans.repeat import repeat_plan

        repeats = self.setup.repeats
        preferences = self._services.preferences
        others = (name for name in preferences.settings.recent_workloads if name != spec.workload)
        recent = (spec.workload, *others)[:RECENT_LIMIT]
        with contextlib.suppress(AppError):
            preferences.change(recent_workloads=recent, preset=spec.preset, data=spec.data)
        specs = specs_with(spec, self.setup.engines)
        if len(specs) > 1:
            self._begin(engines_plan(specs, max(repeats, ENOUGH_ROUNDS)), machine)
        else:
            self._begin(repeat_plan(spec, repeats), machine)

    def _begin(
        self, plan: Plan, machine: Machine, *, allow_concurrent: bool = False, when_quiet: bool = False
    ) -> None:
        self._asked = (plan, machine)
        self.show_run_view()
        self._services.bridge.start(plan, machine, allow_concurrent=allow_concurrent, when_quiet=when_quiet)
        self.cancel_button.setFocus()
        self.state_changed.emit()

    def _on_busy(self) -> None:
        """Prevent runs from being started while another page's plan is running."""
        bridge = self._services.bridge
        self.setup.set_busy(bridge.busy_text if bridge.has_own_page else "")
        for button in (self.again_button, self.retry_button):
            button.setEnabled(not bridge.is_running)

    def _on_refused(self, error: AppError) -> None:
        self._on_busy()
        if self._services.bridge.has_own_page:
            return
        if self._services.bridge.is_cancelled:  # nothing is pending any longer
            self.choose()
        elif isinstance(error, BusyError):
            assert self._asked is not None
            if ask_to_run_concurrently(self, error):
                self._begin(*self._asked, allow_concurrent=True)
            else:
                self.choose()
        else:
            self._services.complain(error)
            self.choose()

    def _on_ended(self, run_id: int) -> None:
        bridge = self._services.bridge
        self._on_busy()
        if bridge.has_own_page:
            return
        if bridge.trouble is not None:
            self._services.complain(bridge.trouble)
        if run_id:
            self._load(run_id, bridge.group_id)
        elif self._before is not None:  # cancelled before the first run
            self._load(*self._before)
        else:
            self.choose()

    def _load(self, run_id: int, group_id: int | None) -> None:
        def load(database: Database) -> tuple[JudgedRun, Group | None, JudgedRun | None, str]:
            from app.core.plans.experiments import report_of

            group = load_group(database, group_id) if group_id is not None else None
            typical = report_of(group).summary if group is not None else None
            run = JudgedRun(load_run(database, run_id)).prepared()
            if typical is None:
                trend = trend_of(run.summary, past_runs(database, run.summary.workload))
                return run, group, None, trend.line
            return run, group, JudgedRun(load_run(database, typical.id)).prepared(), ""

        self._services.query(load, self._on_loaded, self._on_lost)

    def _on_loaded(self, loaded: tuple[JudgedRun, Group | None, JudgedRun | None, str]) -> None:
        run, group, typical, own = loaded
        bridge = self._services.bridge
        if bridge.is_running or self.view is None:
            return
        steps_count = sum(len(steps.durations_s) for steps in run.run.steps)
        # The first step also builds the network.
        is_empty = steps_count <= 1 and run.summary.value is None and not run.run.metrics
        if group is None and run.summary.status == "cancelled" and is_empty:
            self._services.query(lambda database: delete_runs(database, [run.summary.id]), lambda _: None)
            self._services.notify(sentence("run.cancelled_early"), "", "", None)
            self.choose()
            return
        if bridge.trouble is not None and run.summary.status == "running":
            self._on_lost(bridge.trouble)  # not everything on display has been stored
            return
        self.judged = run
        self._of_all = None if group is None or typical is None else (typical, group)
        self.view.show_run(run, group, own)
        self._show_buttons(running=False)
        (self.retry_button if run.summary.status == "failed" else self.share_button).setFocus()
        self.state_changed.emit()

    def _on_lost(self, error: AppError) -> None:
        state = self._services.bridge.state
        summary = state.live() if state is not None else None
        if self.view is not None and summary is not None:
            self.view.headline.show_lost(summary, error)
        self._services.complain(error)
        self._show_buttons(running=False)
        self.state_changed.emit()

    def _show_buttons(self, *, running: bool) -> None:
        self.cancel_button.setVisible(running)
        self.cancel_button.setEnabled(True)
        for part in (self._after, self.new_button, self.again_button):
            part.setVisible(not running)
        # After a failed run, the user probably wants to retry.
        has_failed = self.run is not None and self.run.summary.status == "failed"
        self.retry_button.setVisible(has_failed)
        self.again_button.setVisible(not running and not has_failed)
        self.log_button.setVisible(running or has_failed)
        self.share_button.setEnabled(self.can_share)

    def _log_file(self) -> Path | None:
        state = self._services.bridge.state
        summary = state.summary if state is not None else None
        return None if summary is None else self._services.paths.logs / f"run-{summary.id}.log"
