"""What waiting for a cool device costs: replays recorded temperatures through the wait before a run.

    python -m tests.benchmarks.cooling FILE …    (by default, the files in tests/data/cooling)

A file has the columns seconds, temperature_c and load (0 or 1). The first load is the first run of a plan. The
pause after each load of 20 s or more is replayed as the pause before another run of that plan.
"""

import csv
import sys
import threading
from collections.abc import Generator, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from app.core.runs.cool_down import CoolDown, CooledStart
from workloads import STANDARD
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

FOLDER = Path(__file__).parents[1] / "data" / "cooling"
SPEC = RunSpec(workload=STANDARD)
LOAD_AT_LEAST_S = 20.0


class Reading(NamedTuple):
    """A line of a file."""

    at_s: float
    temperature_c: float
    is_loaded: bool


class Pause(NamedTuple):
    """A pause between runs.

    Attributes:
        load_s: Duration of the load before the pause.
        hot_c: Temperature at the end of the load.
        start: The start of the next run; None if the file's next load began before the device was cool.
    """

    load_s: float
    hot_c: float
    start: CooledStart | None


def read(path: Path) -> list[Reading]:
    """Return the readings in a file, which starts without load."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Reading(float(row["seconds"]), float(row["temperature_c"]), row["load"] == "1")
            for row in csv.DictReader(file)
        ]


def pauses(readings: list[Reading]) -> Iterator[Pause]:
    """Replay the readings through the wait."""
    now_s = 0.0
    pause: list[Reading] = []

    def replayed(stop: threading.Event) -> Generator[Telemetry, None, None]:
        nonlocal now_s
        for reading in pause:
            now_s = reading.at_s
            yield Telemetry(cpu_temperature_c=reading.temperature_c)

    waits, stop = CoolDown(lambda _: None, replayed, lambda: now_s), threading.Event()
    idle, *parts = (list(part) for _, part in groupby(readings, attrgetter("is_loaded")))
    pause = idle[-1:]
    waits.wait(SPEC, stop)
    for load, cooling in zip(parts[::2], parts[1::2], strict=False):
        pause = cooling
        if (load_s := load[-1].at_s - load[0].at_s) >= LOAD_AT_LEAST_S:
            yield Pause(load_s, load[-1].temperature_c, waits.wait(SPEC, stop))


def main(paths: list[Path]) -> None:
    """Print the wait after each load."""
    for path in paths or sorted(FOLDER.glob("*.csv")):
        print(path.stem)
        for load_s, hot_c, start in pauses(read(path)):
            wait = f"{start.waited_s:.0f} s, to {start.temperature_c:g} °C" if start else "longer than the pause"
            print(f"  after {load_s:5.0f} s of load, at {hot_c:g} °C: {wait}")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
