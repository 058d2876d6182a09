"""The texts in the cells of the results table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.core.analysis.headline import result_amount
from app.core.analysis.own_runs import run_name
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.plans.report import Answer, workloads_title
from app.core.records import Group, RunSummary
from app.core.titles import status_title, verdict_title, workload_title
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
    report, devices = report_of(group), {run_name(run) for run in group.runs}
    texts = {
        "id": sentence("results_page.runs", count=shown),
        "started_at": local_time(group.created_at),
        "workload": f"{report.name} · {workloads_title(group)}",
        "value": answer.headline,
        "verdict": verdict_title(answer.verdict),
        "device": devices.pop() if len(devices) == 1 else "–",
        "status": report.name,
        "comment": answer.note,
    }
    return GroupRow(group, answer, texts)


_WRITERS: dict[str, Callable[[RunSummary], str]] = {
    "started_at": lambda run: local_time(run.started_at),
    "workload": lambda run: workload_title(run.workload),
    "value": _result,
    "spread_pct": lambda run: "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %",
    "status": lambda run: status_title(run.status),
    "verdict": lambda run: verdict_title(run.verdict),
    "device": run_name,
    "engine": lambda run: engine_title(run.engine),
    "comment": lambda run: run.comment or "",
}
