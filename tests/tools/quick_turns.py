"""How well Quick agrees with a full run of the same minutes: a Quick run before each epoch of one Standard run.

    python -m tests.tools.quick_turns [EPOCHS]

While a Quick run is at work, the full run stands still; how long is known, and taken off the epoch in which it
falls. So a shared host whose speed changes for minutes changes both alike, and what is left is Quick's own. Not on
Windows, where a process can't be made to stand still.
"""

import queue
import signal
import sys
import tempfile
import time
from dataclasses import replace

import psutil

from app.core.analysis.stats import epoch_statistics
from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.core.runs.running import start_run
from tests.tools.quick import report, run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events

PATIENCE_S = 600.0  # with an epoch; and with a process that stands still, which would count as hung
INSIDE_S = 0.5  # so long after an epoch's end, the next one has begun


def main(epochs: int = 10) -> None:
    """Print each run and each epoch, then what they come to."""
    workload = CATALOGUE[STANDARD]
    quick = workload.default_spec("quick", device="cpu", data="synthetic")
    standard = workload.default_spec(epochs=epochs, device="cpu", data="synthetic")
    epoch_ends: queue.Queue[float] = queue.Queue()

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Epoch):
            epoch_ends.put(event.duration_s)

    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        quick_runs = [run(paths, quick)]
        limits = RunLimits(hung_s=PATIENCE_S, silence_s=PATIENCE_S)
        begin_s, own_s, away_s = time.monotonic(), [], 0.0
        session = start_run(Runner(paths, detect_machine(), limits), standard, listen)
        try:
            for number in range(epochs):
                own_s.append(epoch_ends.get(timeout=PATIENCE_S) - away_s)
                if number + 1 < epochs:
                    time.sleep(INSIDE_S)
                    stopped_s = time.monotonic()
                    _signal(signal.SIGSTOP)
                    quick_runs.append(run(paths, quick))
                    _signal(signal.SIGCONT)
                    away_s = time.monotonic() - stopped_s
                    begin_s += away_s
            session.wait()
        finally:
            session.kill()
        full_s = time.monotonic() - begin_s
        with Database(paths.database) as database:
            full = load_run(database, session.run_id).summary
    print("epochs: " + ", ".join(f"{duration_s:.2f}" for duration_s in own_s) + " s")
    statistics = epoch_statistics(own_s)
    assert statistics is not None
    report(
        quick_runs,
        replace(
            full,
            value=statistics.median_s,
            value_low=statistics.low_s,
            value_high=statistics.high_s,
            spread_pct=statistics.spread_pct,
        ),
        full_s,
    )


def _signal(number: signal.Signals) -> None:
    """Send a signal to every process of the full run: the only children that live between two Quick runs."""
    for process in psutil.Process().children(recursive=True):
        process.send_signal(number)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
