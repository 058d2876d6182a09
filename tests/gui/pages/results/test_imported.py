"""Results of others on the Results page: to be seen and removed, and no target of what is done with own runs."""

from pathlib import Path

import pytest

from app.core.messages import sentence
from app.core.result_file.identity import uid_of
from app.core.storage.database import Database
from app.core.storage.imported_results import add_results, list_results
from app.gui.pages.results.page import ResultsPage
from tests.build import golden, in_database
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to, select
from tests.saying import said


@pytest.fixture
def page(driver: Driver, page: ResultsPage) -> ResultsPage:
    in_database(driver.services.paths.database, add_results, golden(), "lab.json")
    return page


def choose(driver: Driver, page: ResultsPage, source: str) -> None:
    page.filters.source.setCurrentIndex(page.filters.source.findData(source))
    driver.until(lambda: page.imported.isVisible() == (source != "own"))


def shown(page: ResultsPage) -> list[str]:
    return [result.summary.workload for result in page.imported.results]


def test_they_are_shown_only_when_wanted_and_never_exported(
    driver: Driver, page: ResultsPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page.imported.isHidden()
    assert page.model.rows == [4, 3, 2, 1]
    choose(driver, page, "all")
    driver.until(lambda: shown(page) == ["matmul", "mnist_mlp", "demo", "mnist_mlp"])
    assert page.table.isVisible()
    assert page.model.rows == [4, 3, 2, 1]
    assert said("imports_page.not_verified").is_all_of(page.imported.heading.text())
    choose(driver, page, "imported")
    assert not page.table.isVisible()
    assert not page.export_button.isVisible()
    page.filters.search.setText(f"{uid_of(golden()[2])[:6]} lab")
    driver.until(lambda: shown(page) == ["mnist_mlp"])
    page.filters.search.setText("nowhere")
    driver.until(lambda: shown(page) == [] and page.imported.nothing.isVisible())
    page.filters.search.setText("")
    choose(driver, page, "all")
    driver.until(lambda: len(shown(page)) == len(page.model.rows) == 4)
    page.imported.table.selectRow(0)
    file = tmp_path / "all.csv"
    save_to(monkeypatch, file)
    page.export()
    driver.until(lambda: file.exists() and file.read_text().count("\n") == 5)
    assert "matmul" not in file.read_text()
    choose(driver, page, "own")
    assert page.table.isVisible()


def test_without_any_there_is_nothing_to_choose(driver: Driver, page: ResultsPage) -> None:
    page.refresh()
    driver.until(page.filters.source.isVisible)
    with Database(driver.services.paths.database) as database:
        database.connection.execute("DELETE FROM imported")
    page.refresh()
    driver.until(lambda: not page.filters.source.isVisible())
    in_database(driver.services.paths.database, add_results, golden(), "lab.json")
    driver.window.imports.changed.emit("mnist_mlp")
    driver.until(page.filters.source.isVisible)


def test_one_is_shown_and_removed(driver: Driver, page: ResultsPage) -> None:
    select(page, 4)
    choose(driver, page, "all")
    driver.until(lambda: len(shown(page)) == 4)
    page.imported.table.selectRow(1)
    page.imported.commands.actions["open"].trigger()
    driver.until(page.imported_detail.isVisible)
    detail = page.imported_detail
    cells = [
        detail.words.model().index(row, place).data() for row in range(detail.words.rowCount()) for place in (0, 1)
    ]
    words = dict(zip(cells[::2], cells[1::2], strict=True))
    assert words["CPU"] == "AMD EPYC"
    assert words[sentence("heading.uid")] == uid_of(golden()[2])
    assert said("imports_page.origin", file="lab.json").begins(words[sentence("heading.source")])
    assert not page.can_copy, "the own run that was selected is no target"
    assert not page.can_share
    driver.press(detail.remove_button)
    driver.until(lambda: shown(page) == ["matmul", "demo", "mnist_mlp"])
    assert page.table.isVisible()
    with Database(driver.services.paths.database) as database:
        assert len(list_results(database)) == 3
