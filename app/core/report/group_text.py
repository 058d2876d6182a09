"""A group of runs as text to paste: what it says, and its runs."""

from app.core.analysis.groups import group_kind, group_remarks, group_sentence, group_workloads, side_names
from app.core.analysis.own_runs import run_name
from app.core.messages import sentence
from app.core.metrics import format_value, headline_kind
from app.core.records import Group, RunSummary
from app.core.report.wording import workload_title


def group_text(group: Group) -> str:
    """Return a group's result, remarks and runs, one line each."""
    lines = [f"{group_kind(group)} · {group_workloads(group)}", group_sentence(group), *group_remarks(group)]
    lines += [names] if (names := side_names(group)) else []
    lines += [_line(run, several=group.kind == "engines") for run in group.runs]
    return "\n".join(lines)


def _line(run: RunSummary, *, several: bool) -> str:
    unit = headline_kind(run.metric).unit
    result = run.status if run.value is None else f"{format_value(run.metric, run.value)} {unit}"
    parts = [
        sentence("group.run", run_id=run.id),
        run.side or "",
        f"{workload_title(run)}, {run.engine}" if several else "",
        result,
        run.verdict or "",
        run_name(run),
    ]
    return " · ".join(part for part in parts if part)
