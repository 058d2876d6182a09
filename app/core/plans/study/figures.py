"""Builds a study's charts as data: lines over a numeric axis, or rows of bars and dots. Pure functions."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.analysis.published import PublishedRow, comparable_rows, short_name
from app.core.formats import format_memory
from app.core.messages import sentence
from app.core.metrics import amount_text, headline_kind
from app.core.plain_text import joined
from app.core.plans.study.axes import DEVICES, POWER_LIMIT, axis_value
from app.core.plans.study.costs import BASELINE, Costs, relative_rows
from app.core.plans.study.details import NO_DETAILS, Details, wants_epochs
from app.core.plans.study.folder_findings import PHASES, phase_title
from app.core.plans.study.points import Point, StudyResult, power_knee
from app.core.plans.study.units import Unit, count_text, rate_text, unit_of
from app.core.records import RunSummary
from app.core.report.card import Figure, Series, Spot
from app.core.runs.memory_check import tokens_at_a_time
from app.core.titles import workload_title
from workloads import CATALOGUE
from workloads.protocol.events import Epoch

# With fewer published results, no line is drawn.
PUBLISHED_POINTS = 3
PUBLISHED_LINES = 4
TICKS_LIMIT = 12


def figures(result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None) -> tuple[Figure, ...]:
    """Return a study's charts, the main one first; () before the first result.

    Args:
        result: The study.
        details: Details of its runs.
        costs: Prices; None to omit charts of costs.
    """
    done = [point for point in result.done if point.rate is not None]
    if not done:
        return ()
    curves = tuple(filter(None, convergence(result, done, details.epochs))) if wants_epochs(result) else ()
    only = curves if result.experiment.curves == "only" else ()
    only = _memory(done) if result.experiment.shows_memory else only
    if only:
        return only
    if costs is not None:
        return (*_relative(result, costs), *_speeds(result, done))
    measured = {case for rates in details.phases.values() for case in rates}
    if phases := tuple(_phase(result, done, case, details) for case in PHASES if case in measured):
        return phases
    if _is_numeric(result):
        steps = () if result.axes[0] == POWER_LIMIT else (_step_times(result, done),)
        work = (_work(result, done),) if any(point.work_per_j is not None for point in done) else ()
        return (_lines(result, done), *steps, *work, *curves)
    return (*_speeds(result, done), *curves)


def _is_numeric(result: StudyResult) -> bool:
    axis = result.axes[0] if result.axes else ""
    values = [axis_value(axis, point.spec) for point in result.points]
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return is_number and all(value > 0 for value in values) and len(set(values)) > 1


def _over_numbers(result: StudyResult, name: str, value_title: str, series: Sequence[Series]) -> Figure:
    """Return a chart with lines along a study's first axis."""
    axis = result.axes[0]
    planned = {float(axis_value(axis, point.spec)) for point in result.points}
    drawn = {spot.x for each in series for spot in each.spots if spot is not None}
    xs = sorted(drawn or planned)
    shown = xs if len(xs) <= TICKS_LIMIT else xs[:: -(-len(xs) // TICKS_LIMIT)]
    return Figure(
        name=name,
        kind="lines",
        value_title=value_title,
        series=tuple(series),
        x_title=result.experiment.axis_title(axis),
        is_log_x=xs[-1] / xs[0] > 4,
        ticks=tuple((x, f"{x:,g}") for x in shown),
    )


def _memory(done: Sequence[Point]) -> tuple[Figure, ...]:
    """Return a chart of memory over the number of tokens at a time: longer sequences, and larger batches."""
    batches = {point.spec.parameters["sequence"] for point in done if point.spec.batch_size > 1}
    of_lines = {
        "studies.line_sequences": [point for point in done if point.spec.batch_size == 1],
        "studies.line_batches": [point for point in done if point.spec.parameters["sequence"] in batches],
    }
    series = []
    for code, points in of_lines.items():
        spots = [
            Spot(float(tokens_at_a_time(point.spec)), bytes_ / 2**30, text=format_memory(bytes_))
            for point in sorted(points, key=lambda each: tokens_at_a_time(each.spec))
            if (bytes_ := point.memory_bytes) is not None
        ]
        series += [Series(sentence(code), tuple(spots))] if spots else []
    if not series:
        return ()
    xs = sorted({spot.x for line in series for spot in line.spots if spot is not None})
    chart = Figure(
        name=sentence("part.memory"),
        kind="lines",
        value_title=sentence("studies.memory_gb"),
        series=tuple(series),
        x_title=sentence("studies.tokens_at_a_time"),
        is_log_x=xs[-1] / xs[0] > 4,
        ticks=tuple((x, f"{x:,g}") for x in xs[:: -(-len(xs) // TICKS_LIMIT)]),
    )
    return (chart,)


def _own_lines(result: StudyResult, done: Sequence[Point], spot: Callable[[Point], Spot | None]) -> list[Series]:
    """Return one line per value of the second axis, or a single line."""
    axis = result.axes[0]
    names = list(dict.fromkeys(point.place[1] if len(point.place) > 1 else "" for point in done))

    def x_of(point: Point) -> float:
        return float(axis_value(axis, point.spec))

    series = []
    for name in names:
        points = [point for point in done if len(point.place) < 2 or point.place[1] == name]
        spots = [each for point in sorted(points, key=x_of) if (each := spot(point)) is not None]
        label = name or sentence("compare.you")
        series.append(Series(label, tuple(spots)))
    return series


def _lines(result: StudyResult, done: Sequence[Point]) -> Figure:
    axis, unit = result.axes[0], unit_of(done)
    best = max(done, key=lambda point: point.rate.value if point.rate else 0.0)

    def spot(point: Point) -> Spot | None:
        if (rate := point.rate) is None:
            return None
        low, high = (None if end is None else end * unit.scale for end in (rate.low, rate.high))
        x = float(axis_value(axis, point.spec))
        return Spot(x, rate.value * unit.scale, low, high, rate_text(rate, unit), is_marked=point is best)

    series = _own_lines(result, done, spot)
    marks: tuple[tuple[float, str], ...] = ()
    first = series[0].spots[0] if series and series[0].spots else None
    if result.experiment.is_proportional and first is not None:
        xs = sorted({float(axis_value(axis, point.spec)) for point in result.points})
        ideal = tuple(Spot(x, first.value * x / first.x, text="") for x in xs)
        series.append(Series(sentence("studies.ideal"), ideal, is_dashed=True))
    if axis in ("threads", "cpus"):
        cores = next((run.physical_cores for point in done for run in point.runs if run.physical_cores), None)
        marks = ((float(cores), sentence("studies.physical_cores", count=cores)),) if cores else ()
    if axis == POWER_LIMIT and (knee := power_knee(done)) is not None:
        marks = ((float(axis_value(axis, knee.spec)), sentence("studies.knee")),)
    if result.experiment.has_published_lines:
        series += published_lines(result.workloads, axis, unit)
    return replace(_over_numbers(result, sentence("studies.chart_speed"), unit.title, series), marks=marks)


def _phase(result: StudyResult, done: Sequence[Point], case: str, details: Details) -> Figure:
    """Return a chart of a phase's speed: a line over CPU counts for each folder, or a bar per configuration."""
    points = [
        replace(point, value=statistics.median(rates), low=min(rates), high=max(rates))
        for point in done
        if (rates := details.phases.get(point.name, {}).get(case))
    ]
    chart = _lines(result, points) if _is_numeric(result) else _speeds(result, points)[0]
    return replace(chart, name=phase_title(case))


def _step_times(result: StudyResult, done: Sequence[Point]) -> Figure:
    axis = result.axes[0]

    def spot(point: Point) -> Spot | None:
        if point.step_s is None:
            return None
        text = sentence("studies.step_ms", step_ms=1e3 * point.step_s)
        return Spot(float(axis_value(axis, point.spec)), 1e3 * point.step_s, text=text)

    name, title = sentence("studies.column_step"), sentence("studies.step_title")
    return _over_numbers(result, name, title, _own_lines(result, done, spot))


def _work(result: StudyResult, done: Sequence[Point]) -> Figure:
    axis, metric = result.axes[0], done[0].work_metric

    def spot(point: Point) -> Spot | None:
        if point.work_per_j is None:
            return None
        text = amount_text(metric, point.work_per_j)
        return Spot(float(axis_value(axis, point.spec)), point.work_per_j, text=text)

    name, title = sentence("heading.work_per_j"), headline_kind(metric).label
    return _over_numbers(result, name, title, _own_lines(result, done, spot))


def published_lines(workloads: Sequence[str], axis: str, unit: Unit) -> list[Series]:
    """Return published results as lines over batch sizes or CPU counts, one per pair of device and software."""
    lines: dict[tuple[str, str], dict[float, float]] = {}
    for workload in workloads[:1]:
        for row in comparable_rows(workload):
            x, rate = _published_place(row, axis), published_rate(row)
            if x is None or rate is None or (row.has_several and axis != DEVICES):
                continue
            device = row.short_name if axis == "batch_size" else short_name(row.device)
            software = f"{row.software_words}, {row.year or sentence('compare.year_not_stated')}"
            lines.setdefault((device, software), {})[float(x)] = rate * unit.scale
    series = []
    for (device, software), spots in lines.items():
        if len(spots) >= PUBLISHED_POINTS:
            places = tuple(Spot(x, value, text=count_text(value)) for x, value in sorted(spots.items()))
            series.append(Series(f"{device} · {software}", places, is_own=False))
    return series[:PUBLISHED_LINES]


def _published_place(row: PublishedRow, axis: str) -> int | None:
    if axis == "batch_size":
        return row.batch_size
    if axis == DEVICES:
        return row.gpus
    return row.cores if axis in ("threads", "cpus") else None


def published_rate(row: PublishedRow) -> float | None:
    """Return a published row's examples per second; None if its unit can't be converted."""
    workload = CATALOGUE[row.workload]
    if row.value <= 0:
        return None
    if row.metric == "s_per_epoch" and workload.samples_per_epoch:
        return workload.samples_per_epoch / row.value
    if row.metric == "s_per_minibatch" and row.batch_size:
        return row.batch_size / row.value
    if row.metric == "tokens_per_s":
        return row.value / workload.units_of("")
    return row.value if row.metric == "images_per_s" else None


def _speeds(result: StudyResult, done: Sequence[Point]) -> tuple[Figure, ...]:
    """Return bar charts of the configurations' speeds, one per workload."""
    charts = []
    for workload in dict.fromkeys(point.spec.workload for point in done):
        points = [point for point in done if point.spec.workload == workload]
        unit = unit_of(points)
        best = max(points, key=lambda point: point.rate.value if point.rate else 0.0)
        ordered = sorted(points, key=lambda point: -(point.rate.value if point.rate else 0.0))
        spots = tuple(_bar(point, unit, is_best=point is best) for point in ordered)
        title = workload_title(workload)
        charts.append(
            Figure(
                name=title if len(result.workloads) > 1 else sentence("studies.chart_speed"),
                kind="rows",
                value_title=unit.title,
                rows=tuple(joined(part for part in point.place if part != title) or title for point in ordered),
                series=(Series(sentence("compare.you"), spots),),
            )
        )
    return tuple(charts)


def _bar(point: Point, unit: Unit, *, is_best: bool) -> Spot | None:
    if (rate := point.rate) is None:
        return None
    low, high = (None if end is None else end * unit.scale for end in (rate.low, rate.high))
    return Spot(0, rate.value * unit.scale, low, high, count_text(rate.value * unit.scale), is_marked=is_best)


def convergence(
    result: StudyResult, done: Sequence[Point], epochs: Mapping[int, Sequence[Epoch]]
) -> list[Figure | None]:
    """Return charts of loss and accuracy over seconds and of loss over epochs, with a line per configuration."""
    curves = {result.name_in_legend(point): _curve(point.best_run, epochs) for point in done}
    seconds, count = sentence("studies.seconds"), sentence("setting.epochs")
    return [
        _over(curves, "loss", sentence("metric.loss"), sentence("studies.loss_title"), seconds),
        _over(curves, "accuracy", sentence("metric.accuracy"), sentence("studies.accuracy"), seconds),
        _over(
            curves, "loss", sentence("studies.chart_epochs"), sentence("studies.loss_title"), count, by_epoch=True
        ),
    ]


@dataclass(frozen=True, slots=True)
class Passed:
    """An epoch, and the time in seconds from the start of training to the end of the epoch."""

    at_s: float
    epoch: Epoch


def _curve(run: RunSummary | None, epochs: Mapping[int, Sequence[Epoch]]) -> list[Passed]:
    passed, at_s = [], 0.0
    for epoch in epochs.get(run.id, ()) if run is not None else ():
        at_s += epoch.duration_s
        passed.append(Passed(at_s, epoch))
    return passed


def _over(
    curves: Mapping[str, Sequence[Passed]],
    key: str,
    name: str,
    value_title: str,
    x_title: str,
    *,
    by_epoch: bool = False,
) -> Figure | None:
    series = []
    for label, passed in curves.items():
        spots = []
        for number, each in enumerate(passed, 1):
            value = each.epoch.loss if key == "loss" else _shown_accuracy(each.epoch)
            if value is not None:
                x = float(number) if by_epoch else each.at_s
                spots.append(Spot(x, value, text=f"{value:.4g}" if key == "loss" else f"{value:.1f} %"))
        if spots:
            series.append(Series(label, tuple(spots)))
    if not series:
        return None
    most = max(spot.x for line in series for spot in line.spots if spot)
    return Figure(
        name=name,
        kind="lines",
        value_title=value_title,
        x_title=x_title,
        begins_at_zero=False,
        series=tuple(series),
        ticks=tuple((float(x), str(x)) for x in range(1, int(most) + 1))
        if by_epoch and most <= TICKS_LIMIT
        else (),
    )


def _shown_accuracy(epoch: Epoch) -> float | None:
    value = epoch.val_accuracy if epoch.val_accuracy is not None else epoch.accuracy
    return None if value is None else 100 * value


def _relative(result: StudyResult, costs: Costs) -> list[Figure]:
    charts = []
    for what in ("speed", "cost"):
        rows = relative_rows(result, costs, what)
        if not rows:
            continue
        names = list(dict.fromkeys(name for row in rows for name in row.values if name != BASELINE))
        own = {name for row in rows for name in row.own}
        series = tuple(
            Series(
                name,
                tuple(
                    None
                    if (value := row.values.get(name)) is None
                    else Spot(0, value, text=sentence("studies.times", times=value))
                    for row in rows
                ),
                is_own=name in own,
            )
            for name in sorted(names, key=lambda each: each not in own)
        )
        charts.append(
            Figure(
                name=sentence(f"studies.chart_relative_{what}"),
                kind="rows",
                value_title=sentence(f"studies.relative_{what}"),
                rows=tuple(workload_title(row.workload) for row in rows),
                series=series,
                is_log_value=True,
                baseline=(1.0, BASELINE),
            )
        )
    return charts
