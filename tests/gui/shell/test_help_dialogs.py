"""What the menu opens: every shortcut there is, the method, and a report that names nobody."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWidgets import QDialog

import app
from app.core.exchange.updates import PAGE
from app.gui.shell.help_dialogs import ReportDialog, ShortcutSheet, UpdateDialog, problem_report
from app.gui.widgets.dialogs import MEASUREMENT, MethodDialog
from tests.core.datasets.server import Server, serving
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import only
from workloads.protocol.machine import Machine


def opened(driver: Driver, code: str, kind: type[QDialog]) -> QDialog:
    driver.window.action(code).trigger()
    dialog = only(kind, driver.window.findChild(kind))
    assert dialog.isVisible()
    return dialog


def test_the_sheet_has_every_shortcut(driver: Driver) -> None:
    sheet = only(ShortcutSheet, opened(driver, "menu.shortcuts", ShortcutSheet))
    shown = {key for _, keys in sheet.rows for key in keys}
    native = QKeySequence.SequenceFormat.NativeText
    wanted = {key.toString(native) for action in driver.window.actions() for key in action.shortcuts()}
    assert {"F1", "?", "Ctrl+R"} <= wanted <= shown
    texts = [text for text, _ in sheet.rows]
    assert len(set(texts)) == len(texts)
    assert said("menu.run").is_in(texts)


def test_a_report_names_nobody(
    driver: Driver, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/anna"))
    monkeypatch.setenv("LOGNAME", "penelope")
    log = tmp_path / "epochmark.log"
    log.write_text("old line\n" * 100_000 + "It failed in /home/anna/x of penelope\n" + "\xff")
    text = problem_report(machine, log)
    assert said("report.questions").begins(text)
    assert said("fault.report_head").is_in(text)
    assert said("report.computer").is_in(text)
    assert "It failed in ~/x" in text
    assert "anna" not in text
    assert "penelope" not in text
    assert len(text) < 4_000
    assert not said("report.log").is_in(problem_report(None, tmp_path / "none.log"))
    driver.window.action("menu.report").trigger()
    assert only(ReportDialog, driver.window.findChild(ReportDialog)).isVisible()


@pytest.fixture
def release_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as server:
        monkeypatch.setattr(app, "PROJECT_URL", server.url.rpartition("/")[0])
        yield server


def test_updates_are_looked_for(release_server: Server, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_pages: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened_pages.append(url.toString()))
    release_server.content = b'{"version": "0.0.1"}'
    driver.window.action("menu.updates").trigger()
    driver.until(lambda: said("updates.none").is_all_of(driver.message))
    release_server.content = b'{"version": "1000.0.0", "notes": ["Faster"]}'
    driver.window.action("menu.updates").trigger()
    driver.until(lambda: driver.window.findChild(UpdateDialog) is not None)
    driver.press(only(UpdateDialog, driver.window.findChild(UpdateDialog)).page_button)
    assert opened_pages == [app.PROJECT_URL + PAGE]
    assert len(release_server.asked) == 2


def test_the_method_is_shown_and_its_links_work(driver: Driver) -> None:
    dialog = only(MethodDialog, opened(driver, "menu.method", MethodDialog))
    links = re.findall(r"\]\(([^)]*)\)", MEASUREMENT.read_text(encoding="utf-8"))
    assert links
    for link in links:
        dialog.page.anchorClicked.emit(QUrl(MEASUREMENT.name))
        dialog.page.anchorClicked.emit(QUrl(link))
        heading = re.sub(r"[^\w -]", "", dialog.page.textCursor().block().text().lower()).replace(" ", "-")
        assert link.endswith(f"#{heading}")
