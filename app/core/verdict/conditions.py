"""What can distort a run's number from outside: rules for the record, and for telemetry before a run."""

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.hardware.telemetry.slowdowns import saves_power
from app.core.messages import Message, message
from app.core.verdict.context import Evidence, Rule, TelemetryWindow, reason
from workloads.protocol import events
from workloads.protocol.telemetry import Telemetry

# A common limit of benchmarks for background load; a busy loop beside a run on two cores cost 62 % (V. Stinner,
# FOSDEM 2017), so that a tenth may cost several percent.
OTHER_LOAD_PCT = 10.0
# The host may take it in one run but not in the next: more than results should vary.
STEAL_PCT = 5.0
# A solid-state disk moves hundreds of times as much; less than this is only idle pages.
SWAP_BYTES_PER_S = 1_000_000.0
# A desktop with a browser holds less GPU memory; a game, a language model or other training holds more.
GPU_MEMORY_TAKEN_BYTES = 1_500_000_000
# More than drawing a desktop takes.
GPU_BUSY_PCT = 5.0
# A shorter sleep could be telemetry that came late.
SUSPENDED_S = 1.0
# Time services usually correct less than this at once, which is harmless.
CLOCK_STEP_S = 1.0
# One second in twenty: more than chance.
THROTTLED_PCT = 5.0
# The CPU clock before it is warm, as in every run.
CLOCK_SETTLES_S = 5.0
# A clock that is a twentieth lower makes a run about as much slower.
CLOCK_FALLEN_PCT = 95.0
_THIRD_AT_LEAST = 3
# A GPU at its power limit is working well.
_HELD_DOWN_BY = ("thermal", "hardware slowdown", "power brake")
_HEAT = ("thermal", "hardware slowdown")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that can be checked both before a run and in its record.

    Attributes:
        figure: The measured figure, as arguments of its messages; None if it is within its limit or unknown.
        advice: Code of the advice.
        in_records: Whether a record can show it: during a run, the run itself keeps the GPU busy.
    """

    code: str
    figure: Callable[[TelemetryWindow], dict[str, Any] | None]
    advice: str
    in_records: bool = True

    def rule(self) -> Rule:
        """Return the rule for records."""

        def find(evidence: Evidence) -> Message | None:
            figure = self.figure(evidence.telemetry)
            return None if figure is None else message(f"verdict.{self.code}", **figure)

        return Rule(self.code, "caution", find, self.advice)

    def before(self, window: TelemetryWindow) -> events.Reason | None:
        """Return what to report before a run; None for nothing."""
        figure = self.figure(window)
        said = None if figure is None else message(f"preflight.{self.code}", **figure)
        return None if said is None else reason(self.code, "caution", said, self.advice)


def _on_battery(window: TelemetryWindow) -> dict[str, Any] | None:
    on_battery = [record.on_battery for record in window.records if record.on_battery is not None]
    if not any(on_battery):
        return None
    share_pct = 100 * sum(on_battery) / len(on_battery)
    return {"part": None if all(on_battery) else message("verdict.part_of_time", share_pct=share_pct)}


def _power_plan(window: TelemetryWindow) -> dict[str, Any] | None:
    plans = [record.power_plan for record in window.records if record.power_plan is not None]
    saving = next((plan for plan in plans if saves_power(plan)), None)
    return None if saving is None else {"plan": saving}


def _mean_above(name: str, limit: float) -> Callable[[TelemetryWindow], dict[str, Any] | None]:
    def figure(window: TelemetryWindow) -> dict[str, Any] | None:
        values = window.values(name)
        mean_pct = statistics.fmean(values) if values else 0.0
        return {"share_pct": mean_pct} if mean_pct > limit else None

    return figure


def _swapping(window: TelemetryWindow) -> dict[str, Any] | None:
    values = window.values("swap_bytes_per_s")
    mean = statistics.fmean(values) if values else 0.0
    return {"rate_mb_per_s": mean / 1e6} if mean > SWAP_BYTES_PER_S else None


def _gpu_memory(window: TelemetryWindow) -> dict[str, Any] | None:
    values = window.gpu_values("other_memory_bytes")
    typical_bytes = statistics.median(values) if values else 0.0
    return {"memory_bytes": typical_bytes} if typical_bytes > GPU_MEMORY_TAKEN_BYTES else None


def _gpu_busy(window: TelemetryWindow) -> dict[str, Any] | None:
    values = window.gpu_values("utilization_pct")
    mean_pct = statistics.fmean(values) if values else 0.0
    return {"share_pct": mean_pct} if mean_pct > GPU_BUSY_PCT else None


CONDITIONS = (
    Condition("on_battery", _on_battery, "advice.plug_in"),
    Condition("power_saving", _power_plan, "advice.power_plan"),
    Condition("other_load", _mean_above("other_cpu_pct", OTHER_LOAD_PCT), "advice.other_load"),
    Condition("host_steal", _mean_above("steal_pct", STEAL_PCT), "advice.host_steal"),
    Condition("swapping", _swapping, "advice.free_memory"),
    Condition("gpu_memory_taken", _gpu_memory, "advice.free_gpu"),
    Condition("gpu_busy", _gpu_busy, "advice.free_gpu", in_records=False),
)


def _suspended(evidence: Evidence) -> Message | None:
    values_s = evidence.telemetry.values("suspended_s")
    if not any(value_s > SUSPENDED_S for value_s in values_s):
        return None
    return message("verdict.suspended", slept_s=sum(values_s))


def _clock_step(evidence: Evidence) -> Message | None:
    set_s = sum(map(abs, evidence.telemetry.values("clock_step_s")))
    return message("verdict.clock_step", set_s=set_s) if set_s > CLOCK_STEP_S else None


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
    return message("verdict.throttled_gpu", share_pct=held_pct, reason=word)


@dataclass(frozen=True, slots=True)
class Throttling:
    """What limited the clock of a run's device.

    Attributes:
        after_s: Seconds since the measurement began.
        said: What was observed, as a clause.
        is_heat: Whether heat was the cause; otherwise it may also be a power limit.
    """

    after_s: float
    said: Message
    is_heat: bool


def throttling(evidence: Evidence) -> Throttling | None:
    """Return how the clock of the run's device was limited; None if not for long enough to matter."""
    window = evidence.telemetry
    held = [_held_down(record, window.gpu) for record in window.records]
    readable = [word for word in held if word is not None]
    times_s = [at_s for at_s, word in zip(window.times_s, held, strict=True) if word]
    if readable and 100 * len(times_s) / len(readable) > THROTTLED_PCT:
        word = Counter(word for word in readable if word).most_common(1)[0][0]
        code = "bottleneck.cpu_held_down" if window.gpu is None else "bottleneck.gpu_held_down"
        said = message(code, share_pct=100 * len(times_s) / len(readable), reason=word)
        return Throttling(max(0.0, times_s[0]), said, word in _HEAT)
    fallen = _fallen_mhz(evidence)
    if fallen is None:
        return None
    first_mhz, last_mhz = fallen
    clocks = _clocks_mhz(window)
    settled_mhz = statistics.median(clock_mhz for _, clock_mhz in clocks[: len(clocks) // 3])
    low_mhz = settled_mhz * CLOCK_FALLEN_PCT / 100
    after_s = next(at_s for at_s, clock_mhz in clocks if clock_mhz < low_mhz)
    code = "bottleneck.cpu_clock_fell" if window.gpu is None else "bottleneck.gpu_clock_fell"
    return Throttling(after_s, message(code, first_mhz=first_mhz, last_mhz=last_mhz), is_heat=False)


def _held_down(record: Telemetry, gpu: int | None) -> str | None:
    """Return why a device's clock was limited; "" if it was not, None if unknown."""
    if gpu is None:
        count = record.throttle_count
        return None if count is None else "thermal" if count > 0 else ""
    gpu_record = record.gpu(gpu)
    words = None if gpu_record is None else gpu_record.throttle_reasons
    return None if words is None else next((word for word in _HELD_DOWN_BY if word in words), "")


def _clocks_mhz(window: TelemetryWindow) -> list[tuple[float, float]]:
    """Return times and clocks of the run's device, after they have settled."""
    clocks = []
    for at_s, record in zip(window.times_s, window.records, strict=True):
        clock_mhz = record.cpu_clock_mhz if window.gpu is None else None
        if (gpu := record.gpu(window.gpu)) is not None:
            clock_mhz = gpu.clock_mhz
        if clock_mhz is not None and at_s > CLOCK_SETTLES_S:
            clocks.append((at_s, clock_mhz))
    return clocks


def _fallen_mhz(evidence: Evidence) -> tuple[float, float] | None:
    """Return the clocks of the first and last third if it fell; otherwise None."""
    clocks_mhz = [clock_mhz for _, clock_mhz in _clocks_mhz(evidence.telemetry)]
    third = len(clocks_mhz) // 3
    if third < _THIRD_AT_LEAST:
        return None
    first_mhz, last_mhz = statistics.median(clocks_mhz[:third]), statistics.median(clocks_mhz[-third:])
    return (first_mhz, last_mhz) if last_mhz < first_mhz * CLOCK_FALLEN_PCT / 100 else None


def _clock_falling(evidence: Evidence) -> Message | None:
    fallen = _fallen_mhz(evidence)
    if fallen is None:
        return None
    code = "verdict.cpu_clock_fell" if evidence.telemetry.gpu is None else "verdict.gpu_clock_fell"
    return message(code, first_mhz=fallen[0], last_mhz=fallen[1])


def _engine_changed(evidence: Evidence) -> Message | None:
    environment = evidence.run.environment
    if environment is None or not environment.variables:
        return None
    return message("verdict.engine_changed", names=list(environment.variables))


def _cpus_hidden(evidence: Evidence) -> Message | None:
    run, environment = evidence.run, evidence.run.environment
    there = run.machine.logical_cores
    allowed = (environment.visible_cpus, environment.cpu_quota) if environment is not None else ()
    usable = min((value for value in allowed if value is not None), default=None)
    if there is None or usable is None or run.summary.threads is not None or usable >= there:
        return None
    return message("verdict.cpus_hidden", usable=usable, there=there)


def _device_differs(evidence: Evidence) -> Message | None:
    environment, asked = evidence.run.environment, evidence.run.spec.device
    got = environment.device if environment is not None else asked
    if asked in ("auto", got):
        return None
    return message("verdict.host_device_differs", asked=asked, used=got)


INVALID_RULES = (Rule("suspended", "invalid", _suspended, "advice.keep_awake"),)
CAUTION_RULES = (
    *(condition.rule() for condition in CONDITIONS if condition.in_records),
    Rule("throttled", "caution", _throttled, "advice.cool_down"),
    Rule("clock_falling", "caution", _clock_falling, "advice.run_sustained", at_end=True),
    # Durations come from a clock that nobody sets, so the number is still good.
    Rule("clock_step", "caution", _clock_step, "advice.clock_step"),
    Rule("engine_changed", "caution", _engine_changed, "advice.engine_changed"),
    Rule("cpus_hidden", "caution", _cpus_hidden, "advice.cpus_hidden"),
    Rule("host_device_differs", "caution", _device_differs, "advice.device_differs"),
)
