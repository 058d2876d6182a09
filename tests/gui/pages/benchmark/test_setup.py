"""What is chosen before a run: the form that declarations make, the estimate, and getting the real data."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QFileDialog, QScrollArea, QSpinBox, QWidget

from app.core.messages import ENGLISH, format_time_left, sentence
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s, trash_runs
from app.core.titles import workload_title
from app.gui.charts.bar_list import AXIS_PX
from app.gui.pages.benchmark import setup as setup_view
from app.gui.pages.benchmark.dataset_row import DatasetRow
from app.gui.pages.benchmark.known_hardware import KnownHardware
from app.gui.pages.compare.page import ROW_PX
from app.gui.widgets.editors import FolderEdit, set_edited
from tests.build import in_database, store
from tests.core.datasets.server import Server
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import only, sure
from tests.workloads.test_settings import ROW, SENTENCES
from workloads import CATALOGUE, STANDARD, settings
from workloads.datasets import cifar10
from workloads.engines.info import TENSORFLOW
from workloads.protocol.machine import Gpu, Machine
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


def test_the_form_is_made_from_declarations_and_reaches_the_spec(driver: Driver) -> None:
    setup = driver.page.setup
    driver.choose_demo("crash", step_s=0.25)
    driver.press(setup.advanced_button)
    rest = setup.form.rest
    outcome = next(box for box in rest.findChildren(QComboBox) if box.accessibleName() == "Outcome")
    assert [outcome.itemText(number) for number in range(3)] == ["ok", "fail", "out_of_memory"]
    step = rest.findChildren(QDoubleSpinBox)[0]
    assert (step.minimum(), step.maximum(), step.suffix()) == (0.0, 60.0, " s")
    spec = setup.spec()
    assert spec.parameters == {"outcome": "crash", "step_s": 0.25}
    assert (spec.epochs, spec.steps, spec.threads, spec.precision) == (3, None, None, "float32")
    wanted: dict[str, ParameterValue] = {"epochs": 2, "steps": 3, "batch_size": 50, "jit": True, "threads": 4}
    wanted |= {"precision": "mixed_float16", "seed": 9}
    for name, value in wanted.items():
        setup.form.set_value(name, value)
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    spec = setup.spec()
    assert {name: getattr(spec, name) for name in wanted} == wanted
    assert spec.device == "cpu"


def test_only_lengths_that_make_a_difference_are_offered(driver: Driver) -> None:
    setup = driver.page.setup
    setup.advanced_button.setChecked(True)
    (epochs,) = [each for each in setup.form.findChildren(QSpinBox) if each.accessibleName() == "Epochs"]
    setup.choose_length("standard")
    setup.form.set_value("epochs", 3)
    setup.form.set_value("steps", 7)
    for preset, steps in (("quick", None), ("standard", 7), ("sustained", None)):
        setup.choose_length(preset)
        assert epochs.isEnabled() is (preset == "standard")
        spec = setup.spec()
        assert (spec.preset, spec.epochs, spec.steps) == (preset, 3 if steps else 1, steps)
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


def test_the_time_is_measured_by_earlier_runs_and_follows_every_choice(driver: Driver) -> None:
    setup, machine = driver.page.setup, driver.machine
    setup.choose_length("standard")
    driver.until(told_time(driver))
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
    setup.form.set_value("steps", 0)
    setup.form.set_value("epochs", 2)
    driver.until(told_time(driver, 4, epochs=2))


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


def editor_of(driver: Driver) -> FolderEdit:
    setup = driver.page.setup
    setup.choose("storage")
    return only(FolderEdit, setup.form.findChild(FolderEdit))


def test_a_run_needs_a_folder_and_the_form_is_open_for_it(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    editor.line.clear()
    answers = [str(tmp_path), "", str(tmp_path / "b")]
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: answers.pop(0))
    for _ in range(3):
        driver.press(editor.add_button)
    assert editor.line.text() == os.pathsep.join((str(tmp_path), str(tmp_path / "b")))


def store_runs(driver: Driver, *durations_s: float, verdict: str = "valid") -> list[int]:
    machine = driver.machine
    columns = {"verdict": verdict, "device": "cpu"}
    with Database(driver.services.paths.database) as database:
        return [store(database, machine, each, each, each, columns=columns) for each in durations_s]


def own(known: KnownHardware) -> list[tuple[str, float]]:
    return [(bar.kind, bar.value) for bar in known.bars.bars if bar.run is not None]


def test_own_runs_like_the_chosen_one_take_the_slot_and_a_click_opens_them(driver: Driver) -> None:
    known, setup, results = driver.page.setup.known, driver.page.setup, driver.window.results
    slot = sure(known.bars.slot)
    assert said("compare.you").is_all_of(slot[0])
    choose(driver, "demo")
    assert known.bars.slot == slot
    choose(driver, STANDARD)
    best, other = store_runs(driver, 1.5, 50.0)
    setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    assert own(known) == [("you", 1.5), ("own", 50.0)]
    assert any(bar.kind == "reference" for bar in known.bars.bars)
    for name, value in (("batch_size", 64), ("batch_size", 100)):
        setup.form.set_value(name, value)
        assert (known.bars.slot is None) == (value == 100)
    setup.choose("mnist_mlp")
    assert known.bars.slot is not None
    setup.choose(STANDARD)
    driver.until(lambda: own(known) == [("you", 1.5), ("own", 50.0)])
    place = [bar.kind for bar in known.bars.bars].index("you")
    row_px = (known.bars.height() - AXIS_PX) / len(known.bars.bars)
    at = QPoint(90, round((place + 0.5) * min(ROW_PX, row_px)))
    QTest.mouseClick(known.bars, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    driver.until(lambda: results.run is not None)
    assert sure(results.run).summary.id == best
    in_database(driver.services.paths.database, trash_runs, [best, other])
    driver.window.show_page("benchmark")
    driver.until(lambda: known.bars.slot is not None)


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, ROW))
    monkeypatch.setattr(TENSORFLOW, "settings", TENSORFLOW.settings | {ROW.name})
    for code, words in SENTENCES.items():
        monkeypatch.setitem(ENGLISH, code, words)


def test_a_setting_that_is_one_row_has_its_editor_in_all_forms(one_more: None, driver: Driver) -> None:
    setup, lab = driver.page.setup, driver.window.lab.setup
    choose(driver, "mnist_cnn")
    setup.form.set_value("autotune", "off")
    assert setup.spec().settings == {"autotune": False}
    driver.window.show_page("lab")
    editor = lab.sides.sides[1].editors["autotune"]
    assert said("ab_setup.of_side", side="B", label="Autotune").is_all_of(editor.accessibleName())
    lab.sides.what.setCurrentIndex(lab.sides.what.findData("autotune"))
    set_edited(editor, "on")
    driver.until(lambda: lab.plan is not None)
    assert sure(lab.plan).label_b == "Autotune"
