"""Removes imported results."""

from collections.abc import Callable

from app.core.external_results import ImportedResult
from app.core.messages import sentence
from app.core.storage.imported_results import remove_result
from app.gui.services.bundle import Services


def remove_imported(services: Services, result: ImportedResult, changed: Callable[[], None]) -> None:

    def done(_: None) -> None:
        services.notify(sentence("compare_page.removed", name=result.label), "", "", None)
        changed()

    services.query(lambda database: remove_result(database, result.id), done)
