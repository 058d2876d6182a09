"""The report on a suite: score, sentences, charts, table, picture, text and files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from app.core.analysis.comparability import engine_name
from app.core.analysis.power import is_gpu
from app.core.analysis.published import short_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plain_text import joined
from app.core.plans.report import Answer, Hero, Report, to_post
from app.core.plans.suite.definition import POINTS, RUN_S, suite_name
from app.core.plans.suite.export import suite_as_dict, suite_export
from app.core.plans.suite.known import KnownScore, imported_scores
from app.core.plans.suite.score import SuiteResult, list_suites, suite_result
from app.core.plans.suite.short_form import suite_form
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
from app.core.records import PlannedRun, Suite
from app.core.redaction.private_texts import private_texts
from app.core.report.card import Figure, ShareCard, Table
from app.core.report.formats.export_format import PlanTable
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.groups import specs_of
from app.core.titles import workload_title
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.protocol.spec import RunSpec

# Maximum number of this computer's suites in the chart of all scores; the newest are shown.
OTHERS_LIMIT = 50
# Maximum number of scores for which a picture has room above its QR code.
PICTURE_ROWS_LIMIT = 10


@dataclass(frozen=True, eq=False)
class SuiteReport(Report):
    """The report on a suite."""

    # Other suites of this computer to compare with; None until they are loaded.
    others: Sequence[SuiteResult] | None = None
    elsewhere: Sequence[KnownScore] = ()  # scores of other computers, except for the reference computer
    current_spec: RunSpec | None = None  # spec of the test in progress

    @cached_property
    def result(self) -> SuiteResult:
        """The results by test. Raises UsageError for a suite from another version."""
        return suite_result(self.group, self.specs)

    @property
    def subject(self) -> str:
        return suite_name((self.group.plan.suite or Suite()).number)

    def start_line(self, spec: RunSpec, count: int) -> str:
        """Return the name of the suite and the expected duration."""
        if CATALOGUE[spec.workload].is_demo:
            return sentence("cli.suite_title_demo", name=self.subject, count=count)
        return sentence("cli.suite_title", name=self.subject, count=count, minutes=RUN_S * count / 60)

    def place(self, planned: PlannedRun) -> str:
        return planned.spec.workload

    @property
    def answer(self) -> Answer:
        """The score, or the progress of the suite."""
        result, line = self.result, suite_lines(self.result)[0]
        headline = suite_headline(result) if result.total is not None else verdict_word(result)
        return Answer(headline, line, line, result.verdict)

    @property
    def hero(self) -> Hero:
        result, total = self.result, self.result.total
        if total is None:
            return Hero(verdict_word(result), is_final=False, says_all=True)
        unit = f"{sentence('suite.unit')} {certainty_text(total)}".strip()
        return Hero(points_text(total.points), unit, verdict_texts(result), result.verdict or "", says_all=True)

    @property
    def sentence_so_far(self) -> str:
        return suite_lines(self.result)[0]

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        return self.result.left

    @property
    def can_resume(self) -> bool:
        return not self.is_finished

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

    def with_stored(self, database: Database) -> "SuiteReport":
        return replace(self, specs=specs_of(database, [run.id for run in self.group.runs]))

    def with_details(self, database: Database, paths: Paths) -> "SuiteReport":
        """Return a copy with other scores of the same suite loaded."""
        definition = self.result.definition
        suites = list_suites(database, OTHERS_LIMIT)
        return replace(
            self,
            others=[
                suite for suite in suites if suite.definition == definition and suite.group.id != self.group.id
            ],
            elsewhere=[score for score in imported_scores(database) if score.suite == definition.number],
        )

    def lines(self, *, with_advice: bool = True) -> list[str]:
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

    def card(self, chart: int = 0, result: Result | None = None) -> ShareCard:
        suite, figures = self.result, self.figures()
        figure = figures[chart if 0 <= chart < len(figures) else 0]
        rank = rank_text(suite, self.elsewhere) if figure == places_figure(suite, self.elsewhere) else ""
        total, run, level = suite.total, suite.example, suite.verdict
        if total is None or run is None or level is None:
            raise UsageError(message("share.no_suite_result", group_id=self.group.id))
        cpu = [short_name(run.cpu_name)] if is_gpu(run) and run.cpu_name else []
        means = {purpose: suite.mean(purpose) for purpose in ("training", "prediction")}
        footer = (
            sentence("suite.reference_is", points=points_text(POINTS), machine=suite.definition.machine),
            run.started_at[:10],
            version_line(run.app_version),
        )
        return ShareCard(
            title=joined((suite.name, sentence("suite.what", count=len(suite.parts)))),
            headline=points_text(total.points),
            unit=sentence("suite.unit"),
            place=rank,
            notes=(certainty_text(total),),
            machine=device_title(run),
            details=(
                joined((*cpu, *computer_parts(run))),
                joined((engine_name(run.engine, run.engine_version), precisions_text(suite.definition))),
                sentence(
                    "suite.means",
                    **{name: points_text(score.points if score else None) for name, score in means.items()},
                ),
            ),
            badge=verdict_texts(suite),
            level=level,
            chart=nearest_rows(figure, PICTURE_ROWS_LIMIT),
            footer=joined(footer),
            short_form=suite_form(suite),
        )

    def text(self) -> str:
        """Return the report as plain text, with the table."""
        card = self.card()
        lines = [*self.lines(), "", *self.table().lines(), "", *card.details[:1], card.footer]
        return to_post(lines, private_texts())

    def as_dict(self) -> dict[str, Any]:
        return suite_as_dict(self.result)

    def export(self) -> PlanTable:
        return suite_export(self.result)

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        part = workload_title(planned.spec.workload)
        return sentence("suite_page.run_of", number=number, planned=count, part=part)
