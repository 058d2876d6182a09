"""A study to share: what is on its picture, and its text to paste."""

from collections.abc import Sequence

from app.core.analysis.ab import is_usable
from app.core.analysis.comparability import engine_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.plans.study.costs import Costs, cost_findings
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.figures import figures
from app.core.plans.study.findings import findings
from app.core.plans.study.folder_findings import folder_lines
from app.core.plans.study.points import StudyResult
from app.core.plans.study.tables import study_table
from app.core.plans.verdicts import worst_verdict
from app.core.records import RunSummary
from app.core.report.card import ShareCard
from app.core.report.private_texts import chosen_texts, hide, private_texts
from app.core.report.run_texts import workload_title
from app.core.report.share_texts import computer_parts, device_title


def study_lines_to_read(
    result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None, *, with_advice: bool = True
) -> list[str]:
    """Return what a study says, with its costs if it is about them.

    Args:
        result: The study.
        details: What was loaded for it.
        costs: Prices of what it ran on.
        with_advice: Whether to include what only the user needs to know.
    """
    about = []
    if result.study.preset == "cost" and costs is not None:
        about = cost_findings(result, costs, with_advice=with_advice)
    return [
        *about,
        *findings(result, details, has_costs=bool(about)),
        *(folder_lines(result) if with_advice else ()),
    ]


def study_card(
    result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None, chart: int = 0
) -> ShareCard:
    """Return the content of a study's picture; raises UsageError if it has no result to show.

    Args:
        result: The study.
        details: What was loaded for it.
        costs: Prices of what it ran on.
        chart: Which of its charts; the first if there aren't as many.
    """
    charts, runs = figures(result, details, costs), _runs(result)
    lines = study_lines_to_read(result, details, costs, with_advice=False)
    level, count = worst_verdict(result.group)
    counted = sum(map(is_usable, result.group.runs))
    badge = sentence(f"studies.badge_{level}", count=count, runs=counted)
    return ShareCard(
        title=" · ".join((result.title, _what(result, runs))),
        headline=lines[0],
        notes=tuple(lines[1:]),
        chart=charts[chart] if 0 <= chart < len(charts) else charts[0],
        machine=sentence("share.on_this_computer", name=" · ".join(dict.fromkeys(map(device_title, runs)))),
        details=(" · ".join((*computer_parts(runs[0]), *_engines(runs))),),
        badge=(badge, sentence(f"studies.verdict_{level}")),
        level=level,
        footer=" · ".join((runs[0].started_at[:10], sentence("share.version", version=runs[0].app_version))),
    )


def study_text(result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None) -> str:
    """Return a study as plain text to post, with its table. It names neither user, computer nor folder.

    Raises:
        UsageError: It has no result.
    """
    card, table = study_card(result, details, costs), study_table(result)
    widths = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
    kept = [number for number in range(len(widths)) if any(row[number] for row in table.rows)]
    rows = [
        "  ".join(
            row[number].ljust(widths[number]) if number < table.left else row[number].rjust(widths[number])
            for number in kept
        )
        for row in (table.headings, *table.rows)
    ]
    private = private_texts()
    for point in result.points:
        private |= chosen_texts([point.spec])
    lines = [
        card.title,
        card.headline,
        " ".join(card.notes),
        "",
        *rows,
        "",
        card.machine,
        *card.details,
        card.badge[0],
        card.footer,
    ]
    return "".join(f"{hide(line.rstrip(), private)}\n" for line in lines)


def _runs(result: StudyResult) -> list[RunSummary]:
    runs = [run for point in result.done if (run := point.best_run) is not None]
    if not runs:
        raise UsageError(message("share.no_study_result", group_id=result.group.id))
    return runs


def _what(result: StudyResult, runs: Sequence[RunSummary]) -> str:
    names = result.workloads
    return workload_title(runs[0]) if len(names) == 1 else sentence("group.workloads", count=len(names))


def _engines(runs: Sequence[RunSummary]) -> list[str]:
    return list(dict.fromkeys(engine_name(run.engine, run.engine_version) for run in runs))
