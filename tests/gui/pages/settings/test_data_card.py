"""Data sets in the settings, and on the Benchmark page: downloads, and what waits or refuses meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.core import locks
from app.core.datasets.install import list_datasets
from app.core.paths import Paths
from app.gui.pages.settings.data_card import DataCard, DatasetLine
from app.gui.services.bundle import Services
from app.gui.services.downloads import Download
from tests.core.datasets.server import Server, halted
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added
from tests.saying import said
from tests.sure import sure
from workloads.datasets import cifar10


def line_of(driver: Driver) -> DatasetLine:
    driver.window.show_page("settings")
    driver.window.settings.show_data_sets()
    rows = driver.window.settings.data_card.rows
    driver.until(lambda: "cifar10" in rows and rows["cifar10"].get_button.isVisible())
    return rows["cifar10"]


def test_a_failed_download_leaves_all_as_it_was(driver: Driver, server: Server) -> None:
    server.answer = lambda handler, start: handler.give(404, b"")
    line = line_of(driver)
    before = line.state.whole_text
    driver.press(line.get_button)
    driver.until(lambda: "404" in driver.message and line.get_button.isEnabled())
    assert (line.progress.isVisible(), line.state.whole_text) == (False, before)


def test_a_download_is_shown_on_both_pages_can_be_cancelled_and_goes_on(driver: Driver, server: Server) -> None:
    (_, go_on), line = halted(server), line_of(driver)
    assert said("settings.not_installed").begins(line.state.whole_text)
    driver.press(line.get_button)
    driver.until(lambda: server.ranges != [])
    assert line.progress.isVisible()
    assert "%)" in line.progress.text.whole_text
    others = [each for each in driver.window.settings.data_card.rows.values() if each.dataset.fetchable]
    others.remove(line)
    assert not any(each.get_button.isEnabled() or each.progress.isVisible() for each in others)
    driver.window.show_page("benchmark")
    driver.open_settings()
    row = driver.page.setup.dataset
    driver.until(lambda: row.progress.isVisible() and "%)" in row.progress.text.whole_text)
    driver.window.show_page("settings")
    driver.press(line.progress.cancel_button)
    assert said("run.cancelling").is_all_of(line.progress.text.whole_text)
    go_on.set()
    driver.until(lambda: said("data_row.download_cancelled").is_all_of(driver.message))
    assert not line.progress.isVisible()
    driver.until(line.get_button.isEnabled)
    driver.press(line.get_button)
    driver.until(lambda: said("data_row.now_installed").is_all_of(driver.message))
    driver.until(line.remove_button.isVisible)
    assert said("settings.data_there").begins(line.state.whole_text)
    driver.window.show_page("benchmark")
    driver.until(lambda: said("data_row.auto_real").is_all_of(row.choice.itemText(0)))


def test_a_download_says_its_share_and_its_rate(paths: Paths) -> None:
    now_s = 100.0
    dataset = next(each for each in list_datasets(paths) if each.id == "cifar10")
    download = Download(paths, dataset, clock=lambda: now_s)
    total = sure(dataset.size_bytes)
    download.report(total // 4 + 1, total)
    assert download.sentence().endswith(" (25 %)")
    now_s += 10.0
    download.report(total // 2 + 1, total)
    assert download.sentence().endswith(f" (50 %), {round(total / 4 / 10 / 1e6)} MB/s")
    download.report(total, total)
    assert said("data_row.unpacking").is_all_of(download.sentence())


def hold(services: Services) -> locks.Hold:
    return sure(locks.acquire(services.paths.locks / "data-cifar10.lock"))


def test_a_download_waits_can_be_cancelled_and_resumes(driver: Driver, server: Server) -> None:
    row = driver.page.setup.dataset
    driver.open_settings()
    driver.page.setup.refresh()
    driver.until(lambda: row.get_button.isVisible() and row.get_button.isEnabled())
    with hold(driver.services):
        driver.press(row.get_button)
        driver.until(lambda: said("data_row.waiting").is_all_of(row.progress.text.whole_text))
        driver.press(row.progress.cancel_button)
        driver.until(lambda: said("data_row.download_cancelled").is_in(driver.message))
        driver.until(row.get_button.isEnabled)
        assert not cifar10.SOURCE.is_stored_in(driver.services.paths.datasets)
        driver.press(row.get_button)
        driver.until(lambda: said("data_row.waiting").begins(row.progress.text.whole_text))
    driver.until(lambda: said("data_row.now_installed").is_in(driver.message))
    assert server.ranges == [None]


@pytest.fixture
def card(services: Services, qtbot: QtBot) -> DataCard:
    return added(qtbot, DataCard(services))


def opened(card: DataCard, qtbot: QtBot) -> DatasetLine:
    card.refresh()
    qtbot.waitUntil(lambda: "cifar10" in card.rows, timeout=10_000)
    return card.rows["cifar10"]


def test_import_and_removal_never_wait(
    card: DataCard, services: Services, official: Path, told: Told, qtbot: QtBot
) -> None:
    row, dataset = opened(card, qtbot), list_datasets(services.paths)[0]
    with hold(services):
        acts: list[Callable[[], None]] = [
            lambda: card.import_files(dataset, [official]),
            lambda: card.remove(dataset),
        ]
        for act in acts:
            told.messages.clear()
            act()
            assert not row.get_button.isEnabled()
            qtbot.waitUntil(lambda: bool(told.messages), timeout=10_000)
            assert said("settings.data_in_use", title="CIFAR-10").begins(told.messages[0][0])
            qtbot.waitUntil(row.get_button.isEnabled, timeout=10_000)
