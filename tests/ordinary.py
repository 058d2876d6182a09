"""Ordinary, idle desktops and laptops: what a run on them measures, and what telemetry reports meanwhile.

Nothing is wrong with them. Steps vary a little, the clock settles in the first seconds and wanders by up to 1 %
afterwards, something takes 20 to 100 ms a few times a minute, and the system itself uses 1 to 5 % of the CPU.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np  # noqa: TID253 - these are arrays of steps
from numpy.typing import NDArray  # noqa: TID253

from workloads.protocol.telemetry import Telemetry

PLAN = "powersave (intel_pstate), preference balance_performance, profile balanced"
# The first step traces and compiles.
_FIRST_STEP_S = 1.5


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of computer; each one draws its own values from these ranges.

    Attributes:
        noise: Deviation of single steps, in parts of a step.
        wander: Deviation of the clock's slow wander, likewise.
        settles: How much faster the first moment is than the rest, likewise.
        settles_s: Time constant of that.
        hiccups_hz: How often something takes 20 to 100 ms.
        load_pct: What the system itself uses of the CPU.
    """

    noise: tuple[float, float]
    wander: tuple[float, float]
    settles: tuple[float, float]
    settles_s: tuple[float, float]
    hiccups_hz: tuple[float, float]
    load_pct: tuple[float, float]
    clock_mhz: float


KINDS = {
    "desktop": Kind((0.003, 0.015), (0.0, 0.005), (0.0, 0.03), (1, 3), (1 / 60, 6 / 60), (1, 3), 4_600),
    "workstation": Kind((0.005, 0.03), (0.0, 0.01), (0.0, 0.02), (1, 5), (1 / 60, 8 / 60), (1, 2), 3_900),
    "laptop": Kind((0.005, 0.03), (0.003, 0.01), (0.02, 0.08), (1, 4), (3 / 60, 10 / 60), (1, 5), 3_600),
    "small laptop": Kind((0.01, 0.05), (0.003, 0.01), (0.0, 0.06), (1, 4), (3 / 60, 12 / 60), (3, 5), 2_800),
}


class Ordinary:
    """One such computer while it takes steps."""

    def __init__(self, kind: Kind, chance: random.Random, usual_s: float, duration_s: float) -> None:
        self._chance = chance
        self._usual_s = usual_s
        self._random = np.random.default_rng(chance.getrandbits(63))
        seconds = math.ceil(duration_s) + 60
        load_pct = chance.uniform(*kind.load_pct)
        self.loads_pct = self._random.gamma(2.0, load_pct / 2, seconds)
        stays = math.exp(-1 / chance.uniform(1, 120))
        wander = chance.uniform(*kind.wander) * _dependent(self._random, seconds, stays)
        settling = chance.uniform(*kind.settles) * np.exp(-np.arange(seconds) / chance.uniform(*kind.settles_s))
        self.speeds = (1 + settling) * (1 + wander)
        self._clock_mhz = kind.clock_mhz
        self._noise = chance.uniform(*kind.noise)
        self._hiccups_hz = chance.uniform(*kind.hiccups_hz)

    def steps_s(self, count: int) -> list[float]:
        """Return the durations of so many steps; the first one includes compiling."""
        at = np.minimum((np.arange(count) * self._usual_s).astype(int), len(self.speeds) - 1)
        steps_s = self._usual_s * (1 + self.loads_pct[at] / 100) / self.speeds[at]
        steps_s *= np.maximum(0.5, 1 + self._noise * self._random.standard_normal(count))
        next_s = self._chance.expovariate(self._hiccups_hz)
        while (number := int(next_s / self._usual_s)) < count:
            steps_s[number] += self._chance.uniform(0.02, 0.1)
            next_s += self._chance.expovariate(self._hiccups_hz)
        steps_s[0] += _FIRST_STEP_S
        return [float(step_s) for step_s in steps_s]

    def epochs_s(self, epochs: int, steps: int) -> list[list[float]]:
        every_s = self.steps_s(epochs * steps)
        return [every_s[begin : begin + steps] for begin in range(0, len(every_s), steps)]

    def telemetry(self, second: int) -> Telemetry:
        at = min(second, len(self.speeds) - 1)
        other_pct = min(100.0, float(self.loads_pct[at]))
        return Telemetry(
            cpu_pct=min(100.0, 90 + other_pct),
            cpu_clock_mhz=self._clock_mhz * float(self.speeds[at]),
            memory_used_bytes=4_000_000_000,
            swap_used_bytes=10_000_000,
            steal_pct=0.0,
            other_cpu_pct=other_pct,
            swap_bytes_per_s=self._chance.choice([0.0] * 20 + [40_000.0]),
            throttle_count=0,
            on_battery=False,
            power_plan=PLAN,
            clock_step_s=0.0,
            suspended_s=0.0,
            memory_available_bytes=9_000_000_000,
            # The run's own threads wait for each other's CPUs.
            cpu_pressure_pct=self._chance.uniform(20, 80),
            memory_pressure_pct=self._chance.choice([0.0] * 20 + [0.3]),
        )


def total_s(epochs_s: Sequence[Sequence[float]]) -> float:
    return math.fsum(map(math.fsum, epochs_s))


def _dependent(source: np.random.Generator, count: int, share: float) -> NDArray[np.float64]:
    """Return noise of deviation 1, of which each value takes over a share from the one before."""
    fresh = math.sqrt(1 - share * share) * source.standard_normal(count)
    values, value = np.empty(count), float(source.standard_normal())
    for number in range(count):
        value = share * value + fresh[number]
        values[number] = value
    return values
