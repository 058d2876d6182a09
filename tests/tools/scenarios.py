"""What Quick says of steps whose true speed is known: simulated machines, and traces from files.

    python -m tests.tools.scenarios [REPETITIONS [FAMILY …]]
    python -m tests.tools.scenarios --steps FILE [--json]

The first prints, for each family of `tests/simulated.py`, how often Quick called its number valid, how often that
was wrong by more than 5 %, and how often its interval held the truth. The second reads durations in seconds, from
a `.npy` file or one a line, and prints what Quick would have said had it watched them arrive.
"""

import argparse
import dataclasses
import json
import random
import statistics
import sys
from pathlib import Path

import numpy as np  # noqa: TID253 - traces come as arrays

from tests.replay import Replayed, replay
from tests.simulated import FAMILIES, watched

REPETITIONS = 1_000
WRONG_PCT = 5.0


def main() -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.scenarios")
    parser.add_argument("--steps", type=Path, metavar="FILE", help="durations in seconds: .npy, or one a line")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("repetitions", nargs="?", type=int, default=REPETITIONS)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    asked = parser.parse_args()
    if asked.steps is None:
        table(asked.repetitions, asked.families or list(FAMILIES))
        return 0
    try:
        said = replay(read_steps(asked.steps))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{asked.steps}: {error}\n")
        return 2
    print(as_json(said) if asked.json else as_text(said))
    return 0


def read_steps(path: Path) -> list[float]:
    """Read durations in seconds; raises OSError or ValueError if they can't be read."""
    if path.suffix == ".npy":
        return [float(step_s) for step_s in np.load(path, allow_pickle=False).ravel()]
    return [float(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def as_json(said: Replayed) -> str:
    plain = dataclasses.asdict(said)
    del plain["codes"]
    return json.dumps(plain)


def as_text(said: Replayed) -> str:
    interval = "no interval" if said.low_s is None else f"{said.low_s:.6g} to {said.high_s:.6g} s"
    told = f"{said.step_s:.6g} s a step, {interval}, after {said.stopped_after_s:.1f} s: {said.verdict}"
    return "\n".join([told, *said.reasons])


def table(repetitions: int, families: list[str]) -> None:
    print(
        f"{repetitions} repetitions       valid   wrong   covered   stop median, 95 %   half the interval    bias"
    )
    for family in families:
        chance = random.Random(family)
        valid = wrong = covered = 0
        stops_s, halves_pct, errors_pct = [], [], []
        for _ in range(repetitions):
            said, true_s = watched(family, chance)
            error_pct = 100 * (said.step_s / true_s - 1)
            is_valid = said.verdict == "valid"
            valid += is_valid
            wrong += is_valid and abs(error_pct) > WRONG_PCT
            if said.low_s is not None and said.high_s is not None:
                covered += said.low_s <= true_s <= said.high_s
                halves_pct.append(50 * (said.high_s - said.low_s) / said.step_s)
            stops_s.append(said.stopped_after_s)
            errors_pct.append(error_pct)
        stops_s.sort()
        late_s = stops_s[min(repetitions - 1, int(0.95 * repetitions))]
        held_pct = 100 * covered / max(1, len(halves_pct))
        half_pct = statistics.median(halves_pct) if halves_pct else float("nan")
        print(
            f"{family:22} {100 * valid / repetitions:4.0f} %  {100 * wrong / repetitions:4.1f} %"
            f"  {held_pct:5.0f} %   {statistics.median(stops_s):8.0f} s {late_s:5.0f} s"
            f"   {half_pct:10.1f} %       {statistics.fmean(errors_pct):+5.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
