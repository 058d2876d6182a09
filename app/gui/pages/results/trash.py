"""Deleted runs, which can be restored until the window is closed."""

import contextlib
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.storage.database import Database
from app.core.storage.queries import purge_trash, restore_runs, trash_runs
from app.gui.services.bundle import Services


class Trash(QObject):
    """Deletes and restores runs in the background, and notifies the user."""

    changed = Signal()

    def __init__(self, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._deleted: list[Sequence[int]] = []

    @property
    def can_undo(self) -> bool:
        return bool(self._deleted)

    def delete(self, ids: Sequence[int]) -> None:

        def remove(database: Database) -> Sequence[int]:
            trash_runs(database, ids)
            return ids

        self._services.query(remove, self._on_deleted)

    def undo(self) -> None:
        if not self._deleted:
            return
        ids = self._deleted.pop()
        self._services.query(lambda database: restore_runs(database, ids), self._on_restored)

    def purge(self) -> None:
        ids = [run_id for part in self._deleted for run_id in part]
        if ids:
            # If this fails, it is repeated at a later start.
            with contextlib.suppress(AppError), Database(self._services.paths.database) as database:
                purge_trash(database, ids)

    def _on_deleted(self, ids: Sequence[int]) -> None:
        self._deleted.append(ids)
        text = sentence("results_page.deleted", count=len(ids))
        self._services.notify(text, "", sentence("button.undo"), self.undo)
        self.changed.emit()

    def _on_restored(self, count: int) -> None:
        self._services.notify(sentence("results_page.restored", count=count), "", "", None)
        self.changed.emit()
