"""What the terminal says of a plan before and while it runs."""

from collections.abc import Sequence
from dataclasses import replace

from app.cli.layout import Column
from app.cli.text import in_line
from app.core.messages import sentence
from app.core.records import Plan, PlannedRun
from app.core.studies.points import point_name, study_title
from app.core.suite.score import RUN_S, suite_name
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.protocol.spec import RunSpec

WORDS_CELLS = 16  # that words get at least, before others go on in the next line


def plan_title(plan: Plan, spec: RunSpec, count: int) -> str:
    """Return what is run, in a line; `spec` is the first run's, `count` the number of those to come."""
    if plan.kind == "engines":
        return sentence("cli.engines_title", preset=spec.preset, rounds=plan.times)
    if plan.study is not None:
        title, runs = study_title(plan.study), sentence("studies_page.runs", count=plan.count)
        return sentence("cli.study_title", title=title, count=len(plan.specs), runs=runs)
    if plan.suite is not None:
        name, is_demo = suite_name(plan.suite.number), CATALOGUE[spec.workload].is_demo
        if is_demo:
            return sentence("cli.suite_title_demo", name=name, count=count)
        return sentence("cli.suite_title", name=name, count=count, minutes=RUN_S * count / 60)
    workload = CATALOGUE[spec.workload].title
    return sentence("cli.plan_title", workload=workload, batch_size=spec.batch_size, preset=spec.preset)


def plan_columns(headings: Sequence[str], left: int) -> list[Column]:
    """Return the columns of what a plan found: `left` of words, then numbers, and words about each row.

    Where there's no room for all, the first number stays longest.
    """
    last = len(headings) - 1
    words = Column("", least=WORDS_CELLS, wraps=True)
    others = (Column("", is_right=True, order=last - place) for place in range(left + 1, last))
    columns = (*[words] * left, replace(words, is_right=True), *others, words)
    return [replace(column, title=heading) for column, heading in zip(columns, headings, strict=True)]


def run_place(plan: Plan, planned: PlannedRun) -> str:
    """Return what a run is in its plan: a side, a workload, a point; "" for a repetition."""
    if plan.kind == "engines":
        return f"{planned.spec.workload} · {engine_title(planned.spec.engine)}"
    if plan.study is not None:
        return in_line(point_name(plan, planned.spec))
    if plan.suite is not None:
        return planned.spec.workload
    return planned.side or ""
