"""The bars of a chart: builds, sorts and picks published results, stored runs and imported results."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.comparability import (
    differences,
    engine_name,
    imported_refusal,
    row_refusal,
    run_refusal,
    unusual_settings,
)
from app.core.analysis.conversion import converted
from app.core.analysis.headline import value_text
from app.core.analysis.likeness import arithmetic, is_like_row, is_limit
from app.core.analysis.own_runs import own_date, own_name
from app.core.analysis.power import limit_text, work_metric
from app.core.analysis.published import (
    FIRST_SOURCE_IDS,
    PublishedRow,
    comparable_rows,
    distinguishing_remarks,
    plain_device,
    row_remarks,
    row_variant,
    rows_of_usual_batch,
    says_precision,
    short_name,
)
from app.core.errors import UsageError
from app.core.external_results import ImportedResult
from app.core.messages import message, sentence
from app.core.metrics import format_value, headline_kind
from app.core.records import RunSummary
from app.core.titles import precision_title, status_title, verdict_title
from workloads import CATALOGUE

# Default baselines by workload, as in "4.8× the …". Other workloads use their slowest row.
_BASELINES = {"cifar10_keras_cnn": "Intel Core i5-8250U", "matmul": "RTX 3060", "lora_qwen3": "RTX 5090"}
# Software that most results of a workload have in common.
_USUAL_SOFTWARE = ("TensorFlow", "Unsloth")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a published result, a stored run, or an imported result."""

    name: str
    kind: Literal["you", "own", "reference", "imported"]
    value: float  # value in the unit of `metric`, a workloads.workload.HeadlineKey
    remarks: tuple[str, ...] = ()  # known differences from the chart's run, as text
    row: PublishedRow | None = None
    run: RunSummary | None = None
    imported: ImportedResult | None = None
    metric: str = "seconds_per_epoch_s"
    # Number of remarks, counted from the first, needed to distinguish the bar from others with the same name.
    # `title` contains them.
    apart: int = 0
    number: int = 0  # tells computers with the same name and remarks apart, in `title` only; 0 for others
    brief: str = ""  # shorter name for narrow charts; "" if there is none
    # Whether its precision and batch size are similar enough for it to be ranked with the chart's run. Other bars
    # are drawn below and never ranked.
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
    def summary(self) -> RunSummary | None:
        return self.imported.summary if self.imported is not None else self.run

    @property
    def title(self) -> str:
        """The name, with the remarks that distinguish the bar from others with the same name."""
        if not self.apart and not self.number:
            return self.name
        number = [sentence("compare.computer", number=self.number)] if self.number else []
        remarks = [*self.remarks[: self.apart], *number]
        return sentence("compare.bar_title", name=self.name, remarks=remarks)

    @property
    def text(self) -> str:
        """The value, with its unit if it is a duration. The chart's note names the unit of rates."""
        run = self.summary
        is_headline = run is not None and (run.metric, run.value) == (self.metric, self.value)
        value = value_text(run) if run is not None and is_headline else format_value(self.metric, self.value)
        return value + headline_kind(self.metric).label_unit

    @property
    def verdict(self) -> str | None:
        """The verdict on an imported result or one of the user's runs; None for other bars."""
        return self.summary.verdict if self.summary is not None else None

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
        run: The run shown as "you", or None for published rows only.
        others: More runs. Runs without a headline, or not comparable with `run`, are omitted.
        imported: Imported results, omitted by the same rule. Without a run, they must have the workload's default
            settings, except for those in which published results differ.
        with_several: Whether to include published results of multi-GPU systems.
    """
    chart = [bar for bar in _row_bars(workload, run) if with_several or not (bar.row and bar.row.has_several)]
    if run is not None:
        chart += _own_bars(run, others)
    chart += [
        _imported_bar(result, workload, run)
        for result in imported
        if imported_refusal(workload, run, result.summary) is None
    ]
    if run is not None and run.value is not None:
        chart.append(_run_bar(run, sentence("compare.you")))
    # Bars with the same name are distinguished by run or result numbers, or by their first remarks.
    names = Counter(bar.name for bar in chart)
    remarks = distinguishing_remarks([bar.row for bar in chart if bar.row is not None and names[bar.name] > 1])
    chart = [_distinguished(bar, remarks) if names[bar.name] > 1 else bar for bar in chart]
    is_split = ranked_count(chart) is not None
    return sorted(chart, key=lambda bar: (is_split and not bar.is_like, -bar.speed))


def several_count(workload: str, run: RunSummary | None) -> int:
    """Return the number of published multi-GPU results that `bars` omits."""
    return sum(bar.row is not None and bar.row.has_several for bar in _row_bars(workload, run))


def ranked_count(chart: Sequence[Bar]) -> int | None:
    """Return the number of bars above the line that separates the ranked from the others; None without a line."""
    count = sum(bar.is_like for bar in chart)
    is_ranked = any(bar.is_like and bar.kind != "you" for bar in chart)
    return count if is_ranked and count < len(chart) else None


def _row_bars(workload: str, run: RunSummary | None) -> Iterator[Bar]:
    """Return the bars of the published rows that can be drawn, those of multi-GPU systems included."""
    of_catalogue = CATALOGUE.get(workload)
    default = of_catalogue.metric if of_catalogue is not None else "seconds_per_epoch_s"
    metric = run.metric if run is not None else default
    usual = run.batch_size if run is not None else of_catalogue.batch_size if of_catalogue is not None else None
    kind = arithmetic(run) if run is not None and says_precision(workload) else None
    for row in rows_of_usual_batch(workload) if run is None else comparable_rows(workload):
        value = converted(row, metric)
        is_refused = row.variant != "" if run is None else row_refusal(run, row) is not None
        if value is None or is_refused:
            continue
        remarks = row_remarks(row, value[1])
        if row.batch_size not in (None, usual):  # it only deserves a remark
            remarks = (remarks[0], sentence("share.batch", batch_size=row.batch_size), *remarks[1:])
        is_like = kind is None or is_like_row(row, kind, run.batch_size if run is not None else 1)
        is_like = is_like and (run is None or run.variant == row_variant(row))
        yield Bar(row.short_name, "reference", value[0], remarks, row=row, metric=metric, is_like=is_like)


def _own_bars(run: RunSummary, others: Iterable[RunSummary]) -> list[Bar]:
    """Return the bars of the runs that are comparable with a run. Names of runs from one day contain the time."""
    shown = run if run.value is not None else None
    drawn = [
        other
        for other in others
        if other.id != run.id and other.value is not None and run_refusal(run, other) is None
    ]
    days = Counter(own_name(each, shown) for each in (*drawn, *([run] if shown else [])))
    result = []
    for other in drawn:
        with_time = days[own_name(other, shown)] > 1
        name = own_name(other, shown, with_time=with_time)
        brief = other.comment or own_date(other, with_time=with_time)
        result.append(_run_bar(other, name, run, brief=brief))
    return result


def _run_bar(run: RunSummary, name: str, reference: RunSummary | None = None, *, brief: str = "") -> Bar:
    kind: Literal["you", "own"] = "you" if reference is None else "own"
    return Bar(name, kind, run.value or 0.0, _run_remarks(run, reference), run=run, metric=run.metric, brief=brief)


def _run_remarks(run: RunSummary, reference: RunSummary | None) -> tuple[str, ...]:
    """Return the remarks on a run. With `reference`, they list only differences."""
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
    return (*remarks, *([status_title(run.status)] if run.status != "completed" else []))


def _imported_bar(result: ImportedResult, workload: str, run: RunSummary | None) -> Bar:
    summary = result.summary
    first = [sentence("compare.imported_result"), engine_name(summary.engine, summary.engine_version)]
    first += [verdict_title(summary.verdict)] if summary.verdict else []
    if run is None and workload in CATALOGUE and summary.batch_size != CATALOGUE[workload].batch_size:
        first.append(sentence("share.batch", batch_size=summary.batch_size))
    remarks = tuple(dict.fromkeys((*first, *_run_remarks(summary, run))))
    return Bar(result.name, "imported", summary.value or 0.0, remarks, imported=result, metric=summary.metric)


def _distinguished(bar: Bar, distinguishing: Mapping[str, tuple[Sequence[str], int]]) -> Bar:
    name = bar.name
    parts, number = distinguishing[bar.row.id] if bar.row is not None else ((), 0)
    first = tuple(dict.fromkeys(filter(None, parts)))
    rest = tuple(remark for remark in bar.remarks if remark not in first)
    if bar.kind == "own" and bar.run is not None:
        name = sentence("compare.own_numbered", name=name, run_id=bar.run.id)
    elif bar.imported is not None:
        name = sentence("compare.imported_numbered", name=name, number=bar.imported.id)
    return replace(bar, name=name, remarks=(*first, *rest), apart=len(first), number=number)


def by_work(chart: Iterable[Bar]) -> list[Bar]:
    """Return the bars whose energy was measured, sorted by work per joule, best first.

    Published results don't state their energy.
    """
    measured = [
        replace(bar, value=run.work_per_j, metric=work_metric(run.metric))
        for bar in chart
        if (run := bar.summary) is not None and run.work_per_j is not None
    ]
    return sorted(measured, key=lambda bar: (not bar.is_like, -bar.value))


def one_each(chart: Sequence[Bar], opened: Collection[str] = ()) -> list[Bar]:
    """Return the bars in the same order, keeping only the most informative published bar of each device.

    All bars of devices in `opened`, which contains short names, are kept.

    Order of preference: similar to the run, exact match, float32, usual software, newer software. Of several
    computers with the same limit, the middle one is kept.
    """
    of_devices: dict[str, list[Bar]] = {}
    for bar in chart:
        if bar.row is not None:
            of_devices.setdefault(bar.row.short_name, []).append(bar)
    kept = {name: _typical(of_device) for name, of_device in of_devices.items()}
    return [
        bar for bar in chart if bar.row is None or kept[bar.row.short_name] is bar or bar.row.short_name in opened
    ]


def _typical(of_device: Sequence[Bar]) -> Bar:
    """Return the bar that stands for a device."""
    best = max(map(_standing, of_device))
    equal = sorted((bar for bar in of_device if _standing(bar) == best), key=lambda bar: -bar.speed)
    row = equal[0].row
    return equal[(len(equal) - 1) // 2 if row is not None and is_limit(row.workload) else 0]


def _standing(bar: Bar) -> tuple[bool, bool, bool, bool, int]:
    row = bar.row
    assert row is not None
    is_usual = any(name in row.software for name in _USUAL_SOFTWARE)
    year = 0 if is_limit(row.workload) else row.year or 0
    return bar.is_like, row.match == "exact", row.precision == "fp32", is_usual, year


def shortlist(chart: Sequence[Bar], limit: int) -> list[Bar]:
    """Return at most `limit` bars in drawing order, one per device.

    "You", its neighbours, its device and the default baseline have priority because sentences mention them. The
    best-known devices and the nearest bars follow. Without "you", the selection covers the whole range.
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
    named |= {at for at in others if run is not None and _is_of(kept[at], run.device_name or "")}

    def importance(number: int) -> tuple[bool, bool, bool, int]:
        row, away = kept[number].row, abs(number - mine)
        unknown = row is None or not row.id.startswith(FIRST_SOURCE_IDS)
        return number not in named, away > 1, away > 0 and unknown, away

    return [kept[number] for number in sorted(sorted(range(len(kept)), key=importance)[:limit])]


def around(chart: Sequence[Bar], device: str, limit: int) -> tuple[list[Bar], Bar | None]:
    """Return at most `limit` bars next to that of a device, one per device, and the device's bar.

    Without a bar of the device, the selection covers the whole range, and there is no such bar.
    """
    kept = one_each(chart)
    at = next((at for at, bar in enumerate(kept) if _is_of(bar, device)), None)
    if at is None:
        return shortlist(kept, limit), None
    first = max(0, min(at - limit // 2, len(kept) - limit))
    return kept[first : first + limit], kept[at]


def _is_of(bar: Bar, device: str) -> bool:
    return bar.row is not None and plain_device(bar.row.device) == plain_device(device)


def find_baseline(chart: Sequence[Bar], name: str | None, workload: str) -> Bar | None:
    """Return the bar to compare with, never an invalid result; None if there are no bars.

    Without a name, the result is the run's own device if a limit was measured, the default baseline or, if both
    are missing, the slowest device whose result is similar to the run. `one_each` selects its bar.

    Raises:
        UsageError: The name matches no bar, or several.
    """
    if name is None:
        published = [bar for bar in one_each(chart) if bar.row is not None and bar.is_like]
        wanted = _BASELINES.get(workload)
        default = [bar for bar in published if bar.row and bar.row.device == wanted]
        single = [bar for bar in published if bar.row and bar.name == short_name(bar.row.device)]
        return next(iter(_same_card(chart, published) or default or single[-1:] or published[-1:]), None)
    key, chart = name.casefold(), [bar for bar in chart if bar.verdict != "invalid"]
    exact = [bar for bar in chart if bar.title.casefold() == key]
    exact = exact or [bar for bar in chart if bar.name.casefold() == key]
    matches = exact or [bar for bar in chart if key in (bar.row.hardware if bar.row else bar.name).casefold()]
    if len({bar.name for bar in matches}) == 1 and all(bar.row for bar in matches):
        return _typical(matches)  # one device, published several times
    if len(matches) == 1:
        return matches[0]
    names = list(dict.fromkeys(bar.title for bar in matches or chart))
    if matches:
        raise UsageError(message("baseline.ambiguous", name=name[:60], names=names))
    if not names:
        raise UsageError(message("baseline.nothing", name=name[:60]))
    raise UsageError(message("baseline.unknown", name=name[:60]), message("baseline.choose", names=names))


def _same_card(chart: Sequence[Bar], published: Sequence[Bar]) -> list[Bar]:
    """Return the published bar of the run's own device in a chart of a limit; [] if there is none."""
    run = next((bar.run for bar in chart if bar.kind == "you"), None)
    if run is None or not is_limit(run.workload) or not run.device_name:
        return []
    return [bar for bar in published if _is_of(bar, run.device_name)]


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
