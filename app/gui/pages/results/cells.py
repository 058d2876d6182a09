"""The texts in the cells of the results table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.core.analysis.headline import result_amount
from app.core.analysis.own_runs import run_name
from app.core.analysis.power import work_metric
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.metrics import amount_text
from app.core.plans.experiments import report_of
from app.core.plans.report import Answer, workloads_title
from app.core.records import Group, RunSummary
from app.core.titles import data_title, preset_title, status_title, verdict_title, workload_title
from workloads import CATALOGUE
from workloads.engines.registry import engine_title


def cell_text(run: RunSummary, key: str) -> str:
    if key in _WRITERS:
        return _WRITERS[key](run)
    value = getattr(run, key)
    return "n/a" if value is None else str(value)


def _result(run: RunSummary) -> str:
    if run.value is None:
        return "n/a"
    value = result_amount(run, is_short=True, is_marked=True).replace(" / ", "/")
    return sentence("results_page.first_epoch", value=value) if run.basis == "first_epoch" else value


def _work(run: RunSummary) -> str:
    if run.work_per_j is None:
        return "n/a"
    return amount_text(work_metric(run.metric), run.work_per_j, is_short=True).replace(" / ", "/")


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
            return " ".join((self.answer.sentence, *report_of(self.group).remarks()))
        if key == "started_at":
            return f"{self.texts['status']} · {self.texts['id']}"
        return self.texts[key]


def group_row(group: Group, answer: Answer, shown: int) -> GroupRow:
    """Return the row of a group. `shown` is the number of its runs in the rows below."""
    runs, report = group.runs, report_of(group)
    between_pct = report.spread_pct
    texts = {
        "id": sentence("results_page.runs", count=shown),
        "started_at": local_time(group.created_at),
        "workload": f"{report.name} · {workloads_title(group)}",
        "value": answer.headline,
        "verdict": verdict_title(answer.verdict),
        "spread_pct": "–" if between_pct is None else f"{between_pct:.1f} %",
        "epochs_done": _common(_epochs(run) for run in runs),
        "batch_size": _common(str(run.batch_size) for run in runs),
        "device": _common(run_name(run) for run in runs),
        "data_source": _common(data_title(run.data_source) or "n/a" for run in runs),
        "work_per_j": "–",
        "status": report.name,
        "comment": answer.note,
    }
    return GroupRow(group, answer, texts)


def _common(texts: Iterable[str]) -> str:
    different = set(texts)
    return different.pop() if len(different) == 1 else "–"


_WRITERS: dict[str, Callable[[RunSummary], str]] = {
    "started_at": lambda run: local_time(run.started_at),
    "workload": lambda run: workload_title(run.workload),
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
