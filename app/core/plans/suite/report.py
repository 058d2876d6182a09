"""The report on a suite: score, sentences, charts, table, picture, text and files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.analysis.comparability import engine_name
from app.core.analysis.power import is_gpu
from app.core.analysis.published import short_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined
from app.core.plans.report import PlanReport, Table
from app.core.plans.suite.definition import POINTS
from app.core.plans.suite.export import suite_as_dict, suite_export
from app.core.plans.suite.known import KnownScore, imported_scores
from app.core.plans.suite.score import SuiteResult
from app.core.plans.suite.short_form import suite_form
from app.core.plans.suite.stored import list_suites
from app.core.plans.suite.texts import (
    certainty_text,
    nearest_rows,
    places_figure,
    points_text,
    precisions_text,
    rank_text,
    scores_figure,
    suite_figure,
    suite_headline,
    suite_lines,
    suite_notes,
    suite_table,
    verdict_texts,
    verdict_word,
)
from app.core.records import Group, PlannedRun
from app.core.redaction.private_texts import hide, private_texts
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.storage.database import Database
from app.core.titles import workload_title
from workloads.engines.registry import engine_title
from workloads.protocol.spec import RunSpec

# Maximum number of this computer's suites in the chart of all scores; the newest are shown.
OTHERS_LIMIT = 50
# Maximum number of scores for which a picture has room above its QR code.
PICTURE_ROWS_LIMIT = 10


@dataclass(frozen=True)
class SuiteReport(PlanReport):
    """The report on a suite."""

    result: SuiteResult  # the suite's result
    # Other suites of this computer to compare with; None until they are loaded.
    others: Sequence[SuiteResult] | None = None
    elsewhere: Sequence[KnownScore] = ()  # scores of other computers, except for the reference computer
    current_spec: RunSpec | None = None  # spec of the test in progress

    @property
    def group(self) -> Group:
        return self.result.group

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        return self.result.left

    @property
    def has_result(self) -> bool:
        return self.result.total is not None and self.result.verdict is not None

    @property
    def heading(self) -> str:
        date = self.group.created_at[:10]
        return sentence("cli.suite_heading", name=self.result.name, group_id=self.group.id, date=date)

    @property
    def entry(self) -> str:
        run, points = self.result.example, verdict_word(self.result)
        if self.result.total is not None:
            points = ", ".join((suite_headline(self.result), points))
        engine, date = engine_title(run.engine) if run is not None else "–", self.group.created_at[:10]
        return sentence("suite_page.entry", group_id=self.group.id, points=points, engine=engine, date=date)

    @property
    def shared_ids(self) -> list[int]:
        return [run.id for run in self.result.runs]

    def with_details(self, database: Database, paths: Paths) -> "SuiteReport":
        """Return a copy with other scores of the same suite loaded."""
        del paths
        definition, others = self.result.definition, list_suites(database, OTHERS_LIMIT)
        return replace(
            self,
            others=[each for each in others if each.definition == definition and each.group.id != self.group.id],
            elsewhere=[each for each in imported_scores(database) if each.suite == definition.number],
        )

    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the sentences, the score first."""
        del with_advice
        return suite_lines(self.result)

    def notes(self) -> list[str]:
        """Return the sentences without the score. If other scores are loaded, the rank comes first."""
        rank = rank_text(self.result, self.elsewhere)
        is_alone = self.others is not None and self.result.total is not None and not rank
        return [
            *([sentence("suite.rank_sentence", rank=rank)] if rank else []),
            *suite_notes(self.result),
            *([sentence("suite_page.step_2")] if is_alone else []),
        ]

    def figures(self) -> tuple[Figure, ...]:
        """Return a chart of all tests' points and, if they are loaded, charts of other scores.

        The known computers come first if there are any other than the reference computer.
        """
        if self.others is None:
            return (suite_figure(self.result, self.current_spec),)
        tests, places = suite_figure(self.result, self.current_spec), places_figure(self.result, self.elsewhere)
        first = (places, tests) if self.elsewhere else (tests, places)
        return tuple(filter(None, (*first, scores_figure(self.result, self.others))))

    def table(self) -> Table:
        return suite_table(self.result)

    def card(self, chart: int = 0) -> ShareCard:
        """Return the contents of the picture."""
        result, figures = self.result, self.figures()
        figure = figures[chart if 0 <= chart < len(figures) else 0]
        rank = rank_text(result, self.elsewhere) if figure == places_figure(result, self.elsewhere) else ""
        total, run, level = result.total, result.example, result.verdict
        if total is None or run is None or level is None:
            raise UsageError(message("share.no_suite_result", group_id=self.group.id))
        cpu = [short_name(run.cpu_name)] if is_gpu(run) and run.cpu_name else []
        means = {purpose: result.mean(purpose) for purpose in ("training", "prediction")}
        footer = (
            sentence("suite.reference_is", points=points_text(POINTS), machine=result.definition.machine),
            run.started_at[:10],
            version_line(run.app_version),
        )
        return ShareCard(
            title=joined((result.name, sentence("suite.what", count=len(result.parts)))),
            headline=points_text(total.points),
            unit=sentence("suite.unit"),
            place=rank,
            notes=(certainty_text(total),),
            machine=device_title(run),
            details=(
                joined((*cpu, *computer_parts(run))),
                joined((engine_name(run.engine, run.engine_version), precisions_text(result.definition))),
                sentence(
                    "suite.means",
                    **{name: points_text(score.points if score else None) for name, score in means.items()},
                ),
            ),
            badge=verdict_texts(result),
            level=level,
            chart=nearest_rows(figure, PICTURE_ROWS_LIMIT),
            footer=joined(footer),
            short_form=suite_form(result),
        )

    def text(self) -> str:
        """Return the report as plain text, with the table."""
        card, table = self.card(), self.table()
        widths = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
        last = len(widths) - 1
        rows = [
            "  ".join(
                text.rjust(widths[place]) if 0 < place < last else text.ljust(widths[place])
                for place, text in enumerate(row)
            )
            for row in (table.headings, *table.rows)
        ]
        lines = [*self.lines(), "", *rows, "", *card.details[:1], card.footer]
        private = private_texts()
        return "".join(f"{hide(line.rstrip(), private)}\n" for line in lines)

    def as_dict(self) -> dict[str, Any]:
        return suite_as_dict(self.result)

    def export(self) -> PlanTable:
        return suite_export(self.result)

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        part = workload_title(planned.spec.workload)
        return sentence("suite_page.run_of", number=number, planned=count, part=part)
