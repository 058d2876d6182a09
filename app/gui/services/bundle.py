"""What pages are given: one bundle made by the application, so that no page fetches anything from a global."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import AppError
from app.core.paths import Paths, with_datasets_folder
from app.gui.services.machine_finder import MachineFinder
from app.gui.services.preferences import Preferences
from app.gui.services.run_bridge import RunBridge
from app.gui.services.tasks import Tasks
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Tone

Tell = Callable[[str, Tone, str, Callable[[], None] | None], None]


@dataclass(frozen=True, slots=True, weakref_slot=True)  # signals hold their receivers weakly
class Services:
    """What the window's parts share.

    Attributes:
        home: The folders as the program started with them.
        tell: Shows a message in the window: text, tone, what its button says ("" for none), what that does.
    """

    home: Paths
    theme: Theme
    tasks: Tasks
    preferences: Preferences
    finder: MachineFinder
    bridge: RunBridge
    tell: Tell

    def complain(self, error: AppError) -> None:
        """Show an error; it stays until it is closed."""
        self.tell(str(error), "invalid", "", None)

    @property
    def paths(self) -> Paths:
        """The folders, with the data sets where the settings say by now."""
        return with_datasets_folder(self.home, self.preferences.settings.datasets_folder)
