"""The main window, with sidebar, pages, menu and messages. Asks for confirmation before closing during a run."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget
from shiboken6 import isValid

import app
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import Plan
from app.gui.pages.benchmark.page import BenchmarkPage
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import page_of
from app.gui.shell.attention import Attention
from app.gui.shell.banner import Banner
from app.gui.shell.imports import ResultImports
from app.gui.shell.pages import PAGES, PageEntry
from app.gui.shell.side_bar import SideBar
from app.gui.shell.zoom import Zoom
from app.gui.widgets.basics import Button, column, row
from app.gui.widgets.dialogs import MEASUREMENT, MethodDialog, about_dialog, ask
from app.gui.widgets.tab_order import bring_into_view, heir_of, order_tabs
from workloads.protocol.spec import RunSpec

if TYPE_CHECKING:
    from app.gui.pages.compare.page import ComparePage
    from app.gui.pages.hardware.page import HardwarePage
    from app.gui.pages.lab.page import LabPage
    from app.gui.pages.results.page import ResultsPage
    from app.gui.pages.settings.page import SettingsPage
    from app.gui.pages.suite.page import SuitePage
    from app.gui.run.plan_page import PlanPage
import logging

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QStyle

from app.gui.services.preferences import Preferences

# A worker that doesn't respond is killed after 8 s. Don't wait much longer.
CLOSE_PATIENCE_MS = 10_000
SMALLEST_PX = (800, 480)
Key: TypeAlias = QKeySequence.StandardKey | str
HAS_MENU_BAR = sys.platform == "darwin"
# The menu bar's menus where the system has one. Elsewhere, a single menu contains all entries.
MENUS = {
    "menu.file": ("imports_page.menu", "plan_page.export", *(["menu.settings"] if HAS_MENU_BAR else [])),
    "menu.view": ("menu.zoom_in", "menu.zoom_out", "menu.zoom_reset"),
    "menu.help": ("menu.shortcuts", "menu.method", "menu.doctor", "menu.report", "menu.updates", "menu.about"),
    "menu.quit": ("menu.quit",),
}
USUAL_PX = (1200, 800)
_log = logging.getLogger(__name__)


def _restore(window: QMainWindow, preferences: Preferences) -> None:
    stored = preferences.settings.geometry
    if not stored or not window.restoreGeometry(QByteArray.fromBase64(stored.encode("ascii", "replace"))):
        window.resize(*USUAL_PX)
    _fit_screen(window)


def _fit_screen(window: QMainWindow) -> None:
    screen = window.screen().availableGeometry()
    frame_px = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    room = QSize(screen.width(), screen.height() - frame_px)
    window.setMinimumSize(window.minimumSize().boundedTo(room))
    if window.width() > room.width() or window.height() > room.height():
        window.resize(window.size().boundedTo(room))
        window.move(screen.topLeft())


def _save(window: QMainWindow, preferences: Preferences) -> None:
    geometry = bytes(window.saveGeometry().toBase64().data()).decode("ascii")
    try:
        preferences.change(geometry=geometry)
    except AppError as error:
        _log.info("The window's position wasn't saved: %s", error)


class MainWindow(QMainWindow):
    """Contains the pages, which are created on first use."""

    closed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        services.theme.dress(self)
        self._closing = self._awaits_engine = False
        self._lost_focus: QWidget | None = None  # had the focus before it was hidden or disabled
        self.wants_restart = False  # whether to restart the app after closing
        self.setWindowTitle("Epochmark")
        self.setMinimumSize(*SMALLEST_PX)
        self.benchmark = BenchmarkPage(services)
        self._pages: dict[str, QWidget] = {"benchmark": self.benchmark}
        self._code = "benchmark"
        self.side_bar = SideBar(services.theme, [page for page in PAGES if not page.under])
        self.stack = QStackedWidget()
        self.banner = Banner(services.theme)
        self.stack.addWidget(self.benchmark)
        self.stack.currentChanged.connect(self.banner.leave_page)
        self._actions: dict[str, QAction] = {}
        self.imports = ResultImports(services, self, lambda: self._code == "compare")
        self._lay_out()
        self._make_actions()
        self._make_menu()
        self.side_bar.chosen.connect(self._on_page_chosen)
        self.side_bar.mark(self._code)
        services.engines.changed.connect(self._on_engines)
        services.bridge.started.connect(self._on_state)
        services.bridge.ended.connect(self._on_ended)
        services.bridge.refused.connect(self._on_refused)
        self.benchmark.state_changed.connect(self._on_state)
        self.benchmark.setup.install_wanted.connect(self._on_install_wanted)
        self.benchmark.setup.import_wanted.connect(self._on_import_wanted)
        self.benchmark.setup.suite_wanted.connect(self._on_score_wanted)
        self.benchmark.setup.doctor_wanted.connect(self._on_doctor)
        self.benchmark.setup.known.run_chosen.connect(self._on_run_chosen)
        self.imports.compare_wanted.connect(self._on_compare_workload)
        self.imports.suite_wanted.connect(self._on_suite_wanted)
        self.imports.run_wanted.connect(self._on_run_chosen)
        Attention(services.bridge, self)
        self.benchmark.setup.cards["standard"].setFocus()
        _restore(self, services.preferences)
        self._on_state()

    def show_page(self, code: str) -> None:
        entry = _entry(code)
        self.stack.setCurrentWidget(self._made(code))
        self._code = code
        self.side_bar.mark(entry.under or entry.code)
        self._on_state()

    @property
    def page(self) -> QWidget:
        return cast("QWidget", self.stack.currentWidget())

    def action(self, code: str) -> QAction:
        return self._actions[code]

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus in the current visual order, because pages rebuild their contents.

        Qt also calls this if the focused widget disappears. The focus then moves to what replaces that widget.
        """
        before = self.focusWidget()
        if _is_lost(before):
            self._lost_focus = before
            before.clearFocus()
            QTimer.singleShot(0, self, self._hand_on_focus)
            return True
        order_tabs(self)
        has_moved = super().focusNextPrevChild(forward)
        if has_moved and (focused := self.focusWidget()) is not None:
            bring_into_view(focused)
        return has_moved

    def _hand_on_focus(self) -> None:
        lost = self._lost_focus
        if lost is None or not isValid(lost) or self.focusWidget() is not None:
            self._lost_focus = None
        elif lost.isEnabled() or not lost.isVisible():  # otherwise, it will be hidden or enabled soon
            self._lost_focus = None
            if (heir := heir_of(lost)) is not None:
                heir.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window, reduce the sidebar and the pages' buttons to icons."""
        if self.side_bar.fit(event.size().width()):
            for button in self.findChildren(Button):
                button.updateGeometry()
        super().resizeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """If a run is in progress, ask for confirmation, and close the window after the run has ended."""
        if self._services.bridge.is_running:
            event.ignore()
            question = sentence("window.run_in_progress"), sentence("window.ask_to_cancel")
            answers = sentence("window.stop_and_quit"), sentence("window.keep_running")
            if not self._closing and ask(self, *question, *answers):
                self.close_soon()
            return
        _save(self, self._services.preferences)
        if "results" in self._pages:
            self.results.forget_deleted()
        event.accept()
        self.closed.emit()

    def close_soon(self) -> None:
        self._closing = True
        bridge = self._services.bridge
        if not bridge.is_running:
            self.close()
            return
        self._on_cancel()
        self.banner.notify(sentence("window.closing"))
        QTimer.singleShot(CLOSE_PATIENCE_MS, bridge.kill)

    @property
    def results(self) -> "ResultsPage":
        return cast("ResultsPage", self._made("results"))

    @property
    def compare(self) -> "ComparePage":
        return cast("ComparePage", self._made("compare"))

    @property
    def lab(self) -> "LabPage":
        return cast("LabPage", self._made("lab"))

    @property
    def suite(self) -> "SuitePage":
        return cast("SuitePage", self._made("suite"))

    @property
    def hardware(self) -> "HardwarePage":
        return cast("HardwarePage", self._made("hardware"))

    @property
    def settings(self) -> "SettingsPage":
        return cast("SettingsPage", self._made("settings"))

    def _made(self, code: str) -> QWidget:
        if code not in self._pages:
            page = self._pages[code] = _entry(code).make(self._services)
            self.stack.addWidget(page)
            self._connect_page(code, page)
        return self._pages[code]

    def _connect_page(self, code: str, page: QWidget) -> None:
        if code == "results":
            self.results.state_changed.connect(self._on_state)
            self.results.run_requested.connect(partial(self.show_page, "benchmark"))
            self.results.again_requested.connect(self._on_again)
            self.results.compare_requested.connect(self._on_compare)
            self.results.change_requested.connect(self._on_change_wanted)
            self.results.page_requested.connect(self._on_page_of_group)
            self.imports.changed.connect(lambda _: self.results.refresh())
        if _entry(code).runs_plans:
            self._result_page(code).state_changed.connect(self._on_state)
        if code == "compare":
            self.compare.run_chosen.connect(self._on_run_chosen)
            self.compare.import_wanted.connect(self.imports.choose)
            self.compare.run_wanted.connect(self._on_workload_wanted)
            self.imports.dragged.connect(lambda is_dragging: self.compare.show_drag(is_dragging=is_dragging))
            self.imports.changed.connect(self._on_imported)
        if code == "suite":
            self.imports.changed.connect(lambda _: self.suite.refresh())
        if code == "hardware":
            self.closed.connect(self.hardware.cancel)  # even if another page is shown
        if code == "settings":
            self.settings.data_changed.connect(self.benchmark.setup.refresh)
            self.settings.hardware_wanted.connect(partial(self.show_page, "hardware"))
            self.settings.doctor_wanted.connect(self._on_doctor)
            self.settings.zoom_wanted.connect(lambda pct: self._zoom.choose(pct, self.screen().availableSize()))
            self.closed.connect(self.settings.engines_card.cancel)

    def _lay_out(self) -> None:
        pages = column(self.stack, self.banner, spacing_px=0)
        pages.setStretch(0, 1)
        whole = row(self.side_bar, pages, spacing_px=0)
        whole.setStretch(1, 1)
        centre = QWidget()
        centre.setLayout(whole)
        self.setCentralWidget(centre)

    def _make_actions(self) -> None:
        keys, roles, bench = QKeySequence.StandardKey, QAction.MenuRole, self.benchmark
        self._add("menu.run", self._on_run, "Ctrl+R")
        self._add("menu.cancel", self._on_cancel, "Ctrl+.")
        self._add("menu.share", lambda: self._shown().share(), "Ctrl+Shift+S")
        self._add("menu.save_picture", lambda: self._shown().save_picture(), keys.Save)
        self._add("menu.copy_picture", lambda: self._shown().copy_picture(), "Ctrl+Shift+P")
        self._add("button.copy_result", lambda: self._shown().copy_text(), "Ctrl+Shift+C")
        self._add("plan_page.export", self._on_export, "Ctrl+E")
        self._add("imports_page.menu", self.imports.choose, "Ctrl+O")
        self._add("imports_page.paste", self.imports.paste, keys.Paste)
        self._add("menu.undo_delete", self._on_undo, keys.Undo)
        for number, page in enumerate(PAGES, 1):
            self._add(page.title, partial(self._on_page_chosen, page.code), f"Ctrl+{number}")
        self._add("menu.settings", lambda: self.show_page("settings"), "Ctrl+,", role=roles.PreferencesRole)
        zoom = self._zoom = Zoom(self._services, QSize(*SMALLEST_PX), self._on_restart)
        self._add("menu.zoom_in", lambda: zoom.larger(self.screen().availableSize()), "Ctrl++", "Ctrl+=")
        self._add("menu.zoom_out", zoom.smaller, "Ctrl+-")
        self._add("menu.zoom_reset", zoom.reset, "Ctrl+0")
        self._add("log.title", bench.log_button.click, "Ctrl+L")
        self._add("menu.shortcuts", self._on_shortcuts, "F1", "?")
        if MEASUREMENT.is_file():
            self._add("menu.method", lambda: MethodDialog(self).open())
        self._add("menu.doctor", self._on_doctor)
        self._add("menu.report", self._on_report)
        if app.PROJECT_URL:
            self._add("menu.updates", self._on_updates)
        self._add("menu.about", lambda: about_dialog(self).exec(), role=roles.AboutRole)
        self._add("menu.quit", self.close, keys.Quit, role=roles.QuitRole)

    def _make_menu(self) -> None:
        self.side_bar.menu_button.setVisible(not HAS_MENU_BAR)
        for title, codes in MENUS.items():
            menu = self.menuBar().addMenu(sentence(title)) if HAS_MENU_BAR else self.side_bar.menu
            menu.addActions([self._actions[code] for code in codes if code in self._actions])
            menu.addSeparator()

    def _add(
        self, code: str, do: Callable[[], object], *keys: Key, role: QAction.MenuRole = QAction.MenuRole.NoRole
    ) -> None:
        action = QAction(sentence(code), self)
        action.setShortcuts([QKeySequence(key) for key in keys])
        action.setMenuRole(role)
        action.triggered.connect(lambda _=False: do())
        self.addAction(action)
        self._actions[code] = action

    def _on_page_chosen(self, code: str) -> None:
        """Show a page. Results and the Lab start with their lists, even if a result is open."""
        self.show_page(code)
        if code == "results":
            self.results.show_list()
        elif code == "lab":
            self.lab.ask()

    def _on_install_wanted(self, engine: str) -> None:
        """Open the settings so that the user can install an engine.

        The first engine is installed immediately; then the Benchmark page is shown again.
        """
        self._awaits_engine = not self._services.engines.installed
        self.show_page("settings")
        self.settings.show_engines(engine, install=self._awaits_engine)

    def _on_engines(self) -> None:
        if self._awaits_engine and self._services.engines.installed:
            self._awaits_engine = False
            if self._code == "settings":
                self.show_page("benchmark")
                self.benchmark.setup.cards["standard"].setFocus()  # as at the start

    def _on_import_wanted(self) -> None:
        self.show_page("settings")
        self.settings.show_data_sets()

    def _on_again(self, plan: Plan) -> None:
        machine = self._services.finder.machine
        if machine is not None and not self._services.bridge.is_running:
            code = page_of(plan)
            self.show_page(code)
            self._result_page(code).run_again(plan, machine)

    def _on_page_of_group(self, code: str, group_id: int) -> None:
        self.show_page(code)
        cast("PlanPage", self._result_page(code)).refresh(choose=group_id)

    def _on_run_chosen(self, run_id: int) -> None:
        self.show_page("results")
        self.results.open_run(run_id)

    def _on_workload_wanted(self, workload: str) -> None:
        self.show_page("benchmark")
        if not self._services.bridge.is_running:
            self.benchmark.choose()
            self.benchmark.setup.choose(workload)
            self.benchmark.setup.run()

    def _on_compare(self, ids: list[int]) -> None:
        self.show_page("compare")
        self.compare.show_runs(ids)

    def _on_change_wanted(self, spec: RunSpec) -> None:
        """Open the Lab so that the user can compare settings, starting from a run's."""
        self.show_page("lab")
        self.lab.vary(spec)

    def _on_compare_workload(self, workload: str) -> None:
        self.show_page("compare")
        self.compare.show_workload(workload)

    def _on_imported(self, workload: str) -> None:
        """Refresh the Compare page after an import. If it is the current page, show the imported workload."""
        if self._code == "compare":
            self.compare.show_workload(workload)
        self.compare.refresh()

    def _on_suite_wanted(self) -> None:
        self.show_page("suite")
        self.suite.show_known()

    def _on_score_wanted(self, engine: str, device: str) -> None:
        self.show_page("suite")
        self.suite.start(engine, device)

    def _on_doctor(self) -> None:
        """Show the doctor, and start an examination if it has no result and no run would be disturbed."""
        self.show_page("hardware")
        self.hardware.show_view("doctor")
        if self.hardware.doctor.diagnosis is None:
            self.hardware.doctor.examine()

    def _on_restart(self) -> None:
        self.wants_restart = self.close()

    # The window opens without what the following methods import.
    def _on_shortcuts(self) -> None:
        from app.gui.shell.help_dialogs import ShortcutSheet

        ShortcutSheet(self, self._actions.values()).open()

    def _on_report(self) -> None:
        from app.gui.shell.help_dialogs import ReportDialog, problem_report

        log_file = self._services.paths.logs / "epochmark.log"
        ReportDialog(self, problem_report(self._services.finder.machine, log_file)).open()

    def _on_updates(self) -> None:
        from app.core.exchange import updates
        from app.gui.shell.help_dialogs import UpdateDialog

        def show(release: updates.Release | None) -> None:
            if release is None:
                self.banner.notify(sentence("updates.none", version=app.__version__))
            else:
                UpdateDialog(self, release, app.PROJECT_URL + updates.PAGE).open()

        self._services.tasks.start(partial(updates.newer_release, app.PROJECT_URL), show, self._services.complain)

    def _shown(self) -> "BenchmarkPage | ResultsPage | PlanPage":
        return self.results if self._code == "results" else self._result_page(self._code)

    def _result_page(self, code: str) -> "BenchmarkPage | PlanPage":
        """Return the plan page with this code; for any other code, the Benchmark page."""
        return cast("PlanPage", self._made(code)) if _entry(code).runs_plans else self.benchmark

    def _on_run(self) -> None:
        self.show_page("benchmark")
        self.benchmark.start()

    def _on_cancel(self) -> None:
        self._result_page(self._services.bridge.page).cancel()

    def _on_export(self) -> None:
        self.results.export()

    def _on_undo(self) -> None:
        self.results.undo()

    def _on_state(self, *_: object) -> None:
        QTimer.singleShot(0, self, self._hand_on_focus)
        running = self._services.bridge.is_running
        self._actions["menu.run"].setEnabled(not running)
        self._actions["menu.cancel"].setEnabled(running)
        shown = self._shown()
        self._actions["button.copy_result"].setEnabled(shown.can_copy)
        for code in ("menu.share", "menu.save_picture", "menu.copy_picture"):
            self._actions[code].setEnabled(shown.can_share)
        deleted = "results" in self._pages and self.results.can_undo
        self._actions["menu.undo_delete"].setEnabled(deleted)

    def _on_refused(self, _: AppError) -> None:
        self._on_state()
        if self._closing:
            self.close()

    def _on_ended(self, _: int) -> None:
        self._on_state()
        if (command := self._services.bridge.restore_command) is not None:
            copy = partial(QGuiApplication.clipboard().setText, command)
            text = sentence("window.restore_limit", command=command)
            self.banner.notify(text, "caution", sentence("button.copy_command"), copy)
        if self._closing:
            self.close()


def _entry(code: str) -> PageEntry:
    return next(entry for entry in PAGES if entry.code == code)


def _is_lost(focused: QWidget | None) -> bool:
    return focused is not None and not (focused.isVisible() and focused.isEnabled())
