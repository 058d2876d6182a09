"""The community table, which is downloaded only when the user clicks a button."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.core.external_results import CommunityRow
from app.core.messages import sentence
from app.core.paths import Paths
from app.gui.services.bundle import Services


class CommunityTable(QObject):
    """Downloads the community table or restores the previous one in the background, and notifies the user.

    Signals:
        changed: The current table has changed.
        busy: An operation has begun (True) or ended (False).
    """

    changed = Signal()
    busy = Signal(bool)

    def __init__(self, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services

    def get(self) -> None:
        """Download the table from the address in the settings. The address must not be empty."""
        address, paths = self._services.preferences.settings.table_address, self._services.paths

        def fetch() -> str:
            from app.core.exchange.community_file import get_table  # not needed to open the window

            count = get_table(paths, address)
            return sentence("table.newest_already") if count is None else sentence("table.fetched", count=count)

        self._start(fetch)

    def use_previous(self) -> None:
        """Restore the previous table."""
        paths = self._services.paths

        def swap() -> str:
            from app.core.exchange.community_file import use_previous

            return sentence("table.previous_used", count=use_previous(paths))

        self._start(swap)

    def _start(self, work: Callable[[], str]) -> None:
        def done(words: str) -> None:
            self.busy.emit(False)
            self._services.notify(words, "", "", None)
            self.changed.emit()

        def failed(error: Exception) -> None:
            self.busy.emit(False)
            self._services.notify(str(error), "invalid", "", None)

        self.busy.emit(True)
        self._services.tasks.start(work, done, failed)


def community_rows(paths: Paths) -> list[CommunityRow]:
    """Return the rows of the current table. Call this in the background."""
    if not paths.table.exists():
        return []
    from app.core.exchange.community_file import load_table

    return load_table(paths)
