"""What measuring costs: seconds per epoch under Epochmark over the same fit in a bare script, pair by pair.

    python -m tests.benchmarks.harness [PAIRS] [STEPS] [EPOCHS]    (at least 2, 1 and 2)

Whole processes by turns, in the order A B B A, so that drift of the machine hits both alike. A process counts with
the median of its epochs after the first.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

from tests.conftest import command


def main(pairs: int = 8, steps: int = 60, epochs: int = 4) -> None:
    """Print the ratio of each pair, and what they come to."""
    sides = {"bare": lambda: bare_s(epochs, steps), "epochmark": lambda: epochmark_s(epochs, steps)}
    ratios = []
    for pair in range(pairs):
        order = list(sides) if pair % 2 else list(sides)[::-1]
        taken_s = {side: sides[side]() for side in order}
        ratios.append(taken_s["epochmark"] / taken_s["bare"])
        print(
            f"epochmark {taken_s['epochmark']:.3f} s  bare {taken_s['bare']:.3f} s  {ratios[-1]:.4f}", flush=True
        )
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{pairs} pairs, epochs of {steps} steps: median ratio {middle:.4f}, quartiles {low:.4f} to {high:.4f}")


def bare_s(epochs: int, steps: int) -> float:
    """Return the typical epoch of the bare script."""
    script = [sys.executable, "-m", "tests.benchmarks.bare", str(epochs), str(steps)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
    durations_s: list[float] = json.loads(done.stdout.splitlines()[-1])
    return statistics.median(durations_s[1:])


def epochmark_s(epochs: int, steps: int) -> float:
    """Return the typical epoch of the same under Epochmark."""
    asked = f"run cifar10_keras_cnn --json --device cpu --data synthetic --epochs {epochs} --steps {steps}"
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "EPOCHMARK_HOME": home}
        arguments = command(*asked.split())
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    events = map(json.loads, done.stdout.splitlines())
    durations_s: list[float] = [event["duration_s"] for event in events if event["type"] == "epoch"]
    return statistics.median(durations_s[1:])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
