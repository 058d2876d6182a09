"""How many clicks it takes, with real mouse events; dialogs of the system are confirmed with Enter."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.core.doctor.diagnosis import Diagnosis
from app.core.doctor.rules import diagnose
from app.core.known_lines.signals import signal
from app.core.storage.database import Database
from app.gui.pages.hardware import doctor_view
from app.gui.run.share_dialog import ShareDialog
from app.gui.run.verdict_dialog import VerdictDialog
from tests.build import GOLDEN, store
from tests.core.doctor.cases import BLACKWELL, INVALID_PTX, driven, listing, work
from tests.gui.driving import Driver, slot_place
from tests.gui.pages.results.using import save_to
from tests.gui.shell.test_imports import drop
from tests.saying import said
from tests.sure import sure
from workloads.protocol.machine import Gpu


class Hand:
    def __init__(self) -> None:
        self.clicks = 0

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        assert widget.isVisible(), widget.accessibleName()
        assert widget.isEnabled(), widget.accessibleName()
        self.clicks += 1
        place = at if at is not None else widget.rect().center()
        assert widget.rect().contains(place)
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)


@pytest.fixture
def hand() -> Hand:
    return Hand()


def store_runs(driver: Driver, *durations_s: float) -> list[int]:
    """Store runs of the standard workload on this computer, before anything is shown."""
    machine = driver.machine
    columns = {"verdict": "valid", "device": "cpu"}
    with Database(driver.services.paths.database) as database:
        ids = [store(database, machine, each, each, each, columns=columns) for each in durations_s]
    driver.page.setup.refresh()
    driver.until(lambda: driver.page.setup.known.bars.slot is None)
    return ids


def click_row(driver: Driver, hand: Hand, run_id: int) -> None:
    results = driver.window.results
    driver.until(lambda: run_id in results.model.rows)
    index = results.model.index(results.model.rows.index(run_id), 1)
    hand.click(results.table.viewport(), results.table.visualRect(index).center())


def click_own_bar(driver: Driver, hand: Hand) -> None:
    bars = driver.page.setup.known.bars
    at = QPoint(bars.width() // 3, 0)
    pointed: list[Any] = []
    bars.pointed.connect(pointed.append)
    for y in range(0, bars.height(), 5):
        at.setY(y)
        QTest.mouseMove(bars, at)
        if pointed and pointed[-1] is not None and pointed[-1].kind == "you":
            break
    hand.click(bars, at)


@pytest.mark.slow
def test_from_a_run_to_its_picture_on_disk_in_three(
    driver: Driver, hand: Hand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver.choose_demo(epochs=3)
    save_to(monkeypatch, tmp_path / "mine.png")
    hand.click(driver.page.setup.run_button)
    driver.wait_for_result()
    hand.click(driver.page.share_button)
    dialog = sure(driver.page.findChild(ShareDialog))
    driver.until(dialog.save_button.isEnabled)
    hand.click(dialog.save_button)
    driver.until((tmp_path / "mine.png").exists)
    assert hand.clicks <= 3


def test_from_an_old_run_to_a_csv_file_in_three(
    driver: Driver, hand: Hand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, _ = store_runs(driver, 50.0, 60.0)
    save_to(monkeypatch, tmp_path / "old.csv")
    hand.click(driver.window.side_bar.places["results"])
    click_row(driver, hand, first)
    hand.click(driver.window.results.export_button)
    driver.until(lambda: said("export.done", name="old.csv", count="1").is_all_of(driver.message))
    assert hand.clicks <= 3


def test_comparing_with_an_own_run_takes_three(driver: Driver, hand: Hand) -> None:
    best, _ = store_runs(driver, 50.0, 60.0)
    click_own_bar(driver, hand)
    results = driver.window.results
    driver.until(lambda: results.detail is not None and results.run is not None)
    assert results.detail is not None
    hand.click(results.detail.more_button)
    menu = results.detail.commands.menu
    hand.click(menu, menu.actionGeometry(results.detail.commands.actions["compare"]).center())
    compared = driver.window.compare
    driver.until(lambda: [bar.run.id for bar in compared.bar_list.bars if bar.run is not None] == [best])
    assert hand.clicks <= 3


def test_comparing_with_any_run_of_the_history_takes_two(driver: Driver, hand: Hand) -> None:
    first, _ = store_runs(driver, 50.0, 60.0)
    driver.open_results()
    click_row(driver, hand, first)
    driver.window.results.commands.actions["compare"].trigger()  # from the menu of the row
    compared = driver.window.compare
    driver.until(lambda: [bar.run.id for bar in compared.bar_list.bars if bar.run is not None] == [first])
    assert hand.clicks <= 2


@pytest.mark.slow
def test_running_again_takes_one(driver: Driver, hand: Hand) -> None:
    driver.run_demo(epochs=2)
    hand.click(driver.page.again_button)
    driver.until(lambda: len(driver.stored()) == 2 and not driver.services.bridge.is_running)
    driver.wait_for_result()
    assert hand.clicks <= 1


def test_seeing_why_the_gpu_is_not_used_takes_two(
    driver: Driver, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"{INVALID_PTX}\nlibdevice not found at ./libdevice.10.bc"
    trials = [listing(BLACKWELL), work(), work("gpu:0", status="failed", exit_code=1, log=said)]
    diagnosis = diagnose(driven(BLACKWELL), trials)

    def examine(*_: Any) -> Diagnosis:
        return diagnosis

    monkeypatch.setattr(doctor_view, "examine", examine)
    bar, action = driver.window.side_bar, driver.window.action("menu.doctor")
    hand.click(bar.menu_button)
    driver.until(bar.menu.isVisible)
    hand.click(bar.menu, bar.menu.actionGeometry(action).center())
    doctor = driver.window.hardware.doctor
    title = signal("gpu_too_new").title
    driver.until(lambda: doctor.isVisible() and doctor.head.text().endswith(f"{title}."))
    assert hand.clicks <= 2


@pytest.mark.slow
def test_the_first_number_takes_one(driver: Driver, hand: Hand) -> None:
    driver.choose_demo()
    hand.click(driver.page.setup.run_button)
    assert driver.wait_for_result().value is not None
    assert hand.clicks <= 1


def test_todays_network_is_run_from_compare_with_one_click(driver: Driver, hand: Hand) -> None:
    driver.window.show_page("compare")
    compare, asked = driver.window.compare, list[str]()
    compare.show_workload("resnet50_224")
    driver.until(lambda: compare.bar_list.slot is not None)
    driver.page.setup.run_requested.disconnect()  # a real run takes long
    driver.page.setup.run_requested.connect(lambda spec, _: asked.append(spec.workload))
    hand.click(compare.bar_list, slot_place(compare.bar_list))
    assert driver.window.page is driver.page
    assert asked == ["resnet50_224"]
    assert hand.clicks <= 1


def test_a_friends_bar_takes_one_drag_whatever_compare_shows(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "friend.json").write_bytes(GOLDEN.read_bytes())
    driver.window.show_page("compare")
    compare = driver.window.compare
    compare.show_workload("lstm_text_generation")
    drop(driver, tmp_path / "friend.json")
    driver.until(lambda: any(bar.kind == "imported" for bar in compare.bar_list.bars))


@pytest.mark.slow
def test_why_a_result_has_a_caution_takes_one(driver: Driver, hand: Hand) -> None:
    driver.run_demo(epochs=3)
    hand.click(driver.view.headline.why_button)
    assert driver.window.findChild(VerdictDialog) is not None
    assert hand.clicks <= 1


def test_why_a_card_is_idle_takes_none(driver: Driver) -> None:
    offer = driver.page.setup.device_row
    for os_name in ("Windows 11", "Linux 6.1"):  # where no build uses the card, and where another engine does
        driver.become(gpus=(Gpu("AMD Radeon RX 7900 XTX", "amd", source="sysfs", architecture="gfx1100"),))
        driver.become(os_name=os_name, architecture="x86_64")
        driver.until(offer.help_text.isVisible)
        assert "RX 7900 XTX" in offer.help_text.whole_text
