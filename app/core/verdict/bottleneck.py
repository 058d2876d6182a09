"""Determines what limited a run, based on its telemetry, steps and share of peak.

The result is a sentence with the evidence and what to try, or a statement that the limit is unclear.
"""

import logging
import math
from dataclasses import dataclass

from app.core.analysis.power import changed_limit
from app.core.analysis.shared_host import GPU_IDLES_PCT
from app.core.messages import Message, message, text
from app.core.records import Run
from app.core.verdict.context import Evidence, evidence_of
from app.core.verdict.throttling import throttling
from workloads import CATALOGUE

_log = logging.getLogger(__name__)
RECORDS_AT_LEAST = 3
GPU_FULL_PCT = 90.0
# Share of time with memory accesses. Memory-bound kernels approach 100 %; convolutions are far below.
GPU_MEMORY_FULL_PCT = 70.0
GPU_CAPPED_PCT = 50.0
# Share of the CPU capacity that is available to the run, after subtracting the use of other programs.
CPU_FULL_PCT, CPU_IDLES_PCT = 85.0, 60.0
# Share of CPU time from which other programs and the host count as the limit.
TAKEN_PCT = 20.0
# Matrix products of common sizes exceed the first share if arithmetic is the limit.
PEAK_GOOD_PCT, PEAK_POOR_PCT = 50.0, 25.0
_BATCH_FACTOR_MOST = 16
_BATCH_MOST = 1_024  # fits into the memory of most computers and GPUs


@dataclass(frozen=True, slots=True)
class Explanation:
    """The factor that limited a run, as a message."""

    said: Message

    @property
    def code(self) -> str:
        """The factor's code in exports, such as "launch_bound", which has a second sentence for small networks."""
        return self.said.code.removeprefix("bottleneck.").removesuffix("_small")

    @property
    def text(self) -> str:
        return text(self.said)


@dataclass(frozen=True, slots=True)
class _Load:
    """Average numbers of logical CPUs."""

    there: float  # CPUs of the computer
    allowed: float  # CPUs that the run may use; fewer if limited by a container or the user
    free: float  # allowed CPUs that aren't used by other programs or the host
    busy: float  # CPUs used by the run
    taken_pct: float  # percentage of all CPUs used by other programs and the host


def bottleneck_text(run: Run) -> str:
    """Return a sentence about what limited a run; "" if unknown or not applicable."""
    try:
        explanation = explain(run)
    except Exception:  # noqa: BLE001 - a failure here must not prevent showing the run
        _log.info("The bottleneck of run %s could not be determined", run.summary.id, exc_info=True)
        return ""
    return "" if explanation is None else explanation.text


def explain(run: Run) -> Explanation | None:
    """Determine what limited a run; None if nothing was measured or the question doesn't apply."""
    workload = CATALOGUE.get(run.summary.workload)
    if run.summary.step_median_s is None or workload is None:
        return None
    if workload.reports_headline or workload.is_demo:  # they measure a single component, or nothing
        return None
    evidence = evidence_of(run)
    if not evidence.telemetry.is_within or len(evidence.telemetry.records) < RECORDS_AT_LEAST:
        return Explanation(message("bottleneck.too_short"))
    limit = _on_cpu if evidence.telemetry.gpu is None else _on_gpu
    return Explanation(_throttled(evidence) or limit(evidence) or message("bottleneck.unknown"))


def _throttled(evidence: Evidence) -> Message | None:
    throttled = throttling(evidence)
    if throttled is None:
        return None
    if throttled.after_s < 2:
        when = message("bottleneck.from_the_start")
    elif throttled.after_s >= 90:
        when = message("bottleneck.after_minutes", count=round(throttled.after_s / 60))
    else:
        when = message("bottleneck.after_seconds", count=round(throttled.after_s))
    advice = message("bottleneck.better_cooling" if throttled.is_heat else "bottleneck.heat_or_power")
    return message("bottleneck.throttled", when=when, how=throttled.said, advice=advice)


def _on_gpu(evidence: Evidence) -> Message | None:
    run, window = evidence.run.summary, evidence.telemetry
    busy_pct = window.gpu_mean("utilization_pct")
    if busy_pct is None:
        return None
    room = _try_batch(evidence.run, busy_pct)
    if busy_pct < GPU_IDLES_PCT and CATALOGUE[run.workload].prepares_input:
        load = _load(evidence)
        used = message("bottleneck.cpus_used", cpus=load.busy) if load is not None else None
        return message("bottleneck.input_bound", busy_pct=busy_pct, used=used)
    if busy_pct < GPU_IDLES_PCT:
        return message("bottleneck.launch_bound", busy_pct=busy_pct, advice=room)
    if busy_pct < GPU_FULL_PCT:
        return message("bottleneck.gpu_waits", busy_pct=busy_pct, advice=room)
    return _full_gpu(evidence, busy_pct)


def _full_gpu(evidence: Evidence, busy_pct: float) -> Message:
    window = evidence.telemetry
    memory_pct = window.gpu_mean("memory_utilization_pct")
    if memory_pct is not None and memory_pct >= GPU_MEMORY_FULL_PCT:
        half = evidence.run.summary.precision == "float32"
        advice = message("bottleneck.half_precision") if half else None
        return message("bottleneck.memory_bound", busy_pct=busy_pct, memory_pct=memory_pct, advice=advice)
    reasons = [gpu.throttle_reasons for gpu in window.gpus()]
    capped = ["power cap" in words for words in reasons if words is not None]
    if capped and 100 * sum(capped) / len(capped) >= GPU_CAPPED_PCT:
        share_pct = 100 * sum(capped) / len(capped)
        if (at := changed_limit(evidence.run.summary)) is not None:
            return message("bottleneck.power_limited", busy_pct=busy_pct, share_pct=share_pct, **at.arguments)
        return message("bottleneck.power_capped", busy_pct=busy_pct, share_pct=share_pct)
    return message("bottleneck.gpu_bound", busy_pct=busy_pct)


def _on_cpu(evidence: Evidence) -> Message | None:
    load, run = _load(evidence), evidence.run.summary
    if load is None:
        return None
    full = load.busy >= CPU_FULL_PCT / 100 * load.free
    if load.taken_pct >= TAKEN_PCT and load.free < load.allowed and full:
        left_pct = 100 - load.taken_pct
        return message("bottleneck.taken", taken_pct=load.taken_pct, left_pct=left_pct)
    if run.threads is not None and run.threads <= load.allowed < load.there and full:
        return message("bottleneck.few_threads", count=run.threads, there=load.there)
    return _cores(evidence, load)


def _cores(evidence: Evidence, load: _Load) -> Message:
    # Physical cores count if each has two threads and the run may use all CPUs.
    physical: float | None = evidence.run.machine.physical_cores
    doubled = physical is not None and physical > 1 and load.there >= 2 * physical and load.allowed >= load.there
    physical = physical if doubled else None
    # Two threads share a core. With one busy thread on each core, more threads would add little.
    if physical is not None and load.free > 1.2 * physical and 0.9 <= load.busy / physical <= 1.1:
        return message("bottleneck.physical_cores", busy=load.busy, there=load.there)
    code = "bottleneck.busy_of_allowed" if load.allowed < load.there else "bottleneck.busy_of_all"
    busy = message(code, busy=load.busy, allowed=load.allowed)
    room = min(load.free, physical) if physical is not None else load.free
    if load.allowed >= 2 and load.busy < CPU_FULL_PCT / 100 * room:
        kind = "cores_idle" if load.busy < CPU_IDLES_PCT / 100 * room else "cpu_waits"
        advice = _try_batch(evidence.run, 100 * load.busy / room)
        return message(f"bottleneck.{kind}", busy=busy, advice=advice)
    return _full_cpu(evidence, busy)


def _full_cpu(evidence: Evidence, busy: Message) -> Message:
    share_pct = evidence.run.peak.share_pct if evidence.run.peak is not None else None
    if share_pct is not None and share_pct >= PEAK_GOOD_PCT:
        return message("bottleneck.arithmetic_bound", busy=busy, share_pct=share_pct)
    if share_pct is not None and share_pct < PEAK_POOR_PCT:
        return message("bottleneck.cpu_memory_bound", busy=busy, share_pct=share_pct)
    return message("bottleneck.cpu_bound", busy=busy)


def _load(evidence: Evidence) -> _Load | None:
    window, run = evidence.telemetry, evidence.run
    there = run.machine.logical_cores
    busy_pct, other_pct = window.mean("cpu_pct"), window.mean("other_cpu_pct")
    if there is None or there < 1 or busy_pct is None or other_pct is None:
        return None
    taken_pct = min(100.0, other_pct + (window.mean("steal_pct") or 0.0))
    environment = run.environment
    limits = (environment.visible_cpus, environment.cpu_quota) if environment is not None else ()
    given = [float(limit) for limit in (*limits, run.summary.threads) if limit is not None and limit > 0]
    allowed = min([*given, there])
    free = max(0.01, min(allowed, there * (1 - taken_pct / 100)))
    return _Load(there, allowed, free, max(0.0, there * (busy_pct - taken_pct) / 100), taken_pct)


def _try_batch(run: Run, busy_pct: float) -> Message | None:
    """Suggest a batch size (a power of two) that uses the remaining capacity; None if there is none."""
    # A batch must fit into the memory of most computers and not exceed the number of examples.
    summary = run.summary
    if "micro_batch" in run.spec.parameters:  # a larger batch wouldn't train more at a time
        return None
    factor = min(_BATCH_FACTOR_MOST / 2, max(1.5, 100 / max(busy_pct, 1.0)))  # rounding up may double it
    batch = int(2 ** math.ceil(math.log2(summary.batch_size * factor)))
    most = min(_BATCH_MOST, summary.samples_per_epoch or _BATCH_MOST)
    return message("bottleneck.try_batch", batch_size=batch) if batch <= most else None
