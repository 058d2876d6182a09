"""Compares a run with the user's best and latest runs, and lists changes to the computer between runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.core.analysis.ab import is_usable
from app.core.analysis.comparability import is_alike
from app.core.analysis.headline import value_text
from app.core.analysis.power import other_limit
from app.core.messages import Message, message, sentence, text
from app.core.metrics import format_value, headline_kind
from app.core.plain_text import joined
from app.core.records import PastRun, RunSummary
from workloads.engines.registry import engine_title
from workloads.settings import text_without

# Smallest difference worth showing if there is no interval.
LEVEL_SHARE = 0.005
# From this ratio on, a factor is shown instead of a percentage.
MANY_TIMES = 2.0
# In a chart, more points would be indistinguishable and slow to draw.
POINTS_LIMIT = 60


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One run of a trend, with the changes to the computer since the previous run."""

    run: RunSummary
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs that did the same work with the same settings, oldest first."""

    metric: str
    points: tuple[TrendPoint, ...]
    line: str  # comparison of a run with the best and the latest run, as a sentence; "" without a usable result

    @property
    def changed(self) -> tuple[TrendPoint, ...]:
        return tuple(point for point in self.points if point.changes)

    def sentence(self) -> str:
        """Return a description of the trend's chart."""
        if not self.points:
            return sentence("trend.nothing")
        values = [point.run.value for point in self.points if point.run.value is not None]
        kind = headline_kind(self.metric)
        said = message(
            "trend.described",
            count=len(self.points),
            first=_day(self.points[0].run),
            last=_day(self.points[-1].run),
            low=format_value(self.metric, min(values)),
            high=format_value(self.metric, max(values)),
            unit=kind.unit,
        )
        return " ".join((text(said), *self.change_lines()))

    def change_lines(self) -> list[str]:
        """Return a line for each point that follows a change to the computer, numbered from 1."""
        return [
            sentence(
                "trend.changes", number=number, run_id=point.run.id, date=_day(point.run), changes=point.changes
            )
            for number, point in enumerate(self.changed, 1)
        ]


def trend_of(run: RunSummary, past: Iterable[PastRun]) -> Trend:
    """Return the trend of a run: the newest points or, if there are too many, those around the run.

    Args:
        past: Runs of the same workload in any order, with or without the run itself.
    """
    past = tuple(past)
    like = sorted((each for each in past if _belongs(run, each.run)), key=lambda each: each.run.id)
    points = []
    for number, each in enumerate(like):
        changes = machine_changes(like[number - 1], each) if number else ()
        points.append(TrendPoint(each.run, changes))
    place = next((number for number, point in enumerate(points) if point.run.id == run.id), len(points))
    first = max(0, min(len(points) - POINTS_LIMIT, place - POINTS_LIMIT // 2))
    shown = tuple(points[first : first + POINTS_LIMIT])
    on_one = against_one_device(run, [each.run for each in past])
    line = joined((against_own(run, [each.run for each in like]), on_one))
    return Trend(run.metric, shown, line)


def against_own(run: RunSummary, others: Sequence[RunSummary]) -> str:
    """Compare a run with the best and the latest similar run; "" without a usable result or such runs."""
    if not is_usable(run):
        return ""
    like = [other for other in others if other.id != run.id and _belongs(run, other)]
    if not like:
        return ""
    is_rate = headline_kind(run.metric).is_rate
    best = (max if is_rate else min)(like, key=lambda other: other.value or 0.0)
    last = max((other for other in like if other.id < run.id), key=lambda other: other.id, default=None)
    is_best = not _is_level(run, best) and _times_as_fast(run, best) > 1
    parts = [message("trend.is_best", how=_how(run, best), which=_which(best))]
    if not is_best:
        # The better one of two runs isn't called worse than the best.
        is_better = last is not None and last.id == best.id and _times_as_fast(run, best) > 1
        code = "trend.against_last" if is_better else "trend.against_best"
        parts = [message(code, how=_how(run, best), which=_which(best))]
    if last is not None and last.id != best.id:
        parts.append(message("trend.against_last", how=_how(run, last), which=_which(last)))
    return joined(map(text, parts))


def against_one_device(run: RunSummary, others: Iterable[RunSummary]) -> str:
    """Compare a run on several devices with the fastest one on a single device with the same total batch.

    The efficiency is the speed-up divided by the number of devices. The text is empty if there is no run on a
    single device.
    """
    if run.device_count == 1 or not is_usable(run):
        return ""
    alone = replace(run, settings=text_without(run.settings, "devices", "machines"))
    like = [other for other in others if other.device_count == 1 and _belongs(alone, other)]
    if not like:
        return ""
    best = max(like, key=lambda other: _times_as_fast(other, run))
    times = _times_as_fast(run, best)
    share_pct = 100 * times / run.device_count
    return sentence("trend.one_device", times=times, which=_which(best), share_pct=share_pct)


def machine_changes(before: PastRun, now: PastRun) -> tuple[str, ...]:
    """Describe the changes to the computer since the previous run, omitting details unknown for either run."""
    engine = engine_title(now.run.engine)
    facts = [
        ("trend.other", before.run.cpu_name, now.run.cpu_name),
        ("trend.other", before.run.device_name, now.run.device_name),
        ("trend.other_engine", before.run.engine_version, now.run.engine_version),
        ("trend.other_driver", before.gpu_driver, now.gpu_driver),
        ("trend.other", before.run.os_name, now.run.os_name),
        ("trend.other_kernel", before.kernel, now.kernel),
        ("trend.other_bios", before.bios_version, now.bios_version),
        ("trend.other_power_plan", before.power_plan, now.power_plan),
    ]
    texts = [
        sentence(code, before=old, now=new, engine=engine)
        for code, old, new in facts
        if old is not None and new is not None and old != new
    ]
    if limit := other_limit(before.run, now.run):
        texts.append(sentence("trend.other_power_limit", limit=limit))
    if before.on_battery is not None and now.on_battery is not None and before.on_battery != now.on_battery:
        texts.append(sentence("part.on_battery" if now.on_battery else "part.on_mains"))
    return tuple(texts)


def _belongs(run: RunSummary, other: RunSummary) -> bool:
    return is_usable(other) and is_alike(run, other)


def _is_level(run: RunSummary, other: RunSummary) -> bool:
    """Return whether two runs are indistinguishable: their intervals overlap or their results hardly differ."""
    if run.value_low is None or run.value_high is None or other.value_low is None or other.value_high is None:
        return abs(_times_as_fast(run, other) - 1) < LEVEL_SHARE
    return run.value_low <= other.value_high and other.value_low <= run.value_high


def _times_as_fast(run: RunSummary, other: RunSummary) -> float:
    assert run.value is not None
    assert other.value is not None
    return headline_kind(run.metric).times_as_fast(run.value, other.value)


def _how(run: RunSummary, other: RunSummary) -> Message:
    times = _times_as_fast(run, other)
    if abs(times - 1) < LEVEL_SHARE:
        return message("trend.level")
    if _is_level(run, other):
        return message("trend.unclear")
    if times >= MANY_TIMES or times <= 1 / MANY_TIMES:
        return message("trend.times", times=times)
    return message("trend.faster" if times > 1 else "trend.slower", by_pct=100 * abs(times - 1))


def _which(run: RunSummary) -> Message:
    value = value_text(run)
    return message("trend.earlier", value=value, run_id=run.id, date=_day(run))


def _day(run: RunSummary) -> str:
    return run.started_at[:10]
