"""What leaves is shown before it does, and what is unticked leaves in nothing."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog

from app.core.exchange.png_embed import extract
from app.core.exchange.sharing import TEXT_FORMS
from app.core.messages import message
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.actions import ResultActions
from app.gui.run.share_dialog import ShareDialog
from tests.build import in_database
from tests.gui.driving import Driver
from tests.recording import as_preset, recorded_events, store_recording
from tests.sure import sure
from workloads.protocol import events

pytestmark = pytest.mark.slow


@pytest.fixture
def dialog(driver: Driver) -> ShareDialog:
    run_id = in_database(driver.services.paths.database, store_recording, as_preset(recorded_events(), "quick"))
    driver.page.show_result(run_id)
    driver.until(lambda: driver.page.run is not None)
    driver.window.action("menu.share").trigger()
    opened = [
        each for each in QApplication.topLevelWidgets() if isinstance(each, ShareDialog) and each.isVisible()
    ]
    driver.until(lambda: opened[0].shared is not None)
    return opened[0]


def machine(dialog: ShareDialog) -> str:
    assert dialog.shared is not None
    return dialog.shared.card.machine


def test_every_field_is_there_and_what_is_unticked_goes(driver: Driver, dialog: ShareDialog) -> None:
    assert {"cpu", "cores", "memory", "system", "date", "steps", "telemetry"} <= set(dialog.boxes)
    assert machine(dialog) == "AMD EPYC"
    before = dialog.picture.pixmap().toImage()
    dialog.boxes["cpu"].click()
    driver.until(lambda: "EPYC" not in machine(dialog))
    assert dialog.picture.pixmap().toImage() != before
    dialog.view.buttons["text"].click()
    assert "EPYC" not in dialog.text.toPlainText()
    dialog.boxes["cpu"].click()
    driver.until(lambda: machine(dialog) == "AMD EPYC")
    assert "EPYC" in dialog.text.toPlainText()


def test_what_would_recur_is_not_run_again(
    driver: Driver, dialog: ShareDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog.reject()
    stored, asked, begun = sure(driver.page.judged).run, list[str](), list[str]()

    def ask(*_: object) -> tuple[str, str]:
        asked.append("file")
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    actions = ResultActions(driver.services, driver.window)
    for advice, saving in (("advice.varies", "file"), ("advice.quiet", "preview")):
        run = JudgedRun(stored)
        caution = events.Reason(code="spread", level="caution", text="Varied.", advised=message(advice))
        run.verdict = events.Judged(level="caution", reasons=(caution,))
        actions.share(run, again=partial(begun.append, advice))
        (preview,) = opened(driver)
        assert preview.again_line.isVisible() == (saving == "preview")
        if preview.again_line.isVisible():
            preview.again_button.click()
        preview.reject()
        actions.save_picture(run, again=list)
        asked += ["preview" for each in opened(driver) if each.close()]
        assert asked.pop() == saving
    assert (asked, begun) == ([], ["advice.quiet"])


def opened(driver: Driver) -> list[ShareDialog]:
    return [each for each in driver.window.findChildren(ShareDialog) if each.isVisible()]


def test_what_is_copied_is_what_is_shown(driver: Driver, dialog: ShareDialog) -> None:
    dialog.view.buttons["text"].click()
    for form in TEXT_FORMS:
        dialog.form.setCurrentIndex(dialog.form.findData(form))
        shown = dialog.text.toPlainText()
        dialog.copy_button.click()
        assert QGuiApplication.clipboard().text() == shown
        assert re.search(r"\b5[12]\b", shown), "rounded to its uncertainty in some forms"
        assert dialog.form.currentText() in driver.message


def test_saved_files_leave_it_out_too(
    driver: Driver, dialog: ShareDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog.boxes["system"].click()
    driver.until(lambda: "Debian" not in (dialog.shared.text if dialog.shared else "Debian"))
    for name, save in (("a.png", dialog.save_button.click), ("a.epochmark.json", dialog.save_file.trigger)):
        target = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, target=target: (str(target), ""))
        save()
        driver.until(target.exists)
        driver.until(lambda target=target: target.name in driver.message)  # type: ignore[misc]
    enclosed = extract((tmp_path / "a.png").read_bytes())
    for content in (enclosed, (tmp_path / "a.epochmark.json").read_bytes()):
        (result,) = json.loads(content)["results"]
        assert "os_name" not in result["machine"]
        assert result["machine"]["cpu_name"] == "AMD EPYC"


def test_nothing_leaves_while_it_is_looked_up(driver: Driver, dialog: ShareDialog) -> None:
    dialog.boxes["cpu"].click()
    assert not dialog.copy_button.isEnabled()
    assert not dialog.save_button.isEnabled()
    driver.until(dialog.copy_button.isEnabled)
    assert "EPYC" not in machine(dialog)
    dialog.boxes["cpu"].click()
    dialog.reject()  # at once is no fault
    driver.until(lambda: not any(isinstance(each, ShareDialog) for each in QApplication.topLevelWidgets()))
    driver.window.action("menu.share").trigger()
    windows = QApplication.topLevelWidgets()
    next(each for each in windows if isinstance(each, ShareDialog) and each.isVisible()).reject()
