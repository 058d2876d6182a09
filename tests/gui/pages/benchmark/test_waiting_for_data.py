"""A data set that somebody else works on: the window says so, and waits only where that can be stopped."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.core import locks
from app.core.datasets.install import import_dataset, list_datasets
from app.gui.pages.settings.data_card import DataCard
from app.gui.services.bundle import Services
from tests.archives import FILE, SIZE_BYTES, make_archive, passing
from tests.core.datasets.server import serving
from tests.gui.conftest import Told
from tests.gui.driving import Driver
from tests.saying import said
from workloads.datasets import cifar10


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small archive that passes for the official one."""
    archive = make_archive(tmp_path / "official.tar.gz")
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)
    monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: archive.read_bytes()}))
    return archive


def hold(services: Services) -> locks.Hold:
    """Be the other Epochmark."""
    found = locks.take(services.paths.locks / "data-cifar10.lock")
    assert found is not None
    return found


def test_a_download_waits_can_be_cancelled_and_resumes(
    driver: Driver, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        server.content = official.read_bytes()
        source = passing(cifar10.SOURCE, {FILE: server.content}, server.url)
        monkeypatch.setattr(cifar10, "SOURCE", source)
        row = driver.page.setup.dataset
        driver.page.setup.refresh()
        driver.until(lambda: row.get_button.isVisible() and row.get_button.isEnabled())
        with hold(driver.services):
            driver.press(row.get_button)
            driver.until(lambda: said("data_row.waiting").is_all_of(row.progress.text.whole_text))
            driver.press(row.progress.cancel_button)
            driver.until(lambda: said("data_row.download_cancelled").is_in(driver.message))
            driver.until(row.get_button.isEnabled)
            driver.press(row.get_button)
            driver.until(lambda: row.progress.text.whole_text.startswith("Waiting"))
        driver.until(lambda: said("data_row.now_installed").is_in(driver.message))
        assert server.ranges == [None]


def test_an_import_and_a_removal_refuse_instead_of_waiting(
    services: Services, official: Path, told: Told, qtbot: QtBot
) -> None:
    card = DataCard(services)
    qtbot.addWidget(card)
    card.refresh()
    qtbot.waitUntil(lambda: "cifar10" in card.rows, timeout=10_000)
    row = card.rows["cifar10"]
    dataset = list_datasets(services.paths)[0]
    with hold(services):
        acts: list[Callable[[], None]] = [
            lambda: card.import_files(dataset, [official]),
            lambda: card.remove(dataset),
        ]
        for act in acts:
            told.messages.clear()
            act()
            assert not row.import_button.isEnabled()
            qtbot.waitUntil(lambda: bool(told.messages), timeout=10_000)
            assert said("settings.data_in_use", title="CIFAR-10").begins(told.messages[0][0])
            qtbot.waitUntil(row.import_button.isEnabled, timeout=10_000)


def test_what_remains_of_a_removed_data_set_is_named(
    services: Services, official: Path, told: Told, qtbot: QtBot
) -> None:
    folder = import_dataset(services.paths, "cifar10", official)
    (folder / "notes.txt").write_text("mine")
    card = DataCard(services)
    qtbot.addWidget(card)
    card.refresh()
    qtbot.waitUntil(lambda: "cifar10" in card.rows, timeout=10_000)
    card.remove(list_datasets(services.paths)[0])
    qtbot.waitUntil(lambda: bool(told.messages), timeout=10_000)
    text = f"Removed CIFAR-10. Kept {folder}, which holds files that Epochmark didn't put there: notes.txt."
    assert told.messages == [(text, "")]
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
