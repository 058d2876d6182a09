"""Storms of signals: how tests send them, and what is left of a process after one."""

import random
import signal
import subprocess
import threading
from collections.abc import Sequence

PAUSES_S = (0.0, 0.0, 0.001, 0.01, 0.05)


def send_storm(
    process: "subprocess.Popen[str]", seed: int, count: int, numbers: Sequence[int] = (signal.SIGINT,)
) -> None:
    """Send signals at most `count` times, with pauses that the seed decides; stops when the process has ended."""
    chance = random.Random(seed)
    for _ in range(count):
        if process.poll() is not None:
            return
        process.send_signal(chance.choice(numbers))
        threading.Event().wait(chance.choice(PAUSES_S))


def drain(process: "subprocess.Popen[str]") -> threading.Thread:
    """Read what a process prints until it ends, so that no full pipe holds it up."""

    def read() -> None:
        if process.stdout is not None:
            for _ in process.stdout:
                pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread
