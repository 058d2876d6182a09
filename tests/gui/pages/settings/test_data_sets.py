"""Downloads of data sets from the settings: the same ones that the Benchmark page shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.datasets.install import list_datasets
from app.core.paths import Paths
from app.gui.pages.settings.data_card import DatasetLine
from app.gui.services.downloads import Download
from tests.archives import FILE, SIZE_BYTES, make_archive, passing
from tests.core.datasets.server import Server, serving
from tests.gui.driving import Driver
from tests.gui.pages.benchmark.test_setup import halted
from tests.saying import said
from workloads.datasets import cifar10


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of an archive that passes for the official one."""
    raw = make_archive(tmp_path / "official.tar.gz").read_bytes()
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)
    with serving() as server:
        server.content = raw
        monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: raw}, server.url))
        yield server


def line_of(driver: Driver) -> DatasetLine:
    """Open the settings and return the line of CIFAR-10."""
    driver.window.show_page("settings")
    rows = driver.window.settings.data_card.rows
    driver.until(lambda: "cifar10" in rows and rows["cifar10"].get_button.isVisible())
    return rows["cifar10"]


def test_a_download_is_shown_on_both_pages_can_be_cancelled_and_goes_on(driver: Driver, server: Server) -> None:
    go_on, line = halted(server), line_of(driver)
    assert said("settings.not_installed").begins(line.state.whole_text)
    assert line.state.whole_text.endswith(" to download · Automatic: synthetic")
    driver.press(line.get_button)
    driver.until(lambda: server.ranges != [])
    assert line.progress.isVisible()
    assert "%)" in line.progress.text.whole_text
    others = [each for name, each in driver.window.settings.data_card.rows.items() if name != "cifar10"]
    assert not any(each.get_button.isEnabled() or each.progress.isVisible() for each in others)
    driver.window.show_page("benchmark")
    row = driver.page.setup.dataset
    driver.until(lambda: row.progress.isVisible() and "%)" in row.progress.text.whole_text)
    driver.window.show_page("settings")
    driver.press(line.progress.cancel_button)
    assert line.progress.text.whole_text == "Cancelling …"
    go_on.set()
    driver.until(lambda: said("data_row.download_cancelled").is_all_of(driver.message))
    assert not line.progress.isVisible()
    driver.until(line.get_button.isEnabled)
    driver.press(line.get_button)
    driver.until(lambda: said("data_row.now_installed").is_all_of(driver.message))
    driver.until(line.remove_button.isEnabled)
    assert line.state.whole_text.endswith(" · Automatic: real")
    driver.window.show_page("benchmark")
    driver.until(lambda: said("data_row.auto_real").is_all_of(row.choice.itemText(0)))


def test_a_failed_download_is_one_sentence_and_leaves_all_as_it_was(driver: Driver, server: Server) -> None:
    server.answer = lambda handler, start: handler.give(404, b"")
    line = line_of(driver)
    before = line.state.whole_text
    driver.press(line.get_button)
    driver.until(lambda: "404" in driver.message)
    driver.until(lambda: line.get_button.isEnabled() and line.import_button.isEnabled())
    assert not line.progress.isVisible()
    assert line.state.whole_text == before


def test_a_download_says_its_share_and_its_rate(paths: Paths) -> None:
    now_s = 100.0
    dataset = next(each for each in list_datasets(paths) if each.id == "cifar10")
    download = Download(paths, dataset, clock=lambda: now_s)
    total = dataset.size_bytes
    assert total is not None
    download.report(total // 4 + 1, total)
    assert download.sentence().endswith(" (25 %)")
    now_s += 10.0
    download.report(total // 2 + 1, total)
    assert download.sentence().endswith(f" (50 %), {round(total / 4 / 10 / 1e6)} MB/s")
    download.report(total, total)
    assert said("data_row.unpacking").is_all_of(download.sentence())
