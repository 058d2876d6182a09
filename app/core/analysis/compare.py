"""Pure functions that compare a run with published results and other runs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.comparability import (
    differences,
    engine_name,
    run_refusal,
    unusual_settings,
    usual_settings,
)
from app.core.analysis.conversion import ROW_METRICS, converted
from app.core.analysis.headline import value_text
from app.core.analysis.own_runs import own_date, own_name
from app.core.analysis.power import limit_text, work_metric
from app.core.analysis.published import (
    FIRST_SOURCE_IDS,
    PublishedRow,
    comparable_rows,
    distinguishing_remarks,
    row_remarks,
    row_variant,
    rows_of_usual_batch,
    says_precision,
    short_name,
)
from app.core.analysis.speed_scale import speed_scale
from app.core.clock import now_text
from app.core.errors import UsageError
from app.core.external_results import ImportedResult
from app.core.messages import message, sentence
from app.core.metrics import format_value, headline_kind
from app.core.records import RunSummary
from app.core.titles import precision_title, status_title, verdict_title
from workloads import CATALOGUE

# Default baselines by workload, as in "4.8× the …". Other workloads use their slowest row.
_BASELINES = {"cifar10_keras_cnn": "Intel Core i5-8250U"}
_PRECISIONS = {
    "fp32": "float32",
    "fp16": "float16",
    "mixed fp16": "mixed_float16",
    "amp_fp16": "mixed_float16",
    "amp_bf16": "mixed_bfloat16",
}
# Reasons listed per device. A table with forty batch sizes would otherwise repeat one reason forty times.
_REASONS = 3
# Largest ratio between batch sizes that are still ranked together. The value is a judgement call.
LIKE_BATCH_TIMES = 4
# Frameworks became noticeably faster within this time, so it deserves a note. The value is a judgement call.
OLD_SOFTWARE_YEARS = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a published result, a stored run, or an imported result.

    Attributes:
        value: Value in the unit of `metric`, a workloads.workload.HeadlineKey.
        remarks: Known differences from the chart's run, as text.
        apart: Number of remarks, counted from the first, needed to distinguish the bar from others with the same
            name. `title` contains them.
        brief: Shorter name for narrow charts; "" if there is none.
        is_like: Whether its precision and batch size are similar enough for it to be ranked with the chart's run.
            Other bars are drawn below and never ranked.
    """

    name: str
    kind: Literal["you", "own", "reference", "imported"]
    value: float
    remarks: tuple[str, ...] = ()
    row: PublishedRow | None = None
    run: RunSummary | None = None
    imported: ImportedResult | None = None
    metric: str = "seconds_per_epoch_s"
    apart: int = 0
    brief: str = ""
    is_like: bool = True

    @property
    def speed(self) -> float:
        """The speed in a unit common to all bars with the same metric; 0 if unknown.

        Absurd values in imported files are limited, so that ratios of speeds are finite.
        """
        if self.value <= 0:
            return 0.0
        value = min(1e150, max(1e-150, self.value))
        return value if headline_kind(self.metric).is_rate else 1 / value

    @property
    def title(self) -> str:
        """The name, with the remarks that distinguish the bar from others with the same name."""
        if not self.apart:
            return self.name
        return sentence("compare.bar_title", name=self.name, remarks=list(self.remarks[: self.apart]))

    @property
    def text(self) -> str:
        """The value, with its unit if it is a duration. The chart's note names the unit of rates."""
        run = self.imported.summary if self.imported is not None else self.run
        is_headline = run is not None and (run.metric, run.value) == (self.metric, self.value)
        value = value_text(run) if run is not None and is_headline else format_value(self.metric, self.value)
        return value + headline_kind(self.metric).label_unit

    @property
    def verdict(self) -> str | None:
        """The verdict on an imported result or one of the user's runs; None for other bars."""
        run = self.imported.summary if self.imported is not None else self.run
        return run.verdict if run is not None else None

    def times_as_fast(self, other: "Bar | None") -> float | None:
        """Return the ratio of this bar's speed to another's.

        None if there is no other bar, if only one of the two is similar to the chart's run, or if either is
        invalid or 0.
        """
        if other is None or self.is_like != other.is_like:
            return None
        if "invalid" in (self.verdict, other.verdict) or min(self.value, other.value) <= 0:
            return None
        return headline_kind(self.metric).times_as_fast(self.value, other.value)


def chart_metric(workload: str, run: RunSummary | None = None) -> str:
    """Return the metric of a workload's bars."""
    if run is not None:
        return run.metric
    return CATALOGUE[workload].metric if workload in CATALOGUE else "seconds_per_epoch_s"


def refusal(run: RunSummary, row: PublishedRow) -> str | None:
    """Explain why a run and a row can't be shown in the same chart; None if they can."""
    if converted(row, run.metric) is None:
        unit = headline_kind(ROW_METRICS.get(row.metric, row.metric)).unit
        return sentence("compare.published_otherwise", unit=unit)
    workload = CATALOGUE.get(row.workload)
    usual = workload.batch_size if workload is not None else run.batch_size
    stated = {
        "batch_size": row.batch_size or usual,
        "precision": _PRECISIONS.get(row.precision, row.precision or run.precision),
    }
    may_differ = workload.published_differ if workload is not None else frozenset[str]()
    alike = {name: value for name, value in stated.items() if name not in may_differ}
    # Settings that have no column in the table have their default values.
    return run_refusal(run, replace(run, **alike, variant=row_variant(row), settings=""))  # type: ignore[arg-type]


def bars(
    workload: str,
    run: RunSummary | None,
    others: Iterable[RunSummary] = (),
    imported: Iterable[ImportedResult] = (),
    *,
    with_several: bool = False,
) -> list[Bar]:
    """Return the bars of a chart: first those similar to the run, then the others, each group fastest first.

    If nothing is similar to the run, there is no ranking, and all bars are sorted by speed.

    Args:
        workload: The workload of the published rows.
        run: The run shown as "you", or None for published rows only.
        others: More runs. Runs without a headline, or not comparable with `run`, are omitted.
        imported: Imported results, omitted by the same rule. Without a run, they must have the workload's default
            settings, except for those in which published results differ.
        with_several: Whether to include published results of multi-GPU systems.
    """
    metric = chart_metric(workload, run)
    result = [
        bar
        for row in (comparable_rows(workload) if run is not None else rows_of_usual_batch(workload))
        if (with_several or not row.has_several) and (run is None or refusal(run, row) is None)
        for bar in _row_bar(row, metric, run)
    ]
    for other in others:
        if run is not None and other.id != run.id and run_refusal(run, other) is None:
            result += _run_bar(other, "own", run)
    result += [bar for other in imported for bar in _imported_bar(other, workload, metric, run)]
    if run is not None:
        result += _run_bar(run, "you")
    # Bars with the same name are distinguished by run or result numbers, or by their first remarks.
    chart = _with_times(result)
    names = Counter(bar.name for bar in chart)
    telling = distinguishing_remarks([bar.row for bar in chart if bar.row is not None and names[bar.name] > 1])
    chart = [_with_remarks(bar, telling) if names[bar.name] > 1 else bar for bar in chart]
    ranks = _ranks(chart)
    return sorted(chart, key=lambda bar: (ranks and not bar.is_like, -bar.speed))


def _ranks(chart: Sequence[Bar]) -> bool:
    """Return whether a chart ranks the user's run among similar results."""
    return any(bar.is_like and bar.kind != "you" for bar in chart)


def ranked_count(chart: Sequence[Bar]) -> int | None:
    """Return the number of bars above the line that separates the ranked from the others; None without a line."""
    count = sum(bar.is_like for bar in chart)
    return count if _ranks(chart) and count < len(chart) else None


def by_work(chart: Iterable[Bar]) -> list[Bar]:
    """Return the bars whose energy was measured, sorted by work per joule, best first.

    Published results don't state their energy.
    """
    measured = []
    for bar in chart:
        run = bar.run if bar.imported is None else bar.imported.summary
        if run is not None and run.work_per_j is not None:
            measured.append(replace(bar, value=run.work_per_j, metric=work_metric(run.metric)))
    return sorted(measured, key=lambda bar: (not bar.is_like, -bar.value))


def _with_times(chart: Sequence[Bar]) -> list[Bar]:
    """Return the bars, with the time of day added to the names of the user's runs from the same day."""
    shown = next((bar.run for bar in chart if bar.kind == "you"), None)
    days = Counter(own_name(bar.run, shown) for bar in chart if bar.run is not None)
    named = []
    for bar in chart:
        if bar.kind == "own" and bar.run is not None:
            with_time = days[own_name(bar.run, shown)] > 1
            name = own_name(bar.run, shown, with_time=with_time)
            brief = bar.run.comment or own_date(bar.run, with_time=with_time)
            named.append(replace(bar, name=name, brief=brief))
        else:
            named.append(bar)
    return named


def _with_remarks(bar: Bar, telling: Mapping[str, Sequence[str]]) -> Bar:
    name, said = bar.name, telling[bar.row.id] if bar.row is not None else ()
    first = tuple(filter(None, said))
    rest = tuple(remark for remark in bar.remarks if remark not in first)
    if bar.kind == "own" and bar.run is not None:
        name = sentence("compare.own_numbered", name=name, run_id=bar.run.id)
    elif bar.imported is not None:
        name = sentence("compare.imported_numbered", name=name, number=bar.imported.id)
    return replace(bar, name=name, remarks=(*first, *rest), apart=len(first))


def one_each(chart: Sequence[Bar]) -> list[Bar]:
    """Return the bars in the same order, keeping only the most informative published bar of each device.

    Order of preference: similar to the run, exact match, float32, TensorFlow, newer software.
    """
    best: dict[str, Bar] = {}
    for bar in chart:
        if bar.row is not None:
            name = bar.row.short_name
            if name not in best or _standing(bar) > _standing(best[name]):
                best[name] = bar
    return [bar for bar in chart if bar.row is None or best[bar.row.short_name] is bar]


def shortlist(chart: Sequence[Bar], limit: int) -> list[Bar]:
    """Return at most `limit` bars in drawing order, one per device.

    "You", its neighbours and the default baseline have priority because sentences mention them, followed by the
    best-known devices and the nearest bars. Without "you", the selection covers the whole range.
    """
    kept = one_each(chart)
    if len(kept) <= limit:
        return kept
    mine = next((number for number, bar in enumerate(kept) if bar.kind == "you"), None)
    if mine is None:  # no reference point
        wanted = min(limit, len(kept))
        return [kept[number * (len(kept) - 1) // max(1, wanted - 1)] for number in range(wanted)]
    run = kept[mine].run
    base = find_baseline(kept, None, run.workload) if run is not None else None
    # A bar with the same value isn't a neighbour.
    others = [at for at, bar in enumerate(kept) if bar.kind == "reference" and bar.is_like]
    ranked = [at for at in others if kept[at].value != kept[mine].value]
    faster, slower = [at for at in ranked if at < mine], [at for at in ranked if at > mine]
    named = {mine, *faster[-1:], *slower[:1], *(at for at, bar in enumerate(kept) if bar is base)}

    def importance(number: int) -> tuple[bool, bool, bool, int]:
        row, away = kept[number].row, abs(number - mine)
        unknown = row is None or not row.id.startswith(FIRST_SOURCE_IDS)
        return number not in named, away > 1, away > 0 and unknown, away

    return [kept[number] for number in sorted(sorted(range(len(kept)), key=importance)[:limit])]


def _standing(bar: Bar) -> tuple[bool, bool, bool, bool, int]:
    row = bar.row
    assert row is not None
    return bar.is_like, row.match == "exact", row.precision == "fp32", "TensorFlow" in row.software, row.year or 0


def several_count(workload: str, run: RunSummary | None) -> int:
    """Return the number of published multi-GPU results that `bars` omits."""
    with_several = bars(workload, run, with_several=True)
    return sum(1 for bar in with_several if bar.row is not None and bar.row.has_several)


def left_out(run: RunSummary, *, with_several: bool = False) -> list[tuple[str, str]]:
    """Return the published results that can't be drawn next to the run, with the reasons.

    Devices with more than _REASONS excluded results get one entry: the first reason and a count of the rest.
    """
    rows = [row for row in comparable_rows(run.workload) if with_several or not row.has_several]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if reason := refusal(run, row):
            reasons.setdefault(row.short_name, []).append(reason)
    return [
        (name, reason)
        for name, several in reasons.items()
        for reason in (
            several
            if len(several) <= _REASONS
            else [sentence("compare.refused_several", reason=several[0], count=len(several) - 1)]
        )
    ]


def left_out_imports(
    workload: str, run: RunSummary | None, imported: Iterable[ImportedResult]
) -> list[tuple[str, str]]:
    """Return the imported results that `bars` omits, with the reasons."""
    reasons = ((result.label, _imported_refusal(workload, run, result.summary)) for result in imported)
    return [(label, reason) for label, reason in reasons if reason is not None]


def _imported_refusal(workload: str, run: RunSummary | None, result: RunSummary) -> str | None:
    return run_refusal(usual_settings(workload, result) if run is None else run, result)


def find_baseline(chart: Sequence[Bar], name: str | None, workload: str) -> Bar | None:
    """Return the bar to compare with, never an invalid result; None if there are no bars.

    Without a name, the result is the default baseline or, if it is missing, the slowest device whose result is
    similar to the run, represented by the bar that `one_each` selects.

    Raises:
        UsageError: The name matches no bar, or several.
    """
    if name is None:
        published = [bar for bar in one_each(chart) if bar.row is not None and bar.is_like]
        wanted = _BASELINES.get(workload)
        default = [bar for bar in published if bar.row and bar.row.device == wanted]
        single = [bar for bar in published if bar.row and bar.name == short_name(bar.row.device)]
        return next(iter(default or single[-1:] or published[-1:]), None)
    key, chart = name.casefold(), [bar for bar in chart if bar.verdict != "invalid"]
    exact = [bar for bar in chart if bar.title.casefold() == key]
    exact = exact or [bar for bar in chart if bar.name.casefold() == key]
    matches = exact or [bar for bar in chart if key in (bar.row.hardware if bar.row else bar.name).casefold()]
    if len({bar.name for bar in matches}) == 1 and all(bar.row for bar in matches):
        return max(matches, key=_standing)  # one device, published several times
    if len(matches) != 1:
        raise _baseline_error(name, matches, chart)
    return matches[0]


def _baseline_error(name: str, matches: Sequence[Bar], chart: Sequence[Bar]) -> UsageError:
    names = list(dict.fromkeys(bar.title for bar in matches or chart))
    if matches:
        return UsageError(message("baseline.ambiguous", name=name[:60], names=names))
    if not names:
        return UsageError(message("baseline.nothing", name=name[:60]))
    return UsageError(message("baseline.unknown", name=name[:60]), message("baseline.choose", names=names))


def dated_name(bar: Bar) -> str:
    """Return a bar's name, with the year of its software if it is published, which strongly affects speed."""
    year = bar.row.year if bar.row is not None else None
    return bar.name if year is None else sentence("compare.dated", name=bar.name, year=year)


def chart_note(chart: Sequence[Bar], baseline: Bar | None = None) -> str:
    """Return the note of a chart: unit, scale, the baseline of its ticks, years of published results, and ranking.

    Args:
        chart: The bars, at least one.
        baseline: Bar that ticks refer to; None without ticks.
    """
    is_log = speed_scale([bar.speed for bar in chart]).is_log
    kind = headline_kind(chart[0].metric)
    parts = [
        kind.unit if kind.has_unit else kind.label_within,
        sentence("compare.longer_is_faster_log" if is_log else "compare.longer_is_faster"),
    ]
    if baseline is not None:
        parts.append(sentence("compare.one_times", baseline=dated_name(baseline)))
    if years := sorted({bar.row.year for bar in chart if bar.row and bar.row.year}):
        code = "compare.published_older" if _has_older_software(chart, years[0]) else "compare.published"
        parts.append(sentence(code, first=years[0], last=years[-1], count=1 + years[-1] - years[0]))
    if not all(bar.is_like for bar in chart):
        parts.append(sentence("compare.not_ranked"))
    return " · ".join(parts)


def _has_older_software(chart: Sequence[Bar], year: int) -> bool:
    """Return whether software of a year is so old, relative to the user's run, that it may be slow."""
    # A shared result may come without its date.
    dates = [bar.run.started_at or now_text() for bar in chart if bar.kind == "you" and bar.run is not None]
    ran = [int(date[:4]) for date in dates or [now_text()] if date[:4].isdecimal()]
    return bool(ran) and max(ran) - year >= OLD_SOFTWARE_YEARS


def ranks_float32(workload: str) -> bool:
    """Return whether runs in float32, as on CPUs, can be ranked with a workload's published results."""
    return not says_precision(workload) or any(row.precision in ("", "fp32") for row in comparable_rows(workload))


def shared_remarks(chart: Sequence[Bar]) -> tuple[str, ...]:
    """Return the remarks that all published bars have in common; () for fewer than two published bars."""
    remarks = [bar.remarks for bar in chart if bar.row is not None]
    if len(remarks) < 2:
        return ()
    return tuple(remark for remark in remarks[0] if all(remark in other for other in remarks[1:]))


def doubts(bar: Bar) -> tuple[str, ...]:
    """Return a bar's remarks without the year, software and engine, for views that show these separately.

    For current networks, the software is kept because the same card has bars for different software.
    """
    if bar.imported is not None:
        return bar.remarks
    if bar.row is None:
        return bar.remarks[1:]
    usual = {*row_remarks(bar.row)[:1], *(() if bar.row.engine else bar.row.software_parts)}
    return tuple(remark for remark in bar.remarks if remark not in usual)


def _run_bar(run: RunSummary, kind: Literal["you", "own"], reference: RunSummary | None = None) -> list[Bar]:
    """Return [bar] for a run, or [] without a headline. With `reference`, the remarks list only differences."""
    if run.value is None:
        return []
    name = sentence("compare.you")  # `_with_times` names the user's other runs
    remarks = [] if reference is not None else [engine_name(run.engine, run.engine_version)]
    remarks += [limit] if reference is None and (limit := limit_text(run)) else []
    remarks += [verdict_title(run.verdict)] if run.verdict in ("caution", "invalid") else []
    remarks += [sentence("compare.estimate")] if run.basis == "estimate" else []
    remarks += [sentence("short.first_epoch")] if run.basis == "first_epoch" else []
    if reference is not None:
        remarks += differences(reference, run)
    else:
        remarks += [run.variant] if run.variant else []
        remarks += unusual_settings(run)
    precision = precision_title(run.precision)
    remarks += [precision] if says_precision(run.workload) and precision not in remarks else []
    remarks += [status_title(run.status)] if run.status != "completed" else []
    return [Bar(name, kind, run.value, tuple(remarks), run=run, metric=run.metric)]


def _imported_bar(other: ImportedResult, workload: str, metric: str, run: RunSummary | None) -> list[Bar]:
    """Return [bar] for an imported result with its conditions, or [] if it can't be drawn next to the run."""
    summary = other.summary
    if _imported_refusal(workload, run, summary) is not None:
        return []
    (drawn,) = _run_bar(summary, "own", run)
    if other.is_log:  # an epoch log doesn't record other conditions
        codes = ("compare.imported_log", *(["short.first_epoch"] if summary.basis == "first_epoch" else []))
        remarks = tuple(map(sentence, codes))
    else:
        engine = engine_name(summary.engine, summary.engine_version)
        first = (
            sentence("compare.imported_result"),
            engine,
            *([verdict_title(summary.verdict)] if summary.verdict else []),
        )
        usual = CATALOGUE[workload].batch_size if run is None and workload in CATALOGUE else summary.batch_size
        batch = [] if summary.batch_size == usual else [sentence("share.batch", batch_size=summary.batch_size)]
        remarks = tuple(dict.fromkeys((*first, *batch, *drawn.remarks)))
    return [Bar(other.name, "imported", drawn.value, remarks, imported=other, metric=metric)]


def _row_bar(row: PublishedRow, metric: str, run: RunSummary | None) -> list[Bar]:
    """Return [bar] for a published row, or [] if its value can't be converted."""
    # A different batch size only adds a remark.
    value = converted(row, metric)
    if value is None:
        return []
    remarks, workload = row_remarks(row, value[1]), CATALOGUE.get(row.workload)
    usual = run.batch_size if run is not None else workload.batch_size if workload is not None else None
    if row.batch_size not in (None, usual):
        remarks = (remarks[0], sentence("share.batch", batch_size=row.batch_size), *remarks[1:])
    return [
        Bar(row.short_name, "reference", value[0], remarks, row=row, metric=metric, is_like=_is_like(run, row))
    ]


def _is_like(run: RunSummary | None, row: PublishedRow) -> bool:
    """Return whether a row drawn next to a run may also be ranked with it. Always True without a run."""
    # 16-bit arithmetic is several times as fast as 32-bit, and small batches don't keep a device busy.
    if run is None or not says_precision(row.workload):
        return True
    batches = sorted((row.batch_size or run.batch_size, run.batch_size))
    is_like_batch = batches[1] <= LIKE_BATCH_TIMES * batches[0]
    return (run.precision == "float32") == (row.precision in ("", "fp32")) and is_like_batch
