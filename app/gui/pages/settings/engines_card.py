"""Engine settings: lists engines with the devices they use, and installs, checks and removes them."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout

from app.core.engines.install import Checkup
from app.core.engines.overview import EngineRow, list_engines
from app.core.engines.stamp import Stamp
from app.core.errors import AppError
from app.core.messages import sentence, text
from app.gui.pages.settings.engine_line import EngineLine
from app.gui.pages.settings.engine_work import EngineWork, remove_unused
from app.gui.pages.settings.parts import ask
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, label, line
from app.gui.widgets.timers import timer
from workloads.engines.registry import engine_title

TICK_MS = 200
_Result = TypeVar("_Result")


class EnginesCard(Card):
    """Lists all engines. Operations run in the background, one at a time."""

    filled = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("engines_card.title"))
        self._services = services
        self._latest = Latest()
        self._work: EngineWork | None = None
        self._worked_on = ""  # engine of the current operation; "" if there is none
        self.rows: dict[str, EngineLine] = {}
        self.looking = label(sentence("engines_card.looking"), muted=True)
        self._list = QVBoxLayout()
        self._list.setSpacing(GAP_PX)
        self._timer = timer(self, TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self.body.addWidget(label(sentence("engines_card.note"), muted=True, wrap=True))
        self.body.addWidget(self.looking)
        self.body.addLayout(self._list)
        services.finder.found.connect(self.refresh)
        services.engines.changed.connect(self.refresh)

    @property
    def is_busy(self) -> bool:
        return self._worked_on != ""

    def refresh(self) -> None:
        machine, paths = self._services.finder.machine, self._services.paths
        if machine is not None:
            look, done = partial(list_engines, paths, machine), self._latest.only(self._on_looked)
            self._services.tasks.start(look, done, self._services.complain)

    def cancel(self) -> None:
        if self._work is not None:
            self._work.cancelled = True
            self._on_tick()

    def _on_looked(self, engine_rows: list[EngineRow]) -> None:
        self.looking.hide()
        if list(self.rows) != [engine_row.engine for engine_row in engine_rows]:
            self._make_lines(engine_rows)
        for engine_row in engine_rows:
            self._show(engine_row)
        self.filled.emit()

    def _make_lines(self, engine_rows: list[EngineRow]) -> None:
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.rows = {}
        for engine_row in engine_rows:
            made = self.rows[engine_row.engine] = EngineLine(self._services, engine_row)
            made.variant_changed.connect(lambda made=made: self._show(made.row))
            made.install_button.clicked.connect(lambda _=False, made=made: self.install(made.row.engine))
            made.check_button.clicked.connect(partial(self._on_check, engine_row.engine))
            made.remove_button.clicked.connect(partial(self._on_remove, engine_row.engine))
            made.cancel_button.clicked.connect(self.cancel)
            self._list.addWidget(line())
            self._list.addWidget(made)

    def _show(self, engine_row: EngineRow) -> None:
        shown = self.rows[engine_row.engine]
        shown.show_row(engine_row, busy=self.is_busy)
        if engine_row.engine == self._worked_on and self._work is not None:
            shown.show_work(self._work)

    def _show_all(self) -> None:
        for shown in self.rows.values():
            self._show(shown.row)

    def install(self, engine: str) -> None:
        """Install the selected build of an engine in the background."""
        offer = self.rows[engine].offer
        if offer is None:
            return
        paths, work = self._services.paths, EngineWork(engine_title(engine))
        self._begin(engine, work, lambda: work.install(paths, offer.variant), self._on_installed)

    def _on_check(self, engine: str) -> None:
        paths, work = self._services.paths, EngineWork(engine_title(engine))
        self._begin(engine, work, lambda: work.check(paths, engine), self._on_checked)

    def _on_remove(self, engine: str) -> None:
        title, stamp = engine_title(engine), self.rows[engine].row.stamp
        question = sentence("engines_card.ask_to_remove", title=title)
        if stamp is not None and stamp.size_bytes:
            code = "engines_card.ask_to_remove_sized"
            question = sentence(code, title=title, size_bytes=stamp.size_bytes)
        ask(self, question, sentence("settings.remove_named", title=title), lambda: self.remove(engine))

    def remove(self, engine: str) -> None:
        paths = self._services.paths

        def on_removed(_: None) -> None:
            self._end()
            self._services.notify(sentence("settings.removed", title=engine_title(engine)), "", "", None)

        self._begin(engine, None, lambda: remove_unused(paths, engine), on_removed)
        self.rows[engine].note.show_text(sentence("settings.removing"))

    def _begin(
        self, engine: str, work: EngineWork | None, do: Callable[[], _Result], done: Callable[[_Result], None]
    ) -> None:
        if self.is_busy:
            return
        self._worked_on, self._work = engine, work
        self._show_all()
        if work is not None:
            self._timer.start()
            self.rows[engine].cancel_button.setFocus()
        self._services.tasks.start(do, done, self._on_failed)

    def _end(self) -> None:
        self._timer.stop()
        self._worked_on, self._work = "", None
        self._show_all()
        self.refresh()
        self._services.engines.look()

    def _on_tick(self) -> None:
        if self._work is not None and self._worked_on in self.rows:
            self.rows[self._worked_on].show_work(self._work)

    def _on_installed(self, stamp: Stamp | None) -> None:
        self._end()
        if stamp is None:
            said = sentence("engines_card.cancelled")
        else:
            version, title = stamp.version.partition("+")[0], engine_title(stamp.engine)
            said = sentence("engines_card.now_installed", title=title, version=version)
        self._services.notify(said, "", "", None)

    def _on_checked(self, checkup: Checkup | None) -> None:
        self._end()
        if checkup is None:
            return
        if checkup.problems:
            self._services.notify(" ".join(map(text, checkup.problems)), "invalid", "", None)
        elif checkup.stamp is not None:
            version, title = checkup.stamp.version.partition("+")[0], engine_title(checkup.engine)
            self._services.notify(
                sentence("engines_card.checked", title=title, version=version), "valid", "", None
            )

    def _on_failed(self, error: AppError) -> None:
        self._end()
        self._services.complain(error)
