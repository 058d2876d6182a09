"""A new kind of plan in the window: its form and its sentences; page, progress, picture and files are there."""

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from app.core.messages import ENGLISH, sentence
from app.gui.run.kind_page import KindPage, PageTexts
from app.gui.run.plan_page import PlanSetup
from app.gui.services.bundle import Services
from app.gui.shell import main_window
from app.gui.shell.pages import PAGES, PageEntry
from app.gui.widgets.basics import Button
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to
from tests.gui.pages.suite.test_page import rows
from tests.test_plan_kinds import KEY, HiddenWindow, hidden_plan, register

TEXTS = {
    "hidden.title": "Hidden window",
    "hidden.purpose": "Does drawing cost anything?",
    "hidden.earlier": "Earlier tests",
    "hidden.table": "Runs of the test",
    "hidden.nothing": "No test yet",
    "hidden.step": "Press Run.",
    "hidden.export": "Export test",
    "hidden.exported": "Exported the test to {name}",
}


class HiddenSetup(PlanSetup):
    def __init__(self, services: Services) -> None:
        super().__init__(sentence("hidden.title"))
        self.run_button = Button(services.theme, sentence("button.run_again"), "play", kind="primary")
        self.body.addWidget(self.run_button)
        self.run_button.clicked.connect(lambda: self.run_requested.emit(hidden_plan(), services.finder.machine))

    def set_busy(self, reason: str) -> None:
        self.run_button.setEnabled(not reason)


class HiddenEntry(PageEntry):
    """Its row; a page of its own folder would have its class there."""

    def make(self, services: Services) -> QWidget:
        names = {name: f"hidden.{name}" for name in PageTexts.__dataclass_fields__ if name != "steps"}
        return KindPage(
            services, HiddenWindow(), HiddenSetup(services), PageTexts(steps=(("1", "hidden.step"),), **names)
        )


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    for code, text in TEXTS.items():
        monkeypatch.setitem(ENGLISH, code, text)
    entry = HiddenEntry(KEY, "hidden.title", "scale", "KindPage", plans=(KEY,))
    monkeypatch.setattr(main_window, "PAGES", (*PAGES[:-1], entry, PAGES[-1]))


@pytest.mark.slow
def test_a_new_kind_is_run_shown_shared_and_written(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver.press(driver.window.side_bar.places[KEY])
    page = driver.window.page
    assert isinstance(page, KindPage)
    button = page.findChild(HiddenSetup).run_button  # type: ignore[union-attr]
    driver.press(button)
    driver.until(lambda: page.foot.isVisible() and page.foot.progress_text.whole_text != "")
    assert not button.isEnabled()
    driver.until(lambda: not driver.services.bridge.is_running and page.export_button.isVisible())
    expected = sentence("hidden.count", count=2, shown=1)
    assert page.headline.property("text") == expected
    assert [row[1] for row in rows(page)] == ["A", "B"]
    save_to(monkeypatch, tmp_path / "picture.png")
    page.save_picture()
    driver.until((tmp_path / "picture.png").is_file)
    assert QImage(str(tmp_path / "picture.png")).width() == 1200
    page.copy_text()
    assert "Epochmark" in QGuiApplication.clipboard().text()
    save_to(monkeypatch, tmp_path / "plan.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "plan.json").is_file)
    written = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    assert (written["kind"], written["sentence"], len(written["runs"])) == (KEY, expected, 2)
    driver.window.show_page("results")
    driver.until(lambda: driver.window.results.table.model().rowCount() > 0)
