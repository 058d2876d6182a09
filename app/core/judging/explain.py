"""What limited a run, in one sentence from its own record: looks at the machine, steps, and the share of its peak.

It says what the readings show and what could be tried; where they do not tell, it says that.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from app.core.judging.evidence import Evidence, evidence_of
from app.core.judging.surroundings import throttle_moment
from app.core.model import Run
from workloads import CATALOGUE

LOOKS_AT_LEAST = 3
# NVML counts a GPU as busy while any kernel runs on it: below this it waits between kernels.
GPU_IDLES_PCT, GPU_FULL_PCT = 60.0, 90.0
# Time in which its memory was read or written; memory-bound kernels come near 100 %, convolutions stay far below.
GPU_MEMORY_FULL_PCT = 70.0
GPU_CAPPED_PCT = 50.0
# Of what the run may use of the processor.
CPU_FULL_PCT, CPU_IDLES_PCT = 85.0, 60.0
# Matrix products of a usual size reach more than this where arithmetic is the limit.
PEAK_GOOD_PCT, PEAK_POOR_PCT = 50.0, 25.0
_BATCH_FACTOR_MOST = 16
_UNTOLD = ("limits", "storage")  # they measure one part by itself


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, or two, and a code for it.

    Attributes:
        code: throttled, launch_bound, input_bound, memory_bound, power_capped, gpu_bound, gpu_waits, few_threads,
            physical_cores, cores_idle, cpu_waits, arithmetic_bound, cpu_memory_bound, cpu_bound, too_short.
    """

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class _Load:
    """How busy the parts were on average, in percent; None means not known."""

    gpu_pct: float | None
    gpu_memory_pct: float | None
    capped_pct: float | None
    own_cpu_pct: float | None  # of all logical processors
    cpus: float | None  # that the run might use
    free_cpus: float | None  # what other programs left of them
    busy_cpus: float | None  # that it used


def explain(run: Run) -> Explanation | None:
    """Say what limited a run that measured something; None where that is no question."""
    workload = CATALOGUE.get(run.summary.workload)
    if run.summary.step_median_s is None or workload is None or workload.kind in (*_UNTOLD, "demo"):
        return None
    evidence = evidence_of(run)
    if len(evidence.looks.telemetry) < LOOKS_AT_LEAST:
        text = "The run was too short to see what limited it."
        return Explanation("too_short", text)
    load = _load(evidence)
    rules: tuple[Callable[[Evidence, _Load], Explanation | None], ...] = (_throttled,)
    rules += (_on_cpu,) if evidence.looks.gpu is None else (_on_gpu,)
    return next((found for rule in rules if (found := rule(evidence, load)) is not None), None)


def _load(evidence: Evidence) -> _Load:
    looks = evidence.looks
    told = [gpu.get("throttle_reasons") for gpu in looks.gpus()]
    capped = ["power cap" in words for words in told if isinstance(words, list | tuple)]
    busy_pct, other_pct = _mean(looks.readings("cpu_pct")), _mean(looks.readings("other_cpu_pct"))
    own_pct = None
    if busy_pct is not None and other_pct is not None:
        own_pct = max(0.0, busy_pct - other_pct - (_mean(looks.readings("steal_pct")) or 0.0))
    logical = _count(evidence.run.machine.get("logical_cores"))
    cpus = _usable(evidence, logical)
    free = cpus
    if cpus is not None and logical is not None and other_pct is not None:
        free = max(0.0, min(cpus, logical * (1 - other_pct / 100)))
    return _Load(
        gpu_pct=_mean(looks.gpu_readings("utilization_pct")),
        gpu_memory_pct=_mean(looks.gpu_readings("memory_utilization_pct")),
        capped_pct=100 * sum(capped) / len(capped) if capped else None,
        own_cpu_pct=own_pct,
        cpus=cpus,
        free_cpus=free,
        busy_cpus=None if own_pct is None or logical is None else own_pct / 100 * logical,
    )


def _usable(evidence: Evidence, logical: int | None) -> float | None:
    """Return how many logical processors the run might use: a container or the user may have limited them."""
    environment, threads = evidence.run.environment or {}, evidence.run.summary.threads
    limits = [environment.get("visible_cpus"), environment.get("cpu_quota"), threads, logical]
    known = [float(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < 100_000]
    return min(known, default=None)


def _throttled(evidence: Evidence, _: _Load) -> Explanation | None:
    moment = throttle_moment(evidence)
    if moment is None:
        return None
    after_s, sentence = moment
    when = f"after {after_s / 60:.0f} minutes" if after_s >= 90 else f"after {after_s:.0f} seconds"
    when = "from the start" if after_s < 2 else when
    return Explanation("throttled", f"Throttled {when}: {_inside(sentence)} Better cooling would keep the speed.")


def _on_gpu(evidence: Evidence, load: _Load) -> Explanation | None:
    busy_pct, run = load.gpu_pct, evidence.run.summary
    if busy_pct is None:
        return None
    busy = f"GPU {busy_pct:.0f} % busy"
    if busy_pct < GPU_IDLES_PCT and CATALOGUE[run.workload].prepares_input:
        used = "" if load.busy_cpus is None else f" ({load.busy_cpus:.1f} processors busy)"
        text = (
            f"{busy}: it waits for the processor, which prepares the input{used}; the input pipeline is the limit."
        )
        return Explanation("input_bound", text)
    if busy_pct < GPU_IDLES_PCT:
        text = (
            f"{busy}: this small network is launch-bound, starting the work takes longer than the work; "
            f"try batch {_larger_batch(run.batch_size, busy_pct)}."
        )
        return Explanation("launch_bound", text)
    if busy_pct < GPU_FULL_PCT:
        text = f"{busy}: it waits for the processor part of the time; a larger batch keeps it busier."
        return Explanation("gpu_waits", text)
    return _full_gpu(load, busy, run.precision)


def _full_gpu(load: _Load, busy: str, precision: str) -> Explanation:
    if load.gpu_memory_pct is not None and load.gpu_memory_pct >= GPU_MEMORY_FULL_PCT:
        text = f"{busy}, its memory {load.gpu_memory_pct:.0f} %: memory bandwidth-bound."
        advice = " Half precision moves half the bytes." if precision == "float32" else ""
        return Explanation("memory_bound", text + advice)
    if load.capped_pct is not None and load.capped_pct >= GPU_CAPPED_PCT:
        text = f"{busy}, at its power limit for {load.capped_pct:.0f} % of the time: that is its full speed."
        return Explanation("power_capped", text)
    return Explanation("gpu_bound", f"{busy}: the graphics card itself is the limit, as it should be.")


def _on_cpu(evidence: Evidence, load: _Load) -> Explanation | None:
    busy, cpus = load.busy_cpus, load.cpus
    if busy is None or cpus is None:
        return None
    run, physical = evidence.run.summary, _count(evidence.run.machine.get("physical_cores"))
    logical = _count(evidence.run.machine.get("logical_cores")) or 0
    if run.threads is not None and run.threads < logical and busy >= CPU_FULL_PCT / 100 * cpus:
        text = f"All of the {run.threads} threads that it was limited to were busy, of {logical} that there are."
        return Explanation("few_threads", text)
    doubled = physical is not None and logical >= 2 * physical and cpus >= logical
    if doubled and physical is not None and 0.75 * physical <= busy <= 1.15 * physical and physical > 1:
        text = f"{busy:.0f} of {logical} threads do the work: physical cores are enough."
        return Explanation("physical_cores", text)
    if cpus >= 2 and busy < CPU_IDLES_PCT / 100 * (physical if doubled and physical else cpus):
        text = (
            f"{busy:.1f} of {cpus:.0f} processors were busy: the steps are too small to be shared among them; "
            f"try batch {_larger_batch(run.batch_size, 100 * busy / cpus)}."
        )
        return Explanation("cores_idle", text)
    told = f"{busy:.1f} of {cpus:.0f} processors were busy"
    if cpus >= 2 and load.free_cpus is not None and busy < CPU_FULL_PCT / 100 * load.free_cpus:
        text = f"{told}: parts of each step do not run side by side; a larger batch may use more of them."
        return Explanation("cpu_waits", text)
    return _full_cpu(evidence, told)


def _full_cpu(evidence: Evidence, busy: str) -> Explanation:
    share_pct = evidence.run.peak.share_pct if evidence.run.peak is not None else None
    if share_pct is not None and share_pct >= PEAK_GOOD_PCT:
        text = f"{busy} and reached {share_pct:.0f} % of their peak: arithmetic is the limit."
        return Explanation("arithmetic_bound", text)
    if share_pct is not None and share_pct < PEAK_POOR_PCT:
        text = f"{busy} and reached only {share_pct:.0f} % of their peak: memory, not arithmetic, is the limit."
        return Explanation("cpu_memory_bound", text)
    return Explanation("cpu_bound", f"{busy}: the processor is the limit.")


def _inside(sentence: str) -> str:
    """Return a sentence as it goes on behind a colon."""
    return sentence[:1].lower() + sentence[1:]


def _larger_batch(batch_size: int, busy_pct: float) -> int:
    """Return the next power of two that gives as much more work as there is room; at most sixteen times."""
    factor = min(_BATCH_FACTOR_MOST, max(2.0, 100 / max(busy_pct, 1.0)))
    return int(2 ** math.ceil(math.log2(batch_size * factor)))


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 100_000 else None
