"""What looking at the machine costs: its parts, telemetry once, and the telemetry of a run in seconds per epoch.

    python -m tests.tools.monitoring [EPOCHS] [WORKLOAD]

One real run, beside which a second monitor reads twenty times as often as the run's own for four seconds, and does
not for four seconds, by turns A B B A. What twenty times as many reads add, divided by twenty, is what one adds:
small enough to drown in the noise otherwise.
"""

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.machine import detect_machine
from app.core.hardware.telemetry.monitor import Monitor, TelemetryReader
from app.core.hardware.telemetry.slowdowns import read_power_state
from app.core.paths import default_paths
from app.core.runs.runner import Runner
from tests.core.runs.running import start_run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events

TIMES_AS_OFTEN, BLOCK_S = 20, 4.0
REPEATS = 50


def main(epochs: int = 4, workload_id: str = STANDARD) -> None:
    report("detection, all parts", lambda: detect_machine(data_folder=default_paths().datasets))
    report("power source and plan", read_power_state)
    reader = TelemetryReader(GpuReader(), os.getpid())
    report("telemetry once", reader.read)
    report_run(epochs, workload_id)


def report(name: str, do: Callable[[], object]) -> None:
    walls_s, start_cpu_s = [], time.process_time()
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        do()
        walls_s.append(time.perf_counter() - start_s)
    cpu_s = (time.process_time() - start_cpu_s) / REPEATS
    middle, most = statistics.median(walls_s), max(walls_s)
    print(f"{name:24} {1e3 * middle:7.2f} ms (most {1e3 * most:.2f}), {1e3 * cpu_s:.2f} ms of processor time")


def report_run(epochs: int, workload_id: str) -> None:
    """Run, and print the ratio of steps beside many reads to steps without."""
    begun: list[float] = []
    steps: list[tuple[float, float]] = []  # when they ended, on this process's clock, and how long one took
    blocks: list[tuple[bool, float]] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Hello):
            begun.append(time.monotonic() - event.t_s)
        if isinstance(event, events.Steps) and event.phase == "measure":
            steps.append((begun[0] + event.t_s, statistics.fmean(event.durations_s)))

    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        spec = CATALOGUE[workload_id].default_spec(epochs=epochs, data="synthetic", device="cpu")
        session = start_run(Runner(paths, detect_machine()), spec, listen)
        over = threading.Event()
        taker = threading.Thread(target=_take_turns, args=(blocks, over, lambda: len(steps) > 3))
        taker.start()
        session.wait()
        over.set()
        taker.join()
    typical_s = [(looked, _typical_s(steps, start_s)) for looked, start_s in blocks]
    pairs = zip(typical_s[::2], typical_s[1::2], strict=False)
    ratios = []
    for (first_looked, first_s), (_, second_s) in pairs:
        if first_s is not None and second_s is not None:
            ratios.append(first_s / second_s if first_looked else second_s / first_s)
    middle = statistics.median(ratios)
    error = 1.253 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median, for normal noise
    print(
        f"{len(ratios)} pairs of {BLOCK_S:g} s, {TIMES_AS_OFTEN} reads a second: ratio {middle:.4f} ± {error:.4f}"
    )
    each_pct, error_pct = 100 * (middle - 1) / TIMES_AS_OFTEN, 100 * error / TIMES_AS_OFTEN
    print(f"so telemetry each second adds {each_pct:+.3f} ± {error_pct:.3f} % to a step (standard error)")


def _take_turns(blocks: list[tuple[bool, float]], over: threading.Event, begun: Callable[[], bool]) -> None:
    while not begun() and not over.wait(0.1):
        pass
    number = 0
    while not over.is_set():
        looking = number % 4 in (0, 3)
        reader = TelemetryReader(GpuReader(), os.getpid())
        monitor = Monitor(lambda *_: None, 1 / TIMES_AS_OFTEN, reader) if looking else None
        if monitor is not None:
            monitor.start()
        start_s = time.monotonic()
        whole = not over.wait(BLOCK_S)
        if monitor is not None:
            monitor.stop()
        if whole:
            blocks.append((looking, start_s))
        number += 1


def _typical_s(steps: list[tuple[float, float]], start_s: float) -> float | None:
    """Return the typical step that began and ended in a block; the first ones of an epoch are not typical."""
    inside = [step_s for end_s, step_s in steps if start_s < end_s - step_s and end_s < start_s + BLOCK_S]
    return statistics.median(inside) if len(inside) >= 5 else None


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 4, *sys.argv[2:3])
