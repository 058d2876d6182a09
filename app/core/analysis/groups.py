"""What a stored group of runs says: its result in a few characters and as a sentence, and remarks."""

import dataclasses
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from app.core.analysis.ab import between_runs, counts, is_positive, judge_pairs, judge_repeats, pairs_of
from app.core.analysis.comparability import differences, run_refusal
from app.core.analysis.engines import Row, engine_rows
from app.core.analysis.shared_host import SHARED_HOST
from app.core.messages import Message, message, sentence
from app.core.metrics import format_value, headline_kind
from app.core.plain_text import one_line
from app.core.records import Group, RunSummary
from workloads import CATALOGUE
from workloads.engines.registry import engine_title

# With fewer, a difference has no interval.
ENOUGH_ROUNDS = 2
VerdictLevel = Literal["valid", "caution", "invalid"]
_WORST_FIRST: tuple[VerdictLevel, ...] = ("invalid", "caution")
_KIND_LIMIT = 40


def group_sentence(group: Group) -> str:
    """Return the result of a stored group as a sentence."""
    if group.kind == "ab":
        return judge_pairs(group).sentence(*group.labels)
    if group.kind == "engines":
        return " ".join(row.sentence() for row in engine_rows(group))
    if group.kind != "repeat":  # its runs aren't alike: a median of them would mean nothing
        return sentence("group.several_runs", count=sum(map(counts, group.runs)), planned=group.planned)
    return judge_repeats(group).sentence(_metric(group))


def group_summary(group: Group) -> RunSummary | None:
    """Return the record that stands for several runs; None without a result.

    It is the typical run, the one nearest to the median of those that count, with that median as its value, the
    median's interval, the spread between the runs in percent, and the group's worst verdict. Of several engines,
    it is the fastest one's; of several workloads, and of an A/B, there is none.
    """
    runs = [run for run in group.runs if counts(run)]
    if group.kind == "engines":
        rows = engine_rows(group)
        fastest = [cell.engine for row in rows for cell in row.cells if cell.is_fastest]
        engines = _planned_engines(group)
        runs = [run for run in runs if len(rows) == 1 and engines.get(run.id) in fastest]
    if group.kind not in ("repeat", "engines") or not runs:
        return None
    result = between_runs([run.value for run in runs if run.value is not None], [run.spread_pct for run in runs])
    return dataclasses.replace(
        _typical(runs),
        value=result.median,
        value_low=result.low,
        value_high=result.high,
        confidence_pct=result.confidence_pct,
        value_mean=None,
        spread_pct=result.between_pct,
        verdict=worst_verdict(group)[0],
    )


def typical_ids(group: Group) -> list[int]:
    """Return the numbers of the runs that stand for what a group's picture shows, each the nearest to its median.

    Of an A/B it is one for each side; of several engines one for each, first that of `group_summary`.
    """
    if group.kind == "ab":
        paired = paired_runs(group)
        sides = ([run for run in paired if run.side == side] for side in "AB")
        return [_typical(runs).id for runs in sides if runs]
    summary = group_summary(group)
    if summary is None or group.kind != "engines":
        return [] if summary is None else [summary.id]
    engines, of_engines = _planned_engines(group), dict[str, list[RunSummary]]()
    for run in filter(counts, group.runs):
        of_engines.setdefault(engines.get(run.id, ""), []).append(run)
    others = [runs for engine, runs in of_engines.items() if engine != engines.get(summary.id, "")]
    return [summary.id, *(_typical(runs).id for runs in others)]


def _typical(runs: Sequence[RunSummary]) -> RunSummary:
    """Return the run nearest to the median of runs that count."""
    median = statistics.median(run.value or 0.0 for run in runs)
    return min(runs, key=lambda run: abs((run.value or 0.0) - median))


def _planned_engines(group: Group) -> dict[int, str]:
    """Return the engine of each run, by the plan: the demo itself says that it uses none."""
    engines = {planned.number: planned.spec.engine for planned in group.plan.runs()}
    return {run.id: engines.get(number, run.engine) for number, run in group.numbered}


def group_example(group: Group) -> RunSummary | None:
    """Return the run whose details are shown with a group's result; None if it has no result.

    Of an A/B it is the first of those with the worst verdict, whose cause is shown too.
    """
    if group.kind != "ab":
        return group_summary(group)
    rank: dict[str, int] = {level: number for number, level in enumerate(_WORST_FIRST)}
    return min(paired_runs(group), key=lambda run: rank.get(level_among(run), len(rank)), default=None)


def level_among(run: RunSummary) -> str:
    """Return a run's verdict among several of the same work.

    They measure what a host changes from one to the next, so that is no doubt about any. A run that was never
    judged, as by early versions, is a caution: nobody knows that it is valid.
    """
    return "valid" if run.reasons == SHARED_HOST else run.verdict or "caution"


def paired_runs(group: Group) -> list[RunSummary]:
    """Return the runs of an A/B's pairs that count, in order."""
    pairs = [pair for pair in pairs_of(group) if pair.counts]
    return [run for pair in pairs for run in (pair.a, pair.b) if run is not None]


def worst_verdict(group: Group) -> tuple[VerdictLevel, int]:
    """Return the worst verdict of a group's runs that count, and how many of them have it."""
    counted = [run for run in group.runs if counts(run)]
    is_repeated = group.kind in ("repeat", "ab", "engines") and len(counted) > 1
    levels = [level_among(run) if is_repeated else run.verdict or "caution" for run in counted]
    worst: VerdictLevel = next((level for level in _WORST_FIRST if level in levels), "valid")
    return worst, levels.count(worst)


def group_remarks(group: Group, *, with_interval: bool = True) -> list[str]:
    """Return remarks on a stored group: limits, incomparable sides, runs left out or in doubt.

    Args:
        group: Any.
        with_interval: Whether to include the median's interval, for places that don't show it elsewhere.
    """
    if group.kind == "ab":
        remarks = [_unlike(group)]
    elif group.kind == "engines":
        remarks = [sentence("engines_table.one_round")] if group.plan.times < ENOUGH_ROUNDS else []
    elif group.kind == "repeat":
        limits = judge_repeats(group).limits(_metric(group)) if with_interval else ""
        remarks = [limits, _changed(group)]
    else:
        remarks = []
    remarks = [remark for remark in remarks if remark]
    left_out = _left_out(group)
    if left_out:
        remarks.append(sentence("group.not_counted", runs=left_out))
    if group.not_begun:
        remarks.append(sentence("group.not_begun", planned=group.planned, count=group.not_begun))
    if group.workload in CATALOGUE and CATALOGUE[group.workload].is_demo:
        remarks.append(sentence("verdict.demo"))
    return remarks


def group_kind(group: Group) -> str:
    """Return what kind of group it is, in words; that of another version plainly."""
    if group.kind in ("ab", "repeat", "engines", "study", "suite"):
        return sentence(f"group.kind_{group.kind}")
    return one_line(group.kind, _KIND_LIMIT)


def group_workloads(group: Group) -> str:
    """Return the title of a group's workload, or their number if there are several."""
    names = list(
        dict.fromkeys([spec.workload for spec in group.plan.specs] or [run.workload for run in group.runs])
    )
    if len(names) > 1:
        return sentence("group.workloads", count=len(names))
    return CATALOGUE[names[0]].title if names and names[0] in CATALOGUE else "".join(names)


def group_headline(group: Group) -> str:
    """Return a group's result in a few characters: median, factor or fastest engine; "n/a" without one."""
    if group.kind == "ab":
        ratio = judge_pairs(group).ratio
        return "n/a" if ratio is None else f"{max(ratio, 1 / ratio):.2f}×"
    if group.kind == "engines":
        return _fastest(engine_rows(group))
    if group.kind != "repeat":
        return sentence("group.runs", count=sum(map(counts, group.runs)))
    result, metric = judge_repeats(group), _metric(group)
    if result.median is None:
        return "n/a"
    about = "≈ " if any(run.basis == "estimate" for run in group.runs if counts(run)) else ""
    return f"{about}{format_value(metric, result.median)} {headline_kind(metric).short_unit.replace(' / ', '/')}"


def group_note(group: Group) -> str:
    """Return in a few words how certain a group's headline is, or what it says."""
    if group.kind != "repeat":
        return group_sentence(group)
    result, metric = judge_repeats(group), _metric(group)
    parts = []
    if result.confidence_pct is not None:
        low, high = format_value(metric, result.low), format_value(metric, result.high)
        parts.append(sentence("group.interval", low=low, high=high, confidence_pct=result.confidence_pct))
    if result.between_pct is not None:
        parts.append(sentence("group.spread", between_pct=result.between_pct))
    return ", ".join(parts) or group_sentence(group)


def side_names(group: Group) -> str:
    """Return the names of an A/B's sides, as far as they say more than A and B; "" for other groups."""
    if group.kind != "ab":
        return ""
    return " · ".join(f"{side}: {name}" for side, name in zip("AB", group.labels, strict=True) if side != name)


def group_verdict(group: Group) -> str | None:
    """Return the worst verdict of the runs that count; None if none was judged."""
    is_judged = any(counts(run) and run.verdict for run in group.runs)
    return worst_verdict(group)[0] if is_judged else None


def _fastest(rows: Sequence[Row]) -> str:
    """Return the fastest engine, or of several workloads the one that is fastest on most of them."""
    if len(rows) == 1:
        return " = ".join(engine_title(cell.engine) for cell in rows[0].fastest) or "n/a"
    wins = Counter(cell.engine for row in rows for cell in row.fastest)
    if not wins:
        return "n/a"
    engine, times = wins.most_common(1)[0]
    return sentence("group.fastest_on", engine=engine_title(engine), times=times, workloads=len(rows))


def _metric(group: Group) -> str:
    return group.runs[0].metric if group.runs else "seconds_per_epoch_s"


def _unlike(group: Group) -> str:
    """Explain why the sides aren't two ways of doing the same; "" if they are."""
    sides = {run.side: run for run in group.runs}
    a, b = sides.get("A"), sides.get("B")
    if a is None or b is None:
        return ""
    b = dataclasses.replace(b, settings=a.settings)
    if (reason := run_refusal(a, b)) is None:
        return ""
    if run_refusal(a, dataclasses.replace(b, precision=a.precision)) is None:
        return sentence("group.other_precision", reason=reason)
    return sentence("group.other_work", reason=reason)


def _changed(group: Group) -> str:
    """Name what changed between repetitions, which should all be alike; "" if nothing did."""
    counted = [run for run in group.runs if counts(run)]
    for run in counted[1:]:
        first = counted[0]
        processor = (run.cpu_name or "",) if run.cpu_name != first.cpu_name else ()
        reason = run_refusal(first, run) or ", ".join((*processor, *differences(first, run)))
        if reason:
            return sentence("group.changed", first_id=first.id, run_id=run.id, reason=reason)
    return ""


def _left_out(group: Group) -> list[Message]:
    """Return the runs that don't count, each with the reason."""
    reasons = [message("group.runs_deleted", count=group.deleted)] if group.deleted else []
    broken = [pair for pair in pairs_of(group) if not pair.counts] if group.kind == "ab" else []
    alone = {run.id for pair in broken for run in (pair.a, pair.b) if run is not None}
    for run in group.runs:
        if run.status != "completed":
            reasons.append(message("group.run_not_completed", run_id=run.id, status=run.status))
        elif not is_positive(run.value):
            reasons.append(message("group.run_without_result", run_id=run.id))
        elif not counts(run):
            reasons.append(message("group.run_invalid", run_id=run.id))
        elif run.id in alone:
            reasons.append(message("group.run_alone", run_id=run.id))
    return reasons
