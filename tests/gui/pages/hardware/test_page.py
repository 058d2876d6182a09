"""The page of the machine: its parts, and readings that are taken only while they are looked at."""

import html
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.core.hardware.parts.disks import read_storage
from app.core.hardware.telemetry.sensors import Power, Sensors
from app.core.messages import sentence
from app.gui.pages.hardware import live_view
from app.gui.pages.hardware.live_view import SPAN_S, LiveView, figure_sections
from app.gui.pages.hardware.page import HardwarePage
from app.gui.services.bundle import Services
from app.gui.widgets.basics import ElidedLabel
from tests.gui.conftest import Told
from tests.gui.driving import added
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


def test_unknown_parts_are_left_out_and_names_are_no_html(page: HardwarePage, services: Services) -> None:
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
    assert not page.copy_button.isEnabled()
    show(services, machine)
    page.show()
    QTest.mouseClick(page.copy_button, Qt.MouseButton.LeftButton)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[:2] == [
        "CPU: Test CPU",
        f"{sentence('part.cores')}: {sentence('part.cores_value', physical=4, logical=8)}",
    ]
    assert told.messages == [(sentence("hardware_page.parts_copied"), "")]
    for label in labels(page):
        assert label.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByKeyboard
        assert label.text() in label.accessibleName()


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
    for leave in (page.hide, page.show, page.views.buttons["parts"].click):
        leave()
        assert live.is_sampling == (leave == page.show)
    qtbot.waitUntil(lambda: looking() == 0, timeout=10_000)


def test_only_the_last_two_minutes_are_kept(live: LiveView) -> None:
    for number in range(500):
        live.arrived.append((1000.0 + number, Telemetry(cpu_pct=float(number % 100))))
    live.show_arrived()
    assert live.telemetry[-1].t_s - live.telemetry[0].t_s == SPAN_S
    (left, right), _ = live.chart.viewRange()
    assert (left, right) == (499.0 - SPAN_S, 499.0)


def test_forbidden_power_gets_a_hint(
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
