"""What limited a run, in one sentence from its own record: looks at the machine, steps, and the share of its peak.

It says what the readings show and what could be tried; where they do not tell, it says that.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from app.core.records import Run
from app.core.verdict.conditions import throttling
from app.core.verdict.context import Evidence, evidence_of
from workloads import CATALOGUE

LOOKS_AT_LEAST = 3
# NVML counts a GPU as busy while any kernel runs on it: below this it waits between kernels.
GPU_IDLES_PCT, GPU_FULL_PCT = 60.0, 90.0
# Time in which its memory was read or written; memory-bound kernels come near 100 %, convolutions stay far below.
GPU_MEMORY_FULL_PCT = 70.0
GPU_CAPPED_PCT = 50.0
# Of what the run may use of the processor, and others leave it.
CPU_FULL_PCT, CPU_IDLES_PCT = 85.0, 60.0
# What others and the host may take before they are the limit.
TAKEN_PCT = 20.0
# Matrix products of a usual size reach more than this where arithmetic is the limit.
PEAK_GOOD_PCT, PEAK_POOR_PCT = 50.0, 25.0
_SMALL_PARAMETERS = 10_000_000
_BATCH_FACTOR_MOST = 16
_BATCH_MOST = 1_024  # what most cards and computers have room for


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, or two, and a code for it.

    Attributes:
        code: too_short, unknown, throttled; of GPUs launch_bound, input_bound, gpu_waits, memory_bound,
            power_capped, gpu_bound; of processors taken, few_threads, physical_cores, cores_idle, cpu_waits,
            arithmetic_bound, cpu_memory_bound, cpu_bound.
    """

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class _Load:
    """How many logical processors there were on average; None means not known.

    Attributes:
        there: In the machine.
        allowed: That the run might use: a container or the user may have limited them.
        free: Of those, what other programs and the host left.
        busy: What the run used.
        taken_pct: What other programs and the host took of all.
    """

    there: float
    allowed: float
    free: float
    busy: float
    taken_pct: float


def explain(run: Run) -> Explanation | None:
    """Say what limited a run that measured something; None where that is no question."""
    workload = CATALOGUE.get(run.summary.workload)
    if run.summary.step_median_s is None or workload is None:
        return None
    if workload.reports_headline or workload.is_demo:  # they measure one part by itself, or nothing
        return None
    evidence = evidence_of(run)
    if not evidence.looks.is_within or len(evidence.looks.telemetry) < LOOKS_AT_LEAST:
        return Explanation("too_short", "The run was too short to see what limited it.")
    rules: tuple[Callable[[Evidence], Explanation | None], ...] = (_throttled,)
    rules += (_on_cpu,) if evidence.looks.gpu is None else (_on_gpu,)
    unknown = Explanation("unknown", "This computer does not tell enough to say what limited the run.")
    return next((found for rule in rules if (found := rule(evidence)) is not None), unknown)


def _throttled(evidence: Evidence) -> Explanation | None:
    found = throttling(evidence)
    if found is None:
        return None
    when = (
        f"after {found.after_s / 60:.0f} minutes" if found.after_s >= 90 else f"after {found.after_s:.0f} seconds"
    )
    when = "from the start" if found.after_s < 2 else when
    advice = "Better cooling would keep the speed." if found.is_heat else "Heat or a limit of power does that."
    return Explanation("throttled", f"Throttled {when}: {_inside(found.sentence)} {advice}")


def _on_gpu(evidence: Evidence) -> Explanation | None:
    run, looks = evidence.run.summary, evidence.looks
    busy_pct = _mean(looks.gpu_readings("utilization_pct"))
    if busy_pct is None:
        return None
    busy = f"GPU {busy_pct:.0f} % busy"
    if busy_pct < GPU_IDLES_PCT and CATALOGUE[run.workload].prepares_input:
        load = _load(evidence)
        used = f" ({load.busy:.1f} processors busy)" if load is not None else ""
        text = (
            f"{busy}: it waits for the processor, which prepares the input{used}; the input pipeline is the limit."
        )
        return Explanation("input_bound", text)
    if busy_pct < GPU_IDLES_PCT:
        text = (
            f"{busy}: this {_size(evidence.run)}network is launch-bound, starting work takes longer than doing it"
        )
        return Explanation("launch_bound", text + _try_batch(evidence.run, busy_pct))
    if busy_pct < GPU_FULL_PCT:
        text = f"{busy}: it waits for the processor part of the time"
        return Explanation("gpu_waits", text + _try_batch(evidence.run, busy_pct))
    return _full_gpu(evidence, busy)


def _full_gpu(evidence: Evidence, busy: str) -> Explanation:
    looks = evidence.looks
    memory_pct = _mean(looks.gpu_readings("memory_utilization_pct"))
    if memory_pct is not None and memory_pct >= GPU_MEMORY_FULL_PCT:
        text = f"{busy}, its memory {memory_pct:.0f} %: memory bandwidth-bound."
        advice = " Half precision moves half the bytes." if evidence.run.summary.precision == "float32" else ""
        return Explanation("memory_bound", text + advice)
    told = [gpu.throttle_reasons for gpu in looks.gpus()]
    capped = ["power cap" in words for words in told if words is not None]
    if capped and 100 * sum(capped) / len(capped) >= GPU_CAPPED_PCT:
        share_pct = 100 * sum(capped) / len(capped)
        text = f"{busy}, at its power limit for {share_pct:.0f} % of the time: that is its full speed."
        return Explanation("power_capped", text)
    return Explanation("gpu_bound", f"{busy}: the graphics card itself is the limit, as it should be.")


def _on_cpu(evidence: Evidence) -> Explanation | None:
    load, run = _load(evidence), evidence.run.summary
    if load is None:
        return None
    full = load.busy >= CPU_FULL_PCT / 100 * load.free
    if load.taken_pct >= TAKEN_PCT and load.free < load.allowed and full:
        text = f"Other programs and the host took {load.taken_pct:.0f} % of the processor; the run used the rest."
        return Explanation("taken", text)
    if run.threads is not None and run.threads <= load.allowed < load.there and full:
        text = f"All of the {run.threads} threads that it was limited to were busy, of {load.there:.0f} there are."
        return Explanation("few_threads", text)
    return _cores(evidence, load)


def _cores(evidence: Evidence, load: _Load) -> Explanation:
    physical = _physical(evidence.run, load)
    # Two threads share a core: with one of each at work, the others would add little.
    if physical is not None and load.free > 1.2 * physical and 0.9 <= load.busy / physical <= 1.1:
        text = f"{load.busy:.0f} of {load.there:.0f} threads do the work: physical cores are enough."
        return Explanation("physical_cores", text)
    may = " that it may use" if load.allowed < load.there else ""
    told = f"{load.busy:.1f} of {load.allowed:g} processors{may} were busy"
    room = min(load.free, physical) if physical is not None else load.free
    if load.allowed >= 2 and load.busy < CPU_IDLES_PCT / 100 * room:
        text = f"{told}: the steps are too small to be shared among them"
        return Explanation("cores_idle", text + _try_batch(evidence.run, 100 * load.busy / room))
    if load.allowed >= 2 and load.busy < CPU_FULL_PCT / 100 * room:
        text = f"{told}: parts of each step do not run side by side"
        return Explanation("cpu_waits", text + _try_batch(evidence.run, 100 * load.busy / room))
    return _full_cpu(evidence, told)


def _full_cpu(evidence: Evidence, told: str) -> Explanation:
    share_pct = evidence.run.peak.share_pct if evidence.run.peak is not None else None
    if share_pct is not None and share_pct >= PEAK_GOOD_PCT:
        text = f"{told} and reached {share_pct:.0f} % of their peak: arithmetic is the limit."
        return Explanation("arithmetic_bound", text)
    if share_pct is not None and share_pct < PEAK_POOR_PCT:
        text = (
            f"{told} and reached only {share_pct:.0f} % of their peak: memory, or small operations, are the limit."
        )
        return Explanation("cpu_memory_bound", text)
    return Explanation("cpu_bound", f"{told}: the processor is the limit.")


def _load(evidence: Evidence) -> _Load | None:
    """Return how the processor was used; None where the system does not tell."""
    looks, run = evidence.looks, evidence.run
    there = run.machine.logical_cores
    busy_pct, other_pct = _mean(looks.readings("cpu_pct")), _mean(looks.readings("other_cpu_pct"))
    if there is None or there < 1 or busy_pct is None or other_pct is None:
        return None
    taken_pct = min(100.0, other_pct + (_mean(looks.readings("steal_pct")) or 0.0))
    environment = run.environment
    limits = (environment.visible_cpus, environment.cpu_quota) if environment is not None else ()
    known = [float(limit) for limit in (*limits, run.summary.threads) if limit is not None and limit > 0]
    allowed = min([*known, there])
    free = max(0.01, min(allowed, there * (1 - taken_pct / 100)))
    return _Load(there, allowed, free, max(0.0, there * (busy_pct - taken_pct) / 100), taken_pct)


def _physical(run: Run, load: _Load) -> float | None:
    """Return the physical cores where each has two threads and the run may use all of them; else None."""
    physical = run.machine.physical_cores
    doubled = physical is not None and physical > 1 and load.there >= 2 * physical and load.allowed >= load.there
    return physical if doubled else None


def _size(run: Run) -> str:
    parameters = run.model.parameters_count if run.model is not None else None
    return "small " if parameters is not None and parameters < _SMALL_PARAMETERS else ""


def _try_batch(run: Run, busy_pct: float) -> str:
    """Return the end of a sentence: the next power of two that gives as much more work as there is room.

    Within what most computers have memory for, and what the data has examples for; else nothing is advised.
    """
    summary = run.summary
    factor = min(_BATCH_FACTOR_MOST / 2, max(1.5, 100 / max(busy_pct, 1.0)))  # rounding up may double it
    batch = int(2 ** math.ceil(math.log2(summary.batch_size * factor)))
    most = min(_BATCH_MOST, summary.samples_per_epoch or _BATCH_MOST)
    return f"; try batch {batch}." if batch <= most else "."


def _inside(sentence: str) -> str:
    """Return a sentence as it goes on behind a colon."""
    return sentence[:1].lower() + sentence[1:]


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None
