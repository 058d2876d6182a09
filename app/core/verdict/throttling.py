"""Detects reduced clock speeds, caused by heat or power limits, during a run or from its start."""

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from app.core.messages import Message, message
from app.core.titles import throttle_message
from app.core.verdict.context import Evidence, Rule, TelemetryWindow
from workloads.protocol.telemetry import Telemetry

# One second in 20, which is too much to be chance.
THROTTLED_PCT = 5.0
# In every run, the CPU's clock takes this long to settle while the CPU warms up.
CLOCK_SETTLES_S = 5.0
# A clock that is 5 % lower makes a run about 5 % slower.
CLOCK_FALLEN_PCT = 95.0
_THIRD_AT_LEAST = 3
# Excludes the power limit: a GPU that reaches it works normally.
_HELD_DOWN_BY = ("thermal", "hardware slowdown", "power brake")
_HEAT = ("thermal", "hardware slowdown")
# By design, server CPUs process wide vectors at up to a third below the base clock.
SLOW_CLOCK_PCT = 70.0
# If this share of the CPU is busy, the mean of all clocks is representative.
_BUSY_PCT = 80.0
_BUSY_AT_LEAST = 5
# CPUs reduce their clock about ten degrees above this.
HOT_C = 90.0


def _throttled(evidence: Evidence) -> Message | None:
    window = evidence.telemetry
    count = round(sum(window.values("throttle_count")))
    if count > 0:
        return message("verdict.throttled_cpu", count=count)
    reasons = [gpu.throttle_reasons for gpu in window.gpus() if gpu.throttle_reasons is not None]
    held = Counter(next((word for word in _HELD_DOWN_BY if word in words), "") for words in reasons)
    held_pct = 100 * (len(reasons) - held[""]) / len(reasons) if reasons else 0.0
    if held_pct <= THROTTLED_PCT:
        return None
    word = max(_HELD_DOWN_BY, key=lambda each: held[each])
    return message("verdict.throttled_gpu", share_pct=held_pct, reason=throttle_message(word))


@dataclass(frozen=True, slots=True)
class Throttling:
    """Throttling of a device's clock during a run."""

    after_s: float  # time from the start of the measurement in seconds
    said: Message  # description of the observation, as a clause
    is_heat: bool  # Whether heat is known to be the cause. If not, the cause may be a power limit or unknown.


def throttling(evidence: Evidence) -> Throttling | None:
    """Return the throttling of the run's device; None if there was none or it was brief."""
    window = evidence.telemetry
    device = "CPU" if window.gpu is None else "GPU"
    held = [_held_down(record, window.gpu) for record in window.records]
    readable = [word for word in held if word is not None]
    times_s = [at_s for at_s, word in zip(window.times_s, held, strict=True) if word]
    if readable and 100 * len(times_s) / len(readable) > THROTTLED_PCT:
        word = Counter(word for word in readable if word).most_common(1)[0][0]
        share_pct = 100 * len(times_s) / len(readable)
        said = message("bottleneck.held_down", device=device, share_pct=share_pct, reason=throttle_message(word))
        return Throttling(max(0.0, times_s[0]), said, word in _HEAT)
    if (fallen := _fallen_mhz(evidence)) is None:
        return None
    clocks = _clocks_mhz(window)
    settled_mhz = statistics.median(clock_mhz for _, clock_mhz in clocks[: len(clocks) // 3])
    low_mhz = settled_mhz * CLOCK_FALLEN_PCT / 100
    after_s = next(at_s for at_s, clock_mhz in clocks if clock_mhz < low_mhz)
    said = message("bottleneck.clock_fell", device=device, first_mhz=fallen[0], last_mhz=fallen[1])
    return Throttling(after_s, said, is_heat=False)


def _held_down(record: Telemetry, gpu: int | None) -> str | None:
    """Return the reason why a device's clock was limited; "" if it wasn't, None if unknown."""
    if gpu is None:
        count = record.throttle_count
        return None if count is None else "thermal" if count > 0 else ""
    gpu_record = record.gpu(gpu)
    words = None if gpu_record is None else gpu_record.throttle_reasons
    return None if words is None else next((word for word in _HELD_DOWN_BY if word in words), "")


def _clocks_mhz(window: TelemetryWindow) -> list[tuple[float, float]]:
    clocks = []
    for at_s, record in zip(window.times_s, window.records, strict=True):
        clock_mhz = record.cpu_clock_mhz if window.gpu is None else None
        if (gpu := record.gpu(window.gpu)) is not None:
            clock_mhz = gpu.clock_mhz
        if clock_mhz is not None and at_s > CLOCK_SETTLES_S:
            clocks.append((at_s, clock_mhz))
    return clocks


def _fallen_mhz(evidence: Evidence) -> tuple[float, float] | None:
    clocks_mhz = [clock_mhz for _, clock_mhz in _clocks_mhz(evidence.telemetry)]
    third = len(clocks_mhz) // 3
    if third < _THIRD_AT_LEAST:
        return None
    first_mhz, last_mhz = statistics.median(clocks_mhz[:third]), statistics.median(clocks_mhz[-third:])
    return (first_mhz, last_mhz) if last_mhz < first_mhz * CLOCK_FALLEN_PCT / 100 else None


def _clock_falling(evidence: Evidence) -> Message | None:
    if (fallen := _fallen_mhz(evidence)) is None:
        return None
    code = "verdict.cpu_clock_fell" if evidence.telemetry.gpu is None else "verdict.gpu_clock_fell"
    return message(code, first_mhz=fallen[0], last_mhz=fallen[1])


def _slow_clock(evidence: Evidence) -> Message | None:
    """Return a caution if the CPU was below its base clock throughout the run."""
    # Throttle counters can't reveal this if they no longer increase.
    window, base_mhz = evidence.telemetry, evidence.run.machine.cpu_base_mhz
    busy_mhz = [
        record.cpu_clock_mhz
        for record in window.records
        if record.cpu_clock_mhz is not None and record.cpu_pct is not None and record.cpu_pct >= _BUSY_PCT
    ]
    if window.gpu is not None or base_mhz is None or len(busy_mhz) < _BUSY_AT_LEAST:
        return None
    was_hot = any(record.throttle_count for record in window.earlier)
    clock_mhz = statistics.median(busy_mhz)
    if clock_mhz >= base_mhz * (CLOCK_FALLEN_PCT if was_hot else SLOW_CLOCK_PCT) / 100:
        return None
    return message("verdict.slow_clock", clock_mhz=clock_mhz, base_mhz=base_mhz)


def too_hot(window: TelemetryWindow) -> dict[str, Any] | None:
    """Return {} (no value to show) if heat currently limits a clock; otherwise None."""
    temperatures_c = window.values("cpu_temperature_c")
    is_hot = bool(temperatures_c) and min(temperatures_c) >= HOT_C
    held = [_held_down(record, gpu) for record in window.records for gpu in {None, window.gpu}]
    return {} if is_hot or any(word in _HEAT for word in held) else None


THROTTLING_RULES = (
    Rule("throttled", "caution", _throttled, "advice.cool_down"),
    Rule("slow_clock", "caution", _slow_clock, "advice.slow_clock"),
    Rule("clock_falling", "caution", _clock_falling, "advice.sustained", at_end=True),
)
