"""What is chosen before a run: the form that declarations make, the estimate, and getting the real data."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDoubleSpinBox, QFileDialog, QScrollArea, QSpinBox, QWidget

from app.core.datasets.install import InstalledDataset, list_datasets
from app.core.messages import Message, format_time_left, sentence
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s, trash_runs
from app.core.titles import workload_title
from app.gui.pages.benchmark import dataset_row
from app.gui.pages.benchmark import setup as setup_view
from app.gui.pages.benchmark.dataset_row import DatasetRow
from app.gui.pages.benchmark.known_hardware import KnownHardware
from app.gui.pages.benchmark.setup import SetupView
from app.gui.widgets.editors import FolderEdit
from app.gui.widgets.form import ParameterForm
from tests.build import in_database, store
from tests.core.datasets.server import Server, halted
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE, STANDARD
from workloads.datasets import cifar10
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.parameters import Folders, Parameter
from workloads.protocol.spec import ParameterValue, RunSpec

NOTCH = 120


def choose(driver: Driver, workload: str) -> None:
    driver.page.setup.choose(workload)


def told_time(driver: Driver, minutes: int | None = None, *, epochs: int = 10) -> Callable[[], bool]:
    """Return what tells whether the form says a Standard run's time or, if that is unknown, its epochs."""
    shown = format_time_left(60.0 * minutes) if minutes else sentence("share.epochs", count=epochs)
    return lambda: shown in driver.length_text() and shown in driver.page.setup.cards["standard"].accessibleName()


def turn_wheel(widget: QWidget, *, up: bool = False) -> None:
    window = widget.window()
    place = QPointF(widget.mapTo(window, widget.rect().center()))
    QTest.wheelEvent(window.windowHandle(), place, QPoint(0, (3 if up else -3) * NOTCH))


def test_the_form_is_made_from_declarations(driver: Driver) -> None:
    driver.choose_demo("crash", step_s=0.25)
    form = driver.page.setup.form
    outcome = next(box for box in form.rest.findChildren(QComboBox) if box.accessibleName() == "Outcome")
    assert [outcome.itemText(number) for number in range(3)] == ["ok", "fail", "out_of_memory"]
    step = form.rest.findChildren(QDoubleSpinBox)[0]
    assert (step.minimum(), step.maximum(), step.suffix()) == (0.0, 60.0, " s")
    spec = driver.page.setup.spec()
    assert spec.parameters == {"outcome": "crash", "step_s": 0.25}
    assert (spec.epochs, spec.steps, spec.threads, spec.precision) == (3, None, None, "float32")


def test_all_settings_reach_the_spec(driver: Driver) -> None:
    setup = driver.page.setup
    driver.choose_demo()
    driver.press(setup.advanced_button)
    assert setup.form.isVisible()
    wanted: dict[str, ParameterValue] = {"epochs": 2, "steps": 3, "batch_size": 50, "jit": True, "threads": 4}
    wanted |= {"precision": "mixed_float16"}
    for name, value in (wanted | {"seed": 9}).items():
        setup.form.set_value(name, value)
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    spec = setup.spec()
    assert {name: getattr(spec, name) for name in wanted} == wanted
    assert (spec.seed, spec.device) == (9, "cpu")
    setup.choose_length("quick")
    assert (setup.spec().preset, setup.spec().epochs, setup.spec().steps) == ("quick", 1, None)


def test_only_lengths_that_make_a_difference_are_offered(driver: Driver) -> None:
    setup = driver.page.setup
    setup.form.set_value("epochs", 3)
    setup.form.set_value("steps", 7)
    setup.choose_length("sustained")
    assert (setup.spec().preset, setup.spec().epochs, setup.spec().steps) == ("sustained", 1, None)
    for kind in ("limits", "storage"):
        choose(driver, next(workload.id for workload in CATALOGUE.values() if workload.kind == kind))
        assert [setup.length.itemData(place) for place in range(setup.length.count())] == ["quick"]
        assert setup.preset == "quick"


def test_the_computer_is_one_line(driver: Driver) -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12_282 * 2**20)
    memory = sentence("setup.memory", memory="32 GB")
    cpu = "Ryzen 7 7800X3D"
    for gpus, cards in (((gpu,) * 2, "2 × RTX 4070"), ((), sentence("setup.no_gpu"))):
        driver.become(cpu_name="AMD Ryzen 7 7800X3D 8-Core Processor", gpus=gpus, memory_bytes=32 * 2**30)
        parts = f"{cpu} · {memory} · {cards}"  # the card last: the memory isn't its own
        assert said("setup.machine", parts=parts).is_all_of(driver.page.setup.machine_line.whole_text)


def test_a_place_is_kept_for_this_computer(driver: Driver) -> None:
    slot = sure(driver.page.setup.known.bars.slot)
    assert said("compare.you").is_all_of(slot[0])
    choose(driver, "demo")
    assert driver.page.setup.known.bars.slot == slot


def test_the_form_begins_at_its_first_line_and_tab_scrolls_to_where_it_goes(driver: Driver) -> None:
    setup = driver.page.setup
    driver.window.resize(800, 480)
    driver.open_settings()
    first, bar = setup.length, setup.form_area.verticalScrollBar
    driver.until(lambda: bar().maximum() > 100)
    bar().setValue(bar().maximum())
    assert first.visibleRegion().isEmpty()
    driver.window.side_bar.setFocus()
    for _ in range(40):
        QTest.keyClick(driver.window, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is first:
            break
    assert not first.visibleRegion().isEmpty()


def test_the_wheel_scrolls_and_changes_only_what_has_the_focus(driver: Driver) -> None:
    setup = driver.page.setup
    driver.window.resize(1024, 700)
    driver.open_settings()
    setup.run_button.setFocus()
    scroll = only(QScrollArea, setup.findChild(QScrollArea))
    bar = scroll.verticalScrollBar()
    driver.until(lambda: bar.maximum() > 0)
    editors: list[QWidget] = [*setup.more.findChildren(QSpinBox), *setup.more.findChildren(QComboBox)]
    for name in ("steps", "threads", "seed"):
        setup.form.set_value(name, 9)  # which the wheel could change up and down
    before = (setup.spec(), setup.device.currentIndex(), setup.dataset.choice.currentIndex())
    for editor in editors:
        scroll.ensureWidgetVisible(editor)
        place = bar.value()
        turn_wheel(editor, up=place > 0)
        assert (bar.value() != place, editor.hasFocus()) == (True, False), editor.accessibleName()
    assert (setup.spec(), setup.device.currentIndex(), setup.dataset.choice.currentIndex()) == before
    bar.setValue(0)
    setup.device.setCurrentIndex(0)
    setup.device.setFocus()
    driver.until(setup.device.hasFocus)
    turn_wheel(setup.device)
    assert (setup.device.currentIndex() > 0, bar.value()) == (True, 0)


def test_the_first_screen_has_three_cards_and_asks_for_nothing_else(driver: Driver) -> None:
    setup = driver.page.setup
    quick, current, suite = setup.cards.values()
    driver.until(lambda: said("setup.current_title_cpu").begins(current.accessibleName()))
    assert quick.isChecked()
    assert not any(each.isVisible() for each in (setup.device, setup.length, setup.dataset, setup.form))
    driver.press(current)
    assert setup.chosen_workload.id == "resnet50_224"
    assert "RTX 4090" in current.accessibleName()
    assert any(bar.name == "RTX 4090" for bar in setup.known.bars.bars)
    driver.press(suite)
    assert not setup.known.bars.isVisible()
    choose(driver, "mnist_mlp")
    assert (current.isChecked(), current.title.text()) == (True, workload_title("mnist_mlp"))
    driver.press(quick)
    assert (setup.spec().workload, setup.spec().batch_size) == (STANDARD, 100)
    driver.press(current)
    assert setup.spec().workload == "mnist_mlp"
    choose(driver, "resnet50_224")
    assert said("setup.current_title_cpu").begins(current.accessibleName())


@pytest.mark.slow
def test_with_a_usable_card_the_current_network_is_chosen_as_it_is_ranked(driver: Driver) -> None:
    setup = driver.page.setup
    assert setup.doctor_button.isVisible()
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12_000_000_000)
    driver.become(gpus=(gpu,), os_name="Linux", architecture="x86_64")
    spec = setup.spec()
    assert (spec.workload, spec.precision, spec.batch_size) == ("gpt_mini", "mixed_float16", 16)
    assert setup.cards["current"].isChecked()
    assert said("setup.current_title").begins(setup.cards["current"].accessibleName())
    assert not setup.doctor_button.isVisible()
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    assert (setup.cards["current"].isChecked(), setup.spec().workload) == (True, "resnet50_224")
    driver.press(setup.doctor_button)
    assert driver.window.page is driver.window.hardware


@pytest.mark.slow
def test_with_a_well_known_card_the_question_is_whether_it_is_normal(driver: Driver) -> None:
    setup = driver.page.setup
    gpu = Gpu("NVIDIA GeForce RTX 5070", "nvidia", memory_bytes=12_000_000_000)
    driver.become(gpus=(gpu,), os_name="Linux", architecture="x86_64")
    card = setup.cards["current"]
    assert card.isChecked()
    assert said("setup.normal_title", device="RTX 5070").is_all_of(card.title.text())
    assert said("setup.normal_text", device="RTX 5070", count=5).is_in(card.accessibleName())
    spec = setup.spec()
    assert (spec.workload, spec.precision, spec.device) == ("matmul", "mixed_float16", "auto")
    ranked = [bar for bar in setup.known.bars.bars if bar.row is not None]
    assert {bar.row.precision for bar in ranked if bar.row is not None} == {"fp16"}
    assert "RTX 5070" in [bar.name for bar in ranked]
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    assert said("setup.current_title_cpu").is_all_of(card.title.text())


@pytest.mark.slow
def test_the_length_of_the_latest_run_is_remembered(driver: Driver) -> None:
    driver.run_demo()
    assert driver.services.preferences.settings.preset == "standard"
    assert SetupView(driver.services).preset == "standard"


def test_the_time_is_measured_by_earlier_runs(driver: Driver) -> None:
    setup, machine = driver.page.setup, driver.machine
    setup.choose_length("standard")
    driver.until(told_time(driver))
    in_database(driver.services.paths.database, store, machine, 65.0, 60.0, 60.0)
    setup.refresh()
    driver.until(told_time(driver, 10, epochs=10))
    setup.form.set_value("epochs", 2)
    driver.until(told_time(driver, 2, epochs=2))


def test_the_time_follows_every_choice(driver: Driver) -> None:
    setup, machine = driver.page.setup, driver.machine
    setup.choose_length("standard")
    with Database(driver.services.paths.database) as database:
        store(database, machine, 65.0, 60.0, 60.0)
        store(database, machine, 130.0, 120.0, 120.0, device="cpu")
    setup.refresh()
    driver.until(told_time(driver, 10))
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    assert told_time(driver)()
    driver.until(told_time(driver, 20))
    setup.form.set_value("steps", 50)  # a tenth of an epoch
    driver.until(told_time(driver, 2))
    setup.form.set_value("steps", 501)  # more than an epoch has
    driver.qtbot.wait(2 * setup_view.ESTIMATE_MS)
    assert told_time(driver)()


def test_only_the_time_of_the_latest_choice_is_shown(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    setup, machine = driver.page.setup, driver.machine
    with Database(driver.services.paths.database) as database:
        store(database, machine, 65.0, 60.0, 60.0)
    setup.choose_length("standard")
    setup.refresh()  # it may have looked before
    driver.until(told_time(driver, 10))
    go_on = threading.Event()
    looks: dict[int, threading.Thread] = {}

    def slow(database: Database, spec: RunSpec, machine: Machine) -> float | None:
        looks[spec.epochs] = threading.current_thread()
        assert spec.epochs != 100 or go_on.wait(20)
        return expected_duration_s(database, spec, machine)

    monkeypatch.setattr(setup_view, "expected_duration_s", slow)
    for epochs in range(90, 101):
        setup.form.set_value("epochs", epochs)
    driver.until(lambda: 100 in looks)
    assert list(looks) == [100]
    setup.form.set_value("epochs", 11)
    driver.until(told_time(driver, 11, epochs=11))
    go_on.set()
    looks[100].join(20)
    QCoreApplication.processEvents()
    assert told_time(driver, 11, epochs=11)()


def look_again(driver: Driver, server: Server) -> DatasetRow:
    row = driver.page.setup.dataset
    driver.open_settings()
    driver.page.setup.refresh()
    offered = sentence("data_row.get_sized", title="CIFAR-10", size_bytes=len(server.content))
    driver.until(lambda: row.get_button.isVisible() and row.get_button.accessibleName() == offered)
    return row


def test_the_data_is_fetched_when_its_button_is_pressed(driver: Driver, server: Server) -> None:
    row = look_again(driver, server)
    assert row.choice.findData("real") < 0
    assert server.ranges == []
    driver.press(row.get_button)
    driver.until(lambda: said("data_row.now_installed").is_in(driver.message))
    assert server.ranges == [None]
    driver.until(lambda: said("data_row.auto_real").is_all_of(row.choice.itemText(0)))
    row.choice.setCurrentIndex(row.choice.findData("real"))
    assert driver.page.setup.spec().data == "real"
    assert cifar10.SOURCE.is_stored_in(driver.services.paths.datasets)
    assert not row.get_button.isVisible()


def test_data_that_only_its_user_has_is_imported_in_the_settings(driver: Driver) -> None:
    row = driver.page.setup.dataset
    driver.open_settings()
    choose(driver, next(workload.id for workload in CATALOGUE.values() if workload.dataset == "ptb"))
    driver.until(
        lambda: said("data_row.import_own").is_all_of(row.get_button.text().strip()) and row.get_button.isVisible()
    )
    assert row.choice.findData("real") < 0
    driver.press(row.get_button)
    assert driver.window.page is driver.window.settings
    card = driver.window.settings.data_card
    driver.until(lambda: not card.visibleRegion().isEmpty())


def test_a_download_continues_while_another_workload_is_shown(driver: Driver, server: Server) -> None:
    (_, go_on), row = halted(server), look_again(driver, server)
    driver.press(row.get_button)
    driver.until(lambda: server.ranges != [])
    choose(driver, "demo")
    assert not row.choice.isEnabled()
    assert not row.progress.isVisible()
    choose(driver, "cifar10_keras_cnn")
    assert row.progress.cancel_button.isVisible()
    assert row.progress.isVisible()
    choose(driver, "demo")
    go_on.set()
    driver.until(lambda: said("data_row.now_installed").is_in(driver.message))
    driver.qtbot.wait(50)
    assert not row.choice.isEnabled()
    choose(driver, "cifar10_keras_cnn")
    assert said("data_row.auto_real").is_all_of(row.choice.itemText(0))
    assert not row.progress.cancel_button.isVisible()


def test_a_slow_disk_neither_stops_the_window_nor_has_the_last_word(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = driver.page.setup.dataset
    driver.open_settings()
    driver.until(row.get_button.isVisible)
    go_on = threading.Event()
    looks: list[threading.Thread] = []

    def look(paths: Paths) -> list[InstalledDataset]:
        looks.append(threading.current_thread())
        first = len(looks) == 1
        assert not first or go_on.wait(20)
        return [replace(dataset, installed=not first) for dataset in list_datasets(paths)]

    monkeypatch.setattr(dataset_row, "list_datasets", look)
    driver.page.setup.refresh()
    driver.until(lambda: len(looks) == 1)
    assert row.get_button.isVisible()
    driver.page.setup.refresh()
    driver.until(lambda: row.state.isVisible() and row.choice.findData("real") >= 0)
    go_on.set()
    looks[0].join(20)
    QCoreApplication.processEvents()
    assert row.choice.findData("real") >= 0
    assert threading.main_thread() not in looks


PLACES = Parameter("places", Folders(), "", Message("Where to <measure>"), required=True)


def editor_of(driver: Driver) -> FolderEdit:
    setup = driver.page.setup
    setup.choose("storage")
    return only(FolderEdit, setup.form.findChild(FolderEdit))


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
    editor = only(FolderEdit, form.findChild(FolderEdit))
    changes: list[object] = []
    form.changed.connect(lambda: changes.append(form.values()))
    form.set_value("places", "/a")
    assert changes == [{"places": "/a"}]
    assert (editor.accessibleName(), editor.line.accessibleName()) == ("parameter_label.places",) * 2
    assert said("folder_edit.add_to", name="parameter_label.places").is_all_of(editor.add_button.accessibleName())
    assert "&lt;measure&gt;" in editor.toolTip()
    assert editor.focusProxy() is editor.line
    form.deleteLater()


def store_runs(driver: Driver, *durations_s: float, verdict: str = "valid") -> list[int]:
    machine = driver.machine
    columns = {"verdict": verdict, "device": "cpu"}
    with Database(driver.services.paths.database) as database:
        return [store(database, machine, each, each, each, columns=columns) for each in durations_s]


def own(known: KnownHardware) -> list[tuple[str, float]]:
    return [(bar.kind, bar.value) for bar in known.bars.bars if bar.run is not None]


def test_own_runs_take_the_slot_and_a_click_opens_them(driver: Driver) -> None:
    known, setup = driver.page.setup.known, driver.page.setup
    assert known.bars.slot is not None
    best, _ = store_runs(driver, 1.5, 50.0)
    setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    assert own(known) == [("you", 1.5), ("own", 50.0)]
    assert any(bar.kind == "reference" for bar in known.bars.bars)
    place = [bar.kind for bar in known.bars.bars].index("you")
    row_px = (known.bars.height() - 20) / len(known.bars.bars)
    at = QPoint(90, round((place + 0.5) * min(64.0, row_px)))
    QTest.mouseClick(known.bars, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    results = driver.window.results
    driver.until(lambda: results.run is not None)
    assert sure(results.run).summary.id == best


def test_other_settings_and_other_workloads_have_the_empty_slot(driver: Driver) -> None:
    setup, known = driver.page.setup, driver.page.setup.known
    store_runs(driver, 50.0)
    setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    setup.form.set_value("batch_size", 64)
    assert known.bars.slot is not None
    setup.form.set_value("batch_size", 100)
    assert own(known) == [("you", 50.0)]
    setup.choose("mnist_mlp")
    assert known.bars.slot is not None
    setup.choose(STANDARD)
    driver.until(lambda: known.bars.slot is None)


def test_a_run_that_was_deleted_elsewhere_leaves_its_place(driver: Driver) -> None:
    known = driver.page.setup.known
    ids = store_runs(driver, 50.0, verdict="caution")
    driver.page.setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    in_database(driver.services.paths.database, trash_runs, ids)
    driver.window.show_page("results")
    driver.window.show_page("benchmark")
    driver.until(lambda: known.bars.slot is not None)


def test_only_standard_has_a_number_of_epochs(driver: Driver) -> None:
    setup = driver.page.setup
    setup.advanced_button.setChecked(True)
    (epochs,) = [each for each in setup.form.findChildren(QSpinBox) if each.accessibleName() == "Epochs"]
    for preset, is_used in (("standard", True), ("quick", False), ("standard", True)):
        setup.choose_length(preset)
        assert epochs.isEnabled() is is_used
