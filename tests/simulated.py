"""Simulated machines: steps whose true mean is known, in families of things that happen to real computers.

Each family draws its own parameters. The truth is the mean of the process where it is stationary, and the mean
over Quick's whole minute where the speed changes within it: nothing happens after that minute, since nobody could
know of it.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np  # noqa: TID253 - these are arrays of steps
from numpy.typing import NDArray  # noqa: TID253

from tests.replay import MACHINE, Replayed, settled
from tests.replay import replay as replayed
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import Telemetry
from workloads.training.quick import BUDGET_S

# A sixth of Quick's minute: later, too little of it is left to tell the process from its past.
FORGETS_S = 10.0
Steps = NDArray[np.float64]
Simulated = tuple[list[float], float]
Speed = Callable[[float], float]  # how long a step takes at a second, relative to the usual


def quiet(chance: random.Random) -> Simulated:
    """A quiet desktop or laptop: little noise, a clock that wanders by up to 1 %, hiccups of 20 to 100 ms."""
    steps_s = _usual_s(chance) * (1 + _noise(chance, 6_000, 0.003, 0.03))
    usual_s = float(steps_s.mean())
    steps_s = _first(steps_s, 1.2 * BUDGET_S)
    wander = chance.uniform(0, 0.01) * _dependent(chance, len(steps_s), math.exp(-usual_s / chance.uniform(1, 20)))
    steps_s *= 1 + wander
    rate_hz = chance.uniform(0.01, 0.3)
    at_s = chance.expovariate(rate_hz)
    while (number := int(at_s / usual_s)) < len(steps_s):
        steps_s[number] += chance.uniform(0.02, 0.1)
        at_s += chance.expovariate(rate_hz)
    return steps_s.tolist(), float(steps_s.mean())


def dependent(chance: random.Random) -> Simulated:
    """Steps that depend on the ones before, for up to hundreds of steps."""
    usual_s, share = _usual_s(chance), chance.choice([0.5, 0.9, 0.98, 0.995, 0.998])
    noise = _dependent(chance, int(1.5 * BUDGET_S / usual_s), share)
    steps_s = usual_s * np.maximum(0.2, 1 + chance.uniform(0.02, 0.08) * noise)
    # What is forgotten only after many seconds is a speed that changes within the minute.
    forgets_s = -usual_s / math.log(share)
    return _over_the_minute(steps_s) if forgets_s > FORGETS_S else (steps_s.tolist(), usual_s)


def random_walk(chance: random.Random) -> Simulated:
    """A speed that walks at random, by 3 to 15 % within a minute."""
    usual_s = _usual_s(chance)
    count = int(1.5 * BUDGET_S / usual_s)
    walk = (
        np.cumsum(_random(chance).standard_normal(count))
        * chance.uniform(0.03, 0.15)
        / math.sqrt(BUDGET_S / usual_s)
    )
    return _over_the_minute(usual_s * np.maximum(0.3, 1 + walk + _noise(chance, count)))


def sine(chance: random.Random) -> Simulated:
    """A slow swing with a period of 30 to 240 s."""
    swing, period_s, begin = chance.uniform(0.05, 0.2), chance.uniform(30, 240), chance.uniform(0, 2 * math.pi)
    return _changing(chance, lambda t_s: 1 + swing * math.sin(2 * math.pi * t_s / period_s + begin))


def square(chance: random.Random) -> Simulated:
    """Two speeds by turns, with a period of 30 to 240 s; the change comes within the first 25 s."""
    swing, period_s = chance.uniform(0.05, 0.2), chance.uniform(30, 240)
    begin_s = period_s / 2 - chance.uniform(5, min(25, period_s / 2))
    return _changing(chance, lambda t_s: 1 + swing * (1 if (t_s + begin_s) % period_s < period_s / 2 else -1))


def bursts(chance: random.Random) -> Simulated:
    """Something else runs for 5 to 25 s now and then."""
    begins, at_s = [], chance.uniform(0, 20)
    while at_s < BUDGET_S:
        end_s = at_s + chance.uniform(5, 25)
        begins.append((at_s, end_s))
        at_s = end_s + chance.expovariate(1 / 30)
    slower = chance.uniform(1.15, 2.0)
    return _changing(chance, lambda t_s: slower if any(a_s <= t_s < b_s for a_s, b_s in begins) else 1.0)


def drift(chance: random.Random) -> Simulated:
    """Up to 20 % faster or slower by the end of the minute."""
    change = chance.uniform(-0.2, 0.2)
    return _changing(chance, lambda t_s: 1 + change * t_s / BUDGET_S)


def boost(chance: random.Random) -> Simulated:
    """A boost of 5 to 30 % that ends after 5 to 25 s."""
    gain, end_s = chance.uniform(0.05, 0.3), chance.uniform(5, 25)
    return _changing(chance, lambda t_s: 1 - gain if t_s < end_s else 1.0)


def warming(chance: random.Random) -> Simulated:
    """A boost that fades as the machine warms, with a time constant of 5 to 40 s."""
    gain, fades_s = chance.uniform(0.05, 0.3), chance.uniform(5, 40)
    return _changing(chance, lambda t_s: 1 - gain * math.exp(-t_s / fades_s))


def doubled(chance: random.Random) -> Simulated:
    """A fifth to two fifths of the steps take twice as long."""
    usual_s, share = _usual_s(chance), chance.uniform(0.2, 0.4)
    count = int(1.5 * BUDGET_S / usual_s)
    steps_s = usual_s * (1 + _noise(chance, count)) * (1 + (_random(chance).random(count) < share))
    return steps_s.tolist(), usual_s * (1 + share)


def every_nth(chance: random.Random) -> Simulated:
    """Every third to thirtieth step takes 1.5 to 4 times as long, as where input is read in chunks."""
    usual_s, each, longer = _usual_s(chance), chance.randint(3, 30), chance.uniform(1.5, 4.0)
    count = int(1.5 * BUDGET_S / usual_s)
    steps_s = usual_s * (1 + _noise(chance, count))
    steps_s[::each] *= longer
    return steps_s.tolist(), usual_s * (1 + (longer - 1) / each)


def two_speeds(chance: random.Random) -> Simulated:
    """Steps that change between two speeds at random, and stay for 1 to 8 s on average."""
    usual_s, swing, stays_s = _usual_s(chance), chance.uniform(0.05, 0.3), chance.uniform(1, 8)
    steps, slow = [], False
    for noise in _noise(chance, int(1.5 * BUDGET_S / usual_s)):
        if chance.random() < usual_s / stays_s:
            slow = not slow
        steps.append(usual_s * (1 + float(noise) + (swing if slow else -swing)))
    return steps, usual_s


def skewed(chance: random.Random) -> Simulated:
    """Independent steps with a long tail."""
    usual_s, sigma = _usual_s(chance), chance.uniform(0.1, 0.5)
    steps = usual_s * _random(chance).lognormal(-sigma * sigma / 2, sigma, int(1.5 * BUDGET_S / usual_s))
    return steps.tolist(), usual_s


def slow_start(chance: random.Random) -> Simulated:
    """The first 20 to 200 steps, for at most 20 s, take 1.2 to 2.2 times as long."""
    count, slower = chance.choice([20, 50, 100, 200]), chance.uniform(1.2, 2.2)
    usual_s = min(chance.uniform(0.03, 0.3), 20 / count / slower)
    steps_s = usual_s * (1 + _noise(chance, int(1.5 * BUDGET_S / usual_s)))
    steps_s[:count] *= slower
    return steps_s.tolist(), usual_s


def settling(chance: random.Random) -> Simulated:
    """The first steps take 1.1 to 3 times as long, and become faster with a time constant of 0.5 to 8 s."""
    usual_s, slower, settles_s = _usual_s(chance), chance.uniform(0.1, 2), chance.uniform(0.5, 8)
    at_s = usual_s * np.arange(int(1.5 * BUDGET_S / usual_s))
    steps_s = usual_s * (1 + slower * np.exp(-at_s / settles_s) + _noise(chance, len(at_s)))
    return steps_s.tolist(), usual_s


def few_steps(chance: random.Random) -> Simulated:
    """A network whose steps take 3 to 15 s."""
    usual_s = chance.uniform(3, 15)
    steps_s = usual_s * (1 + _noise(chance, int(1.5 * BUDGET_S / usual_s) + 4, 0.005, 0.1))
    return steps_s.tolist(), usual_s


def turbo(chance: random.Random) -> Simulated:
    """A quiet desktop whose clock falls by 2 to 15 % within its first 4 to 10 s."""
    steps_s, _ = quiet(chance)
    gain, settles_s = chance.uniform(0.02, 0.15), chance.uniform(4, 10)
    fast_s = np.array(steps_s)
    fast_s *= 1 - gain * np.exp(-3 * np.cumsum(fast_s) / settles_s)
    return _over_the_minute(fast_s)


def power_limit(chance: random.Random) -> Simulated:
    """A boost of 5 to 30 % that the CPU's power limit ends after 28 to 56 s."""
    gain, end_s = chance.uniform(0.05, 0.3), chance.uniform(28, 56)
    return _changing(chance, lambda t_s: 1 - gain if t_s < end_s else 1.0)


def once(slower: tuple[float, float], begin_s: tuple[float, float]) -> Callable[[random.Random], Simulated]:
    """Return a family whose steps take longer from some moment on, both drawn from these ranges."""

    def family(chance: random.Random) -> Simulated:
        times, at_s = chance.uniform(*slower), chance.uniform(*begin_s)
        return _changing(chance, lambda t_s: times if t_s >= at_s else 1.0)

    return family


def minute_job(chance: random.Random) -> Simulated:
    """A job that runs once a minute, for 3 to 15 s."""
    slower, takes_s, begin_s = chance.uniform(1.2, 2.0), chance.uniform(3, 15), chance.uniform(0, 60)
    return _changing(chance, lambda t_s: slower if (t_s - begin_s) % 60 < takes_s else 1.0)


def credits_spent(chance: random.Random) -> Simulated:
    """A cloud's instance that spends its credit within the minute and then has 10 to 40 % of its speed."""
    slower, end_s = 1 / chance.uniform(0.1, 0.4), chance.uniform(10, 60)
    return _changing(chance, lambda t_s: slower if t_s >= end_s else 1.0)


def charger(chance: random.Random) -> Simulated:
    """A laptop that is plugged in, or unplugged, after 10 to 55 s."""
    change, at_s = chance.choice([1 / 1.6, 1 / 1.2, 1.2, 1.6]), chance.uniform(10, 55)
    return _changing(chance, lambda t_s: change if t_s >= at_s else 1.0)


@dataclass(frozen=True, slots=True)
class Signs:
    """What a family's computer shows of itself; each second's telemetry is the same."""

    telemetry: Telemetry
    machine: Machine = MACHINE


BOOSTED = Signs(Telemetry(cpu_clock_mhz=4_200.0))
GUEST = Signs(Telemetry(), replace(MACHINE, virtual_machine=True, virtualization="kvm", cpu_base_mhz=None))
# Of those that are left out, a CPU at its base clock.
SIGNS = {
    **dict.fromkeys(
        ("quiet", "turbo", "power_limit", "throttling", "minute_job", "scanner", "efficiency_cores"), BOOSTED
    ),
    "charger": Signs(Telemetry(on_battery=False)),
    **dict.fromkeys(("credits_spent", "neighbour"), GUEST),
}
SETTLED = Signs(settled(0))


NAMED = (
    *(quiet, dependent, random_walk, sine, square, bursts, drift, boost, warming, doubled, every_nth, two_speeds),
    *(skewed, slow_start, settling, few_steps, turbo, power_limit, minute_job, charger, credits_spent),
)
FAMILIES: dict[str, Callable[[random.Random], Simulated]] = {each.__name__: each for each in NAMED} | {
    "throttling": once((1.1, 1.6), (25, 45)),  # heat that lowers the clock by 10 to 40 %
    "scanner": once((1.1, 1.8), (20, 50)),  # of viruses, which starts and goes on
    "efficiency_cores": once((1.3, 2.2), (20, 50)),  # as when a process's window is covered
    "neighbour": once((1.05, 1.5), (0, 60)),  # another guest that uses the host's memory, seen by nobody
}


def watched(family: str, chance: random.Random, signs: Signs | None = None) -> tuple[Replayed, float]:
    """Return what Quick says of a computer of this family, and its true mean step in seconds."""
    steps_s, true_s = FAMILIES[family](chance)
    signs = signs or SIGNS.get(family, SETTLED)
    return replayed(steps_s, reader=lambda _: signs.telemetry, machine=signs.machine), true_s


def _usual_s(chance: random.Random) -> float:
    return math.exp(chance.uniform(math.log(0.02), math.log(0.4)))


def _random(chance: random.Random) -> np.random.Generator:
    return np.random.default_rng(chance.getrandbits(63))


def _noise(chance: random.Random, count: int, low: float = 0.005, high: float = 0.05) -> Steps:
    """Return independent noise around zero, even or skewed, whose deviation is drawn from a range."""
    deviation, source = chance.uniform(low, high), _random(chance)
    if chance.random() < 0.5:
        return deviation * source.standard_normal(count)
    return deviation * (source.gamma(2, 1, count) - 2) / math.sqrt(2)


def _dependent(chance: random.Random, count: int, share: float) -> Steps:
    """Return noise of deviation 1, of which each value takes over a share from the one before."""
    value, values = chance.gauss(0, 1), np.empty(count)
    fresh = math.sqrt(1 - share * share) * _random(chance).standard_normal(count)
    for number in range(count):
        value = share * value + fresh[number]
        values[number] = value
    return values


def _first(steps_s: Steps, duration_s: float) -> Steps:
    """Return the steps of so many seconds."""
    return steps_s[: int(np.searchsorted(np.cumsum(steps_s), duration_s)) + 1]


def _over_the_minute(steps_s: Steps) -> Simulated:
    within_s = _first(steps_s, BUDGET_S)
    return within_s.tolist(), float(within_s.mean())


def _changing(chance: random.Random, speed: Speed) -> Simulated:
    """Return the steps of a minute during which the speed changes."""
    usual_s, steps, at_s = _usual_s(chance), [], 0.0
    for noise in _noise(chance, int(3 * BUDGET_S / usual_s)):
        step_s = usual_s * max(0.2, speed(at_s) + float(noise))
        steps.append(step_s)
        at_s += step_s
        if at_s >= BUDGET_S:
            break
    return steps, sum(steps) / len(steps)
