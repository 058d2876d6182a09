"""How many clicks it takes, with real mouse events; dialogs of the system are confirmed with Enter."""

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
from tests.build import store
from tests.core.doctor.cases import BLACKWELL, INVALID_PTX, driven, listing, work
from tests.gui.driving import Driver, slot_place


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
