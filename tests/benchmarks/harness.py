"""What measuring costs: an epoch under Epochmark over the same fit in a bare script, pair by pair.

    python -m tests.benchmarks.harness [WORKLOAD] [PAIRS] [STEPS] [EPOCHS]    (at least 2, 1 and 2)

Whole processes by turns, in the order A B B A, so that drift of the machine hits both alike. A process counts with
the median of its epochs after the first: in seconds, and in processor seconds, which a busy host disturbs less.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import psutil

from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.runs.runner import Runner
from tests.core.runs.running import start_run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events

Taken = tuple[float, float]  # seconds and processor seconds of the typical epoch


def main(workload_id: str = STANDARD, pairs: int = 8, steps: int = 60, epochs: int = 4) -> None:
    sides: dict[str, Callable[[str, int, int], Taken]] = {"bare": bare, "epochmark": epochmark}
    ratios: list[Taken] = []
    for pair in range(pairs):
        order = list(sides) if pair % 2 else list(sides)[::-1]
        taken = {side: sides[side](workload_id, epochs, steps) for side in order}
        (ours_s, ours_cpu_s), (bare_s, bare_cpu_s) = taken["epochmark"], taken["bare"]
        ratios.append((ours_s / bare_s, ours_cpu_s / bare_cpu_s))
        print(
            f"epochmark {ours_s:.3f} s, {ours_cpu_s:.3f} CPU s  bare {bare_s:.3f} s, {bare_cpu_s:.3f} CPU s",
            flush=True,
        )
    for name, values in zip(("seconds", "CPU seconds"), zip(*ratios, strict=True), strict=True):
        low, middle, high = statistics.quantiles(values, n=4)
        print(
            f"{workload_id}, {pairs} pairs of {steps} steps, {name}: "
            f"median ratio {middle:.4f}, quartiles {low:.4f} to {high:.4f}"
        )


def bare(workload_id: str, epochs: int, steps: int) -> Taken:
    script = [sys.executable, "-m", "tests.benchmarks.bare", workload_id, str(epochs), str(steps)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
    return _typical(json.loads(done.stdout.splitlines()[-1]))


def epochmark(workload_id: str, epochs: int, steps: int) -> Taken:
    """Return what the same takes under Epochmark; the processor seconds are the worker's."""
    taken: list[Taken] = []
    marks_s: list[float] = []
    workers: list[psutil.Process] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Hello):
            workers.append(psutil.Process(event.pid))
        if isinstance(event, events.Phase | events.Epoch) and workers:
            used = workers[0].cpu_times()
            marks_s.append(used.user + used.system)
            if isinstance(event, events.Epoch):
                taken.append((event.duration_s, marks_s[-1] - marks_s[-2]))

    spec = CATALOGUE[workload_id].default_spec(epochs=epochs, steps=steps, device="cpu", data="synthetic")
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        start_run(Runner(paths, detect_machine()), spec, listen).wait()
    return _typical(taken)


def _typical(epochs: list[Taken]) -> Taken:
    durations_s, cpu_s = zip(*epochs[1:], strict=True)
    return statistics.median(durations_s), statistics.median(cpu_s)


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else STANDARD, *map(int, sys.argv[2:]))
