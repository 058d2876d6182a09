"""Folders in the form: typed or chosen, required before a run, and looked at as soon as they change."""

import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from app.gui.pages.benchmark.parameter_form import ParameterForm
from app.gui.widgets.editors import FolderEdit
from tests.gui.driving import Driver
from tests.saying import said
from workloads.protocol.parameters import Parameter

PLACES = Parameter("places", "folders", "", "Where to <measure>", required=True)


def editor_of(driver: Driver) -> FolderEdit:
    setup = driver.page.setup
    setup.workload.choose("storage")
    editor = setup.form.findChild(FolderEdit)
    assert isinstance(editor, FolderEdit)
    return editor


def test_a_run_needs_a_folder_and_the_form_is_open_for_it(driver: Driver, tmp_path: Path) -> None:
    setup = driver.page.setup
    assert not setup.form.isVisible()
    editor = editor_of(driver)
    assert editor.isVisible()
    assert setup.problem.isVisible()
    assert said("workload.needs_folder", workload="storage").begins(setup.problem.text())
    assert not setup.run_button.isEnabled()
    editor.line.setText(str(tmp_path))
    assert setup.run_button.isEnabled()
    assert not setup.problem.isVisible()
    spec = setup.spec()
    assert spec.parameters == {"folders": str(tmp_path), "images": 1_000, "network": "small"}
    editor.line.setText(str(tmp_path / "nowhere"))
    assert said("folder.missing", folder=f"'{tmp_path / 'nowhere'}'").is_all_of(setup.problem.text())
    assert not setup.run_button.isEnabled()


def test_folders_are_added_by_a_dialog(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [str(tmp_path), "", str(tmp_path / "b")]
    asked: list[str] = []

    def choose(parent: object, title: str, start: str) -> str:
        asked.append(start)
        return answers.pop(0)

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", choose)
    (tmp_path / "b").mkdir()
    editor = editor_of(driver)
    for _ in range(3):
        driver.press(editor.add_button)
    assert editor.line.text() == os.pathsep.join((str(tmp_path), str(tmp_path / "b")))
    assert asked == ["", str(tmp_path), str(tmp_path)]
    assert driver.page.setup.run_button.isEnabled()


def test_the_editor_is_described_and_follows_values(driver: Driver) -> None:
    form = ParameterForm([PLACES])
    editor = form.findChild(FolderEdit)
    assert isinstance(editor, FolderEdit)
    changes: list[object] = []
    form.changed.connect(lambda: changes.append(form.values()))
    form.set_value("places", "/a")
    assert changes == [{"places": "/a"}]
    assert (editor.accessibleName(), editor.line.accessibleName()) == ("Places", "Places")
    assert said("folder_edit.add_to", name="Places").is_all_of(editor.add_button.accessibleName())
    assert "&lt;measure&gt;" in editor.toolTip()
    assert editor.focusProxy() is editor.line
    form.deleteLater()


def test_the_time_of_a_standard_run_is_shown(driver: Driver, tmp_path: Path) -> None:
    editor_of(driver).line.setText(str(tmp_path))
    standard = driver.page.setup.presets["standard"]
    driver.until(lambda: "about 1 min" in standard.accessibleName())
