"""The line above the big button: what would disturb a run right now, and when it is hidden."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT
from app.core.messages import message, sentence
from app.gui.pages.lab.sides import NOTHING
from app.gui.run import preflight as preflight_line
from app.gui.run.preflight import PreflightLine
from app.gui.run.verdict_dialog import CautionsDialog
from app.gui.services.bundle import Services
from tests.gui.clipped import clipped
from tests.gui.driving import Driver, added
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import Telemetry

CALM = (Telemetry(other_cpu_pct=2.0, memory_used_bytes=10**9),) * 2
BUSY = (Telemetry(other_cpu_pct=34.0, on_battery=True, memory_used_bytes=10**9),) * 2
VERY_BUSY = (replace(BUSY[0], power_plan="powersave", steal_pct=20.0, swap_bytes_per_s=5e7),) * 2
SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec()


class Looks:
    """Stands in for reading telemetry: reads none, and counts the requests."""

    def __init__(self) -> None:
        self.found: tuple[Telemetry, ...] = CALM
        self.first: tuple[Telemetry, ...] | None = None
        self.threads: list[threading.Thread] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.stops: list[threading.Event] = []

    def __call__(self, duration_s: float, count: int, *, with_gpus: bool, stop: threading.Event) -> Any:
        assert not with_gpus  # it would wake them
        self.threads.append(threading.current_thread())
        self.stops.append(stop)
        assert self.go_on.wait(20)
        found, self.first = self.first or self.found, None
        return found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks()
    monkeypatch.setattr(preflight_line, "read_telemetry", looks)
    return looks


@pytest.fixture
def line(looks: Looks, services: Services, machine: Machine, qtbot: QtBot) -> PreflightLine:
    line = added(qtbot, PreflightLine(services, interval_ms=40))
    line.resize(360, line.height())
    line.show_choice(SPEC, machine)
    return line


def test_it_checks_in_the_background_while_visible(line: PreflightLine, looks: Looks, qtbot: QtBot) -> None:
    qtbot.wait(100)
    assert looks.threads == []
    assert line.text.whole_text == sentence("preflight.looking")
    line.show()
    qtbot.waitUntil(lambda: len(looks.threads) >= 3)
    assert threading.main_thread() not in looks.threads
    assert line.text.whole_text == sentence("preflight.ready")
    line.hide()
    qtbot.wait(20)
    count = len(looks.threads)
    qtbot.wait(200)
    assert len(looks.threads) == count
    assert line.text.whole_text == sentence("preflight.looking")  # what was seen is not true any more


DISTURBED = f"{sentence('preflight.on_battery', part=None)} {sentence('preflight.other_load', share_pct=34)}"


def test_disturbances_come_first_then_what_to_do(line: PreflightLine, qtbot: QtBot) -> None:
    line.resize(420, line.sizeHint().height())
    with qtbot.waitSignal(line.changed):
        line.show_telemetry(BUSY)
    assert [reason.code for reason in line.cautions] == ["on_battery", "other_load"]
    told = line.text.whole_text
    first, last = (sentence(code) for code in ("advice.plug_in", "advice.other_load"))
    assert told == f"{DISTURBED} {first} {last}"
    assert line.text.property("tone") == "caution"
    line.show()
    line.resize(800, line.height())
    assert line.text.text() == told
    line.resize(200, line.height())
    assert said("advice.plug_in").is_in(line.text.toolTip())
    with qtbot.waitSignal(line.changed):
        line.show_telemetry(CALM)
    assert (line.cautions, line.text.property("tone")) == ((), "")


def test_ab_sees_the_load_before_its_sides_differ(driver: Driver) -> None:
    driver.window.show_page("lab")
    setup = driver.window.lab.setup
    setup.sides.what.setCurrentIndex(setup.sides.what.findData(NOTHING))
    driver.until(lambda: said("ab_setup.equal").is_in(setup.points.whole_text))
    setup.preflight.show_telemetry(BUSY)
    assert [reason.code for reason in setup.preflight.cautions] == ["on_battery", "other_load"]


def test_busy_programs_are_named(
    line: PreflightLine, looks: Looks, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight_line, "busy_programs", lambda stop: ("backup", "browser"))
    looks.found = BUSY
    with qtbot.waitSignal(line.changed):
        line.show()
    named = message("preflight.other_load_named", share_pct=34, programs=["backup", "browser"])
    assert [reason.said for reason in line.cautions][1] == named
    line.show_telemetry(BUSY)
    assert [reason.said for reason in line.cautions][1] == message("preflight.other_load", share_pct=34)


def test_cautions_without_room_say_how_many_more_there_are_and_open(driver: Driver) -> None:
    line = driver.page.setup.preflight
    driver.window.resize(1100, 700)
    line.show_telemetry(BUSY)
    QApplication.processEvents()
    assert line.text.text() == DISTURBED
    assert line.details_button.isVisible()
    line.show_telemetry(VERY_BUSY)
    QApplication.processEvents()
    texts = [reason.text for reason in line.cautions]
    cut = [" ".join((*texts[:n], sentence("preflight.more", count=5 - n))) for n in range(1, 5)]
    assert line.text.text() in cut
    driver.press(line.details_button)
    dialog = driver.window.findChild(CautionsDialog)
    assert isinstance(dialog, CautionsDialog)
    assert len(dialog.reasons) == 5
    first = line.cautions[0]
    assert said("preflight.on_battery").is_all_of(first.text)
    assert dialog.reasons[0].accessibleName() == f"Caution: {first.text} {first.advice}"
    assert clipped(dialog) == []
    dialog.close_button.click()
    line.show_telemetry(CALM)
    assert not line.details_button.isVisible()


def test_one_check_at_a_time_and_none_unused(line: PreflightLine, looks: Looks, qtbot: QtBot) -> None:
    looks.found = BUSY
    looks.go_on.clear()
    line.show()
    qtbot.waitUntil(lambda: len(looks.threads) == 1)
    qtbot.wait(150)
    assert (len(looks.threads), line.is_checking) == (1, True)
    line.hide()
    assert looks.stops[0].is_set()
    assert not line.is_checking
    looks.go_on.set()
    looks.threads[0].join(20)
    QCoreApplication.processEvents()
    assert line.cautions == ()


def test_a_load_that_is_not_known_is_not_called_calm(line: PreflightLine) -> None:
    line.show_telemetry((Telemetry(memory_used_bytes=10**9),) * 2)
    assert line.text.whole_text == sentence("preflight.load_unknown")
    line.show_telemetry((Telemetry(), *CALM))
    assert line.text.whole_text == sentence("preflight.ready")


def test_a_virtual_machine_is_announced_as_one_whose_results_vary(line: PreflightLine, machine: Machine) -> None:
    shown = sentence("preflight.ready_shared", half_pct=BETWEEN_RUNS_HALF_PCT)
    guest = replace(machine, virtual_machine=True, virtualization="kvm")
    for computer, text in ((machine, sentence("preflight.ready")), (guest, shown)):
        line.show_choice(SPEC, computer)
        line.show_telemetry(CALM)
        assert line.text.whole_text == text
