"""A suite to share: what is on its picture, and its text to paste."""

from app.core.analysis.comparability import engine_name
from app.core.analysis.published import short_name
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.plans.suite.definition import POINTS
from app.core.plans.suite.score import SuiteResult
from app.core.plans.suite.texts import (
    certainty_text,
    points_text,
    precisions_text,
    suite_figure,
    suite_lines,
    suite_table,
    verdict_texts,
)
from app.core.report.card import ShareCard
from app.core.report.private_texts import hide, private_texts
from app.core.report.share_texts import computer_parts, device_kind, device_title, is_gpu


def suite_card(result: SuiteResult) -> ShareCard:
    """Return the content of a suite's picture; raises UsageError if it has no score."""
    total, run, level = result.total, result.example, result.verdict
    if total is None or run is None or level is None:
        raise UsageError(message("share.no_suite_result", group_id=result.group.id))
    cpu = [short_name(run.cpu_name)] if is_gpu(run) and run.cpu_name else []
    training, prediction = (result.mean("training"), result.mean("prediction"))
    means = sentence(
        "suite.means",
        training=points_text(training.points if training else None),
        prediction=points_text(prediction.points if prediction else None),
    )
    footer = (
        sentence("suite.reference_is", points=points_text(POINTS), machine=result.definition.machine),
        run.started_at[:10],
        sentence("share.version", version=run.app_version),
    )
    return ShareCard(
        title=" · ".join((result.name, sentence("suite.what", count=len(result.parts)))),
        headline=points_text(total.points),
        unit=sentence("suite.unit"),
        notes=(certainty_text(total),),
        machine=device_title(run),
        details=(
            " · ".join((*cpu, *computer_parts(run), device_kind(run))),
            " · ".join((engine_name(run.engine, run.engine_version), precisions_text(result.definition))),
            means,
        ),
        badge=verdict_texts(result),
        level=level,
        chart=suite_figure(result),
        footer=" · ".join(footer),
    )


def suite_text(result: SuiteResult) -> str:
    """Return a suite as plain text to post, with its table. It names neither user, computer nor folder.

    Raises:
        UsageError: It has no score.
    """
    card, table = suite_card(result), suite_table(result)
    widths = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
    last = len(widths) - 1
    rows = [
        "  ".join(
            text.rjust(widths[place]) if 0 < place < last else text.ljust(widths[place])
            for place, text in enumerate(row)
        )
        for row in (table.headings, *table.rows)
    ]
    lines = [*suite_lines(result), "", *rows, "", *card.details[:1], card.footer]
    private = private_texts()
    return "".join(f"{hide(line.rstrip(), private)}\n" for line in lines)
