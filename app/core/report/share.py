"""Prepares the picture of a run: its texts and bars."""

from dataclasses import replace

import app
from app.core.analysis.bars import Bar, bars, find_baseline
from app.core.analysis.comparability import engine_name, unusual_settings
from app.core.analysis.headline import marked_value
from app.core.analysis.position import position
from app.core.analysis.power import is_gpu, work_per_joule
from app.core.analysis.published import short_name
from app.core.errors import UsageError
from app.core.messages import message, sentence, text
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.records import Run, RunSummary
from app.core.report.card import Bars, ShareCard
from app.core.report.result_records import result_of
from app.core.report.run_texts import Several, certainty_text, verdict_chip
from app.core.report.share_texts import computer_parts, device_title
from app.core.result_file.record import Result
from app.core.result_file.short_form import short_form
from app.core.titles import precision_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import share_of_peak
from workloads import CATALOGUE
from workloads.engines.registry import compiler_name


def share_card(run: JudgedRun, several: Several | None = None, result: Result | None = None) -> ShareCard:
    """Return the contents of a run's picture. Raises UsageError if there is no result to show.

    Args:
        several: Combined result of the run's group; None for the result of the run.
        result: The run's result without excluded fields; None to share all fields.
    """
    summary = run.summary if several is None else several.summary
    check_shown(summary)
    chart = run.bars if several is None else tuple(bars(summary.workload, summary))
    kind = headline_kind(summary.metric)
    place = run.position if several is None else position(summary, chart=chart)
    share = share_of_peak(run.run) if several is None else None
    footer = (summary.started_at[:10], app.PROJECT_URL.partition("://")[2])
    return ShareCard(
        title=_title(run.run),
        headline=marked_value(summary),
        place=place or "",
        unit=kind.label_within if summary.metric.startswith("seconds_") else kind.unit,
        notes=(certainty_text(summary), *([text(work)] if (work := work_per_joule(summary)) else [])),
        machine=device_title(summary),
        details=tuple(filter(None, (text(share), _machine_details(summary), _engine_details(summary)))),
        badge=verdict_chip(run.verdict) if several is None else several.badge,
        level=run.verdict.level if several is None else several.level,
        chart=Bars(tuple(map(_marked, chart)), find_baseline(chart, None, summary.workload)),
        footer=joined(footer),
        short_form=_short_form(run.run) if result is None else short_form(result),
    )


def check_shown(summary: RunSummary) -> None:
    """Raise UsageError if a run has no result to show."""
    if summary.value is None:
        raise UsageError(message("share.no_result", run_id=summary.id), message("result_file.choose_another"))


def _short_form(run: Run) -> str:
    """Return the short form of a run's result; "" if there is none."""
    try:
        return short_form(result_of(run))
    except UsageError:
        return ""


def _title(run: Run) -> str:
    """Return the workload with what differs from its default network, batch size or precision."""
    summary = run.summary
    workload = CATALOGUE.get(summary.workload)
    name = workload_title(summary.workload)
    parts = [sentence("share.training", workload=name) if workload is not None and workload.trains else name]
    if workload is not None and summary.batch_size != workload.batch_size and summary.basis != "repetitions":
        parts.append(sentence("share.batch", batch_size=summary.batch_size))
    parts += [summary.variant, "" if summary.precision == "float32" else precision_title(summary.precision)]
    return joined(parts)


def _machine_details(run: RunSummary) -> str:
    cpu = [short_name(run.cpu_name)] if is_gpu(run) and run.cpu_name else []
    return joined((*cpu, *computer_parts(run)))


def _engine_details(run: RunSummary) -> str:
    compiler = compiler_name(run.engine) if run.jit else ""
    parts = (engine_name(run.engine, run.engine_version), compiler, *unusual_settings(run, "jit"))
    return joined(parts)


def _marked(bar: Bar) -> Bar:
    """Return a bar for the picture, which has no tooltips. Doubtful results get an asterisk."""
    is_doubtful = bar.row is not None and bar.row.is_doubtful
    return replace(bar, name=f"{bar.name} *") if is_doubtful else bar
