"""A new experiment in the Lab: its row and its sentences; list, form, questions to the user, answer and files."""

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage

from app.core.messages import sentence
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to
from tests.saying import said
from tests.sure import sure
from tests.test_experiments import KEY, register


@pytest.mark.slow
def test_a_new_experiment_asks_for_a_step_by_hand_and_is_shown_shared_and_written(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch)
    driver.window.show_page("lab")
    page = driver.window.lab
    page.questions.choose(KEY)
    driver.until(page.setup.run_button.isEnabled)
    assert page.setup.heading.text() == sentence(f"lab.question_{KEY}")
    assert not page.setup.sides.isVisible()
    driver.press(page.setup.run_button)
    for _ in range(2):
        driver.until(page.foot.go_button.isVisible)
        assert said("plan_page.side").is_in(page.foot.question.whole_text)
        driver.press(page.foot.go_button)
    driver.until(lambda: not driver.services.bridge.is_running and page.export_button.isVisible())
    expected = sentence("hidden.count", count=2, shown=1)
    driver.until(lambda: page.sentence.whole_text == expected)
    assert page.table.rowCount() == 2
    save_to(monkeypatch, tmp_path / "picture.png")
    page.save_picture()
    driver.until((tmp_path / "picture.png").is_file)
    assert QImage(str(tmp_path / "picture.png")).width() == 1200
    page.copy_text()
    driver.until(lambda: "Epochmark" in QGuiApplication.clipboard().text())
    save_to(monkeypatch, tmp_path / "plan.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "plan.json").is_file)
    written = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    assert (written["kind"], written["sentence"], len(written["runs"])) == (KEY, expected, 2)
    page.close_answer()
    page.earlier.setCurrentRow(0)
    driver.until(lambda: page.report is not None)
    assert sure(page.report).experiment.key == KEY
