"""The report on a study: sentences, charts, table, picture, text and files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.analysis.ab import is_usable
from app.core.analysis.comparability import engine_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined
from app.core.plans.report import PlanReport, Table
from app.core.plans.study.costs import Costs, bundled_prices, cost_findings
from app.core.plans.study.details import NO_DETAILS, Details, load_details
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.folder_findings import folder_lines
from app.core.plans.study.points import StudyResult, point_name, titled_name
from app.core.plans.study.tables import study_as_dict, study_export, study_table
from app.core.plans.verdicts import worst_verdict
from app.core.records import Group, PlannedRun, RunSummary
from app.core.redaction.private_texts import chosen_texts, hide, private_texts
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.core.titles import level_title, workload_title
from workloads import CATALOGUE


@dataclass(frozen=True)
class StudyReport(PlanReport):
    """A study with its text."""

    result: StudyResult  # the study's result
    details: Details = NO_DETAILS  # details of its runs
    costs: Costs | None = None  # prices for the cost study; None until they are loaded

    @property
    def group(self) -> Group:
        return self.result.group

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        return self.result.left

    @property
    def has_result(self) -> bool:
        return bool(self.result.done) and bool(self.figures())

    @property
    def heading(self) -> str:
        return sentence("cli.study_heading", group_id=self.group.id, title=self.result.title)

    @property
    def entry(self) -> str:
        names = [workload_title(name) for name in self.result.workloads if name in CATALOGUE]
        return sentence(
            "studies_page.history_entry",
            group_id=self.group.id,
            title=self.result.title,
            workload=names[0] if len(names) == 1 else sentence("group.workloads", count=len(names)),
            date=self.group.created_at[:10],
        )

    def with_details(self, database: Database, paths: Paths) -> "StudyReport":
        details = load_details(database, self.result)
        return replace(
            self, details=details, costs=Costs(load_settings(paths.settings).usd_per_hour, bundled_prices())
        )

    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the findings; for the cost study, they include findings about costs."""
        costs = self._costs
        about = cost_findings(self.result, costs, with_advice=with_advice) if costs is not None else []
        return [
            *about,
            *findings(self.result, self.details, has_costs=bool(about)),
            *(folder_lines(self.result) if with_advice else ()),
        ]

    def figures(self) -> tuple[Figure, ...]:
        return figures(self.result, self.details, self._costs)

    def table(self) -> Table:
        return study_table(self.result)

    def card(self, chart: int = 0) -> ShareCard:
        """Return the contents of the picture."""
        charts, runs, lines = self.figures(), self._runs(), self.lines(with_advice=False)
        level, count = worst_verdict(self.group)
        names = dict.fromkeys(device_title(run, varied=self.result.study.axes) for run in runs)
        badge = sentence(f"studies.badge_{level}", count=count, runs=sum(map(is_usable, self.group.runs)))
        return ShareCard(
            title=joined((self.result.title, self._what(runs))),
            headline=lines[0],
            notes=tuple(lines[1:]),
            chart=charts[chart] if 0 <= chart < len(charts) else charts[0],
            machine=sentence("share.on_this_computer", name=joined(names)),
            details=(
                joined(
                    (
                        *computer_parts(runs[0]),
                        *dict.fromkeys(engine_name(run.engine, run.engine_version) for run in runs),
                    )
                ),
            ),
            badge=(badge, level_title(level)),
            level=level,
            footer=joined((runs[0].started_at[:10], version_line(runs[0].app_version))),
        )

    def text(self) -> str:
        """Return the report as plain text, with the table but without its empty columns."""
        card, table = self.card(), self.table()
        widths = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
        kept = [number for number in range(len(widths)) if any(row[number] for row in table.rows)]
        rows = [
            "  ".join(
                row[number].ljust(widths[number]) if number < table.left else row[number].rjust(widths[number])
                for number in kept
            )
            for row in (table.headings, *table.rows)
        ]
        head = (card.title, card.headline, " ".join(card.notes))
        lines = [*head, "", *rows, "", card.machine, *card.details, card.badge[0], card.footer]
        private = private_texts()
        for point in self.result.points:
            private |= chosen_texts([point.spec])
        return "".join(f"{hide(line.rstrip(), private)}\n" for line in lines)

    def as_dict(self) -> dict[str, Any]:
        return study_as_dict(self.result, self.details, self._costs)

    def export(self) -> PlanTable:
        return study_export(self.result, self.details, self._costs)

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        point = titled_name(self.result.study, point_name(self.group.plan, planned.spec))
        return sentence("studies_page.run_of", number=number, planned=count, point=point)

    @property
    def _costs(self) -> Costs | None:
        return self.costs if self.result.study.preset == "cost" else None

    def _runs(self) -> list[RunSummary]:
        runs = [run for point in self.result.done if (run := point.best_run) is not None]
        if not runs:
            raise UsageError(message("share.no_study_result", group_id=self.group.id))
        return runs

    def _what(self, runs: Sequence[RunSummary]) -> str:
        names = self.result.workloads
        if len(names) == 1:
            return workload_title(runs[0].workload)
        return sentence("group.workloads", count=len(names))
