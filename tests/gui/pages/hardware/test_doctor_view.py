"""The doctor in the window: a real examination with TensorFlow, its end at any time, and logs of others."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.core.doctor.checks import Check
from app.core.doctor.rules import diagnose
from app.core.errors import AppError
from app.core.known_lines.signals import signal
from app.core.messages import message, sentence
from app.core.plans.repeat import repeat_plan
from app.gui.pages.hardware import doctor_view
from app.gui.pages.hardware.doctor_view import DoctorView
from app.gui.pages.hardware.page import HardwarePage
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Card
from tests.core.doctor.cases import BLACKWELL, INVALID_PTX, driven, listing, work
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

BROKEN = """2025-03-02 10:15:01.120: E external/local_xla/xla/cuda/cuda_driver.cc:152] failed call to cuInit
W0000 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure the missing libraries are installed
Skipping registering GPU devices...
I0000 00:00:1 cuda_executor.cc:1] successful NUMA node read from SysFS had negative value (-1)
"""


@pytest.fixture
def view(services: Services, qtbot: QtBot) -> Iterator[DoctorView]:
    view = added(qtbot, DoctorView(services))
    view.resize(840, 650)
    view.buttons.setParent(view)  # elsewhere, they are in the page's head
    view.show()
    yield view
    view.cancel()
    qtbot.waitUntil(lambda: not view.is_examining, timeout=20_000)


def texts(view: DoctorView) -> str:
    """Return what can be read; Qt shows what was just added with the next events."""
    QCoreApplication.processEvents()
    return "\n".join(label.text() for label in view.findChildren(QLabel) if label.isVisible())


def trials() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error, OSError):  # it ends while it is looked at
            if "workloads.trial" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.slow
def test_cancelling_ends_the_process_and_shows_what_is_known(view: DoctorView, qtbot: QtBot) -> None:
    view.examine()
    qtbot.waitUntil(lambda: len(trials()) == 1, timeout=20_000)
    view.examine()
    assert len(trials()) == 1, "one examination at a time"
    QTest.mouseClick(view.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not view.is_examining, timeout=20_000)
    assert trials() == []
    assert "stopped" in view.head.text()
    view.checks.button.click()
    assert said("doctor.check_driver").is_in(texts(view))
    assert view.examine_button.isVisible()


def test_closing_the_window_ends_the_examination(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def examine(_: Any, __: Any, cancel: threading.Event, ___: Any) -> None:
        cancel.wait(30)
        ended.set()
        raise AppError("Over.")

    monkeypatch.setattr(doctor_view, "examine", examine)
    driver.window.action("menu.doctor").trigger()
    page = driver.window.page
    assert isinstance(page, HardwarePage)
    page.doctor.examine()
    driver.window.show_page("benchmark")
    assert not ended.is_set()
    driver.window.close()
    assert ended.wait(10)


def test_checks_appear_at_once(
    view: DoctorView, told: Told, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    go_on = threading.Event()

    def examine(_: Any, on_step: Any, __: Any, on_check: Any) -> None:
        on_step(message("doctor.starting_engine", engine="TensorFlow"))
        on_check(Check("driver", "fault", message("doctor.driver_state_driver_not_loaded")))
        go_on.wait(20)
        raise AppError("Over.")

    monkeypatch.setattr(doctor_view, "examine", examine)
    view.checks.button.click()
    view.examine()
    qtbot.waitUntil(lambda: said("doctor.driver_state_driver_not_loaded").is_in(texts(view)), timeout=10_000)
    assert view.step.whole_text == sentence("doctor.starting_engine", engine="TensorFlow")
    go_on.set()
    qtbot.waitUntil(lambda: not view.is_examining, timeout=10_000)
    assert not said("doctor.driver_state_driver_not_loaded").is_in(texts(view))
    assert told.messages == [("Over.", "invalid")]
    assert view.introduction.isVisible()


@pytest.mark.slow
def test_a_run_is_not_disturbed(view: DoctorView, services: Services, machine: Machine, qtbot: QtBot) -> None:
    services.bridge.start(repeat_plan(CATALOGUE["demo"].default_spec(epochs=50)), machine)
    qtbot.waitUntil(lambda: services.bridge.is_running, timeout=20_000)
    qtbot.waitUntil(lambda: not view.examine_button.isEnabled(), timeout=20_000)
    view.examine()
    assert not view.is_examining
    assert view.busy.isVisible()
    services.bridge.cancel()
    qtbot.waitUntil(view.examine_button.isEnabled, timeout=20_000)
    assert not view.busy.isVisible()


LOGS = [
    ("gsp", "NVRM: GSP RM heartbeat timed out\nNVRM: Xid (PCI:0000:01:00): 8, pid=1\n", "doctor.may_follow"),
    (
        "new",
        "E0000 torch/gpu.cc:1] the flux capacitor failed with error 88\n<b>html</b>\n",
        "doctor.unknown_lines",
    ),
    ("plain", "epoch 1\n", "doctor.log_read"),
    ("posted", BROKEN, "doctor.harmless_listed"),
]


def test_a_log_is_explained_with_what_to_do(view: DoctorView, told: Told, tmp_path: Path, qtbot: QtBot) -> None:
    view.explain_log(tmp_path / "missing.log")
    qtbot.waitUntil(lambda: len(told.messages) == 1, timeout=10_000)
    assert "missing.log" in told.messages[0][0]
    assert view.introduction.isVisible()
    for name, log, code in LOGS:
        (path := tmp_path / f"{name}.log").write_text(log)
        view.explain_log(path)
        read = said("doctor.log_read", name=path.name, count=log.count("\n"))
        qtbot.waitUntil(lambda read=read: read.is_in(texts(view)), timeout=10_000)  # type: ignore[misc]
        assert said(code).is_in(texts(view))
        if name == "gsp":
            assert signal("gsp_failed").fix in texts(view)
            assert signal("gpu_reset").fix not in texts(view), "it follows from the fault"
        elif name == "new":
            assert "flux capacitor" in texts(view)
            assert said("doctor.log_unknown", line="1").is_all_of(view.head.text())
            assert "https://github.com/pytorch/" in view.introduction.text()
        elif name == "plain":
            assert [card.heading.text() for card in view.findChildren(Card) if card.isVisible()] == [""]
            assert not view.introduction.isVisible()
    assert "Cannot dlopen" in texts(view)
    copies = [
        button
        for button in view.findChildren(QPushButton)
        if said("doctor.copy_command").is_all_of(button.accessibleName())
    ]
    commands = [button for button in copies if button is not view.report_button]
    if os.name == "nt":
        assert not commands, "there, TensorFlow uses no GPU, whatever one types"
        return
    QTest.mouseClick(commands[0], Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert commands[0].accessibleName() == sentence("doctor.copy_command", command=copied)


def test_two_clicks_show_why_no_gpu_is_used(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    log = f"{INVALID_PTX}\nlibdevice not found at ./libdevice.10.bc"
    trials = [listing(BLACKWELL), work(), work("gpu:0", status="failed", exit_code=1, log=log)]
    diagnosis = diagnose(driven(BLACKWELL), trials)
    monkeypatch.setattr(doctor_view, "examine", lambda *_: diagnosis)
    bar, action = driver.window.side_bar, driver.window.action("menu.doctor")
    driver.press(bar.menu_button)
    driver.until(bar.menu.isVisible)
    QTest.mouseClick(bar.menu, Qt.MouseButton.LeftButton, pos=bar.menu.actionGeometry(action).center())
    doctor, title = driver.window.hardware.doctor, signal("gpu_too_new").title
    driver.until(lambda: doctor.isVisible() and doctor.head.text().endswith(f"{title}."))
