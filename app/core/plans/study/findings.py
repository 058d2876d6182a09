"""Describes the findings of a study as sentences with numbers. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.analysis.ab import compare_pairs, is_usable
from app.core.analysis.power import is_gpu
from app.core.analysis.shared_host import says_shared, with_host
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.plans.study.axes import POWER_LIMIT, axis_value
from app.core.plans.study.configurations import FITS_STEPS
from app.core.plans.study.details import NO_DETAILS, Details, wants_epochs
from app.core.plans.study.folder_findings import reading_findings
from app.core.plans.study.points import Point, StudyResult, power_knee
from app.core.plans.study.units import rate_text, unit_of
from app.core.plans.verdicts import worst_verdict
from app.core.titles import precision_title, workload_title
from workloads import CATALOGUE

# Configurations with at least this share of the best speed count as equally fast.
CLOSE = 0.95
NAMED_POINTS = 3

# A smaller increase is noise, because allocators request a few megabytes at any time.
GROWTH_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class _Gain:
    """Speed of the best configuration relative to another one, with a 95 % interval; None if unknown."""

    times: float
    low: float | None = None
    high: float | None = None

    @property
    def is_level(self) -> bool:
        return self.low is not None and self.low <= 1

    @property
    def text(self) -> str:
        """The factor, with its interval if there is one."""
        if self.low is None:
            return sentence("studies.times", times=self.times)
        return sentence("studies.times_between", times=self.times, low=self.low, high=self.high)

    @property
    def words(self) -> str:
        if self.low is None:
            return sentence("studies.times", times=self.times)
        return sentence("studies.times_between", times=self.times, low=self.low, high=self.high)


def findings(result: StudyResult, details: Details = NO_DETAILS, *, has_costs: bool = False) -> list[str]:
    """Return the findings as sentences, most important first. Without results, the first sentence states this.

    Args:
        result: The study.
        details: Details of its runs.
        has_costs: Whether the findings about costs are provided by `costs.cost_findings`.
    """
    done = [point for point in result.done if point.rate is not None]
    if not done:
        return [sentence("studies.nothing_yet"), *_missing(result)]
    if len(done) == 1 and result.left:  # there is nothing to compare yet
        rate = rate_text(done[0].rate, unit_of(done))
        point = result.experiment.titled(done[0].name, result.axes)
        return [sentence("studies.point_rate", point=point, rate=rate), *_missing(result), *_doubts(result)]
    if wants_epochs(result):
        reached = _convergence(result, done, details)
        is_enough = reached and result.experiment.curves == "only"
        speeds = () if is_enough else result.experiment.findings(result, done)
        lines = [*speeds, *reached]
    elif any(details.phases.values()):
        lines = [*reading_findings(done, details), *_memory(done)]
    else:
        lines = result.experiment.findings(result, done)
    if not lines and result.experiment.is_priced and not has_costs:
        lines = rank_configurations(result, done)
    return [*lines, *_limits(details), *_missing(result), *_doubts(result)]


def close_to_best(points: Sequence[Point]) -> list[Point]:
    """Return the configurations within 5 % of the fastest one, in the same order."""
    rates = [point.rate.value for point in points if point.rate is not None]
    best = max(rates, default=0.0)
    return [point for point in points if point.rate is not None and point.rate.value >= CLOSE * best]


def fastest(points: Sequence[Point]) -> Point:
    return max(points, key=_rate_of)


def _rate_of(point: Point) -> float:
    return point.rate.value if point.rate is not None else 0.0


def batch_findings(result: StudyResult, done: list[Point]) -> list[str]:
    """Return sentences about the fastest batch size, the smallest that is close to it, and what fits in memory."""
    unit = unit_of(done)
    spilled = [point for point in done if point.has_spilled]
    held = [point for point in done if not point.has_spilled] or done
    best, sweet = fastest(held), min(close_to_best(held), key=lambda point: point.spec.batch_size)
    least = min(held, key=lambda point: point.spec.batch_size)
    lines = [sentence("studies.batch_best", batch=best.spec.batch_size, rate=rate_text(best.rate, unit))]
    if sweet is not best:
        share_pct = 100 * _rate_of(sweet) / _rate_of(best)
        lines.append(sentence("studies.batch_sweet", batch=sweet.spec.batch_size, share_pct=share_pct))
    if least is not best:
        times = _rate_of(best) / _rate_of(least)
        lines.append(sentence("studies.batch_gain", times=times, batch=least.spec.batch_size))
    failed = [point for point in result.points if point.state == "out_of_memory"]
    full = [point.spec.batch_size for point in (*failed, *spilled)]
    fits = [size for point in held if (size := point.spec.batch_size) < min(full, default=0)]
    if fits:
        lines.append(sentence("studies.batch_fits", fits=max(fits), full=min(full)))
    if spilled:
        lines.append(sentence("studies.batch_spilled", batch=min(point.spec.batch_size for point in spilled)))
    return lines


def fits_findings(result: StudyResult, done: list[Point]) -> list[str]:
    """Return sentences about the longest sequence and the largest batch that fit, and how this was found."""
    spec, precision = done[0].spec, precision_title(done[0].spec.precision)
    lines = []
    held = [point for point in done if not point.has_spilled]
    full = [point for point in result.points if point.state in ("out_of_memory", "skipped") or point.has_spilled]
    length = _length_of(result)
    longest, too_long = (
        [int(point.spec.parameters["sequence"]) for point in points if point.spec.batch_size == 1]
        for points in (held, full)
    )
    largest, too_large = (
        [point.spec.batch_size for point in points if point.spec.parameters["sequence"] == length]
        for points in (held, full)
    )
    if longest:
        code = "studies.fits_sequence" if too_long else "studies.fits_sequence_all"
        lines.append(sentence(code, most=max(longest), least=min(too_long, default=0)))
    if largest:
        code = "studies.fits_batch" if too_large else "studies.fits_batch_all"
        lines.append(sentence(code, tokens=length, most=max(largest), least=min(too_large, default=0)))
    size = spec.parameters["size"]
    return [*lines, sentence("studies.fits_method", steps=FITS_STEPS, size=size, precision=precision)]


def _length_of(result: StudyResult) -> int:
    """Return the length of the sequences in larger batches; 0 without any."""
    lengths = (point.spec.parameters["sequence"] for point in result.points if point.spec.batch_size > 1)
    return int(next(lengths, 0))


def power_findings(_: StudyResult, done: list[Point]) -> list[str]:
    """Return sentences about the fastest power limit, the best trade-off, and the most efficient limit."""
    best = fastest(done)
    rate = rate_text(best.rate, unit_of(done))
    lines = [sentence("studies.power_best", limit_w=axis_value(POWER_LIMIT, best.spec), rate=rate)]
    if (knee := power_knee(done)) is not None:
        limit_w, most_w = (
            axis_value(POWER_LIMIT, knee.spec),
            max(int(axis_value(POWER_LIMIT, point.spec)) for point in done),
        )
        shares = {"speed_pct": 100 * _rate_of(knee) / _rate_of(best), "power_pct": 100 * limit_w / most_w}
        lines.append(sentence("studies.power_knee", limit_w=limit_w, **shares))
    measured = [point for point in done if point.work_per_j is not None]
    if measured:
        top = max(measured, key=lambda point: point.work_per_j or 0.0)
        unit = headline_kind(top.work_metric).unit
        device = "GPU" if any(map(is_gpu, top.runs)) else "CPU"
        work = sentence("power.work_per_joule", amount=top.work_per_j, unit=unit, device=device)
        lines.append(sentence("studies.power_efficient", limit_w=axis_value(POWER_LIMIT, top.spec), work=work))
    elif not any(is_gpu(run) or run.cpu_power_w for point in done for run in point.runs):
        lines.append(sentence("studies.power_not_measured"))
    return lines


def _cpus_of(point: Point) -> int:
    return int(axis_value("threads", point.spec) or axis_value("cpus", point.spec) or 0)


def cpu_findings(_: StudyResult, done: list[Point]) -> list[str]:
    """Return sentences about the best number of CPUs, the gain over one CPU, and how many are enough."""
    ordered = sorted(done, key=_cpus_of)
    first, best = ordered[0], fastest(done)
    lines = [sentence("studies.threads_best", count=_cpus_of(best), rate=rate_text(best.rate, unit_of(done)))]
    if best is not first and _cpus_of(first) > 0:
        times = _rate_of(best) / _rate_of(first)
        ideal = _cpus_of(best) / _cpus_of(first)
        share_pct = 100 * times / ideal
        base = {"count": _cpus_of(first)}
        lines.append(sentence("studies.threads_scaling", times=times, efficiency_pct=share_pct, **base))
    enough = min(close_to_best(done), key=_cpus_of)
    if enough is not best:
        lines.append(sentence("studies.threads_enough", count=_cpus_of(enough)))
    slower = [
        point
        for point in ordered
        if _cpus_of(point) > _cpus_of(best) and best.rate and point.rate and best.rate.is_above(point.rate)
    ]
    if slower:
        times = _rate_of(slower[-1]) / _rate_of(best)
        lines.append(
            sentence("studies.threads_slower", cpus=_cpus_of(best), more=_cpus_of(slower[-1]), times=times)
        )
    return lines


def scaling_findings(_: StudyResult, done: list[Point]) -> list[str]:
    """Return sentences about the speed with several devices, relative to one device."""
    first = next((point for point in done if point.spec.device_count == 1), None)
    others = sorted((point for point in done if point is not first), key=lambda point: point.spec.device_count)
    lines = []
    for point in reversed(others):
        count, rate = point.spec.device_count, rate_text(point.rate, unit_of(done))
        lines.append(sentence("studies.scaling_rate", count=count, rate=rate))
        if first is not None:
            times = _rate_of(point) / _rate_of(first)
            lines.append(sentence("studies.scaling_times", times=times, efficiency_pct=100 * times / count))
    if any(run.device == "cpu" for point in others for run in point.runs):
        lines.append(sentence("studies.scaling_on_cpu"))
    return lines


def rank_configurations(result: StudyResult, done: list[Point]) -> list[str]:
    """Return, for each workload, sentences about the fastest configurations and their lead over the others."""
    lines = []
    for workload in dict.fromkeys(point.spec.workload for point in done):
        lines += _ranking([point for point in done if point.spec.workload == workload], result)
    return lines


def _ranking(points: list[Point], result: StudyResult) -> list[str]:
    best = fastest(points)
    of_several = len(result.workloads) > 1
    name = workload_title(best.spec.workload) if of_several else ""
    if len(points) == 1:
        rate = rate_text(best.rate, unit_of(points))
        return (
            [sentence("studies.point_rate", point=name, rate=rate)]
            if of_several
            else [sentence("studies.only_point", point=_own_place(best))]
        )
    others = [(point, _gain(best, point)) for point in sorted(points, key=_rate_of, reverse=True)]
    parts = [
        sentence("studies.times_slower", point=_own_place(point), times=gain.text)
        for point, gain in others
        if point is not best and not gain.is_level
    ][:NAMED_POINTS]
    first = sentence("studies.fastest_of", workload=name) if name else sentence("studies.fastest")
    names = [_own_place(point) for point in _leaders(points)]
    line = sentence("studies.fastest_is", first=first, points=names, count=len(names))
    return [line, sentence("studies.others", others=parts)] if parts else [line]


def _own_place(point: Point) -> str:
    title = workload_title(point.spec.workload)
    return joined(part for part in point.place if part != title) or title


def _leaders(points: Sequence[Point]) -> list[Point]:
    """Return the fastest configuration, followed by any that are indistinguishable from it."""
    best = fastest(points)
    level = [point for point in points if point is not best and _gain(best, point).is_level]
    return [best, *sorted(level, key=_rate_of, reverse=True)]


def _gain(best: Point, point: Point) -> _Gain:
    """Compare the speed of two configurations by round or, for single runs, by interval."""
    times = _rate_of(best) / _rate_of(point)
    if len(best.rounds) == len(point.rounds) and len(best.rounds) > 1:
        pairs = compare_pairs(point.rounds, best.rounds, headline_kind(best.metric).is_rate)
        low, high = pairs.low, pairs.high
        if any(says_shared(run) for each in (best, point) for run in each.runs):
            low, high = with_host(pairs.ratio or times, low, high, is_rate=True)
        return _Gain(pairs.ratio or times, low, high)
    one, other = best.rate, point.rate
    if one is None or other is None or not (one.low and one.high and other.low and other.high):
        return _Gain(times)
    return _Gain(times, one.low / other.high, one.high / other.low)


def phase_findings(result: StudyResult, done: list[Point]) -> list[str]:
    """Return the ranking of each workload, whether the rankings differ, and the latency for a few images."""
    lines = rank_configurations(result, done)
    of_workloads = [
        [point for point in done if point.spec.workload == workload]
        for workload in dict.fromkeys(point.spec.workload for point in done)
    ]
    leaders = [{_own_place(point) for point in _leaders(points)} for points in of_workloads]
    if not set.intersection(*leaders):
        lines.append(sentence("studies.ranking_turns"))
    elif len(leaders) > 1 and len(done) > len(leaders):
        lines.append(sentence("studies.ranking_stays"))
    for points in of_workloads:
        lines += _few_images(points)
    return lines


def _few_images(points: list[Point]) -> list[str]:
    """Return sentences about the configurations with the shortest latency for one image and for 16 images."""
    lines = []
    for count, key in ((1, "latency_1_median_s"), (16, "latency_16_median_s")):
        timed = [point for point in points if key in point.metrics]
        if len(timed) > 1:
            first = min(timed, key=lambda point: point.metrics[key])
            latency_ms = 1e3 * first.metrics[key]
            name = _own_place(first)
            lines.append(sentence("studies.few_images", count=count, point=name, latency_ms=latency_ms))
    return lines


def sizing_findings(result: StudyResult, done: list[Point]) -> list[str]:
    best, enough = fastest(done), min(close_to_best(done), key=_cpus_of)
    lines = [sentence("studies.cpus_enough", count=_cpus_of(enough), most=max(map(_cpus_of, done)))]
    return [*lines, _fastest_rate(result, best, done), *_memory(done)]


def _fastest_rate(result: StudyResult, best: Point, done: list[Point]) -> str:
    name = result.name_in_sentence(best)
    return sentence("studies.fastest_rate", point=name, rate=rate_text(best.rate, unit_of(done)))


def _memory(done: list[Point]) -> list[str]:
    lines = []
    peaks = [point.metrics["peak_memory_bytes"] for point in done if "peak_memory_bytes" in point.metrics]
    if peaks:
        lines.append(sentence("studies.memory_peak", memory_bytes=max(peaks)))
    growths = [growth for point in done if (growth := point.memory_growth_bytes) is not None]
    if growths:
        grows = max(growths) >= GROWTH_BYTES
        code = "studies.memory_growth" if grows else "studies.memory_level"
        lines.append(sentence(code, memory_bytes=max(growths)))
    return lines


def _limits(details: Details) -> list[str]:
    """Return sentences about limiting factors, each with its configurations."""
    points: dict[str, list[str]] = {}
    for name, limit in details.limits.items():
        points.setdefault(limit, []).append(name)
    return [sentence("studies.limited", points=names, limit=limit) for limit, names in points.items()]


def precision_findings(result: StudyResult, done: list[Point]) -> list[str]:
    """Return the ranking, and sentences that compare the losses after the first steps."""
    lines = rank_configurations(result, done)
    usual = next((point for point in done if point.spec.precision == "float32"), None)
    for point in done:
        if usual is None or point is usual:
            continue
        loss, usual_loss = (each.metrics.get("proof_loss") for each in (point, usual))
        if loss is not None and usual_loss is not None:
            name = _own_place(point)
            lines.append(sentence("studies.losses", point=name, loss=loss, usual_loss=usual_loss))
    return lines


def _convergence(result: StudyResult, done: list[Point], details: Details) -> list[str]:
    """Return a sentence about how soon each configuration reaches the highest accuracy that all of them reach."""
    reached: dict[str, list[tuple[float, float]]] = {}
    for point in done:
        run, at_s = point.best_run, 0.0
        for epoch in details.epochs.get(run.id, ()) if run is not None else ():
            at_s += epoch.duration_s
            accuracy = epoch.val_accuracy if epoch.val_accuracy is not None else epoch.accuracy
            if accuracy is not None:
                reached.setdefault(result.name_in_sentence(point), []).append((at_s, accuracy))
    if not reached:
        return []
    target = min(max(accuracy for _, accuracy in passed) for passed in reached.values())
    times_s = {
        name: next(at_s for at_s, accuracy in passed if accuracy >= target) for name, passed in reached.items()
    }
    order = sorted(times_s, key=lambda name: times_s[name])
    times = [sentence("studies.time_with", point=name, time_s=times_s[name]) for name in order]
    return [sentence("studies.times_to", accuracy=100 * target, times=times)]


def general_findings(result: StudyResult, done: list[Point]) -> list[str]:
    """Return the fastest configuration and its lead over the slowest, or a ranking if units differ."""
    if len({(unit_of([point]), point.spec.workload) for point in done}) > 1:
        return rank_configurations(result, done)
    best, slowest = fastest(done), min(done, key=_rate_of)
    lines = [_fastest_rate(result, best, done)]
    if slowest is not best:
        times = _gain(best, slowest).words
        name = result.name_in_sentence(slowest)
        lines.append(sentence("studies.times_slowest", times=times, point=name))
    return lines


def _missing(result: StudyResult) -> list[str]:
    """Return sentences about configurations without a result, grouped by reason."""
    lines = []
    for state in ("failed", "refused", "skipped"):
        points = [point for point in result.points if point.state == state]
        reasons: dict[str, list[str]] = {}
        for point in points:
            reasons.setdefault(point.reason, []).append(point.name)
        lines += [sentence(f"studies.{state}", points=names, reason=reason) for reason, names in reasons.items()]
    waiting = [point for point in result.points if point.state == "waiting"]
    if waiting:
        lines.append(sentence("studies.waiting", count=len(waiting)))
    return lines


def _doubts(result: StudyResult) -> list[str]:
    """Return sentences about runs that aren't valid, or a note that a demo's results are meaningless."""
    if all(CATALOGUE[name].is_demo for name in result.workloads):
        return [sentence("verdict.demo")]
    counted = [run for run in result.group.runs if is_usable(run)]
    level, count = worst_verdict(result.group)
    codes = {"caution": "studies.cautions", "invalid": "studies.for_testing"}
    return [] if level == "valid" else [sentence(codes[level], count=count, runs=len(counted))]
