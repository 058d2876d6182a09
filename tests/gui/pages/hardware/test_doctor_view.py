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
from app.core.doctor.diagnosis import Diagnosis
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


def tops(view: DoctorView) -> dict[str, int]:
    return {label.text(): label.mapTo(view, label.rect().topLeft()).y() for label in view.findChildren(QLabel)}


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


@pytest.mark.long
@pytest.mark.engine
def test_a_computer_without_a_gpu_is_not_reported_as_faulty(view: DoctorView, qtbot: QtBot) -> None:
    QTest.mouseClick(view.examine_button, Qt.MouseButton.LeftButton)
    assert view.is_examining
    assert view.cancel_button.isVisible()
    assert not view.examine_button.isVisible()
    qtbot.waitUntil(lambda: not view.is_examining, timeout=120_000)
    assert "no fault" in texts(view) or "usable" in texts(view)
    view.checks.button.click()
    for told in ("NVIDIA driver", "TensorFlow", "Test on cpu", "Harmless"):
        assert told in texts(view)
    QTest.mouseClick(view.report_button, Qt.MouseButton.LeftButton)
    report = QGuiApplication.clipboard().text()
    assert said("doctor.check_device", device="cpu: ok").is_in(report)
    assert str(Path.home()) not in report
    assert trials() == []


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


@pytest.mark.slow
def test_a_window_that_closes_ends_the_examination(view: DoctorView, qtbot: QtBot) -> None:
    view.examine()
    qtbot.waitUntil(lambda: len(trials()) == 1, timeout=20_000)
    view.window().close()
    qtbot.waitUntil(lambda: not view.is_examining and not trials(), timeout=20_000)


def test_closing_the_window_on_another_page_ends_the_examination(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_check_that_cannot_start_says_so(
    view: DoctorView, told: Told, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def fail(*_: Any) -> None:
        raise AppError("The trial's process cannot be started (no room).")

    monkeypatch.setattr(doctor_view, "examine", fail)
    view.examine()
    qtbot.waitUntil(lambda: not view.is_examining, timeout=10_000)
    assert told.messages == [("The trial's process cannot be started (no room).", "invalid")]
    assert view.introduction.isVisible()


def test_checks_appear_as_they_are_decided(
    view: DoctorView, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
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


@pytest.mark.slow
def test_a_benchmark_is_not_disturbed(
    view: DoctorView, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    services.bridge.start(repeat_plan(CATALOGUE["demo"].default_spec(epochs=50)), machine)
    qtbot.waitUntil(lambda: services.bridge.is_running, timeout=20_000)
    qtbot.waitUntil(lambda: not view.examine_button.isEnabled(), timeout=20_000)
    view.examine()
    assert not view.is_examining
    assert view.busy.isVisible()
    services.bridge.cancel()
    qtbot.waitUntil(view.examine_button.isEnabled, timeout=20_000)
    assert not view.busy.isVisible()


def test_a_log_is_explained_with_what_to_do(view: DoctorView, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "posted.log"
    path.write_text(BROKEN)
    view.explain_log(path)
    qtbot.waitUntil(
        lambda: said("doctor.log_read", name="posted.log", count="4").is_in(texts(view)), timeout=10_000
    )
    assert "Cannot dlopen" in texts(view)
    assert said("doctor.harmless_listed").is_in(texts(view))
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


def test_what_follows_from_a_fault_gets_no_advice_of_its_own(
    view: DoctorView, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "gsp.log"
    path.write_text("NVRM: GSP RM heartbeat timed out\nNVRM: Xid (PCI:0000:01:00): 8, pid=1\n")
    view.explain_log(path)
    qtbot.waitUntil(lambda: "gsp.log" in texts(view), timeout=10_000)
    assert signal("gsp_failed").fix in texts(view)
    assert said("doctor.may_follow").is_in(texts(view))
    assert signal("gpu_reset").fix not in texts(view)


def test_an_unknown_log_says_where_to_ask(view: DoctorView, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "new.log"
    path.write_text("E0000 torch/gpu.cc:1] the flux capacitor failed with error 88\n<b>html</b>\n")
    view.explain_log(path)
    qtbot.waitUntil(lambda: "new.log" in texts(view), timeout=10_000)
    assert "flux capacitor" in texts(view)
    assert said("doctor.unknown_lines").is_in(texts(view))
    assert "In the log" not in texts(view)
    assert said("doctor.log_unknown", line="1").is_all_of(view.head.text())
    assert "https://github.com/pytorch/" in view.introduction.text()


def test_what_to_do_comes_before_the_evidence(
    view: DoctorView, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    log = f"{INVALID_PTX}\nlibdevice not found at ./libdevice.10.bc " + "x" * 500
    trials = [listing(BLACKWELL), work(), work("gpu:0", status="failed", exit_code=1, log=log)]
    found = diagnose(driven(BLACKWELL), trials)

    def examine(_: Any, __: Any, ___: Any, on_check: Any) -> Diagnosis:
        for check in found.checks:
            on_check(check)
        return found

    monkeypatch.setattr(doctor_view, "examine", examine)
    view.examine()
    qtbot.waitUntil(lambda: not view.is_examining, timeout=10_000)
    assert view.head.text().endswith(f"{signal('gpu_too_new').title}.")
    assert view.introduction.text() == sentence("doctor.cpu_usable")
    view.checks.button.click()
    order = [
        f"NVIDIA GeForce RTX 5080 (gpu:0): {sentence('doctor.device_not_usable')}",
        "XLA can't compile because a CUDA file is missing",
        sentence("doctor.check_driver"),
    ]
    assert not any("CPU:" in text for text in tops(view)), "the checks say that it is usable"
    # Labels get their places after they are shown.
    qtbot.waitUntil(lambda: sorted(order, key=tops(view).__getitem__) == order, timeout=10_000)
    line = next(text for text in tops(view) if "libdevice not found at" in text)
    assert line.endswith("xxx …")
    assert not any("tensorflow[and-cuda]" in button.accessibleName() for button in view.findChildren(QPushButton))


def test_a_log_without_anything_known_has_no_empty_card(view: DoctorView, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "plain.log"
    path.write_text("epoch 1\n")
    view.explain_log(path)
    qtbot.waitUntil(
        lambda: said("doctor.log_read", name="plain.log", count="1").is_in(texts(view)), timeout=10_000
    )
    assert [card.heading.text() for card in view.findChildren(Card) if card.isVisible()] == [""]
    assert not view.introduction.isVisible()


def test_a_file_that_is_not_a_log_is_refused_in_a_sentence(
    view: DoctorView, told: Told, tmp_path: Path, qtbot: QtBot
) -> None:
    view.explain_log(tmp_path / "missing.log")
    qtbot.waitUntil(lambda: len(told.messages) == 1, timeout=10_000)
    assert "missing.log" in told.messages[0][0]
    assert view.introduction.isVisible()
