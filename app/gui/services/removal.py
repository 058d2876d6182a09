"""Removes what was imported, and says so."""

from collections.abc import Callable

from app.core.messages import sentence
from app.core.storage.database import Database
from app.gui.services.bundle import Services


def remove_imported(
    services: Services, name: str, remove: Callable[[Database], None], changed: Callable[[], None]
) -> None:
    """Delete an imported result or log in the background.

    Args:
        services: Of the window.
        name: What the message calls it.
        remove: Deletes it.
        changed: Called when it is gone.
    """

    def done(_: None) -> None:
        services.tell(sentence("compare_page.removed", name=name), "", "", None)
        changed()

    services.query(remove, done)
