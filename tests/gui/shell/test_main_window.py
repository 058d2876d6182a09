"""The main window: a page is a folder and a row, and is imported when it is first opened."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

import app.gui.pages
from app.gui.shell import main_window
from app.gui.shell.pages import PAGES, PageEntry
from tests.child import python
from tests.gui.driving import Driver

SCORES = """
from PySide6.QtWidgets import QLabel


class ScoresPage(QLabel):
    def __init__(self, services):
        super().__init__("Scores")
"""


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more page, before the settings."""
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "page.py").write_text(SCORES)
    monkeypatch.setattr(app.gui.pages, "__path__", [*app.gui.pages.__path__, str(tmp_path)])
    entry = PageEntry("scores", "label.workload", "list", "ScoresPage")
    monkeypatch.setattr(main_window, "PAGES", (*PAGES[:-1], entry, PAGES[-1]))
    yield
    sys.modules.pop("app.gui.pages.scores.page", None)


def test_a_page_is_a_folder_and_a_row(scores: None, driver: Driver) -> None:
    window = driver.window
    driver.press(window.side_bar.places["scores"])
    assert isinstance(window.page, QLabel)
    assert window.page.text() == "Scores"
    assert window.side_bar.places["scores"].isChecked()
    shortcuts = {code: window.action(code).shortcut().toString() for code in ("label.workload", "page.settings")}
    assert shortcuts == {"label.workload": "Ctrl+8", "page.settings": "Ctrl+9"}


def test_every_row_opens_its_page(driver: Driver) -> None:
    for entry in PAGES:
        driver.window.action(entry.title).trigger()
        assert type(driver.window.page).__name__ == entry.widget
        assert driver.window.side_bar.places[entry.code].isChecked()


def test_a_message_stays_in_front_of_a_page_that_opens(driver: Driver) -> None:
    banner = driver.window.banner
    driver.window.notify("Saved.", "", "", None)
    for code in ("studies", "benchmark"):  # one is made, the other was there
        driver.window.show_page(code)
        seen = driver.window.stack.childAt(banner.geometry().center())
        assert seen is not None
        assert seen is banner or banner.isAncestorOf(seen)


@pytest.mark.slow
def test_pages_are_imported_when_they_are_opened() -> None:
    code = (
        "import sys, app.gui.shell.application, app.gui.shell.main_window; "
        "print(sorted(name.split('.')[3] for name in sys.modules if name.startswith('app.gui.pages.') "
        "and name.endswith('.page')))"
    )
    assert python("-c", code).stdout.strip() == "['benchmark']"


@pytest.mark.slow
def test_pages_open_without_what_others_exports_pictures_and_the_doctor_need() -> None:
    code = (
        "import sys, app.gui.pages.results.page, app.gui.pages.ab.page, app.gui.pages.hardware.page; "
        "later = 'app.core.plans.study. app.core.plans.suite. app.core.doctor. app.core.report.export"
        " app.core.report.html app.gui.run.share_picture'; "
        "print(sorted(name for name in sys.modules if name.startswith(tuple(later.split()))"
        " and not name.endswith('.kind')))"
    )
    assert python("-c", code).stdout.strip() == "[]"
