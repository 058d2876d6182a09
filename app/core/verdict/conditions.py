"""External conditions that can distort a result: rules for records, and checks of telemetry before a run."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from app.core.hardware.telemetry.slowdowns import saves_power
from app.core.messages import Message, message
from app.core.verdict.context import Evidence, Rule, TelemetryWindow, reason
from app.core.verdict.throttling import THROTTLING_RULES, too_hot
from workloads.protocol import events

# A common limit for background load in benchmarks. A busy loop next to a run on two cores cost 62 % (V. Stinner,
# FOSDEM 2017), so 10 % may cost several percent.
OTHER_LOAD_PCT = 10.0
# The share of time lost to the host may differ between runs, and results shouldn't vary by more than this.
STEAL_PCT = 5.0
# Solid-state drives transfer hundreds of times as much. Lower rates are caused by idle pages.
SWAP_BYTES_PER_S = 1_000_000.0
# Desktops with a browser use less GPU memory than this; games, language models and other training use more.
GPU_MEMORY_TAKEN_BYTES = 1_500_000_000
# Without spilling, a run also shares pinned memory with its GPU: up to five batches, rounded up to powers of two
# (0.6 GB for the largest default batch), plus what the driver needs.
SPILLED_BYTES = 1_000_000_000
# Drivers move data to the computer's memory only if the card is almost full.
GPU_FULL_PCT = 90.0
# Drawing a desktop uses less than this.
GPU_BUSY_PCT = 5.0
# A shorter gap could be late telemetry.
SUSPENDED_S = 1.0
# By chance, a CPU quota may stop a run in 1 of 20 scheduling periods.
QUOTA_HELD_PCT = 5.0
# Programs of an idle desktop wait for a CPU 1 to 2 % of the time, and longer during a run.
CPU_PRESSURE_PCT = 20.0
# The same limit as for time lost to the host.
MEMORY_PRESSURE_PCT = 5.0
# Available memory falls below this only if a system without swap runs out of memory.
MEMORY_LEFT_BYTES = 200_000_000
MEMORY_FULL_PCT = 5.0
# Desktops use less of the GPU, even during animations.
GPU_SHARED_PCT = 10.0
GPU_BUSY_BEFORE_PCT = 20.0
# Minimum number of records, because a single busy second may be caused by opening a window.
_EARLIER_AT_LEAST = 2


Typical: TypeAlias = Callable[[list[float]], float]
Figure: TypeAlias = Callable[[TelemetryWindow], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that can be checked before a run and, in most cases, in its record."""

    code: str
    # Returns the measured value as arguments for messages; None if it is within its limit or unknown.
    figure: Figure
    advice: str  # message code of the advice
    # Whether a record shows the condition. Some can't, because the run itself keeps the CPU and GPU busy.
    in_records: bool = True
    recorded: Figure | None = None  # the same for records; None to use `figure`
    unless: str = ""  # code of a more specific condition that replaces this one; "" if there is none

    def rule(self) -> Rule:
        """Return the rule for records."""

        def find(evidence: Evidence) -> Message | None:
            figure = (self.recorded or self.figure)(evidence.telemetry)
            return None if figure is None else message(f"verdict.{self.code}", **figure)

        return Rule(self.code, "caution", find, self.advice)

    def before(self, window: TelemetryWindow) -> events.Reason | None:
        if (figure := self.figure(window)) is None:
            return None
        return reason(self.code, "caution", message(f"preflight.{self.code}", **figure), self.advice)


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


def _above(
    name: str, limit: float, argument: str = "share_pct", *, gpu: bool = False, typical: Typical = statistics.fmean
) -> Figure:
    def figure(window: TelemetryWindow) -> dict[str, Any] | None:
        values = window.gpu_values(name) if gpu else window.values(name)
        value = typical(values) if values else 0.0
        return {argument: value} if value > limit else None

    return figure


def _swapping(window: TelemetryWindow) -> dict[str, Any] | None:
    rate = window.mean("swap_bytes_per_s") or 0.0
    return {"rate_mb_per_s": rate / 1e6} if rate > SWAP_BYTES_PER_S else None


_gpu_memory = _above(
    "other_memory_bytes", GPU_MEMORY_TAKEN_BYTES, "memory_bytes", gpu=True, typical=statistics.median
)
_gpu_busy = _above("utilization_pct", GPU_BUSY_PCT, gpu=True)
_gpu_shared = _above("other_utilization_pct", GPU_SHARED_PCT, gpu=True)
CONDITIONS = (
    Condition("on_battery", _on_battery, "advice.plug_in"),
    Condition("power_saving", _power_plan, "advice.power_plan"),
    Condition("other_load", _above("other_cpu_pct", OTHER_LOAD_PCT), "advice.other_load"),
    Condition("host_steal", _above("steal_pct", STEAL_PCT), "advice.host_steal"),
    Condition("swapping", _swapping, "advice.free_memory"),
    Condition("gpu_memory_taken", _gpu_memory, "advice.other_load"),
    Condition("gpu_busy", _gpu_busy, "advice.other_load", recorded=_gpu_shared),
    Condition("cpu_quota", _above("cpu_held_pct", QUOTA_HELD_PCT), "advice.cpu_quota"),
    # The load of other programs is unknown if a container hides them.
    Condition(
        "cpu_pressure",
        _above("cpu_pressure_pct", CPU_PRESSURE_PCT),
        "advice.other_load",
        in_records=False,
        unless="other_load",
    ),
    Condition("memory_pressure", _above("memory_pressure_pct", MEMORY_PRESSURE_PCT), "advice.free_memory"),
    Condition("too_hot", too_hot, "advice.cool_down", in_records=False),
)


def _gpu_busy_before(evidence: Evidence) -> Message | None:
    """Return a caution if the GPU was busy at the start of the run, unless its use by other programs is known."""
    window = evidence.telemetry
    if window.gpu_values("other_utilization_pct"):
        return None
    gpus = [record.gpu(window.gpu) for record in window.earlier]
    busy_pct = [gpu.utilization_pct for gpu in gpus if gpu is not None and gpu.utilization_pct is not None]
    if len(busy_pct) < _EARLIER_AT_LEAST or min(busy_pct) <= GPU_BUSY_BEFORE_PCT:
        return None
    return message("verdict.gpu_busy_before", share_pct=statistics.fmean(busy_pct))


def _memory_spilled(evidence: Evidence) -> Message | None:
    """Return a caution if the GPU's memory was full and the driver used the computer's memory instead."""
    index, gpus = evidence.telemetry.gpu, evidence.run.machine.gpus
    gpu = gpus[index] if index is not None and 0 <= index < len(gpus) else None
    if gpu is None or gpu.shares_memory or not gpu.memory_bytes:
        return None
    # The engine reserved more GPU memory than other programs had left unused.
    reserved_bytes = evidence.run.metrics.get("peak_gpu_reserved_bytes") or 0.0
    others = evidence.telemetry.gpu_values("other_memory_bytes")
    spilled_bytes = max(
        _shared_bytes(evidence, gpu.memory_bytes),
        reserved_bytes - max(0.0, gpu.memory_bytes - min(others, default=0.0)),
    )
    return message("verdict.memory_spilled", memory_bytes=spilled_bytes) if spilled_bytes > 0 else None


def _shared_bytes(evidence: Evidence, capacity_bytes: float) -> float:
    """Return the amount of system memory that Windows used for the run because the GPU's memory was full."""
    shared = evidence.telemetry.gpu_values("own_shared_bytes")
    used = evidence.telemetry.gpu_values("memory_used_bytes")
    if not shared or (used and 100 * statistics.median(used) < GPU_FULL_PCT * capacity_bytes):
        return 0.0
    typical_bytes = statistics.median(shared)
    return typical_bytes if typical_bytes > SPILLED_BYTES else 0.0


def _memory_full(evidence: Evidence) -> Message | None:
    left_bytes = evidence.telemetry.values("memory_available_bytes")
    full = [each for each in left_bytes if each < MEMORY_LEFT_BYTES]
    if not full or 100 * len(full) / len(left_bytes) <= MEMORY_FULL_PCT:
        return None
    return message("verdict.memory_full", free_bytes=min(full))


def _suspended(evidence: Evidence) -> Message | None:
    values_s = evidence.telemetry.values("suspended_s")
    if not any(value_s > SUSPENDED_S for value_s in values_s):
        return None
    return message("verdict.suspended", slept_s=sum(values_s))


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
    is_asked = run.summary.threads is not None or run.spec.settings.get("cpus") == usable
    if there is None or usable is None or is_asked or usable >= there:
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
    Rule("gpu_busy_before", "caution", _gpu_busy_before, "advice.other_load"),
    Rule("memory_full", "caution", _memory_full, "advice.free_memory"),
    Rule("memory_spilled", "caution", _memory_spilled, "advice.free_memory"),
    *THROTTLING_RULES,
    Rule("engine_changed", "caution", _engine_changed, "advice.engine_changed"),
    Rule("cpus_hidden", "caution", _cpus_hidden, "advice.cpus_hidden"),
    Rule("host_device_differs", "caution", _device_differs, "advice.device_differs"),
)
# Codes of what may have slowed a run down.
DISTURBANCES = frozenset(rule.code for rule in CAUTION_RULES)
