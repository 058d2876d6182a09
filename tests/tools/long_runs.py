"""Very long runs: what storing, listing, opening, judging and exporting them takes, in time and memory.

    python -m tests.tools.long_runs [EPOCHS STEPS]

Each line is a process of its own, so that its peak memory is its own.
"""

import contextlib
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.core.report.formats.csv_table import csv_lines
from app.core.report.formats.json_document import json_lines
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import list_runs, load_run, load_runs, rows_for_export
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import judge
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

WORKLOAD = CATALOGUE["mnist_mlp"]
BLOCK = 100
VERBS = ("store", "end", "list", "open", "judge", "csv", "json", "window")


def main() -> int:
    if sys.argv[1:2] == ["--do"]:
        _do(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
        return 0
    epochs, steps = (int(text) for text in (*sys.argv[1:], "100000", "10000000")[:2])
    with tempfile.TemporaryDirectory() as folder:
        for verb in VERBS:
            command = [
                sys.executable,
                "-m",
                "tests.tools.long_runs",
                "--do",
                verb,
                folder,
                str(epochs),
                str(steps),
            ]
            done = subprocess.run(command, check=False, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
            if done.returncode:
                return done.returncode
        size_bytes = sum(path.stat().st_size for path in Path(folder).iterdir() if path.is_file())
        print(f"files: {size_bytes / 1e6:.0f} MB")
    return 0


def _do(verb: str, folder: Path, epochs: int, steps: int) -> None:
    before_s, before_cpu_s = time.monotonic(), time.process_time()
    base_bytes = _peak_bytes()
    with Database(folder / "runs.sqlite3") as database:
        _VERBS[verb](database, epochs, steps)
    print(
        f"{verb:>7}: {time.monotonic() - before_s:.1f} s, {time.process_time() - before_cpu_s:.1f} s of processor "
        f"time, peak {_peak_bytes() / 1e6:.0f} MB ({base_bytes / 1e6:.0f} MB before)",
        flush=True,
    )


def _peak_bytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _events(epochs: int, steps: int) -> Iterator[events.Event]:
    chance, now_s, seq = random.Random(1), 0.0, 0
    each = max(1, steps // epochs)
    yield events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False)
    for epoch in range(epochs):
        for first in range(0, each, BLOCK):
            durations_s = tuple(chance.gauss(0.001, 0.00001) for _ in range(min(BLOCK, each - first)))
            now_s += math.fsum(durations_s)
            seq += 1
            yield events.Steps(
                seq=seq, t_s=now_s, phase="measure", epoch=epoch, first_index=first, durations_s=durations_s
            )
        yield events.Epoch(index=epoch, t_s=now_s, duration_s=each * 0.001, train_s=each * 0.001, loss=1.0)


def store_long_run(database: Database, epochs: int, steps: int) -> RunWriter:
    """Store a run that isn't over, as a session does; return what ends it."""
    machine = Machine("Test CPU", 2, 2, 8_000_000_000, "Test OS", "x86_64", "3.11", virtual_machine=True)
    writer = RunWriter(database, begin_run(database, WORKLOAD.default_spec(epochs=epochs), WORKLOAD, machine))
    database.connection.execute("PRAGMA synchronous = OFF")
    for event in _events(epochs, steps):
        writer.add(event)
    writer.flush()
    return writer


def _end(database: Database, epochs: int, steps: int) -> None:
    RunWriter(database, 1).finish("completed", None)


def _list(database: Database, epochs: int, steps: int) -> None:
    assert len(list(list_runs(database))) == 1


def _open(database: Database, epochs: int, steps: int) -> None:
    run = load_run(database, 1)
    assert not run.damage
    assert len(run.epochs) == epochs


def _judge(database: Database, epochs: int, steps: int) -> None:
    assert judge(load_run(database, 1)).level


def _csv(database: Database, epochs: int, steps: int) -> None:
    assert sum(map(len, csv_lines(rows_for_export(database), {}))) > epochs


def _json(database: Database, epochs: int, steps: int) -> None:
    assert sum(map(len, json_lines(load_runs(database, [1]), {}))) > steps


def _window(database: Database, epochs: int, steps: int) -> None:
    from PySide6.QtWidgets import QApplication

    application = QApplication([])
    from app.gui.run.view import RunView
    from app.gui.style.theme import Theme

    view = RunView(Theme(application, "light"))
    view.resize(1024, 700)
    view.show()
    view.show_run(JudgedRun(load_run(database, 1)))
    application.processEvents()
    with contextlib.suppress(RuntimeError):
        view.close()


_VERBS: dict[str, Callable[[Database, int, int], object]] = {
    "store": store_long_run,
    "end": _end,
    "list": _list,
    "open": _open,
    "judge": _judge,
    "csv": _csv,
    "json": _json,
    "window": _window,
}

if __name__ == "__main__":
    sys.exit(main())
