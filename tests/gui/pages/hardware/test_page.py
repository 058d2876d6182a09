"""The page of the machine: its parts, and readings that are taken only while they are looked at."""

import html
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.core.errors import AppError
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.parts.disks import read_storage
from app.core.hardware.telemetry import sensors
from app.core.hardware.telemetry.monitor import TelemetryReader
from app.core.hardware.telemetry.sensors import Power, Sensors
from app.core.messages import sentence
from app.gui.pages.hardware import doctor_view, live_view
from app.gui.pages.hardware.live_view import SPAN_S, LiveView, figure_sections
from app.gui.pages.hardware.page import HardwarePage
from app.gui.services.bundle import Services
from app.gui.widgets.basics import ElidedLabel
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added
from tests.saying import said
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

HOSTILE = '<img src="file:///etc/passwd"><b>Fast</b> CPU'


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> Iterator[HardwarePage]:
    page = added(qtbot, HardwarePage(services))
    page.resize(840, 650)
    yield page
    page.hide()


def show(services: Services, machine: Machine) -> None:
    services.finder.machine = machine
    services.finder.found.emit()


def labels(page: HardwarePage) -> list[QLabel]:
    return page.parts.findChildren(QLabel, "value")


@pytest.fixture
def live(page: HardwarePage) -> LiveView:
    page.show_view("live")
    return page.live


def looking() -> int:
    return sum(thread.name == "monitor" for thread in threading.enumerate())


def test_the_parts_are_shown_when_they_are_found_and_can_be_selected(
    page: HardwarePage, services: Services, machine: Machine
) -> None:
    assert not page.copy_button.isEnabled()
    show(services, machine)
    texts = [label.text() for label in labels(page)]
    assert texts[:2] == ["Test CPU", sentence("part.cores_value", physical="4", logical="8")]
    assert "15 GB" in texts
    for label in labels(page):
        assert label.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByKeyboard
        assert label.text() in label.accessibleName()


def test_unknown_parts_are_left_out_and_names_are_never_read_as_html(
    page: HardwarePage, services: Services
) -> None:
    show(services, Machine(HOSTILE, None, None, None, "Test OS", "x86_64", "3.12.1", None))
    texts = [label.text() for label in labels(page)]
    assert texts[0] == HOSTILE
    assert "n/a" not in texts
    assert {label.textFormat() for label in labels(page)} == {Qt.TextFormat.PlainText}


def test_refreshing_shows_what_is_new(page: HardwarePage, services: Services, qtbot: QtBot) -> None:
    services.finder.machine = Machine("Old CPU", 1, 1, 1, "Test OS", "x86_64", "3.12.1", False)
    services.finder.found.emit()
    page.show()
    QTest.mouseClick(page.look_button, Qt.MouseButton.LeftButton)
    assert not page.look_button.isEnabled()
    qtbot.waitUntil(page.look_button.isEnabled, timeout=10_000)
    assert "Old CPU" not in page.parts.text()
    assert services.finder.machine.cpu_name in [label.text() for label in labels(page)]
    data_sets = read_storage(services.paths.datasets)  # in a chroot, nothing is known of them
    assert services.finder.machine.file_system == data_sets.file_system


def test_the_parts_can_be_copied(page: HardwarePage, services: Services, machine: Machine, told: Told) -> None:
    show(services, machine)
    page.show()
    QTest.mouseClick(page.copy_button, Qt.MouseButton.LeftButton)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[:2] == [
        "CPU: Test CPU",
        f"{sentence('part.cores')}: {sentence('part.cores_value', physical=4, logical=8)}",
    ]
    assert told.messages == [(sentence("hardware_page.parts_copied"), "")]


@pytest.mark.slow
def test_telemetry_is_collected_only_while_visible(page: HardwarePage, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)
    page.show()
    assert not page.live.is_sampling, "the parts are shown first, and graphics cards sleep on"
    QTest.mouseClick(page.views.buttons["live"], Qt.MouseButton.LeftButton)
    live = page.live
    assert live.is_sampling
    assert looking() == 1
    qtbot.waitUntil(lambda: dict(live.figures.sections[0].figures)["part.cpu"].endswith(" %"), timeout=10_000)
    assert live.chart.entries
    assert live.chart.accessibleDescription() != "No telemetry"
    page.hide()
    assert not live.is_sampling
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_another_view_ends_the_telemetry(page: HardwarePage, live: LiveView, qtbot: QtBot) -> None:
    page.show()
    assert live.is_sampling
    QTest.mouseClick(page.views.buttons["parts"], Qt.MouseButton.LeftButton)
    assert not live.is_sampling
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_a_view_shown_again_starts_over(page: HardwarePage, live: LiveView, qtbot: QtBot) -> None:
    page.show()
    live.arrived.append((1000.0, Telemetry(cpu_pct=50.0)))
    live.show_arrived()
    assert live.figures.sections[0].figures[0][1] == "50 %"
    page.hide()
    page.show()
    assert not live.telemetry
    assert looking() >= 1
    page.hide()
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_only_the_last_two_minutes_are_kept(live: LiveView) -> None:
    for number in range(500):
        live.arrived.append((1000.0 + number, Telemetry(cpu_pct=float(number % 100))))
    live.show_arrived()
    assert live.telemetry[-1].t_s - live.telemetry[0].t_s == SPAN_S
    (left, right), _ = live.chart.viewRange()
    assert (left, right) == (499.0 - SPAN_S, 499.0)


def test_values_a_machine_does_not_report_are_not_available() -> None:
    (computer,) = figure_sections(Telemetry(), None)
    assert {text for _, text in computer.figures} == {"n/a"}


def test_power_that_only_the_administrator_may_read_gets_a_hint(
    page: HardwarePage, live: LiveView, services: Services, machine: Machine
) -> None:
    services.finder.machine = replace(machine, os_name="Linux 6.1", virtual_machine=False)
    services.finder.power = Power(sensors=Sensors(power_forbidden=True))
    services.finder.found.emit()
    live.arrived.append((1000.0, Telemetry(cpu_pct=1.0)))
    live.show_arrived()
    tips = [label.toolTip() for label in live.figures.findChildren(ElidedLabel) if "energy_uj" in label.toolTip()]
    assert len(tips) == 1
    assert said("unknown.cpu_power_forbidden").is_in(html.unescape(tips[0]))


def test_the_windows_thread_reads_no_hardware_itself(
    page: HardwarePage, services: Services, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    lookers: dict[str, str] = {}

    class NotedReader(TelemetryReader):
        def __init__(self, gpus: GpuReader | None = None) -> None:
            lookers["reader"] = threading.current_thread().name
            super().__init__()

    def look() -> Power:
        lookers["power"] = threading.current_thread().name
        return Power(sensors=Sensors(power=True))

    monkeypatch.setattr(live_view, "TelemetryReader", NotedReader)
    monkeypatch.setattr(sensors, "read_power", look)
    services.finder.look()
    page.show()
    page.show_view("live")
    qtbot.waitUntil(lambda: len(lookers) == 2 and services.finder.machine is not None, timeout=20_000)
    assert lookers == {"reader": "monitor", "power": "task"}
    assert services.finder.power.sensors.power
    assert f"{sentence('part.cpu_power')}: {sentence('part.readable')}" in page.parts.text()
    page.hide()
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_each_gpu_has_its_telemetry_and_a_missing_one_has_none(machine: Machine, qtbot: QtBot) -> None:
    first = GpuTelemetry(
        0, utilization_pct=97.4, memory_used_bytes=7_800_000_000, temperature_c=71.0, power_w=186.2
    )
    card = Gpu("NVIDIA GeForce RTX 4070", "nvidia", 12_000_000_000)
    held = figure_sections(Telemetry(gpus=(first,)), None)[1]
    told = dict(held.figures)
    assert held.name == "GPU"
    assert (told["live.gpu_use"], told["live.gpu_power"], told["live.gpu_temperature"]) == (
        "97 %",
        "186 W",
        "71 °C",
    )
    assert told["part.memory"] == "7.3 GB"
    two = replace(machine, gpus=(card, card))
    look = Telemetry(cpu_pct=12.0, gpus=(first,))
    computer, *cards = figure_sections(look, two)
    assert (dict(computer.figures)["part.cpu"], dict(computer.figures)["part.memory"]) == ("12 %", "n/a")
    assert [each.name for each in cards] == [f"GPU {number}: NVIDIA GeForce RTX 4070" for number in (0, 1)]
    assert dict(cards[0].figures)["part.memory"] == "7.3 GB"
    assert {text for _, text in cards[1].figures} == {"n/a"}
    shown = live_view.Figures()
    qtbot.addWidget(shown)
    shown.show_telemetry(None, machine)
    texts = [label.whole_text for label in shown.findChildren(ElidedLabel)]
    assert "n/a" not in texts, "what isn't known yet may still come"
    assert texts.count("…") == 4
    shown.show_telemetry(look, two)
    assert [label.whole_text for label in shown.findChildren(ElidedLabel)].count("7.3 GB") == 1


def test_the_menu_leads_to_the_doctor_who_begins(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []

    def examine(*given: object) -> None:
        begun.append(given)
        raise AppError("Over.")

    monkeypatch.setattr(doctor_view, "examine", examine)
    driver.window.action("menu.doctor").trigger()
    page = driver.window.page
    assert isinstance(page, HardwarePage)
    assert page.doctor.isVisible()
    assert not page.live.is_sampling
    driver.until(lambda: len(begun) == 1 and not page.doctor.is_examining)


def test_nothing_jumps_when_the_doctor_comes(page: HardwarePage) -> None:
    page.show()
    QApplication.processEvents()
    before = page.pages.geometry()
    for view in ("doctor", "parts"):
        page.show_view(view)
        QApplication.processEvents()
        assert page.pages.geometry() == before
    page.show_view("doctor")
    assert page.doctor.examine_button.height() >= page.doctor.examine_button.sizeHint().height()
