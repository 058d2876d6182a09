"""How long the computer slept, from the clocks of each system."""

import ctypes
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.hardware.telemetry import slowdowns
from app.core.hardware.telemetry.sleep_clocks import Clock, clocks_of_this_system, macos_clocks, windows_clocks
from app.core.hardware.telemetry.slowdowns import ConditionsReader, read_clocks
from tests.sure import sure


class Sleeper:
    """A computer that can sleep: its wall clock goes on, and one of its other two clocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.awake_s, self.slept_s = 1_000.0, 20.0
        monkeypatch.setattr(slowdowns, "time", SimpleNamespace(time=lambda: 1.7e9 + self.always_s))

    @property
    def always_s(self) -> float:
        return self.awake_s + self.slept_s

    def suspended_s(self, pair: tuple[Clock, Clock] | None) -> float | None:
        """Return what telemetry says after one second of work and five minutes of sleep."""
        reader = ConditionsReader(clocks=lambda: read_clocks(*sure(pair)))
        self.awake_s += 1
        conditions = reader.read()
        assert (conditions.clock_step_s, conditions.suspended_s) == (0.0, 0.0)
        self.awake_s += 1
        self.slept_s += 300
        conditions = reader.read()
        assert conditions.clock_step_s == 0.0, "the wall clock was not set"
        return conditions.suspended_s


class Kernel32:
    """Windows' library, of a computer that sleeps."""

    def __init__(self, sleeper: Sleeper, answers: bool = True) -> None:
        self._sleeper, self._answers = sleeper, answers
        self.GetTickCount64 = Function(lambda: int(1000 * sleeper.always_s))

    def QueryUnbiasedInterruptTime(self, count: Any) -> int:  # noqa: N802 - its name there
        ctypes.cast(count, ctypes.POINTER(ctypes.c_ulonglong))[0] = int(1e7 * self._sleeper.awake_s)
        return int(self._answers)


class Function:
    """A function of a library, whose type can be declared."""

    restype: Any = None

    def __init__(self, call: Any) -> None:
        self._call = call

    def __call__(self) -> int:
        assert self.restype is ctypes.c_ulonglong, "else it is cut off after 25 days"
        return int(self._call())


def test_sleep_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeper(monkeypatch)
    assert sleeper.suspended_s(windows_clocks(Kernel32(sleeper))) == pytest.approx(300)


def test_sleep_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeper(monkeypatch)
    clocks: Any = SimpleNamespace(
        CLOCK_UPTIME_RAW=8,
        CLOCK_MONOTONIC_RAW=4,
        clock_gettime=lambda clock: {8: sleeper.awake_s, 4: sleeper.always_s}[clock],
    )
    assert sleeper.suspended_s(macos_clocks(clocks)) == pytest.approx(300)


def test_without_such_clocks_sleep_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert windows_clocks(None) is None
    assert windows_clocks(Kernel32(Sleeper(monkeypatch), answers=False)) is None
    assert macos_clocks(SimpleNamespace(CLOCK_MONOTONIC_RAW=4)) is None  # type: ignore[arg-type] # as on Linux
    for platform in ("win32", "darwin", "freebsd14"):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(ctypes, "windll", None, raising=False)
        if not hasattr(time, "CLOCK_UPTIME_RAW"):
            assert clocks_of_this_system() == (time.monotonic, None)


def test_this_computer_is_awake() -> None:
    clocks = read_clocks()
    later = read_clocks()
    assert later.steady_s >= clocks.steady_s
    assert (clocks.sleepless_s is None) == (clocks_of_this_system()[1] is None)
