"""Prepares the picture of a run: its texts and bars."""

from collections.abc import Sequence
from dataclasses import replace

from app.core.analysis.comparability import engine_name, unusual_settings
from app.core.analysis.compare import Bar, bars, factor, has_older_software, position, rank_text
from app.core.analysis.headline import half_interval_pct, is_even, value_text
from app.core.analysis.power import is_gpu, work_per_joule
from app.core.analysis.published import PublishedRow, short_name
from app.core.errors import UsageError
from app.core.messages import message, sentence, text
from app.core.metrics import headline_kind
from app.core.records import Run, RunSummary
from app.core.report.card import Bars, ShareCard
from app.core.report.result_records import result_of
from app.core.report.run_texts import (
    CONFIDENCE_PCT,
    MEANINGFUL_PCT,
    Several,
    half_width_text,
    interval_text,
    plain_verdict,
    verdict_texts,
)
from app.core.report.share_texts import computer_parts, device_kind, device_title, version_line
from app.core.result_file.canonical import short_code
from app.core.result_file.record import Result
from app.core.result_file.short_form import short_form
from app.core.titles import data_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads import CATALOGUE
from workloads.engines.registry import compiler_name


def share_card(run: JudgedRun, several: Several | None = None, result: Result | None = None) -> ShareCard:
    """Return the contents of a run's picture. Raises UsageError if there is no result to show.

    Args:
        run: The run whose details are shown.
        several: Combined result of the run's group; None for the result of the run.
        result: The run's result without excluded fields; None to share all fields.
    """
    summary = run.summary if several is None else several.summary
    check_shown(summary)
    chart = run.bars if several is None else tuple(bars(summary.workload, summary))
    kind, times = headline_kind(summary.metric), factor(summary, chart)
    about = "≈ " if summary.basis == "estimate" else ""
    code, short = _codes(run.run) if result is None else (short_code(result.digest or ""), short_form(result))
    place = run.position if several is None else position(summary, chart=chart)
    footer = (
        place if times is None else "",  # otherwise, the factor and the rank say the same
        summary.started_at[:10],
        version_line(summary.app_version),
        sentence("share.result_code", checksum=code) if code else "",
    )
    parts = (
        data_title(summary.data_source),
        sentence("compare.virtual") if summary.virtual_machine else "",
    )
    return ShareCard(
        title=_title(run.run),
        headline=about + value_text(summary),
        factor="" if times is None else about + times[0],
        factor_of="" if times is None else sentence("share.as_fast_as", device=times[1]),
        rank=rank_text(chart),
        unit=kind.label_within if summary.metric.startswith("seconds_") else kind.unit,
        unit_note=_epoch_size(summary),
        notes=(_certainty(summary), *([text(work)] if (work := work_per_joule(summary)) else [])),
        machine=device_title(summary),
        details=tuple(
            filter(
                None,
                (_machine_details(summary), _engine_details(run.run), " · ".join(part for part in parts if part)),
            )
        ),
        badge=_badge(run) if several is None else several.badge,
        level=run.verdict.level if several is None else several.level,
        chart=Bars(
            tuple(map(_marked, chart)),
            _axis(chart, summary.metric),
            sentence("compare.older_software") if has_older_software(chart) else "",
        ),
        footer=" · ".join(part for part in footer if part),
        short_form=short,
    )


def _epoch_size(run: RunSummary) -> str:
    """Return the size of an epoch as text if the result is a duration of epochs; "" otherwise."""
    if run.metric != "seconds_per_epoch_s" or not run.samples_per_epoch:
        return ""
    return sentence("share.epoch_size", count=run.samples_per_epoch)


def check_shown(summary: RunSummary) -> None:
    """Raise UsageError if a run has no result to show."""
    if summary.value is None:
        raise UsageError(message("share.no_result", run_id=summary.id), message("result_file.choose_another"))


def _codes(run: Run) -> tuple[str, str]:
    """Return the first digits of a result's digest, and its short form; "" if there is none."""
    try:
        result = result_of(run)
    except UsageError:
        return "", ""
    return short_code(result.digest or ""), short_form(result)


def _title(run: Run) -> str:
    summary = run.summary
    workload = CATALOGUE.get(summary.workload)
    trains = sentence("share.trains") if workload is not None and workload.trains else ""
    batch = sentence("share.batch", batch_size=summary.batch_size) if summary.basis != "repetitions" else ""
    parts = (trains, workload_title(summary.workload), batch, summary.variant, summary.precision)
    return " · ".join(part for part in parts if part)


def _certainty(run: RunSummary) -> str:
    """Return the certainty of a headline: the margin of error (95 %), or a range or note if there is none."""
    if run.basis == "first_epoch":
        return sentence("short.first_epoch")
    half_pct = half_interval_pct(run.metric, run.value, run.value_low, run.value_high)
    if half_pct is None or run.confidence_pct is None or run.confidence_pct < CONFIDENCE_PCT:
        if run.basis == "estimate":
            return sentence("share.estimate_without_interval")
        return interval_text(run) or sentence("result.no_interval")
    if half_pct > MEANINGFUL_PCT or not is_even(run.value, run.value_low, run.value_high):
        interval = interval_text(run)
        return sentence("share.estimate_from", interval=interval) if run.basis == "estimate" else interval
    return half_width_text(run, half_pct)


def _machine_details(run: RunSummary) -> str:
    cpu = [short_name(run.cpu_name)] if is_gpu(run) and run.cpu_name else []
    return " · ".join((*cpu, *computer_parts(run), device_kind(run)))


def _engine_details(run: Run) -> str:
    summary = run.summary
    keras = run.environment and run.environment.keras_version
    parts = (
        engine_name(summary.engine, summary.engine_version),
        f"Keras {keras}" if keras else "",
        compiler_name(summary.engine) if summary.jit else "",
        *unusual_settings(summary, "jit"),
    )
    return " · ".join(part for part in parts if part)


def _badge(run: JudgedRun) -> tuple[str, ...]:
    """Return the verdict with its cautions or, if it is valid, with the duration of the measurement."""
    verdict, summary = run.verdict, run.summary
    if verdict.level == "caution":
        return plain_verdict(verdict, to_share=True)
    texts = verdict_texts(verdict)
    if verdict.level != "valid" or summary.basis == "estimate" or not (length := _length(summary)):
        return texts
    return f"{texts[0]} · {length}", *texts


def _length(run: RunSummary) -> str:
    """Return the length of a run in epochs, or in rounds of steps; "" for repetitions."""
    if run.basis == "repetitions":
        return ""
    if run.has_rounds:
        return sentence("share.rounds_of_steps", rounds=run.epochs_done, steps=run.steps)
    return sentence("share.epochs", count=run.epochs_done)


def _marked(bar: Bar) -> Bar:
    """Return a bar for the picture, which has no tooltips. Doubtful results get an asterisk."""
    is_doubtful = bar.row is not None and bar.row.is_doubtful
    return replace(bar, name=f"{bar.name} *") if is_doubtful else bar


def _axis(chart: tuple[Bar, ...], metric: str) -> str:
    rows = [bar.row for bar in chart if bar.row is not None]
    years = sorted({row.year for row in rows if row.year is not None})
    kind = headline_kind(metric)
    better = sentence("compare.higher_is_better" if kind.is_rate else "compare.lower_is_better")
    label = f"{kind.label_within} ({better})"
    if any(row.is_doubtful for row in rows):
        return f"{_axis_of(label, rows, years)} · {sentence('share.likely_cpu')}"
    return _axis_of(label, rows, years)


def _axis_of(label: str, rows: Sequence[PublishedRow], years: Sequence[int]) -> str:
    if not rows:
        return sentence("share.axis", label=label)
    if not years:
        return sentence("share.axis_of_unknown_year", label=label)
    shown = f"{years[0]}–{years[-1]}" if len(years) > 3 else years
    some_unknown = any(row.year is None for row in rows)
    return sentence("share.axis_some_unknown" if some_unknown else "share.axis_of_years", label=label, years=shown)
