"""The base class for kinds of plans. `registry` lists the subclasses."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from app.core.analysis.ab import Pair, is_positive, is_usable, judge_repeats
from app.core.analysis.headline import result_amount
from app.core.analysis.own_runs import run_name
from app.core.analysis.position import position
from app.core.errors import UsageError
from app.core.messages import Message, message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined, one_line
from app.core.plans.report import PlanReport, Table
from app.core.plans.verdicts import VerdictLevel, worst_verdict
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.redaction.private_texts import private_texts
from app.core.report.card import ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.report.run_texts import Several, result_text
from app.core.report.share import check_shown, share_card
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.groups import list_groups, load_group
from app.core.storage.runs import load_run
from app.core.titles import level_title, preset_title, status_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec

# The page for single runs, and for plans without their own page.
RUNS_PAGE = "benchmark"
_NAME_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a plan as text."""

    headline: str  # the result in a few characters, such as a median, factor or score; "n/a" without a result
    sentence: str  # the result as a sentence
    note: str  # certainty of the result, for a narrow column; the sentence if there is no shorter text
    verdict: str | None  # worst verdict of the usable runs; None if none has a verdict


class PlanKind:
    """A kind of plan. The base class handles groups of unknown kinds from other versions."""

    key: ClassVar[str] = ""  # name for storage
    page: ClassVar[str] = RUNS_PAGE  # page of the window that runs its plans
    has_own_page: ClassVar[bool] = False  # whether that page shows the full results and the picture
    # Minimum number of specs in a plan; None if this version can't run such plans.
    specs_at_least: ClassVar[int | None] = None
    phrase_code: ClassVar[str] = ""  # message code of the name within a sentence; "" to use `name`
    # Whether all runs do the same work, so that their spread includes variations caused by a shared host.
    is_same_work: ClassVar[bool] = False

    def name(self, group: Group) -> str:
        """Return the name of the group's kind; for kinds from other versions, the stored name."""
        return sentence(f"group.kind_{self.key}") if self.key else one_line(group.kind, _NAME_LIMIT)

    def phrase(self, group: Group) -> str:
        """Return the name of the group's kind for use within a sentence."""
        return sentence(self.phrase_code) if self.phrase_code else self.name(group)

    def subject(self, plan: Plan) -> str:
        """Return the title of the plan's first known workload; "" if there is none."""
        return next((workload_title(spec.workload) for spec in plan.specs if spec.workload in CATALOGUE), "")

    def heading(self, plan: Plan, spec: RunSpec, count: int) -> str:
        """Return a one-line description of a plan.

        `spec` is the first run's spec, and `count` is the number of remaining runs.
        """
        del plan, count
        workload = workload_title(spec.workload)
        return sentence(
            "cli.plan_title", workload=workload, batch_size=spec.batch_size, preset=preset_title(spec.preset)
        )

    def place(self, plan: Plan, planned: PlannedRun) -> str:
        """Return a run's role in its plan, such as a side, workload or configuration; "" for a repetition."""
        del plan
        return planned.side or ""

    def answer(self, database: Database, group: Group) -> Answer:
        """Return the result of a stored plan."""
        del database
        return Answer(self.headline(group), self.sentence(group), self.note(group), self.verdict(group))

    def load(self, database: Database, group_id: int) -> PlanReport:
        """Return a stored plan. Raises UsageError if it doesn't exist or can't be read."""
        return GroupReport(self, load_group(database, group_id))

    def stored(self, database: Database, limit: int | None = None) -> list[PlanReport]:
        """Return the readable stored plans, newest first."""
        return [GroupReport(self, group) for group in list_groups(database, self.key, limit)]

    def running(self, group: Group, asked: Mapping[int, RunSpec], like: PlanReport | None = None) -> PlanReport:
        """Return a report on a plan that may still be running.

        Args:
            group: The plan's runs so far.
            asked: Requested spec of each run, by run id.
            like: Another report of this kind whose user settings are reused; None if there is none.
        """
        del asked, like
        return GroupReport(self, group)

    def headline(self, group: Group) -> str:
        """Return the result in a few characters."""
        return sentence("studies_page.runs", count=sum(map(is_usable, group.runs)))

    def sentence(self, group: Group) -> str:
        """Return the result as a sentence."""
        return sentence("group.several_runs", count=sum(map(is_usable, group.runs)), planned=group.planned)

    def sentence_so_far(self, group: Group, asked: Mapping[int, RunSpec]) -> str:
        """Return the result of a plan that may still be running, as a sentence.

        `asked` contains the requested spec of each run, by run id.
        """
        del asked
        return self.sentence(group)

    def note(self, group: Group) -> str:
        """Return a short note about the certainty or meaning of the headline."""
        return self.sentence(group)

    def limits(self, group: Group, *, with_interval: bool) -> list[str]:
        """Return notes on limitations of the result other than missing runs; "" entries are ignored."""
        del group, with_interval
        return []

    def remarks(self, group: Group, *, with_interval: bool = True) -> list[str]:
        """Return remarks on a group: limitations, sides that can't be compared, and unusable or doubtful runs.

        Args:
            group: Group of any kind.
            with_interval: Whether to include the interval of the median; False if it is shown elsewhere.
        """
        remarks = [remark for remark in self.limits(group, with_interval=with_interval) if remark]
        if left_out := self._left_out(group):
            remarks.append(sentence("group.not_counted", runs=left_out))
        if group.not_begun:
            remarks.append(sentence("group.not_begun", planned=group.planned, count=group.not_begun))
        if group.workload in CATALOGUE and CATALOGUE[group.workload].is_demo:
            remarks.append(sentence("verdict.demo"))
        return remarks

    def summary(self, group: Group) -> RunSummary | None:
        """Return the record that represents the group; None without a result.

        The record is a copy of the run closest to the median of the usable runs, but with that median as its
        value, the median's interval, the spread between the runs in percent, and the group's worst verdict.
        """
        del group
        return None

    def example(self, group: Group) -> RunSummary | None:
        """Return the run whose details are shown with the result; None without a result."""
        return self.summary(group)

    def typical_ids(self, group: Group) -> list[int]:
        """Return the ids of the representative runs for the QR code of a picture."""
        summary = self.summary(group)
        return [] if summary is None else [summary.id]

    def rank(self, group: Group, summary: RunSummary) -> str:
        """Compare the result with other results. `summary` represents the group."""
        return position(summary) or self.sentence(group)

    def pairs(self, group: Group) -> list[Pair]:
        """Return the pairs of an A/B test, in order; [] for other kinds."""
        del group
        return []

    def engine_table(self, group: Group) -> Sequence[Any]:
        """Return the rows of an engine comparison; () for other kinds."""
        del group
        return ()

    def spread_pct(self, group: Group) -> float | None:
        """Return the spread, in percent, between runs of the same work; None for other kinds."""
        del group
        return None

    def side_names(self, group: Group) -> str:
        """Return the names of the sides, except for the default names A and B; "" for other kinds."""
        del group
        return ""

    def as_dict(self, group: Group) -> dict[str, Any]:
        """Return the result as JSON types: median, interval and spreads."""
        result = judge_repeats(group)
        names = ("count", "median", "low", "high", "confidence_pct", "between_pct", "within_pct")
        return {name: getattr(result, name) for name in names}

    def verdict(self, group: Group) -> str | None:
        """Return the worst verdict of the usable runs; None if none has a verdict."""
        is_judged = any(is_usable(run) and run.verdict for run in group.runs)
        return self.worst_verdict(group)[0] if is_judged else None

    def worst_verdict(self, group: Group) -> tuple[VerdictLevel, int]:
        """Return the worst verdict of a group's usable runs, and the number of runs that have it."""
        return worst_verdict(group, is_same_work=self.is_same_work)

    def several(self, group: Group) -> Several | None:
        """Return the combined result, shown instead of a single run's; None without a result."""
        summary = self.summary(group)
        if summary is None:
            return None
        (level, count), length = self.worst_verdict(group), sentence("share.runs", count=len(group.runs))
        if level != "valid":
            length = sentence("share.of_runs", count=count, planned=len(group.runs))
        badge = (f"{level_title(level)} · {length}", level_title(level))
        return Several(summary, level, badge, self.basis(group, summary))

    def basis(self, group: Group, summary: RunSummary) -> str:
        """Return text that describes the basis of the headline. `summary` represents the group."""
        del group, summary
        return ""

    def check_card(self, run: RunSummary, group: Group) -> None:
        """Raise the UsageError that `card` would raise, without creating the card."""
        check_shown(self.summary(group) or run)

    def card(self, run: JudgedRun, group: Group, result: Result | None = None) -> ShareCard:
        """Return the contents of the picture. Raises UsageError if there is no result to show.

        Args:
            run: Run returned by `example`.
            group: Group of the plan.
            result: The run's result without excluded fields; None to share all fields.
        """
        return share_card(run, self.several(group), result)

    def text(self, run: JudgedRun, group: Group) -> str:
        """Return the result as lines of text, without names of users, computers or folders."""
        return result_text(run, self.several(group))

    def listing(self, group: Group) -> str:
        """Return the result, the remarks and the runs as lines of text."""
        lines = [f"{self.name(group)} · {workloads_title(group)}", self.sentence(group), *self.remarks(group)]
        lines += [names] if (names := self.side_names(group)) else []
        return "\n".join((*lines, *(self._run_line(group, run) for run in group.runs)))

    def _run_line(self, group: Group, run: RunSummary) -> str:
        result = status_title(run.status) if run.value is None else result_amount(run)
        what = f"{workload_title(run.workload)}, {run.engine}" if self.engine_table(group) else ""
        number = sentence("group.run", run_id=run.id)
        parts = [
            number,
            run.side or "",
            what,
            result,
            level_title(run.verdict) if run.verdict else "",
            run_name(run),
        ]
        return joined(parts)

    def _left_out(self, group: Group) -> list[Message]:
        """Return messages about the unusable runs, with reasons."""
        reasons = [message("group.runs_deleted", count=group.deleted)] if group.deleted else []
        alone = {run.id for pair in self.pairs(group) if not pair.is_usable for run in (pair.a, pair.b) if run}
        for run in group.runs:
            if run.status != "completed":
                reasons.append(message("group.run_not_completed", run_id=run.id, status=status_title(run.status)))
            elif not is_positive(run.value):
                reasons.append(message("group.run_without_result", run_id=run.id))
            elif not is_usable(run):
                reasons.append(message("group.run_invalid", run_id=run.id))
            elif run.id in alone:
                reasons.append(message("group.run_alone", run_id=run.id))
        return reasons


@dataclass(frozen=True)
class GroupReport(PlanReport):
    """A report with a group's sentence, remarks and runs."""

    kind: PlanKind  # the kind of plan
    of: Group
    run: JudgedRun | None = None  # the run whose details are shown; None until it is loaded

    @property
    def group(self) -> Group:
        """The runs of the plan."""
        return self.of

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        """The runs that haven't been completed."""
        done = {number for number, run in self.of.numbered if run.status == "completed"}
        return tuple(planned for planned in self.of.plan.runs() if planned.number not in done)

    @property
    def has_result(self) -> bool:
        """Whether a run represents the group."""
        return self.kind.example(self.of) is not None

    @property
    def heading(self) -> str:
        """The kind, number, workload and date of the group."""
        name, title, at = self.kind.phrase(self.of), workloads_title(self.of), self.of.created_at[:10]
        return sentence("cli.group_title", group_id=self.of.id, kind=name, workload=title, at=at)

    @property
    def entry(self) -> str:
        """The same text as `heading`."""
        return self.heading

    def with_details(self, database: Database, paths: Paths) -> "GroupReport":
        """Return a copy with the representative run loaded."""
        del paths
        example = self.kind.example(self.of)
        return self if example is None else replace(self, run=JudgedRun(load_run(database, example.id)))

    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the sentence and the remarks."""
        del with_advice
        return [self.kind.sentence(self.of), *self.kind.remarks(self.of)]

    def table(self) -> Table:
        """Return a table of the runs."""
        headings = tuple(map(sentence, ("heading.run", "column.side", "heading.result", "results_page.status")))
        rows = tuple(
            (
                str(run.id),
                run.side or "",
                ("" if run.value is None else result_amount(run)),
                status_title(run.status),
            )
            for run in self.of.runs
        )
        return Table(headings, rows, 2)

    def card(self, chart: int = 0) -> ShareCard:
        """Return the contents of the picture."""
        del chart
        return self.kind.card(self._example(), self.of)

    def text(self) -> str:
        """Return the result as plain text."""
        return self.kind.text(self._example(), self.of)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON types."""
        runs = [
            {"id": run.id, "side": run.side, "status": run.status, "value": run.value, "reason": ""}
            for run in self.of.runs
        ]
        said = {"sentence": self.kind.sentence(self.of), "remarks": self.kind.remarks(self.of)}
        return {"id": self.of.id, "kind": self.of.kind, "created_at": self.of.created_at, "runs": runs} | said

    def export(self) -> PlanTable:
        """Return a table for export, with a row for each run."""
        columns, plain = ("id", "side", "status", "value"), self.as_dict()
        cells = [[run[name] for name in columns] for run in plain["runs"]]
        private = private_texts()
        return PlanTable(format_version=1, plain=plain, rows="runs", columns=columns, cells=cells, private=private)

    def _example(self) -> JudgedRun:
        if self.run is None:
            raise UsageError(message("share.no_group_result", group_id=self.of.id))
        return self.run


def typical(runs: Sequence[RunSummary]) -> RunSummary:
    """Return the run closest to the median of usable runs."""
    median = statistics.median(run.value or 0.0 for run in runs)
    return min(runs, key=lambda run: abs((run.value or 0.0) - median))


def workloads_title(group: Group) -> str:
    """Return the title of a group's workload, or the number of workloads if there are several."""
    names = list(
        dict.fromkeys([spec.workload for spec in group.plan.specs] or [run.workload for run in group.runs])
    )
    if len(names) > 1:
        return sentence("group.workloads", count=len(names))
    return workload_title(names[0]) if names else ""


def metric_of(group: Group) -> str:
    """Return the metric of a group's runs."""
    return group.runs[0].metric if group.runs else "seconds_per_epoch_s"
