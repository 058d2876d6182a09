"""Runs as a table for people, one row per run: CSV for spreadsheets, or Markdown or BBCode to post."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from app.core.analysis.comparability import engine_name
from app.core.analysis.headline import half_interval_pct
from app.core.analysis.own_runs import run_name
from app.core.analysis.published import short_name
from app.core.clock import local_time
from app.core.formats import format_installed_memory
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.records import RunSummary
from app.core.report.formats.csv_table import csv_rows, guarded, plan_lines
from app.core.report.formats.export_format import ExportFormat
from app.core.report.formats.table_text import TABLE_FORMS, table_text
from app.core.report.run_texts import certainty_text, plain_reason, value_line
from app.core.report.share_texts import system_title
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from app.core.titles import precision_title, preset_title, verdict_title, workload_title

Cell = str | int | float | None


def _value(run: RunSummary) -> float | None:
    return None if run.value is None else float(f"{run.value * headline_kind(run.metric).scale:.4g}")


def _half_pct(run: RunSummary) -> float | None:
    half_pct = half_interval_pct(run.metric, run.value, run.value_low, run.value_high)
    return None if half_pct is None else float(f"{half_pct:.2g}")


def _result(run: RunSummary) -> str:
    return value_line(run) if run.value is None else f"{value_line(run)} · {certainty_text(run)}"


def cautions_text(run: RunSummary) -> str:
    return ", ".join(dict.fromkeys(map(plain_reason, (run.reasons or "").split())))


_STARTED = ("heading.started", lambda run: local_time(run.started_at))
_NETWORK = ("label.workload", lambda run: workload_title(run.workload))
_VERDICT = ("heading.verdict", lambda run: verdict_title(run.verdict))
_DEVICE = ("setting.device", run_name)
_SOFTWARE = ("heading.software", lambda run: engine_name(run.engine, run.engine_version))
_PRECISION = ("setting.precision", lambda run: precision_title(run.precision))
_BATCH = ("heading.batch", lambda run: run.batch_size)
Columns = Sequence[tuple[str, Callable[[RunSummary], Cell]]]
# For spreadsheets: the message code of the heading, and what the cell contains.
COLUMNS: Columns = (
    _STARTED,
    _NETWORK,
    ("heading.result", _value),
    ("heading.unit", lambda run: headline_kind(run.metric).unit),
    ("heading.uncertainty_pct", _half_pct),
    _VERDICT,
    ("heading.cautions", cautions_text),
    _DEVICE,
    ("heading.processor", lambda run: short_name(run.cpu_name) if run.cpu_name else None),
    ("part.memory", lambda run: format_installed_memory(run.memory_bytes) if run.memory_bytes else None),
    ("part.system", lambda run: system_title(run.os_name or "")),
    _SOFTWARE,
    _PRECISION,
    _BATCH,
    ("label.preset", lambda run: preset_title(run.preset)),
    ("heading.name", lambda run: run.comment),
)
# To post in a forum.
POSTED: Columns = (_NETWORK, ("heading.result", _result), _VERDICT, _DEVICE, _SOFTWARE, _PRECISION, _BATCH)


def people_lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    """Yield a CSV file piece by piece, newest run first. Without ids, all runs are included."""
    return csv_of(list_runs(database, ids=ids or None))


def csv_of(runs: Iterable[RunSummary]) -> Iterator[str]:
    """Yield runs as CSV piece by piece, with constant memory use for any number of runs."""
    rows = ([_guarded(cell(run)) for _, cell in COLUMNS] for run in runs)
    return csv_rows([sentence(code) for code, _ in COLUMNS], rows)


def text_of(runs: Iterable[RunSummary], form: str) -> str:
    """Return runs as a table to paste, in one of TABLE_FORMS."""
    columns = COLUMNS if form == "spreadsheet" else POSTED
    heads = [sentence(code) for code, _ in columns]
    rows = (["" if (value := cell(run)) is None else str(value) for _, cell in columns] for run in runs)
    return table_text(heads, rows, form)


def _posted(form: str, database: Database, ids: Sequence[int]) -> Iterator[str]:
    yield text_of(list_runs(database, ids=ids or None), form)


def _guarded(cell: Cell) -> Cell:
    return guarded(cell) if isinstance(cell, str) else cell


FORMAT = ExportFormat("csv", "export.csv", ".csv", people_lines, plan_lines)
FORUM_FORMATS = tuple(
    ExportFormat(form, f"table_form.{form}", ending, partial(_posted, form))
    for form, ending in (("markdown", ".md"), ("bbcode", ".bbcode.txt"))
    if form in TABLE_FORMS
)
