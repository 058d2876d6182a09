"""The texts in the cells of the results table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QGuiApplication

from app.core.analysis.headline import value_text
from app.core.analysis.own_runs import run_name
from app.core.analysis.power import work_metric
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.metrics import format_value, headline_kind
from app.core.plans.kind import Answer, workloads_title
from app.core.plans.registry import kind_of
from app.core.records import Group, RunSummary
from app.core.report.run_texts import plain_reason
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from app.core.titles import data_title, preset_title, status_title, verdict_title, workload_title
from app.gui.pages.results.columns import COLUMNS
from app.gui.services.bundle import Services
from workloads import CATALOGUE
from workloads.engines.registry import engine_title


def cell_text(run: RunSummary, key: str) -> str:
    writer = _WRITERS.get(key)
    if writer is not None:
        return writer(run)
    value = getattr(run, key)
    return "n/a" if value is None else str(value)


def table_text(runs: Iterable[RunSummary]) -> str:
    lines = ["\t".join(sentence(column.heading) for column in COLUMNS.values())]
    lines += ["\t".join(cell_text(run, key) for key in COLUMNS) for run in runs]
    return "\n".join(lines)


def _title(run: RunSummary) -> str:
    return workload_title(run.workload)


def _result(run: RunSummary) -> str:
    if run.value is None:
        return "n/a"
    value = f"{value_text(run)} {_short_unit(run.metric)}"
    if run.basis == "first_epoch":
        return sentence("results_page.first_epoch", value=value)
    return f"≈ {value}" if run.basis == "estimate" else value


def _work(run: RunSummary) -> str:
    if run.work_per_j is None:
        return "n/a"
    metric = work_metric(run.metric)
    return f"{format_value(metric, run.work_per_j)} {_short_unit(metric)}"


def _short_unit(metric: str) -> str:
    return headline_kind(metric).short_unit.replace(" / ", "/")


def _epochs(run: RunSummary) -> str:
    workload = CATALOGUE.get(run.workload)
    if workload is not None and not workload.has_epochs:
        return "–"
    return (
        sentence("results_page.epochs", done=run.epochs_done, planned=run.epochs)
        if run.preset == "standard"
        else preset_title(run.preset)
    )


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The row of a group, with the text of each cell by column."""

    group: Group
    answer: Answer
    texts: Mapping[str, str]

    @property
    def verdict(self) -> str | None:
        return self.answer.verdict

    def tip(self, key: str) -> str:
        if key in ("value", "verdict", "status", "comment"):
            return " ".join((self.answer.sentence, *kind_of(self.group).remarks(self.group)))
        if key == "started_at":
            return f"{self.texts['status']} · {self.texts['id']}"
        return self.texts[key]


def group_row(group: Group, answer: Answer, shown: int) -> GroupRow:
    """Return the row of a group. `shown` is the number of its runs in the rows below."""
    runs, kind = group.runs, kind_of(group)
    between_pct = kind.spread_pct(group)
    texts = {
        "id": sentence("results_page.runs", count=shown),
        "started_at": local_time(group.created_at),
        "workload": workloads_title(group),
        "value": answer.headline,
        "verdict": verdict_title(answer.verdict),
        "spread_pct": "–" if between_pct is None else f"{between_pct:.1f} %",
        "epochs_done": _common(_epochs(run) for run in runs),
        "batch_size": _common(str(run.batch_size) for run in runs),
        "device": _common(run_name(run) for run in runs),
        "data_source": _common(data_title(run.data_source) or "n/a" for run in runs),
        "work_per_j": "–",
        "status": kind.name(group),
        "comment": answer.note,
    }
    return GroupRow(group, answer, texts)


def _common(texts: Iterable[str]) -> str:
    """Return the text that all runs share, or a dash if they differ."""
    different = set(texts)
    return different.pop() if len(different) == 1 else "–"


def reasons_text(run: RunSummary) -> str:
    return ", ".join(plain_reason(code) for code in (run.reasons or "").split())


_WRITERS: dict[str, Callable[[RunSummary], str]] = {
    "started_at": lambda run: local_time(run.started_at),
    "workload": _title,
    "value": _result,
    "spread_pct": lambda run: "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %",
    "epochs_done": _epochs,
    "status": lambda run: status_title(run.status),
    "verdict": lambda run: verdict_title(run.verdict),
    "data_source": lambda run: data_title(run.data_source) or "n/a",
    "device": run_name,
    "work_per_j": _work,
    "engine": lambda run: engine_title(run.engine),
    "comment": lambda run: run.comment or "",
}


def copy_rows(services: Services, ids: Sequence[int]) -> None:

    def read(database: Database) -> str:
        return table_text(list_runs(database, ids=ids))

    def done(text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        services.notify(sentence("results_page.copied", count=len(ids)), "", "", None)

    services.query(read, done)
