"""Choosing among all workloads: by kind, by words, by what they take here; and finding that out."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.storage.database import Database
from app.gui.pages.benchmark.workload_chooser import KINDS, WorkloadChooser
from app.gui.pages.benchmark.workload_table import WorkloadTable
from app.gui.services.bundle import Services
from tests.core.storage.storing import store
from tests.gui.driving import PATIENCE_MS, Driver
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.workload import MemoryNeed, Workload


@pytest.fixture
def chooser(services: Services, machine: Machine, qtbot: QtBot) -> Iterator[WorkloadChooser]:
    with Database(services.paths.database) as database:
        store(database, machine, 80.0, 60.0)
    dialog = WorkloadChooser(services, machine, "mnist_cnn", {("fcn_r", "tensorflow", "auto"): 40.0})
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: bool(dialog.table.entries.rows), timeout=PATIENCE_MS)
    yield dialog
    dialog.reject()


def shown(chooser: WorkloadChooser) -> list[str]:
    return [entry.workload.id for entry in chooser.table.entries.rows]


def cells(chooser: WorkloadChooser, workload_id: str) -> list[str]:
    model, row = chooser.table.entries, shown(chooser).index(workload_id)
    return [model.data(model.index(row, column)) for column in range(model.columnCount())]


def test_all_workloads_are_there_and_the_chosen_one_is_marked(chooser: WorkloadChooser) -> None:
    assert shown(chooser) == list(CATALOGUE)
    assert chooser.table.chosen is not None
    assert chooser.table.chosen.workload.id == "mnist_cnn"
    assert chooser.title.text() == "MNIST CNN (mnist_cnn)"
    assert "1,199,882 parameters" in chooser.facts.toolTip() + chooser.facts.text()
    assert cells(chooser, "cifar10_keras_cnn")[1:3] == ["Song 2019", "about 10 min 0 s"]
    assert cells(chooser, "fcn_r")[2] == "about 40 s"
    assert cells(chooser, "mnist_cnn")[2] == "unknown"
    assert cells(chooser, "resnet_50")[4] == "generated"


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS if kind])
def test_a_kind_shows_only_its_workloads(chooser: WorkloadChooser, kind: str) -> None:
    chooser.kinds.buttons[kind].click()
    assert shown(chooser) == [name for name, workload in CATALOGUE.items() if workload.kind == kind]
    assert shown(chooser)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("study 002 INFERENCE xception", ["flowers_xception_331_inference"]),
        ("mooney INFERENCE xception", ["flowers_xception_331_inference"]),
        ("lstm_ptb", ["lstm_ptb_32", "lstm_ptb_64"]),
        ("no such thing", []),
    ],
)
def test_words_are_looked_for_everywhere(chooser: WorkloadChooser, text: str, ids: list[str]) -> None:
    chooser.search.setText(text)
    assert shown(chooser) == ids
    assert chooser.choose_button.isEnabled() == bool(ids)
    if not ids:
        assert said("workloads.nothing_found").is_all_of(chooser.title.text())


def test_the_keyboard_alone_chooses(chooser: WorkloadChooser, qtbot: QtBot) -> None:
    chooser.search.setText("lstm_ptb")
    qtbot.keyClick(chooser.table, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    chooser.choose_button.click()
    assert chooser.chosen_id == "lstm_ptb_64"


def test_cancelling_leaves_the_choice(chooser: WorkloadChooser) -> None:
    chooser.search.setText("lstm_ptb")
    chooser.close_button.click()
    assert chooser.chosen_id == "mnist_cnn"


@pytest.mark.long
@pytest.mark.slow
def test_a_probe_estimates_the_time_of_a_whole_run(chooser: WorkloadChooser, qtbot: QtBot) -> None:
    chooser.search.setText("demo")
    chooser.probe_button.click()
    assert not chooser.probe_button.isEnabled()
    assert said("workloads.probing").is_in(chooser.answer.text())
    qtbot.waitUntil(lambda: "timing" not in chooser.answer.text(), timeout=PATIENCE_MS)
    assert said("workloads.duration").is_in(chooser.answer.text())
    assert cells(chooser, "demo")[2] == "about 1 s"
    assert chooser.probe_button.isEnabled()


def test_a_workload_that_does_not_fit_says_so_and_is_not_probed(
    services: Services, machine: Machine, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(10**11, 0))
    dialog = WorkloadChooser(services, machine, "demo", {})
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: bool(dialog.table.entries.rows), timeout=PATIENCE_MS)
    assert cells(dialog, "demo")[3] == "93.1 GB"
    assert said("memory.computer_too_small", there_bytes="15 GB", need_bytes="93.1 GB", batch_size="100").begins(
        dialog.answer.text()
    )
    assert not dialog.probe_button.isEnabled()
    dialog.reject()


def test_the_button_opens_it_and_takes_the_choice_over(driver: Driver) -> None:
    setup = driver.page.setup

    def choose_there() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, WorkloadChooser)
        driver.until(lambda: bool(dialog.table.entries.rows))
        dialog.search.setText("mnist_mlp")
        dialog.choose_button.click()

    QTimer.singleShot(100, choose_there)
    driver.press(setup.browse_button)
    assert setup.chosen_workload.id == "mnist_mlp"
    assert "30 epochs" not in setup.presets["standard"].text()


def test_a_workload_that_certainly_does_not_fit_cannot_be_started(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = driver.services.finder
    assert finder.machine is not None
    finder.machine = replace(finder.machine, memory_bytes=10**9)
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(2 * 10**9, 0))
    driver.choose_demo()
    assert said("memory.computer_too_small", need_bytes="1.9 GB", batch_size="100").begins(
        driver.page.setup.problem.text()
    )
    assert not driver.page.setup.run_button.isEnabled()


def test_no_column_of_the_chooser_is_cut(services: Services, machine: Machine, qtbot: QtBot) -> None:
    chooser = WorkloadChooser(services, machine, "demo", {})
    qtbot.addWidget(chooser)
    chooser.show()
    table = chooser.findChild(WorkloadTable)
    assert isinstance(table, WorkloadTable)
    model = table.model()
    qtbot.waitUntil(lambda: model.rowCount() > 0, timeout=PATIENCE_MS)
    metrics, padding_px = table.fontMetrics(), 2 * 9
    for column in (0, 1):
        texts = [model.index(row, column).data() for row in range(model.rowCount())]
        assert max(map(metrics.horizontalAdvance, texts)) + padding_px <= table.columnWidth(column)
    assert table.horizontalScrollBar().maximum() == 0
