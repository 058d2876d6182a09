"""The report on a study: sentences, charts, table, picture, text and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from app.core.analysis.ab import is_usable
from app.core.analysis.comparability import engine_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined
from app.core.plans.report import Answer, Report, runs_text, to_post
from app.core.plans.study.costs import Costs, bundled_prices, cost_findings
from app.core.plans.study.details import NO_DETAILS, Details, load_details
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.folder_findings import folder_lines
from app.core.plans.study.points import (
    METRICS,
    StudyExperiment,
    StudyResult,
    definition_of,
    make_result,
    point_name,
)
from app.core.plans.study.tables import study_as_dict, study_export, study_table
from app.core.plans.verdicts import worst_verdict
from app.core.records import PlannedRun, RunSummary
from app.core.redaction.private_texts import chosen_texts, private_texts
from app.core.report.card import Figure, ShareCard, Table
from app.core.report.formats.export_format import PlanTable
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.result_file.record import Result
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.core.storage.groups import metric_values, specs_of
from app.core.titles import level_title, workload_title
from workloads.protocol.spec import RunSpec

POINTS_NAMED = 12  # configurations that are named in one sentence


@dataclass(frozen=True, eq=False)
class StudyReport(Report):
    """A study with its findings."""

    experiment: StudyExperiment
    metrics: Mapping[str, Mapping[int, float]] = field(default_factory=dict)  # reported values by key and run id
    details: Details = NO_DETAILS  # details of its runs
    usd_per_hour: float | None = None  # the user's price of an hour on this computer

    @cached_property
    def result(self) -> StudyResult:
        """The results by configuration. Raises UsageError for a study from another version."""
        if self.group.plan.study is None or not self.group.plan.specs:
            raise UsageError(message("studies.no_study", group_id=self.group.id), message("studies.see_list"))
        return make_result(self.experiment, self.group, self.specs, self.metrics)

    @property
    def subject(self) -> str:
        return self.experiment.title

    @property
    def entry(self) -> str:
        workload = (
            sentence("group.workloads", count=len(names))
            if len(names := self.result.workloads) > 1
            else workload_title(names[0])
        )
        return joined((self.subject, workload, self.answer.sentence))

    def start_line(self, spec: RunSpec, count: int) -> str:
        plan = self.group.plan
        return sentence("cli.study_title", title=self.subject, count=len(plan.specs), runs=runs_text(plan))

    @property
    def configurations(self) -> str:
        plan, definition = self.group.plan, definition_of(self.group.plan)
        names = [point_name(plan, spec) for spec in plan.specs]
        if len(definition.axes) == 1 and all(name.replace(",", "").isdecimal() for name in names):
            axis, numbers = (
                self.experiment.axis_title(definition.axes[0]),
                [int(name.replace(",", "")) for name in names],
            )
            points = sentence("studies_page.range", axis=axis, first=numbers[0], last=numbers[-1])
        else:
            more, shown = len(names) - POINTS_NAMED, names[:POINTS_NAMED]
            code = "studies_page.points_and_more" if more > 0 else "studies_page.points"
            points = sentence(code, points=shown, more=more)
        refused = len(definition.refused)
        return " ".join((points, *([sentence("studies_page.not_run", count=refused)] if refused else [])))

    def place(self, planned: PlannedRun) -> str:
        """Return the name of a run's configuration."""
        return point_name(self.group.plan, planned.spec)

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        point = self.experiment.titled(self.place(planned), definition_of(self.group.plan).axes)
        return sentence("studies_page.run_of", number=number, planned=count, point=point)

    @property
    def answer(self) -> Answer:
        """The main finding of the study."""
        line = findings(self.result)[0]
        return Answer(self.headline, line, line, self.verdict)

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        return self.result.left

    @property
    def can_resume(self) -> bool:
        return not self.is_finished

    @property
    def has_result(self) -> bool:
        return bool(self.result.done) and bool(self.figures())

    @property
    def heading(self) -> str:
        return sentence("cli.study_heading", group_id=self.group.id, title=self.experiment.title)

    @property
    def costs(self) -> Costs | None:
        """The prices; None if the study doesn't compare costs."""
        return Costs(self.usd_per_hour, bundled_prices()) if self.experiment.is_priced else None

    def with_stored(self, database: Database) -> "StudyReport":
        specs = specs_of(database, [run.id for run in self.group.runs])
        return replace(
            self, specs=specs, metrics={key: metric_values(database, list(specs), key) for key in METRICS}
        )

    def with_details(self, database: Database, paths: Paths) -> "StudyReport":
        usd_per_hour = load_settings(paths.settings).usd_per_hour
        return replace(self, details=load_details(database, self.result), usd_per_hour=usd_per_hour)

    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the findings; for the cost study, they include findings about costs."""
        costs = self.costs
        about = cost_findings(self.result, costs, with_advice=with_advice) if costs is not None else []
        return [
            *about,
            *findings(self.result, self.details, has_costs=bool(about)),
            *(folder_lines(self.result) if with_advice else ()),
        ]

    def figures(self) -> tuple[Figure, ...]:
        return figures(self.result, self.details, self.costs)

    def table(self) -> Table:
        return study_table(self.result)

    def card(self, chart: int = 0, result: Result | None = None) -> ShareCard:
        charts, runs, lines = self.figures(), self._best_runs(), self.lines(with_advice=False)
        level, count = worst_verdict(self.group)
        names = dict.fromkeys(device_title(run, varied=self.result.axes) for run in runs)
        engines = dict.fromkeys(engine_name(run.engine, run.engine_version) for run in runs)
        badge = sentence(f"studies.badge_{level}", count=count, runs=sum(map(is_usable, self.group.runs)))
        return ShareCard(
            title=joined((self.experiment.title, self._what(runs))),
            headline=lines[0],
            notes=tuple(lines[1:]),
            chart=charts[chart] if 0 <= chart < len(charts) else charts[0],
            machine=sentence("share.on_this_computer", name=joined(names)),
            details=(joined((*computer_parts(runs[0]), *engines)),),
            badge=(badge, level_title(level)),
            level=level,
            footer=joined((runs[0].started_at[:10], version_line(runs[0].app_version))),
        )

    def text(self) -> str:
        """Return the report as plain text, with the table."""
        card = self.card()
        head = (card.title, card.headline, " ".join(card.notes))
        private = private_texts() | chosen_texts(point.spec for point in self.result.points)
        end = (card.machine, *card.details, card.badge[0], card.footer)
        return to_post([*head, "", *self.table().lines(), "", *end], private)

    def as_dict(self) -> dict[str, Any]:
        return study_as_dict(self.result, self.details, self.costs)

    def export(self) -> PlanTable:
        return study_export(self.result, self.details, self.costs)

    def _best_runs(self) -> list[RunSummary]:
        runs = [run for point in self.result.done if (run := point.best_run) is not None]
        if not runs:
            raise UsageError(message("share.no_study_result", group_id=self.group.id))
        return runs

    def _what(self, runs: Sequence[RunSummary]) -> str:
        names = self.result.workloads
        if len(names) == 1:
            return workload_title(runs[0].workload)
        return sentence("group.workloads", count=len(names))
