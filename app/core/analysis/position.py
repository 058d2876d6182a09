"""Says who is faster: a run's place and factor among published results, a friend's result, and a chart's note."""

from collections.abc import Sequence

from app.core.analysis.band import band_message
from app.core.analysis.bars import Bar, bars, find_baseline, one_each
from app.core.analysis.headline import half_interval_pct
from app.core.analysis.likeness import arithmetic, is_limit
from app.core.analysis.published import says_precision
from app.core.analysis.speed_scale import speed_scale
from app.core.clock import now_text
from app.core.formats import format_ratio
from app.core.messages import Message, message, sentence, text
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.records import RunSummary

# Frameworks became noticeably faster within this time, so it deserves a note. The value is a judgement call.
OLD_SOFTWARE_YEARS = 2


def position(run: RunSummary, baseline: str | None = None, chart: Sequence[Bar] | None = None) -> str | None:
    """Return a run's place as a sentence, such as "#6 of 8: 1.3× the i5-8250U (2019)".

    Only this computer and the published bars that `one_each` keeps and that are similar to the run are ranked. For
    an invalid result, the sentence states that it has no place. None without a headline or bars to compare with.
    Without a named baseline, a hardware test of a well-known device says whether the result is normal for it.

    Args:
        baseline: Name of the bar to compare with; None for the default baseline.
        chart: The run's bars; None to compute them.
    """
    place = position_message(run, baseline, chart)
    return text(place) if place is not None else None


def position_message(
    run: RunSummary, baseline: str | None = None, chart: Sequence[Bar] | None = None
) -> Message | None:
    """Return the message of `position` instead of its text."""
    if run.value is None:
        return None
    if baseline is None and (normal := band_message(run)) is not None:
        return normal
    chart = bars(run.workload, run) if chart is None else chart
    everything = [bar for bar in one_each(chart) if bar.kind in ("you", "reference")]
    field = [bar for bar in everything if bar.is_like]
    others = [bar for bar in field if bar.kind == "reference"]
    if not others:
        return None if len(everything) == 1 else message("position.none_like")
    if run.verdict == "invalid":
        return message("position.invalid")
    you = next(bar for bar in field if bar.kind == "you")
    wanted = [bar for bar in chart if bar.is_like and bar.kind == "reference"] if baseline else others
    base = find_baseline(wanted, baseline, run.workload)
    assert base is not None
    if (times := you.times_as_fast(base)) is None:  # a damaged record may contain 0 s
        return None
    faster = sum(bar.speed > you.speed for bar in others)
    code = "position.last" if faster == len(others) else "position.place"
    place = message(code, place=1 + faster, count=len(field))
    if says_precision(run.workload):
        code = "position.in_float32" if run.precision == "float32" else "position.in_16_bits"
        code = "position.in_tf32" if is_limit(run.workload) and arithmetic(run) == "tf32" else code
        place = message(code, place=place)
    code, ratio = ("position.faster", times) if times >= 1 else ("position.slower", 1 / times)
    result = message(code, place=place, ratio=format_ratio(ratio), baseline=dated_name(base))
    if run.basis == "first_epoch":
        result = message("position.first_epoch", said=result)
    return result if run.device_count == 1 else message("position.several", devices=run.device_count, said=result)


def friend_answer(chart: Sequence[Bar]) -> str:
    """Return which of the newest imported result and this computer is faster; "" if one is missing.

    If their intervals overlap, the sentence states that they are about equally fast. If one of them has a caution,
    the ratio is approximate.
    """
    you = next((bar for bar in chart if bar.kind == "you"), None)
    imports = [bar for bar in chart if bar.imported is not None]
    friend = max(imports, key=lambda bar: bar.imported.id if bar.imported else 0, default=None)
    if you is None or you.run is None or friend is None or friend.imported is None:
        return ""
    if (times := friend.times_as_fast(you)) is None:
        invalid = friend if friend.verdict == "invalid" else you
        code = "compare.friend_invalid" if "invalid" in (you.verdict, friend.verdict) else "compare.friend_unlike"
        return sentence(code, name=invalid.name if code.endswith("invalid") else friend.name)
    margins = (
        half_interval_pct(run.metric, run.value, run.value_low, run.value_high) or 0.0
        for run in (you.run, friend.imported.summary)
    )
    if max(times, 1 / times) <= 1 + sum(margins) / 100:
        return sentence("compare.friend_equal", name=friend.name)
    about = "" if you.verdict == friend.verdict == "valid" else "≈ "
    code, ratio = ("compare.friend_faster", times) if times > 1 else ("compare.friend_slower", 1 / times)
    return sentence(code, name=friend.name, ratio=about + format_ratio(ratio))


def dated_name(bar: Bar) -> str:
    """Return a bar's name, with the year of its software if it is published, which strongly affects speed."""
    year = bar.row.year if bar.row is not None else None
    return bar.name if year is None else sentence("compare.dated", name=bar.name, year=year)


def chart_note(chart: Sequence[Bar], baseline: Bar | None = None) -> str:
    """Return the note of a chart: unit, scale, baseline of the ticks, published results, and ranking.

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
    if kernels := sorted({bar.row.kernels for bar in chart if bar.row and bar.row.kernels}):
        parts.append(sentence("compare.own_kernels", names=kernels))
    if not all(bar.is_like for bar in chart):
        parts.append(sentence("compare.not_ranked"))
    return joined(parts)


def _has_older_software(chart: Sequence[Bar], year: int) -> bool:
    """Return whether software of a year is so old, relative to the user's run, that it may be slow."""
    # A shared result may come without its date.
    dates = [bar.run.started_at or now_text() for bar in chart if bar.kind == "you" and bar.run is not None]
    ran = [int(date[:4]) for date in dates or [now_text()] if date[:4].isdecimal()]
    return bool(ran) and max(ran) - year >= OLD_SOFTWARE_YEARS
