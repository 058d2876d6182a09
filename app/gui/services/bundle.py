"""The bundle of services that the app passes to the pages, so that they need no globals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from app.core.errors import AppError
from app.core.paths import Paths
from app.core.storage.database import Database
from app.gui.services.downloads import Downloads
from app.gui.services.engine_finder import EngineFinder
from app.gui.services.machine_finder import MachineFinder
from app.gui.services.preferences import Preferences
from app.gui.services.run_bridge import RunBridge
from app.gui.services.tasks import Tasks
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Tone

_Result = TypeVar("_Result")
Notify = Callable[[str, Tone, str, Callable[[], None] | None], None]


@dataclass(frozen=True, slots=True, weakref_slot=True)  # signals hold weak references to receivers
class Services:
    """The services shared by all parts of the GUI."""

    paths: Paths
    theme: Theme
    tasks: Tasks
    preferences: Preferences
    finder: MachineFinder
    engines: EngineFinder
    bridge: RunBridge
    downloads: Downloads
    notify: Notify  # shows a text with a tone, the text of a button ("" for none) and its action

    def query(
        self,
        work: Callable[[Database], _Result],
        done: Callable[[_Result], None],
        failed: Callable[[AppError], None] | None = None,
    ) -> None:
        """Call `work` with the database in a thread, then `done` or, after an AppError, `failed` in the GUI."""
        path = self.paths.database

        def ask() -> _Result:
            with Database(path) as database:
                return work(database)

        self.tasks.start(ask, done, failed or self.complain)

    def change(self, **changes: Any) -> None:
        """Change and save settings, or say why they can't be saved."""
        try:
            self.preferences.change(**changes)
        except AppError as error:
            self.complain(error)

    def complain(self, error: AppError) -> None:
        self.notify(str(error), "invalid", "", None)
