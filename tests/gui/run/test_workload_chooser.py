"""Choosing a workload: among the recommended ones or all, by words, in the dialog and in the box."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.messages import sentence
from app.gui.run.workload_box import WorkloadBox, of_plans
from app.gui.run.workload_chooser import WorkloadChooser
from app.gui.services.bundle import Services
from tests.build import in_database, store
from tests.gui.driving import PATIENCE_MS, Driver, added
from tests.saying import said
from workloads import CATALOGUE, RECOMMENDED, STANDARD
from workloads.protocol.machine import Machine
from workloads.workload import MemoryNeed, Workload


def opened(dialog: WorkloadChooser, qtbot: QtBot) -> WorkloadChooser:
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: bool(dialog.table.entries.rows), timeout=PATIENCE_MS)
    return dialog


@pytest.fixture
def chooser(services: Services, machine: Machine, qtbot: QtBot) -> Iterator[WorkloadChooser]:
    in_database(services.paths.database, store, machine, 80.0, 60.0)
    dialog = opened(WorkloadChooser(services, machine, "mnist_mlp"), qtbot)
    yield dialog
    dialog.reject()


def shown(chooser: WorkloadChooser) -> list[str]:
    return [entry.workload.id for entry in chooser.table.entries.rows]


def cells(chooser: WorkloadChooser, workload_id: str) -> list[str]:
    model, row = chooser.table.entries, shown(chooser).index(workload_id)
    return [model.data(model.index(row, column)) for column in range(model.columnCount())]


def test_recommended_networks_come_first_then_all_for_training_or_prediction(chooser: WorkloadChooser) -> None:
    trained = [name for name in RECOMMENDED if CATALOGUE[name].trains]
    assert shown(chooser) == trained
    assert chooser.table.chosen is not None
    assert chooser.table.chosen.workload.id == "mnist_mlp"
    assert cells(chooser, STANDARD)[1:] == [sentence("workloads.devices", count=7), "about 10 min"]
    assert "RTX 4090" in cells(chooser, "gpt_mini")[1]
    chooser.purposes.buttons["prediction"].click()
    assert shown(chooser) == [name for name in RECOMMENDED if not CATALOGUE[name].trains]
    chooser.extents.buttons["all"].click()
    assert "vgg16_inference" in shown(chooser)
    assert "vgg16" not in shown(chooser)
    chooser.purposes.buttons["training"].click()
    assert shown(chooser)[: len(trained)] == trained
    assert {"vgg16", "demo", "matmul"} < set(shown(chooser))


def test_words_find_workloads_and_keys_choose(chooser: WorkloadChooser, qtbot: QtBot) -> None:
    found = {"study 002 VGG": ["flowers_vgg16_331"], "mooney VGG": ["flowers_vgg16_331"], "no such thing": []}
    for text, ids in (found | {"lstm_ptb": ["lstm_ptb_32", "lstm_ptb_64"]}).items():
        chooser.search.setText(text)
        assert shown(chooser) == ids
        assert chooser.choose_button.isEnabled() == bool(ids)
        assert said("workloads.nothing_found").is_all_of(chooser.title.text()) == (not ids)
    qtbot.keyClick(chooser.table, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    chooser.choose_button.click()
    assert chooser.chosen_id == "lstm_ptb_64"


def test_what_does_not_fit(
    services: Services, machine: Machine, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(10**11, 0))
    dialog = opened(WorkloadChooser(services, machine, STANDARD), qtbot)
    assert said("workloads.too_large").is_all_of(cells(dialog, STANDARD)[2])
    assert said("memory.computer_too_small", there_bytes="15 GB", need_bytes="93.1 GB", batch_size="100").begins(
        dialog.summary.whole_text
    )
    dialog.reject()


def test_the_box_lists_recent_and_recommended_ones_and_takes_any_other(services: Services, qtbot: QtBot) -> None:
    services.preferences.change(recent_workloads=("fcn_r", "storage", "gone"))
    box = added(qtbot, WorkloadBox(services, of_plans))
    listed = [box.itemData(number) for number in range(box.count())]
    assert listed == ["fcn_r", *RECOMMENDED, STANDARD]
    assert box.currentData() == STANDARD
    assert box.findData("storage") == box.findData("gone") == -1
    with qtbot.waitSignal(box.currentIndexChanged):
        box.setCurrentIndex(box.findData("mnist_cnn"))
    assert (box.currentData(), box.currentText()) == ("mnist_cnn", "MNIST CNN")


@pytest.mark.parametrize(("search", "expected"), [("lstm_ptb_64", "lstm_ptb_64"), ("", "mnist_cnn")])
def test_the_last_item_of_the_box_opens_the_chooser(driver: Driver, search: str, expected: str) -> None:
    driver.window.show_page("lab")
    box = driver.window.lab.setup.workload
    box.setCurrentIndex(box.findData("mnist_cnn"))

    def choose_there() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, WorkloadChooser)
        driver.until(lambda: bool(dialog.table.entries.rows))
        dialog.search.setText(search)
        (dialog.choose_button if search else dialog.close_button).click()

    QTimer.singleShot(100, choose_there)
    box.setCurrentIndex(box.count() - 1)
    assert box.currentData() == "mnist_cnn"  # until another one is chosen
    box.activated.emit(box.count() - 1)
    assert box.currentData() == expected
    driver.window.show_page("benchmark")
    QTimer.singleShot(0, choose_there)
    driver.press(driver.page.setup.browse_button)
    assert driver.page.setup.chosen_workload.id == (expected if search else STANDARD)
