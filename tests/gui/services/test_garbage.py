"""Garbage with Qt objects in it is collected by the window's thread, whichever thread fills the memory."""

import gc
import threading
from typing import ClassVar

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.gui.services.garbage import GarbageCollector


class Loop(QObject):
    """Only the collector finds it: it refers to itself."""

    ended_in: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.me = self

    def __del__(self) -> None:
        Loop.ended_in.append(threading.get_ident())


def fill() -> None:
    for _ in range(10):
        cells: list[list[object]] = [[] for _ in range(5_000)]
        for cell in cells:
            cell.append(cell)


@pytest.mark.slow
def test_another_thread_collects_nothing(qtbot: QtBot, garbage: GarbageCollector) -> None:
    Loop.ended_in.clear()
    gc.collect()
    garbage.collect()  # the first one only passes over what the start made
    for _ in range(20):
        Loop()
    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
    assert Loop.ended_in == []
    qtbot.waitUntil(lambda: len(Loop.ended_in) == 20, timeout=20_000)
    assert set(Loop.ended_in) == {threading.get_ident()}


def test_what_the_start_made_is_passed_over(qtbot: QtBot, garbage: GarbageCollector) -> None:
    other = GarbageCollector()
    other.collect()
    assert gc.get_freeze_count() > 1_000
    other.close()
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()
    gc.disable()  # which `garbage` has asked for
    other.deleteLater()
