"""Shows the progress of runs in the window's title, which the taskbar shows, and their end in notifications."""

import time

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from app.core.analysis.headline import result_amount
from app.core.messages import sentence
from app.core.records import Group
from app.gui.services.run_bridge import RunBridge
from app.gui.shell.desktop import notify
from workloads.protocol import events

NAME = "Epochmark"
# During shorter runs, the user is probably still watching.
WORTH_TELLING_S = 30.0
EVERY_S = 1.0


class Attention(QObject):
    """Follows the runs of a bridge on behalf of a window."""

    def __init__(
        self,
        bridge: RunBridge,
        window: QWidget,
        every_s: float = EVERY_S,
        worth_telling_s: float = WORTH_TELLING_S,
    ) -> None:
        super().__init__(window)
        self._every_s, self._worth_telling_s = every_s, worth_telling_s
        self._bridge, self._window = bridge, window
        self._began_s = self._shown_s = 0.0
        self._has_failed = False
        bridge.started.connect(self._on_started)
        bridge.advanced.connect(self._on_advanced)
        bridge.ended.connect(self._on_ended)
        bridge.refused.connect(self._clear)

    def _on_started(self) -> None:
        self._began_s, self._shown_s, self._has_failed = time.monotonic(), 0.0, False
        self._show(None)

    def _on_advanced(self, kinds: set[type[events.Event]]) -> None:
        self._has_failed |= events.Error in kinds
        if time.monotonic() - self._shown_s >= self._every_s and self._bridge.is_running:
            self._show(self._bridge.fraction)

    def _on_ended(self, _: int) -> None:
        self._clear()
        is_watched = QApplication.activeWindow() is not None or self._bridge.is_cancelled
        if not is_watched and time.monotonic() - self._began_s >= self._worth_telling_s:
            notify(self._window, *self._outcome())

    def _show(self, fraction: float | None) -> None:
        self._shown_s = time.monotonic()
        what = _what(self._bridge)
        code = "window.title_running" if fraction is None else "window.title_progress"
        title = sentence(code, done_pct=100 * (fraction or 0.0), what=what, name=NAME)
        if title != self._window.windowTitle():
            self._window.setWindowTitle(title)

    def _outcome(self) -> tuple[str, str]:
        bridge, what = self._bridge, _what(self._bridge)
        group, summary = bridge.group(), bridge.state.live() if bridge.state is not None else None
        if group is not None:
            return sentence("notice.done", what=what), _plan_sentence(bridge, group)
        if self._has_failed or bridge.trouble is not None:
            return sentence("notice.failed", what=what), sentence("notice.look")
        if summary is None or summary.value is None:
            return sentence("notice.done", what=what), sentence("notice.look")
        return sentence("notice.done", what=what), result_amount(summary)

    def _clear(self) -> None:
        self._window.setWindowTitle(NAME)


def _plan_sentence(bridge: RunBridge, group: Group) -> str:
    from app.core.plans.experiments import report_of

    return report_of(*(bridge.whole_group() or (group,))).sentence_so_far


def _what(bridge: RunBridge) -> str:
    from app.core.plans.experiments import report_of_plan

    return report_of_plan(bridge.plan).subject if bridge.plan is not None else ""
