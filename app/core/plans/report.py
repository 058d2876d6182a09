"""Experiments, and the reports on their plans: what a page, a command, a picture and files show.

An experiment is a question that several runs answer. `experiments` lists all of them.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.core.analysis.ab import Pair, is_positive, is_usable, judge_repeats
from app.core.analysis.headline import result_amount
from app.core.analysis.own_runs import run_name
from app.core.analysis.position import position
from app.core.errors import UsageError
from app.core.messages import Message, message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined, one_line
from app.core.plans.verdicts import VerdictLevel, worst_verdict
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.redaction.private_texts import hide, private_texts
from app.core.report.card import Figure, ShareCard, Table
from app.core.report.formats.export_format import PlanTable
from app.core.report.run_texts import Several, result_text
from app.core.report.share import check_shown, share_card
from app.core.result_file.record import Result
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.titles import level_title, preset_title, status_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads import CATALOGUE, STANDARD
from workloads.protocol.spec import Preset, RunSpec

# Codes of the pages that run plans.
RUNS_PAGE, LAB_PAGE, SUITE_PAGE = "benchmark", "lab", "suite"
QUICK_RUN_S = 60.0  # including the start of the process, measured on two cores
_NAME_LIMIT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The user's choices for an experiment."""

    # The specs to run, for experiments that are planned from specs; () for the experiment's own.
    specs: Sequence[RunSpec] = ()
    workloads: Sequence[str] = ()  # ids of the workloads; () for the experiment's own
    preset: Preset | None = None  # preset of each run; None for the experiment's own
    rounds: int | None = None  # number of runs per configuration; None for the experiment's own
    choice: Mapping[str, Any] = field(default_factory=dict)  # other settings, as for `Workload.default_spec`
    folders: Sequence[str] = ()  # folders to read images from, as an additional axis
    labels: tuple[str, str] = ("A", "B")  # names of the sides of an A/B test
    by_hand: bool = False  # whether the user changes something manually between the sides


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A question that several runs answer."""

    key: str  # name for typing and in message codes; "" for plans from other versions
    kind: str = ""  # kind of its stored plans, which all studies share; the key if ""
    report: "type[Report]"
    page: str = RUNS_PAGE  # code of the page that runs its plans
    # Minimum number of specs in a plan; None if this version can't run such plans.
    specs_at_least: int | None = 1
    workloads: tuple[str, ...] = (STANDARD,)  # ids of the default workloads
    preset: Preset = "quick"  # default preset of each run
    rounds: int = 1  # default number of runs per configuration
    has_sides: bool = False  # whether two sides are compared, which the user chooses
    # Whether all runs do the same work, so that their spread includes variations caused by a shared host.
    is_same_work: bool = False
    # For the Lab: returns a plan with these options. Raises UsageError if this computer can't run it.
    plan: Callable[[Any, Runner, PlanOptions], Plan] | None = None

    @property
    def stored_kind(self) -> str:
        return self.kind or self.key

    @property
    def question(self) -> str:
        return sentence(f"lab.question_{self.key}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a plan as text."""

    headline: str  # the result in a few characters, such as a median, factor or score; "n/a" without a result
    sentence: str  # the result as a sentence
    note: str  # certainty of the result, for a narrow column; the sentence if there is no shorter text
    verdict: str | None  # worst verdict of the usable runs; None if none has a verdict


@dataclass(frozen=True, slots=True)
class Hero:
    """The result in large type, with its verdict. Studies have none, because their result is a sentence."""

    value: str = ""  # "" if there is none
    unit: str = ""  # what follows the value
    verdict: tuple[str, ...] = ()  # verdict with its reason, followed by shorter versions
    level: Literal["", "valid", "caution", "invalid"] = ""
    is_final: bool = True  # False for a number that only states the progress
    says_all: bool = False  # whether the value makes the first sentence and the table superfluous


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a stored or running plan. The base class handles plans from other versions."""

    experiment: Experiment
    group: Group  # the runs of the plan so far
    specs: Mapping[int, RunSpec] = field(default_factory=dict)  # requested spec of each run by run id, if needed
    run: JudgedRun | None = None  # the run whose details are shown; None until it is loaded

    @property
    def name(self) -> str:
        """The experiment's name; for plans from other versions, the stored name of their kind."""
        kind = self.experiment.stored_kind
        return sentence(f"group.kind_{kind}") if kind else one_line(self.group.kind, _NAME_LIMIT)

    @property
    def subject(self) -> str:
        """The title of the plan's first known workload; "" if there is none."""
        specs = self.group.plan.specs
        return next((workload_title(spec.workload) for spec in specs if spec.workload in CATALOGUE), "")

    def start_line(self, spec: RunSpec, count: int) -> str:
        """Return a one-line description of the plan.

        `spec` is the first run's spec, and `count` is the number of remaining runs.
        """
        workload = workload_title(spec.workload)
        return sentence(
            "cli.plan_title", workload=workload, batch_size=spec.batch_size, preset=preset_title(spec.preset)
        )

    @property
    def configurations(self) -> str:
        """What is run, as sentences; "" if there is only one configuration."""
        return ""

    def place(self, planned: PlannedRun) -> str:
        """Return a run's role in its plan, such as a side, workload or configuration; "" for a repetition."""
        return planned.side or ""

    def set_up(self, planned: PlannedRun) -> str:
        """Return what the user sets up by hand before a run."""
        if planned.side is None:
            return self.place(planned)
        return sentence("plan_page.side", side=planned.side, label=planned.label)

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        """Describe the current run, which is number `number` of `count`."""
        return sentence("cli.run_of", number=number, planned=count)

    @property
    def answer(self) -> Answer:
        return Answer(self.headline, self.sentence, self.note, self.verdict)

    @property
    def headline(self) -> str:
        """The result in a few characters."""
        return sentence("studies_page.runs", count=sum(map(is_usable, self.group.runs)))

    @property
    def sentence(self) -> str:
        """The result so far as a sentence."""
        count = sum(map(is_usable, self.group.runs))
        return sentence("group.several_runs", count=count, planned=self.group.planned)

    @property
    def sentence_so_far(self) -> str:
        """The result of a plan that may still be running, as a sentence."""
        return self.sentence

    @property
    def hero(self) -> Hero:
        return Hero()

    @property
    def is_preliminary(self) -> bool:
        """Whether the sentence about a running plan may still turn into its opposite."""
        return False

    @property
    def note(self) -> str:
        """A short note about the certainty or meaning of the headline."""
        return self.sentence

    def limits(self, *, with_interval: bool) -> list[str]:
        """Return notes on limitations of the result other than missing runs; "" entries are ignored."""
        return []

    def remarks(self, *, with_interval: bool = True) -> list[str]:
        """Return remarks: limitations, sides that can't be compared, and unusable or doubtful runs.

        `with_interval` includes the interval of the median, unless it is shown elsewhere.
        """
        group = self.group
        remarks = [remark for remark in self.limits(with_interval=with_interval) if remark]
        if left_out := self._left_out():
            remarks.append(sentence("group.not_counted", runs=left_out))
        if group.not_begun:
            remarks.append(sentence("group.not_begun", planned=group.planned, count=group.not_begun))
        if group.workload in CATALOGUE and CATALOGUE[group.workload].is_demo:
            remarks.append(sentence("verdict.demo"))
        return remarks

    @property
    def summary(self) -> RunSummary | None:
        """The record that represents the group; None without a result.

        It is a copy of the run closest to the median of the usable runs, but with that median as its value, the
        median's interval, the spread between the runs in percent, and the group's worst verdict.
        """
        return None

    @property
    def example(self) -> RunSummary | None:
        """The run whose details are shown with the result; None without a result."""
        return self.summary

    def typical_ids(self) -> list[int]:
        """Return the ids of the representative runs for the QR code of a picture."""
        return [] if (summary := self.summary) is None else [summary.id]

    def rank(self, summary: RunSummary) -> str:
        """Compare the result with other results. `summary` represents the group."""
        return position(summary) or self.sentence

    def pairs(self) -> list[Pair]:
        """Return the pairs of an A/B test, in order; [] for other experiments."""
        return []

    @property
    def spread_pct(self) -> float | None:
        """The spread, in percent, between repetitions; None for other experiments."""
        return None

    @property
    def side_names(self) -> str:
        """The names of the sides, except for the default names A and B; "" for other experiments."""
        return ""

    @property
    def legend(self) -> str:
        """What the columns and axes of the plan's own plot show; "" without such a plot."""
        return ""

    @property
    def verdict(self) -> str | None:
        """The worst verdict of the usable runs; None if none has a verdict."""
        is_judged = any(is_usable(run) and run.verdict for run in self.group.runs)
        return self.worst_verdict()[0] if is_judged else None

    def worst_verdict(self) -> tuple[VerdictLevel, int]:
        """Return the worst verdict of the usable runs, and the number of runs that have it."""
        return worst_verdict(self.group, is_same_work=self.experiment.is_same_work)

    def several(self) -> Several | None:
        """Return the combined result, shown instead of a single run's; None without a result."""
        if (summary := self.summary) is None:
            return None
        (level, count), length = self.worst_verdict(), sentence("share.runs", count=len(self.group.runs))
        if level != "valid":
            length = sentence("share.of_runs", count=count, planned=len(self.group.runs))
        badge = (f"{level_title(level)} · {length}", level_title(level))
        return Several(summary, level, badge, self.basis(summary))

    def basis(self, summary: RunSummary) -> str:
        """Return text that describes the basis of the headline. `summary` represents the group."""
        return ""

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        """The runs that haven't been completed."""
        done = {number for number, run in self.group.numbered if run.status == "completed"}
        return tuple(planned for planned in self.group.plan.runs() if planned.number not in done)

    @property
    def is_finished(self) -> bool:
        return not self.left

    @property
    def can_resume(self) -> bool:
        """Whether remaining runs can be added later."""
        return False

    @property
    def has_result(self) -> bool:
        """Whether there is a result to share."""
        return self.example is not None

    @property
    def heading(self) -> str:
        """The name, number, workload and date of the plan."""
        group = self.group
        title, at = workloads_title(group), group.created_at[:10]
        return sentence("cli.group_title", group_id=group.id, kind=self.name, workload=title, at=at)

    @property
    def entry(self) -> str:
        """What was run and the answer, for a list of plans."""
        return joined((self.subject, self.answer.sentence))

    @property
    def shared_ids(self) -> list[int]:
        """The ids of the runs whose results are embedded in the picture."""
        return [run.id for run in self.group.runs]

    def with_stored(self, database: Database) -> "Report":
        """Return a copy with what the result needs besides the group. Raises UsageError if it can't be read."""
        return self

    def with_details(self, database: Database, paths: Paths) -> "Report":
        """Return a copy with everything that pictures and charts need."""
        example = self.example
        return self if example is None else replace(self, run=JudgedRun(load_run(database, example.id)))

    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the sentences of the report, most important first, with advice for the user if wanted."""
        failures = [run.error_message for run in self.group.runs if run.error_message]
        return [self.sentence, *self.remarks(), *failures]

    def notes(self) -> list[str]:
        """Return the sentences without the headline, for views that show it separately."""
        return self.lines()[1:]

    def figures(self) -> tuple[Figure, ...]:
        """Return the charts, the main one first; () before the first result."""
        return ()

    def table(self) -> Table:
        """Return a table of the runs, configurations or tests."""
        return self.run_table()

    def run_table(self) -> Table:
        """Return a table of the runs, with the sides and pairs of an A/B test."""
        numbers = {
            run.id: number for number, pair in enumerate(self.pairs(), 1) for run in (pair.a, pair.b) if run
        }
        columns: tuple[tuple[str, Callable[[RunSummary], str]], ...] = (
            ("heading.run", lambda run: str(run.id)),
            *((("column.side", lambda run: run.side or ""),) if numbers else ()),
            *((("ab_page.pair_heading", lambda run: str(numbers.get(run.id, ""))),) if numbers else ()),
            ("heading.result", lambda run: result_amount(run, is_short=True)),
            ("metric.spread_pct", lambda run: "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %"),
            ("results_page.status", lambda run: status_title(run.status)),
        )
        headings = tuple(sentence(code) for code, _ in columns)
        return Table(headings, tuple(tuple(text_of(run) for _, text_of in columns) for run in self.group.runs), 2)

    def check_card(self) -> None:
        """Raise the UsageError that `card` would raise, without creating the card."""
        if (example := self.example) is None:
            raise UsageError(message("share.no_group_result", group_id=self.group.id))
        check_shown(self.summary or example)

    def card(self, chart: int = 0, result: Result | None = None) -> ShareCard:
        """Return the contents of the picture. Raises UsageError if there is no result.

        Args:
            chart: Index of the chart to show. If there are fewer charts, the first one is used.
            result: The shown run's result without excluded fields; None to share all fields.
        """
        return share_card(self.shown_run, self.several(), result)

    def text(self) -> str:
        """Return the report as plain text to post, without names of users, computers or folders.

        Raises:
            UsageError: There is no result.
        """
        return result_text(self.shown_run, self.several())

    def listing(self) -> str:
        """Return the result, the remarks and the runs as lines of text."""
        lines = [f"{self.name} · {workloads_title(self.group)}", self.sentence, *self.remarks()]
        lines += [names] if (names := self.side_names) else []
        return "\n".join((*lines, *map(self._run_line, self.group.runs)))

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON types."""
        group = self.group
        pairs = {run.id: number for number, pair in enumerate(self.pairs(), 1) for run in (pair.a, pair.b) if run}
        fields = ("id", "side", "pair", "status", "value", "spread_pct")
        runs = [
            {name: pairs.get(run.id) if name == "pair" else getattr(run, name) for name in fields}
            for run in group.runs
        ]
        return {
            "id": group.id,
            "kind": group.kind,
            "created_at": group.created_at,
            "workload": group.workload,
            "labels": dict(zip("AB", group.labels, strict=True)) if pairs else None,
            "by_hand": group.plan.by_hand,
            "planned_runs": group.planned,
            "metric": group.runs[0].metric if group.runs else None,
            "runs": runs,
            **self.result_as_dict(),
            "sentence": self.sentence,
            "remarks": self.remarks(),
        }

    def result_as_dict(self) -> dict[str, Any]:
        """Return the result as JSON types: median, interval and spreads."""
        result = judge_repeats(self.group)
        names = ("count", "median", "low", "high", "confidence_pct", "between_pct", "within_pct")
        return {name: getattr(result, name) for name in names}

    def export(self) -> PlanTable:
        """Return a table for export, with a row for each run."""
        columns, plain = ("id", "side", "status", "value"), self.as_dict()
        plain["runs"] = [run | {"reason": ""} for run in plain["runs"]]
        cells = [[run[name] for name in columns] for run in plain["runs"]]
        private = private_texts()
        return PlanTable(format_version=1, plain=plain, rows="runs", columns=columns, cells=cells, private=private)

    @property
    def shown_run(self) -> JudgedRun:
        """The run whose details are shown. Raises UsageError if there is no result."""
        if self.run is None:
            raise UsageError(message("share.no_group_result", group_id=self.group.id))
        return self.run

    def _run_line(self, run: RunSummary) -> str:
        result = status_title(run.status) if run.value is None else result_amount(run)
        number, verdict = sentence("group.run", run_id=run.id), level_title(run.verdict) if run.verdict else ""
        return joined((number, run.side or "", self._work_of(run), result, verdict, run_name(run)))

    def _work_of(self, run: RunSummary) -> str:
        return ""

    def _left_out(self) -> list[Message]:
        """Return messages about the unusable runs, with reasons."""
        group = self.group
        reasons = [message("group.runs_deleted", count=group.deleted)] if group.deleted else []
        alone = {run.id for pair in self.pairs() if not pair.is_usable for run in (pair.a, pair.b) if run}
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


def plan_minutes(plan: Plan) -> float | None:
    """Return the approximate duration of a plan; None if it has other runs than Quick runs."""
    if any(spec.preset != "quick" for spec in plan.specs):
        return None
    fixed = (
        CATALOGUE[spec.workload].fixed_duration_s if spec.workload in CATALOGUE else None for spec in plan.specs
    )
    round_s = sum(QUICK_RUN_S if run_s is None else run_s for run_s in fixed)
    return max(1.0, plan.rounds * round_s / 60)


def runs_text(plan: Plan) -> str:
    """Return the number of runs of a plan and, if all of them are Quick runs, their approximate duration."""
    minutes = plan_minutes(plan)
    if minutes is None:
        return sentence("studies_page.runs", count=plan.count)
    return sentence("studies_page.quick_runs", count=plan.count, minutes=minutes)


def to_post(lines: Sequence[str], private: Mapping[str, str]) -> str:
    """Join lines of a text to post, without private strings."""
    return "".join(f"{hide(line.rstrip(), private)}\n" for line in lines)


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
