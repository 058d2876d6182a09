"""What an attack comes to."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Report:
    """How often an attack was tried, and each failure in a line that says how to see it again."""

    tried: int = 0
    failed: list[str] = field(default_factory=list)

    def add(self, name: str, found: list[str]) -> None:
        """Take the outcome of one try: nothing found is a success."""
        self.tried += 1
        self.failed += [f"{name}: {text}" for text in found]


# Folder that is its own, chance, and which try it is; returns what does not hold.
Attack = Callable[[Path, random.Random, int], list[str]]


def carry_out(attack: Attack, folder: Path, count: int, seed: int) -> Report:
    """Try an attack several times; each try has its own seed, so that it can be repeated alone."""
    report = Report()
    for number in range(count):
        own = folder / f"{number}"
        own.mkdir(parents=True)
        found = attack(own, random.Random(f"{seed} {number}"), number)
        report.add(f"try {number} of seed {seed}", found)
    return report


def until(holds: Callable[[], bool], patience_s: float = 60.0) -> bool:
    """Wait for something; returns whether it came."""
    deadline_s = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True
