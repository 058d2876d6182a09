"""What around a run makes its number another one: rules for the record, and for looks taken before a run."""

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.core.hardware.telemetry.slowdowns import saves_power
from app.core.metrics import format_bytes
from app.core.verdict.context import Evidence, Looks, Rule
from workloads.protocol.telemetry import Telemetry

# A benchmark's usual limit for background load; a busy loop beside a run on two cores cost it 62 % (V. Stinner,
# FOSDEM 2017), so that a tenth may cost some percent.
OTHER_LOAD_PCT = 10.0
# Taken by the host from one run and perhaps not from the next: more than a result is to be repeatable to.
STEAL_PCT = 5.0
# A solid-state disk moves hundreds of times as much; what is less are pages that lay idle.
SWAP_BYTES_PER_S = 1_000_000.0
# A desktop with a browser holds less of a graphics card; a game, a language model, another training more.
GPU_MEMORY_TAKEN_BYTES = 1_500_000_000
# Above what drawing a desktop takes.
GPU_BUSY_PCT = 5.0
# A sleep that is shorter than a look could be a look that came late.
SUSPENDED_S = 1.0
# What services that set the clock correct at once is less as a rule; such small steps say nothing.
CLOCK_STEP_S = 1.0
# In one look of twenty: more than an accident.
THROTTLED_PCT = 5.0
# The processor's clock before it is warm, which every run has.
CLOCK_SETTLES_S = 5.0
# A clock that is one twentieth lower makes a run about as much slower.
CLOCK_FALLEN_PCT = 95.0
_THIRD_AT_LEAST = 3
# Reaching its power limit is what a graphics card does when it works well.
_HELD_DOWN_BY = ("thermal", "hardware slowdown", "power brake")
_HEAT = ("thermal", "hardware slowdown")


@dataclass(frozen=True, slots=True)
class Condition:
    """What can be seen before a run as well as in its record.

    Attributes:
        figure: The measured figure in words; None where it is within its limit or not known.
        past: The sentence for a record, with {} for the figure; "" where a record cannot tell it.
        present: The same before a run.
    """

    code: str
    figure: Callable[[Looks], str | None]
    past: str
    present: str
    advice: str

    def rule(self) -> Rule:
        """Return the rule for records."""

        def find(evidence: Evidence) -> str:
            figure = self.figure(evidence.looks)
            return "" if figure is None else self.past.format(figure)

        return Rule(self.code, "caution", find, self.advice)


def _on_battery(looks: Looks) -> str | None:
    known = [look.on_battery for look in looks.telemetry if look.on_battery is not None]
    if not any(known):
        return None
    return "" if all(known) else f" for {100 * sum(known) / len(known):.0f} % of the time"


def _power_plan(looks: Looks) -> str | None:
    plans = [look.power_plan for look in looks.telemetry if look.power_plan is not None]
    return next((plan for plan in plans if saves_power(plan)), None)


def _mean_above(name: str, limit: float) -> Callable[[Looks], str | None]:
    def figure(looks: Looks) -> str | None:
        values = looks.readings(name)
        mean = statistics.fmean(values) if values else 0.0
        return f"{mean:.0f}" if mean > limit else None

    return figure


def _swapping(looks: Looks) -> str | None:
    values = looks.readings("swap_bytes_per_s")
    mean = statistics.fmean(values) if values else 0.0
    return f"{mean / 1e6:.1f}" if mean > SWAP_BYTES_PER_S else None


def _gpu_memory(looks: Looks) -> str | None:
    values = looks.gpu_readings("other_memory_bytes")
    typical_bytes = statistics.median(values) if values else 0.0
    return format_bytes(typical_bytes) if typical_bytes > GPU_MEMORY_TAKEN_BYTES else None


def _gpu_busy(looks: Looks) -> str | None:
    values = looks.gpu_readings("utilization_pct")
    mean_pct = statistics.fmean(values) if values else 0.0
    return f"{mean_pct:.0f}" if mean_pct > GPU_BUSY_PCT else None


CONDITIONS = (
    Condition(
        "on_battery",
        _on_battery,
        "The computer ran on battery{}.",
        "The computer runs on battery{}.",
        "Plug in the charger.",
    ),
    Condition(
        "power_saving",
        _power_plan,
        "The power plan saved energy: {}.",
        "The power plan saves energy: {}.",
        "Choose a balanced or a fast plan in the system's power settings.",
    ),
    Condition(
        "other_load",
        _mean_above("other_cpu_pct", OTHER_LOAD_PCT),
        "Other programs used {} % of the processor.",
        "Other programs use {} % of the processor.",
        "Close other programs, and let updates and backups come to their end.",
    ),
    Condition(
        "host_steal",
        _mean_above("steal_pct", STEAL_PCT),
        "The host took {} % of the processor time for other work.",
        "The host takes {} % of the processor time for other work.",
        "Run it when the host has less to do, or on a computer that nobody shares.",
    ),
    Condition(
        "swapping",
        _swapping,
        "The computer swapped {} MB a second between memory and disk.",
        "The computer swaps {} MB a second between memory and disk.",
        "Close other programs, or choose a smaller batch.",
    ),
    Condition(
        "gpu_memory_taken",
        _gpu_memory,
        "Other programs held {} of the GPU's memory.",
        "Other programs hold {} of the GPU's memory.",
        "Close other programs that use the graphics card.",
    ),
    Condition(
        "gpu_busy",
        _gpu_busy,
        "",  # while it runs, the run itself keeps the GPU busy
        "Other programs keep the GPU {} % busy.",
        "Close other programs that use the graphics card.",
    ),
)


def _suspended(evidence: Evidence) -> str:
    values_s = evidence.looks.readings("suspended_s")
    if not any(value_s > SUSPENDED_S for value_s in values_s):
        return ""
    return f"The computer slept for {sum(values_s):,.0f} s while it was measured."


def _clock_step(evidence: Evidence) -> str:
    set_s = sum(map(abs, evidence.looks.readings("clock_step_s")))
    return f"The computer's clock was set by {set_s:,.1f} s during the run." if set_s > CLOCK_STEP_S else ""


def _throttled(evidence: Evidence) -> str:
    looks = evidence.looks
    count = sum(looks.readings("throttle_count"))
    if count > 0:
        times = "once" if count == 1 else f"{count:,.0f} times"
        return f"The processor was too hot and held its clock down {times}."
    told = [gpu.throttle_reasons for gpu in looks.gpus() if gpu.throttle_reasons is not None]
    held = Counter(next((word for word in _HELD_DOWN_BY if word in words), "") for words in told)
    held_pct = 100 * (len(told) - held[""]) / len(told) if told else 0.0
    if held_pct <= THROTTLED_PCT:
        return ""
    word = max(_HELD_DOWN_BY, key=lambda each: held[each])
    return f"The GPU's clock was held down for {held_pct:.0f} % of the time ({word})."


@dataclass(frozen=True, slots=True)
class Throttling:
    """What held the clock of a run's device down.

    Attributes:
        after_s: Since the measurement began.
        sentence: What was seen.
        is_heat: Whether it was heat; else it may also have been a limit of power.
    """

    after_s: float
    sentence: str
    is_heat: bool


def throttling(evidence: Evidence) -> Throttling | None:
    """Return how the clock of what computed was held down; None if that was not so for long enough to matter."""
    looks = evidence.looks
    held = [_held_down(look, looks.gpu) for look in looks.telemetry]
    told = [word for word in held if word is not None]
    times_s = [at_s for at_s, word in zip(looks.times_s, held, strict=True) if word]
    if told and 100 * len(times_s) / len(told) > THROTTLED_PCT:
        word = Counter(word for word in told if word).most_common(1)[0][0]
        what = "processor" if looks.gpu is None else "GPU"
        share_pct = 100 * len(times_s) / len(told)
        sentence = f"The {what}'s clock was held down for {share_pct:.0f} % of the time ({word})."
        return Throttling(max(0.0, times_s[0]), sentence, word in _HEAT)
    sentence = _clock_falling(evidence)
    if not sentence:
        return None
    clocks = _clocks_mhz(looks)
    settled_mhz = statistics.median(clock_mhz for _, clock_mhz in clocks[: len(clocks) // 3])
    low_mhz = settled_mhz * CLOCK_FALLEN_PCT / 100
    after_s = next(at_s for at_s, clock_mhz in clocks if clock_mhz < low_mhz)
    return Throttling(after_s, sentence, is_heat=False)


def _held_down(look: Telemetry, gpu: int | None) -> str | None:
    """Return why a device's clock was held down in a look, "" if it was not, None if that is not known."""
    if gpu is None:
        count = look.throttle_count
        return None if count is None else "thermal" if count > 0 else ""
    reading = look.gpu(gpu)
    words = None if reading is None else reading.throttle_reasons
    return None if words is None else next((word for word in _HELD_DOWN_BY if word in words), "")


def _clocks_mhz(looks: Looks) -> list[tuple[float, float]]:
    """Return moments and clocks of what computes, once they have settled."""
    clocks = []
    for at_s, look in zip(looks.times_s, looks.telemetry, strict=True):
        clock_mhz = look.cpu_clock_mhz if looks.gpu is None else None
        if (reading := look.gpu(looks.gpu)) is not None:
            clock_mhz = reading.clock_mhz
        if clock_mhz is not None and at_s > CLOCK_SETTLES_S:
            clocks.append((at_s, clock_mhz))
    return clocks


def _clock_falling(evidence: Evidence) -> str:
    looks = evidence.looks
    clocks_mhz = [clock_mhz for _, clock_mhz in _clocks_mhz(looks)]
    third = len(clocks_mhz) // 3
    if third < _THIRD_AT_LEAST:
        return ""
    first_mhz, last_mhz = statistics.median(clocks_mhz[:third]), statistics.median(clocks_mhz[-third:])
    if last_mhz >= first_mhz * CLOCK_FALLEN_PCT / 100:
        return ""
    what = "processor" if looks.gpu is None else "GPU"
    return f"The {what}'s clock fell from {first_mhz:,.0f} to {last_mhz:,.0f} MHz during the run."


def _engine_changed(evidence: Evidence) -> str:
    environment = evidence.run.environment
    told = ", ".join(environment.variables) if environment is not None else ""
    return f"Environment variables changed what the engine does: {told}." if told else ""


def _cpus_hidden(evidence: Evidence) -> str:
    run, environment = evidence.run, evidence.run.environment
    there = run.machine.logical_cores
    allowed = (environment.visible_cpus, environment.cpu_quota) if environment is not None else ()
    usable = min((value for value in allowed if value is not None), default=None)
    if there is None or usable is None or run.summary.threads is not None or usable >= there:
        return ""
    return f"The run could use {usable:g} of the computer's {there:g} logical processors."


def _device_differs(evidence: Evidence) -> str:
    environment, asked = evidence.run.environment, evidence.run.spec.device
    got = environment.device if environment is not None else asked
    if asked in ("auto", got):
        return ""
    return f"The run was asked to use {asked} and used {got}."


INVALID_RULES = (Rule("suspended", "invalid", _suspended, "Keep the computer awake, and run it again."),)
CAUTION_RULES = (
    *(condition.rule() for condition in CONDITIONS if condition.past),
    Rule("throttled", "caution", _throttled, "Let it cool down, free its fans from dust, and run it again."),
    Rule(
        "clock_falling",
        "caution",
        _clock_falling,
        "A Sustained run tells which speed it holds; better cooling makes that a higher one.",
        at_end=True,
    ),
    # Durations are taken from a clock that nobody sets, so that the number stands.
    Rule(
        "clock_step",
        "caution",
        _clock_step,
        "The durations do not depend on it, so the number stands; the time of day of the run may be wrong.",
    ),
    Rule(
        "engine_changed",
        "caution",
        _engine_changed,
        "Compare it with runs under the same variables only, or remove them and start Epochmark again.",
    ),
    Rule(
        "cpus_hidden",
        "caution",
        _cpus_hidden,
        "Give the container or the terminal that Epochmark runs in all processors.",
    ),
    Rule(
        "host_device_differs",
        "caution",
        _device_differs,
        "Choose the device that it used, or let `python3 start.py --repair` install what the other one needs.",
    ),
)
