"""The page of the machine: its parts, and readings that are taken only while they are looked at."""

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.core.model import Gpu, GpuReading, Machine, Telemetry
from app.gui.hardware_page import SPAN_S, HardwarePage, figure_texts
from app.gui.services import Services
from tests.gui.conftest import Told

HOSTILE = '<img src="file:///etc/passwd"><b>Fast</b> CPU'


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> Iterator[HardwarePage]:
    page = HardwarePage(services)
    qtbot.addWidget(page)
    page.resize(840, 650)
    yield page
    page.hide()


def labels(page: HardwarePage) -> list[QLabel]:
    """Return the labels of the parts' values."""
    found = [page.parts.itemAtPosition(number, 1) for number in range(page.parts.rowCount())]
    return [widget for item in found if item is not None and isinstance(widget := item.widget(), QLabel)]


def looking() -> int:
    return sum(thread.name == "monitor" for thread in threading.enumerate())


def test_the_parts_are_shown_when_they_are_found_and_can_be_selected(
    page: HardwarePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    assert not page.copy_button.isEnabled()
    services.finder.machine = machine
    services.finder.found.emit()
    texts = [label.text() for label in labels(page)]
    assert texts[:3] == ["Test CPU", "4 physical, 8 logical", "16.0 GB"]
    for label in labels(page):
        assert label.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByKeyboard
        assert label.accessibleName().endswith(label.text())


def test_unknown_parts_say_so_and_names_are_never_read_as_html(page: HardwarePage, services: Services) -> None:
    services.finder.machine = Machine(HOSTILE, None, None, None, "Test OS", "x86_64", "3.12.1", None)
    services.finder.found.emit()
    texts = [label.text() for label in labels(page)]
    assert texts[0] == HOSTILE
    assert texts[1:3] == ["n/a physical, n/a logical", "n/a"]
    assert {label.textFormat() for label in labels(page)} == {Qt.TextFormat.PlainText}


def test_looking_again_shows_what_is_new(page: HardwarePage, services: Services, qtbot: QtBot) -> None:
    services.finder.machine = Machine("Old CPU", 1, 1, 1, "Test OS", "x86_64", "3.12.1", False)
    services.finder.found.emit()
    page.show()
    QTest.mouseClick(page.look_button, Qt.MouseButton.LeftButton)
    assert not page.look_button.isEnabled()
    qtbot.waitUntil(page.look_button.isEnabled, timeout=10_000)
    assert "Old CPU" not in page.text()
    assert labels(page)[0].text() == services.finder.machine.cpu_name


def test_the_parts_can_be_copied(page: HardwarePage, services: Services, machine: Machine, told: Told) -> None:
    services.finder.machine = machine
    services.finder.found.emit()
    page.show()
    QTest.mouseClick(page.copy_button, Qt.MouseButton.LeftButton)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[:2] == ["Processor: Test CPU", "Cores: 4 physical, 8 logical"]
    assert told.messages == [("The machine's parts are on the clipboard.", "")]


def test_readings_are_taken_while_the_page_is_looked_at_and_no_longer(page: HardwarePage, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)
    page.show()
    assert page.is_sampling
    assert looking() == 1
    qtbot.waitUntil(lambda: page.figures.texts[3][1] != "n/a", timeout=10_000)
    assert page.figures.texts[0][1].endswith(" %")
    assert page.chart.entries
    assert page.chart.accessibleDescription() != "No readings"
    page.hide()
    assert not page.is_sampling
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_a_page_that_comes_back_begins_anew(page: HardwarePage, qtbot: QtBot) -> None:
    page.show()
    page._arrived.append((1000.0, Telemetry(cpu_pct=50.0)))
    page._on_tick()
    assert page.figures.texts[0][1] == "50 %"
    page.hide()
    page.show()
    assert not page._samples
    assert looking() >= 1
    page.hide()
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_only_the_last_two_minutes_are_kept(page: HardwarePage) -> None:
    for number in range(500):
        page._arrived.append((1000.0 + number, Telemetry(cpu_pct=float(number % 100))))
    page._on_tick()
    assert page._samples[-1].t_s - page._samples[0].t_s == SPAN_S
    (left, right), _ = page.chart.viewRange()
    assert (left, right) == (499.0 - SPAN_S, 499.0)


def test_what_a_machine_does_not_tell_is_not_available() -> None:
    assert [text for _, text in figure_texts(Telemetry(), None)] == ["n/a"] * 4


def test_each_gpu_has_its_readings_and_a_missing_one_has_none(machine: Machine) -> None:
    first = GpuReading(0, utilization_pct=97.4, memory_used_bytes=7_800_000_000, temperature_c=71.0, power_w=186.2)
    card = Gpu("NVIDIA GeForce RTX 4070", "nvidia", 12_000_000_000)
    assert figure_texts(Telemetry(gpus=(first,)), None)[4:] == [
        ("GPU", "97 %"),
        ("GPU power", "186 W"),
        ("GPU temperature", "71 °C"),
        ("GPU memory", "7.8 GB"),
    ]
    two = Machine("CPU", 4, 8, 16_000_000_000, "OS", "x86_64", "3.12.1", False, None, (card, card))
    texts = figure_texts(Telemetry(cpu_clock_mhz=4712.0, gpus=(first,)), two)
    assert texts[1] == ("Clock", "4.7 GHz")
    assert texts[3] == ("Memory, of 16.0 GB", "n/a")
    assert texts[7] == ("GPU 0 memory, of 12.0 GB", "7.8 GB")
    assert texts[8:] == [
        ("GPU 1", "n/a"),
        ("GPU 1 power", "n/a"),
        ("GPU 1 temperature", "n/a"),
        ("GPU 1 memory, of 12.0 GB", "n/a"),
    ]


def test_buttons_have_names_and_can_be_reached_by_keys(page: HardwarePage) -> None:
    for control in (page.copy_button, page.look_button):
        assert control.accessibleName()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
