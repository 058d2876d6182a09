"""How often runs on ordinary, idle computers are called valid, and why the others are not.

    python -m tests.tools.ordinary [REPETITIONS]

The computers are those of `tests/ordinary.py`. Quick runs have steps of 13 to 400 ms, Standard runs 3, 10 and 50
epochs of 1,563 steps, which take 20 to 60 s each.
"""

import math
import random
import sys
from collections import Counter
from collections.abc import Callable

from tests.ordinary import KINDS, Ordinary
from tests.replay import replay, replay_epochs
from workloads.training.quick import BUDGET_S

REPETITIONS = 200
STEPS = 1_563
EPOCHS = (3, 10, 50)


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    print(f"{repetitions} repetitions             valid   cautions")
    for name in KINDS:
        line(f"{name}, Quick", quick_codes, random.Random(name), name, repetitions)
        for epochs in EPOCHS:
            count = repetitions if epochs <= 10 else max(1, repetitions // 4)
            line(f"{name}, {epochs} epochs", epochs_codes(epochs), random.Random(name), name, count)


def line(
    title: str, codes_of: Callable[[str, random.Random], list[str]], chance: random.Random, kind: str, count: int
) -> None:
    """Print how many of so many runs were valid, and which cautions the others had."""
    runs = [codes_of(kind, chance) for _ in range(count)]
    cautions = Counter(code for codes in runs for code in codes)
    said = ", ".join(f"{code} {100 * number / count:.1f} %" for code, number in cautions.most_common())
    print(f"{title:28} {100 * sum(not codes for codes in runs) / count:5.1f} %   {said}", flush=True)


def quick_codes(kind: str, chance: random.Random) -> list[str]:
    usual_s = math.exp(chance.uniform(math.log(0.013), math.log(0.4)))
    computer = Ordinary(KINDS[kind], chance, usual_s, BUDGET_S)
    return list(replay(computer.steps_s(int(1.3 * BUDGET_S / usual_s) + 1), reader=computer.telemetry).codes)


def epochs_codes(epochs: int) -> Callable[[str, random.Random], list[str]]:
    def codes(kind: str, chance: random.Random) -> list[str]:
        epoch_s = chance.uniform(20, 60)
        computer = Ordinary(KINDS[kind], chance, epoch_s / STEPS, epochs * (epoch_s + 3))
        judged = replay_epochs(computer.epochs_s(epochs, STEPS), epoch_s / 20, computer.telemetry)
        return [reason.code for reason in judged.reasons if reason.level != "fact"]

    return codes


if __name__ == "__main__":
    main()
