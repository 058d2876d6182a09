"""Prevents the computer from sleeping during a run. The screen may still turn off."""

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from app.core.messages import sentence

END_S = 2.0
# Flags of Windows' SetThreadExecutionState that keep the system awake until the flags are reset.
_CONTINUOUS, _SYSTEM_REQUIRED = 0x80000000, 0x00000001


@contextlib.contextmanager
def stay_awake(system: str = sys.platform) -> Iterator[None]:
    """Prevent the computer from sleeping during a `with` block of this thread, if the system supports this.

    Linux: systemd's inhibitor locks, which are released when this process ends. macOS: caffeinate, which watches
    this process. Windows: the execution state of the thread, which ends with the thread.
    """
    if system == "win32":
        set_state: Any = ctypes.windll.kernel32.SetThreadExecutionState  # type: ignore[attr-defined,unused-ignore]
        set_state(_CONTINUOUS | _SYSTEM_REQUIRED)
        try:
            yield
        finally:
            set_state(_CONTINUOUS)
        return
    helpers = [helper for command in _commands(system) if (helper := _started(command)) is not None]
    try:
        yield
    finally:
        for helper in helpers:
            _end(helper)


def _commands(system: str) -> list[list[str]]:
    if system == "darwin":
        return [["caffeinate", "-i", "-s", "-w", str(os.getpid())]]
    if not system.startswith("linux"):
        return []
    reason = sentence("run.awake_reason")
    # Separate locks, because a remote user may be allowed to hold the second but not the first. `cat` runs until
    # its input is closed.
    return [
        [
            "systemd-inhibit",
            f"--what={what}",
            "--who=Epochmark",
            f"--why={reason}",
            "--mode=block",
            "--no-ask-password",
            "cat",
        ]
        for what in ("sleep", "idle")
    ]


def _started(command: Sequence[str]) -> "subprocess.Popen[bytes] | None":
    nothing = subprocess.DEVNULL
    try:
        helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing)
    except OSError:  # not installed
        return None
    # If the system refuses the lock, the helper exits immediately and would otherwise remain a zombie until the
    # run ends.
    threading.Thread(target=helper.wait, daemon=True, name="awake").start()
    return helper


def _end(helper: "subprocess.Popen[bytes]") -> None:
    if helper.stdin is not None:
        with contextlib.suppress(OSError):
            helper.stdin.close()
    if helper.args[0] == "caffeinate":  # type: ignore[index]
        helper.terminate()
    try:
        helper.wait(END_S)
    except subprocess.TimeoutExpired:
        helper.kill()
        helper.wait()
