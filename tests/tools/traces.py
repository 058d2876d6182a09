"""Records how long steps take under known disturbances: the traces that the estimator is tried on.

    python -m tests.tools.traces FOLDER [NAME …]    (kept in tests/data/traces)

Each is a real run of the standard network with epochs of 300 steps. The disturbances are real too: busy processes
beside it, whose share of a core is set by stopping and continuing them, or the worker itself being stopped.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.runs.runner import Runner
from tests.core.runs.running import start_run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events

EPOCHS, STEPS = 2, 300
DUTY_S = 0.5
# The share of a core that other programs take, by seconds after training began.
Load = Callable[[float], float]
LOADS: dict[str, Load] = {
    "quiet": lambda _: 0.0,
    "busy": lambda _: 1.0,
    "frozen": lambda _: 0.0,
    "warm_up_heavy": lambda t_s: max(0.0, 2.0 - t_s / 8),
    "drifting": lambda t_s: min(1.5, t_s / 60),
    "two_speed": lambda t_s: 1.5 if int(t_s / 20) % 2 else 0.0,
}
FREEZES_S = (12.0, 31.0, 50.0)
FREEZE_S = 5.0


def main(folder: Path, names: list[str]) -> None:
    """Record the traces that are named, all if none is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or LOADS:
        trace = record(name)
        (folder / f"{name}.json").write_text(json.dumps(trace, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{name}: {sum(map(len, trace['epochs_s']))} steps", flush=True)


def record(name: str) -> dict[str, list[list[float]]]:
    epochs_s: list[list[float]] = [[] for _ in range(EPOCHS)]
    begun, over, pids = threading.Event(), threading.Event(), []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Hello):
            pids.append(event.pid)
        if isinstance(event, events.Phase) and event.name == "measure":
            begun.set()
        if isinstance(event, events.Phase) and event.name == "evaluate":
            over.set()
        if isinstance(event, events.Steps):
            epochs_s[event.epoch].extend(round(duration_s, 6) for duration_s in event.durations_s)

    spec = CATALOGUE[STANDARD].default_spec(epochs=EPOCHS, steps=STEPS, device="cpu", data="synthetic")
    with tempfile.TemporaryDirectory() as home, _hogs() as hogs:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        session = start_run(Runner(paths, detect_machine()), spec, listen)
        begun.wait()
        start_s = time.monotonic()
        freezes_s = list(FREEZES_S) if name == "frozen" else []
        while not over.is_set() and not session.wait(0):
            since_s = time.monotonic() - start_s
            if freezes_s and since_s > freezes_s[0]:
                freezes_s.pop(0)
                os.kill(pids[0], signal.SIGSTOP)
                time.sleep(FREEZE_S)
                os.kill(pids[0], signal.SIGCONT)
            _work(hogs, LOADS[name](since_s))
        session.wait()
    return {"epochs_s": epochs_s}


def _work(hogs: list[int], load: float) -> None:
    """Let the busy processes take so much of a core each, for one turn."""
    shares = [max(0.0, min(1.0, load - number)) for number in range(len(hogs))]
    for hog, share in zip(hogs, shares, strict=True):
        os.kill(hog, signal.SIGCONT if share > 0 else signal.SIGSTOP)
    time.sleep(DUTY_S * min((share for share in shares if share > 0), default=1.0))
    if any(0 < share < 1 for share in shares):
        hog = next(hog for hog, share in zip(hogs, shares, strict=True) if 0 < share < 1)
        os.kill(hog, signal.SIGSTOP)
        time.sleep(DUTY_S * (1 - shares[hogs.index(hog)]))


@contextlib.contextmanager
def _hogs() -> Iterator[list[int]]:
    """Yield the numbers of two busy processes, stopped."""
    processes = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(2)]
    for process in processes:
        process.start()
    pids = [process.pid for process in processes if process.pid is not None]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield pids
    finally:
        for process in processes:
            process.kill()


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
