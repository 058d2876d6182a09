"""The sections about a run in a report."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from app.core.analysis.comparability import comparison_key
from app.core.analysis.compare import Bar, bars, doubts, position, shortlist
from app.core.analysis.series import Curve, RunSeries
from app.core.errors import UsageError
from app.core.hardware.part_texts import NOT_KNOWN, machine_parts
from app.core.messages import sentence
from app.core.metrics import headline_kind, metric_lines
from app.core.records import Run
from app.core.report.html.charts import Line, Row, bar_chart, column_chart, line_chart
from app.core.report.html.elements import element, pairs, pill, section, table
from app.core.report.run_texts import (
    energy_text,
    rate_text,
    result_notes,
)
from app.core.report.share import share_card
from app.core.report.telemetry_table import telemetry_rows
from app.core.titles import workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads.protocol.events import Epoch

BARS_LIMIT = 14
EPOCHS_LIMIT = 100
_NOT_SHOWN = ("machine_id", "python")
# Charts of telemetry: message code of the title, factor for the values, and names of the curves.
_TELEMETRY = (
    ("html.use", 1.0, ("cpu_pct", "other_cpu_pct", "utilization_pct")),
    ("html.temperature", 1.0, ("cpu_temperature_c", "temperature_c")),
    ("html.power", 1.0, ("cpu_power_w", "power_w")),
    ("html.clock", 1e-3, ("cpu_clock_mhz", "clock_mhz")),
)


def run_article(run: JudgedRun, number: int) -> Element:
    """Return the sections about a run. `number` distinguishes the runs on the page."""
    series, place = run.series, f"run-{number}"
    title = element("h2", workload_title(run.summary.workload), id=place)
    parts = [
        *_head(run),
        section(sentence("heading.verdict"), _reasons(run)),
        section(sentence("html.beside_others"), *_ranking(run.run)),
        section(sentence("html.while_it_ran"), *_charts(run.run, series)),
        section(sentence("verdict_dialog.comparable"), pairs(comparison_key(run.run))),
        section(sentence("heading.computer"), _computer(run.run)),
        section(sentence("chart.figures"), *_figures(run)),
    ]
    return element("article", title, *parts, aria_labelledby=place)


def _head(run: JudgedRun) -> Iterator[Element]:
    """Yield the headline with its interval, or the reason why there is no headline."""
    summary = run.summary
    try:
        card = share_card(run)
    except UsageError as error:
        yield element("p", run.summary.error_message or str(error))
    else:
        yield element("p", card.title, class_="muted")
        yield element("p", f"{card.headline} ", element("small", card.unit), class_="headline")
        yield element("p", card.notes[0], class_="muted")
    yield element("p", pill(run.verdict.level))
    for text in (position(summary) if summary.value is not None else "", rate_text(summary)):
        if text:
            yield element("p", text)
    yield element("p", sentence("html.measured_on", date=summary.started_at[:10], version=summary.app_version))


def _reasons(run: JudgedRun) -> Element | None:
    notes = [element("li", note.text) for note in result_notes(run)]
    return element("ul", *notes, class_="reasons") if notes else element("p", sentence("html.no_reasons"))


def _ranking(run: Run) -> Iterator[Element | None]:
    """Yield a chart of comparable results, and the sources of published results."""
    summary = run.summary
    if summary.value is None:
        return
    drawn = shortlist(bars(summary.workload, summary), BARS_LIMIT)
    shown = [bar for bar in drawn if bar.is_like]
    rows = [Row(bar.name, _length(bar), bar.text, is_own=bar.kind == "you") for bar in shown]
    yield bar_chart(_bars_title(summary.metric), rows) if len(rows) > 1 else None
    if len(shown) < len(drawn):
        yield element("p", sentence("html.unlike", count=len(drawn) - len(shown)), class_="muted")
    published = [bar for bar in shown if bar.row is not None]
    if len(drawn) == 1:
        yield element("p", sentence("html.none_published"))
    if not published:
        return
    headings = [sentence(code) for code in ("label.device", "heading.software", "heading.year")]
    unit = headline_kind(summary.metric).short_unit
    rows_of_table = [(*_origin(bar), bar.text) for bar in published]
    yield table(sentence("html.published"), (*headings, unit), rows_of_table, words=len(headings))
    sources = list(dict.fromkeys(bar.row.source for bar in published if bar.row is not None))
    yield element("p", sentence("html.sources", sources=sources), class_="muted")


def _bars_title(metric: str) -> str:
    kind = headline_kind(metric)
    better = sentence("compare.higher_is_better" if kind.is_rate else "compare.lower_is_better")
    return sentence("html.bars", label=kind.label, better=better)


def _length(bar: Bar) -> float:
    return bar.value if bar.value > 0 else 0.0


def _origin(bar: Bar) -> tuple[str, str, str]:
    row = bar.row
    assert row is not None  # always present for published bars
    year = str(row.year) if row.year is not None else sentence("compare.year_not_stated")
    return "; ".join((bar.name, *doubts(bar))), row.software_words, year


def _charts(run: Run, series: RunSeries) -> Iterator[Element | None]:
    durations_s = series.epoch_durations_s
    kind = headline_kind("seconds_per_epoch_s")
    x_epochs = sentence("studies.epochs")
    yield column_chart(kind.label, durations_s, x_epochs, run.summary.seconds_per_epoch_s)
    seconds = sentence("studies.seconds")
    if series.estimate.x:
        scale, unit = headline_kind(run.summary.metric).scale, headline_kind(run.summary.metric).short_unit
        bands = (("html.estimate", series.estimate), ("html.low", series.low), ("html.high", series.high))
        lines = [Line(sentence(code), _points(curve, scale)) for code, curve in bands]
        yield line_chart(sentence("html.estimate_title", unit=unit), lines, seconds)
    yield line_chart(sentence("heading.loss"), [Line(sentence("heading.loss"), _points(series.loss))], x_epochs)
    steps = Line(sentence("html.steps_per_s"), _points(series.steps_per_s))
    yield line_chart(steps.name, [steps], seconds, from_zero=True)
    for code, scale, names in _TELEMETRY:
        lines = [
            Line(_curve_name(name), _points(curve, scale))
            for name, curve in series.telemetry.items()
            if _field(name) in names
        ]
        yield line_chart(sentence(code), lines[:4], seconds, from_zero=code != "html.temperature")


def _points(curve: Curve, scale: float = 1.0) -> list[tuple[float, float | None]]:
    return [(x, None if y is None else y * scale) for x, y in zip(curve.x, curve.y, strict=True)]


def _field(name: str) -> str:
    """Return the telemetry field that a curve shows, such as "power_w" for "gpu0_power_w"."""
    return name.partition("_")[2] if name.startswith("gpu") else name


def _curve_name(name: str) -> str:
    if not name.startswith("gpu"):
        return sentence(f"telemetry.{name}")
    gpu, _, field = name[len("gpu") :].partition("_")
    return sentence(f"telemetry.gpu_{field}", gpu=gpu)


def _computer(run: Run) -> Element:
    parts = [part for part in machine_parts(run.machine) if part.value != NOT_KNOWN and part.id not in _NOT_SHOWN]
    return pairs((part.name, part.value) for part in parts)


def _figures(run: JudgedRun) -> Iterator[Element | None]:
    for text in (run.bottleneck, energy_text(run.summary)):
        if text:
            yield element("p", text)
    lines = metric_lines(run.run.metrics)
    yield pairs(lines) if lines else None
    if run.run.epochs:
        columns = (
            *("heading.epoch", "html.time", "heading.loss", "heading.accuracy"),
            *("html.validation_loss", "html.validation_accuracy"),
        )
        rows = [
            (str(epoch.index + 1), f"{epoch.duration_s:.3f}", *_results(epoch))
            for epoch in run.run.epochs[:EPOCHS_LIMIT]
        ]
        yield table(sentence("heading.epochs"), [sentence(code) for code in columns], rows)
        if (more := len(run.run.epochs) - EPOCHS_LIMIT) > 0:
            yield element("p", sentence("html.more_epochs", count=more), class_="muted")
    if telemetry := telemetry_rows(run):
        headings = [sentence(f"heading.{name}") for name in ("value", "lowest", "median", "highest")]
        yield table(sentence("html.hardware"), headings, telemetry)


def _results(epoch: Epoch) -> tuple[str, str, str, str]:
    loss, val_loss = ("" if value is None else f"{value:.4f}" for value in (epoch.loss, epoch.val_loss))
    accuracy, val_accuracy = (
        "" if value is None else f"{100 * value:.1f} %" for value in (epoch.accuracy, epoch.val_accuracy)
    )
    return loss, accuracy, val_loss, val_accuracy
