"""Prepares a finished A/B test for sharing: the picture's texts and bars, and the text to paste."""

from collections.abc import Callable, Sequence

from app.core.analysis.ab import ENOUGH_PAIRS, RepeatResult, between_runs, judge_pairs
from app.core.analysis.comparability import engine_name, unusual_settings
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.metrics import format_value, headline_kind
from app.core.plain_text import joined, one_line
from app.core.plans.verdicts import level_among
from app.core.records import Group, RunSummary
from app.core.redaction.private_texts import chosen_texts, hide, private_texts
from app.core.report.card import ShareCard, Side, Sides
from app.core.report.run_texts import machine_line, made_by, verdict_chip, verdict_for_text
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.titles import data_title, differing, precision_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads.protocol import events

# Limit for names in records from any version. Names in this version are shorter.
_NAME_LIMIT = 400


def ab_card(
    run: JudgedRun, group: Group, paired: Sequence[RunSummary], name: str, remarks: Sequence[str]
) -> ShareCard:
    """Return the contents of an A/B test's picture. Raises UsageError if there is no result to show.

    Args:
        run: The run whose verdict is shown.
        group: The A/B test.
        paired: Runs of its usable pairs.
        name: Name of the kind of plan.
        remarks: Remarks about the result.
    """
    runs = measured_runs(group, paired)
    summary, kind, result = run.summary, headline_kind(run.summary.metric), judge_pairs(group)
    certainty = result.certainty()
    footer = (group.created_at[:10], version_line(summary.app_version))
    parts = computer_parts(runs[0])
    parts += [sentence("compare.virtual")] if runs[0].virtual_machine else []
    return ShareCard(
        title=joined((name, *_common(runs))),
        headline=result.check_headline() if group.plan.has_equal_sides else result.headline(),
        notes=(certainty if result.pairs >= ENOUGH_PAIRS else f"{certainty} · {sentence('ab.needs_more_pairs')}",),
        chart=Sides(_sides(group, runs), f"{kind.label_within} · {sentence('compare.longer_is_faster')}"),
        machine=sentence("share.on_this_computer", name=joined(_each(runs, device_title))),
        details=tuple(part for part in (joined(parts), _engines(runs), " ".join(remarks)) if part),
        badge=_badge(run, runs),
        level=run.verdict.level,
        footer=joined(footer),
    )


def ab_text(
    card: ShareCard, run: JudgedRun, group: Group, paired: Sequence[RunSummary], remarks: Sequence[str]
) -> str:
    """Return an A/B test as a few lines of plain text to post, without names of users, computers or folders.

    Args:
        card: Contents of the test's picture.
        run: The run whose verdict is shown.
        group: The A/B test.
        paired: Runs of its usable pairs.
        remarks: Remarks about the result.
    """
    unit = headline_kind(run.summary.metric).unit
    lines = [
        sentence("ab.text_headline", headline=card.headline, title=card.title),
        *card.notes,
        *(_side_line(side, unit) for side in _sides(group, paired)),
        verdict_for_text(_verdict(run), _share_with(run, paired)),
        sentence("result.text_machine", machine=machine_line(run.run.machine)),
        sentence("result.text_engine", engine=_engines(paired)),
        *remarks,
        made_by(run.summary.app_version, group.created_at),
    ]
    private = chosen_texts([run.run.spec]) | private_texts()
    return "".join(f"{hide(' '.join(line.split()), private)}\n" for line in lines if line)


def measured_runs(group: Group, paired: Sequence[RunSummary]) -> Sequence[RunSummary]:
    """Return the runs on which an A/B test's result is based. Raises UsageError if there are none."""
    if not paired:
        raise UsageError(message("share.no_ab_result", group_id=group.id), message("share.run_ab_again"))
    return paired


def _sides(group: Group, runs: Sequence[RunSummary]) -> tuple[Side, Side]:
    result = judge_pairs(group)
    specs = group.plan.specs
    settings = differing(specs[0], specs[1]) if len(specs) > 1 else ("", "")
    faster = None if not result.is_shown or result.ratio is None else "B" if result.ratio > 1 else "A"
    a, b = (
        _side(
            side,
            one_line(name, _NAME_LIMIT),
            own,
            [run for run in runs if run.side == side],
            is_faster=faster == side,
        )
        for side, name, own in zip("AB", group.labels, settings, strict=True)
    )
    return a, b


def _side(letter: str, name: str, settings: str, runs: Sequence[RunSummary], *, is_faster: bool) -> Side:
    result = between_runs([run.value for run in runs if run.value is not None], [])
    metric = runs[0].metric
    is_rate = headline_kind(metric).is_rate
    ends = (result.low, result.high) if is_rate else (result.high, result.low)
    low, high = (end and (end if is_rate else 1 / end) for end in ends)
    median = result.median or 0.0
    return Side(
        name=letter if name == letter else f"{letter} · {name}",
        settings="" if settings in (letter, name) else settings,
        speed=median and (median if is_rate else 1 / median),
        low=low,
        high=high,
        text=_values(metric, result),
        is_faster=is_faster,
    )


def _values(metric: str, result: RepeatResult) -> str:
    value = format_value(metric, result.median)
    low, high = format_value(metric, result.low), format_value(metric, result.high)
    if result.confidence_pct is None or low == high:  # the interval isn't meaningful
        return value
    between = sentence("group.interval", low=low, high=high, confidence_pct=result.confidence_pct)
    return f"{value} · {between}"


def _side_line(side: Side, unit: str) -> str:
    settings = f" ({side.settings})" if side.settings else ""
    return sentence("ab.text_side", side=side.name + settings, values=side.text, unit=unit)


def _common(runs: Sequence[RunSummary]) -> list[str]:
    """Return the workload of both sides, and their batch size, network and precision if these are the same."""
    parts = [
        workload_title(runs[0].workload),
        *_same(runs, lambda run: sentence("share.batch", batch_size=run.batch_size)),
        *_same(runs, lambda run: run.variant),
        *_same(runs, lambda run: precision_title(run.precision)),
    ]
    return [part for part in parts if part]


def _engines(runs: Sequence[RunSummary]) -> str:
    """Return the engines of both sides, their common settings, and the source of the data."""
    settings = [set(unusual_settings(run)) for run in runs]
    parts = [
        *_each(runs, lambda run: engine_name(run.engine, run.engine_version)),
        *(part for part in unusual_settings(runs[0]) if all(part in each for each in settings)),
        *_same(runs, lambda run: data_title(run.data_source)),
    ]
    return joined(parts)


def _badge(run: JudgedRun, runs: Sequence[RunSummary]) -> tuple[str, ...]:
    verdict = _verdict(run)
    texts = verdict_chip(verdict)
    return (f"{texts[0]} · {_share_with(run, runs)}", *texts)


def _verdict(run: JudgedRun) -> events.Judged:
    """Return a run's verdict, ignoring shared hosts, because the group's spread already includes their effect."""
    is_valid = "valid" in (run.verdict.level, level_among(run.summary))
    return events.Judged(level="valid") if is_valid else run.verdict


def _share_with(run: JudgedRun, runs: Sequence[RunSummary]) -> str:
    if _verdict(run).level == "valid":
        return sentence("share.all_runs", count=len(runs))
    count = sum(level_among(each) == level_among(run.summary) for each in runs)
    return sentence("share.of_runs", count=count, planned=len(runs))


def _each(runs: Sequence[RunSummary], text_of: Callable[[RunSummary], str]) -> list[str]:
    return list(dict.fromkeys(text_of(run) for run in runs))


def _same(runs: Sequence[RunSummary], text_of: Callable[[RunSummary], str]) -> list[str]:
    """Return [text] if the text is the same for all runs; [] otherwise."""
    texts = _each(runs, text_of)
    return texts if len(texts) == 1 else []
