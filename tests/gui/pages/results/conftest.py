"""What tests of the Results page share."""

import pytest

from app.core.storage.database import Database
from app.core.storage.queries import set_comment
from app.gui.pages.results.page import ResultsPage
from tests.build import store
from tests.gui.driving import Driver
from workloads.protocol.machine import Machine


@pytest.fixture
def page(driver: Driver, machine: Machine) -> ResultsPage:
    """The history with four runs: 60, 50, 40 (cancelled) and 30 seconds an epoch."""
    with Database(driver.services.paths.database) as database:
        store(database, machine, 61.0, 60.0, 60.0)
        named = store(database, machine, 51.0, 50.0, 50.0)
        store(database, machine, 41.0, 40.0, 40.0, status="cancelled")
        store(database, machine, 31.0, 30.0, 30.0)
        set_comment(database, named, "water cooled")
    return driver.open_results()
