"""The texts of the results table's cells."""

from collections.abc import Callable, Iterable
from datetime import datetime

from app.core.analysis.compare import run_name
from app.core.messages import sentence
from app.core.metrics import format_value, headline_kind
from app.core.records import RunSummary
from app.gui.pages.results.columns import COLUMNS
from workloads import CATALOGUE


def cell_text(run: RunSummary, key: str) -> str:
    """Return a run's text in a column."""
    writer = _WRITERS.get(key)
    if writer is not None:
        return writer(run)
    value = getattr(run, key)
    return "n/a" if value is None else str(value)


def table_text(runs: Iterable[RunSummary]) -> str:
    """Return runs as a table for spreadsheets, with its headings."""
    lines = ["\t".join(sentence(column.heading) for column in COLUMNS.values())]
    lines += ["\t".join(cell_text(run, key) for key in COLUMNS) for run in runs]
    return "\n".join(lines)


def _title(run: RunSummary) -> str:
    workload = CATALOGUE.get(run.workload)
    return workload.title if workload else run.workload


def _result(run: RunSummary) -> str:
    if run.value is None:
        return "n/a"
    unit = headline_kind(run.metric).short_unit.replace(" / ", "/")
    value = f"{format_value(run.metric, run.value)} {unit}"
    if run.basis == "first_epoch":
        return sentence("results_page.first_epoch", value=value)
    return f"≈ {value}" if run.basis == "estimate" else value


def _epochs(run: RunSummary) -> str:
    workload = CATALOGUE.get(run.workload)
    if workload is not None and not workload.has_epochs:
        return "–"
    return (
        sentence("results_page.epochs", done=run.epochs_done, planned=run.epochs)
        if run.preset == "standard"
        else run.preset
    )


def reasons_text(run: RunSummary) -> str:
    """Return a verdict's reasons in a few words."""
    return ", ".join(code.replace("_", " ") for code in (run.reasons or "").split())


def local_time(text: str) -> str:
    """Return a stored time in the user's time zone, to the minute."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text


_WRITERS: dict[str, Callable[[RunSummary], str]] = {
    "started_at": lambda run: local_time(run.started_at),
    "workload": _title,
    "value": _result,
    "spread_pct": lambda run: "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %",
    "epochs_done": _epochs,
    "device": run_name,
    "comment": lambda run: run.comment or "",
}
