"""Describes the source of a bar's value."""

from app.core.analysis.bars import Bar
from app.core.analysis.conversion import ROW_METRICS, converted
from app.core.analysis.published import PublishedRow, disagreement
from app.core.external_results import ImportedResult
from app.core.messages import sentence
from app.core.metrics import amount_text, headline_kind
from app.core.plain_text import joined


def provenance(bar: Bar) -> list[tuple[str, str]]:
    """Return the source of a bar's value as pairs of label and text, omitting unknown details."""
    value = f"{bar.text} {headline_kind(bar.metric).unit}"
    if bar.imported is not None:
        parts = _imported_provenance(bar.imported, bar, value)
    elif bar.row is not None:
        parts = _row_provenance(bar.row, bar.metric, value)
    else:
        run = bar.run
        at = run.started_at.replace("T", " ").removesuffix("Z") if run else ""
        parts = [
            ("heading.run", sentence("provenance.run_at", run_id=run.id, at=at) if run else ""),
            ("provenance.measured", value),
            ("provenance.differs", joined(bar.remarks)),
        ]
    return [(sentence(code), words) for code, words in parts if words]


def _imported_provenance(result: ImportedResult, bar: Bar, value: str) -> list[tuple[str, str]]:
    date = result.imported_at[:10]
    started = result.summary.started_at.replace("T", " ").removesuffix("Z")
    return [
        ("provenance.from", sentence("provenance.imported", number=result.id, date=date, source=result.source)),
        ("provenance.measured", joined((value, started))),
        ("heading.uid", result.uid),
        ("provenance.conditions", joined(bar.remarks)),
        ("provenance.to_remove", sentence("provenance.remove_imported", number=result.id)),
    ]


def _row_provenance(row: PublishedRow, metric: str, value: str) -> list[tuple[str, str]]:
    exact = converted(row, metric)
    conversion = exact[1] if exact else ""
    matches = {"exact": "part.virtual_yes", "close": "provenance.match_close"}
    not_stated = sentence("provenance.not_stated")
    return [
        ("page.hardware", row.hardware),
        ("provenance.published", _as_published(row) if conversion else value),
        ("provenance.shown", f"{value}, {conversion}" if conversion else ""),
        ("heading.year", str(row.year) if row.year else not_stated),
        ("heading.software", row.software),
        ("setting.batch_size", str(row.batch_size) if row.batch_size else not_stated),
        ("setting.precision", row.precision_words),
        ("provenance.match", sentence(matches[row.match]) if row.match in matches else row.match),
        ("heading.source", joined((row.source, row.source_ref))),
        ("provenance.derived", row.derivation),
        ("provenance.doubtful" if row.is_doubtful else "heading.notes", row.notes),
        ("provenance.same_table", disagreement(row)),
    ]


def _as_published(row: PublishedRow) -> str:
    if row.metric not in ROW_METRICS:
        return f"{row.value:g} {row.metric.replace('_', ' ')}"
    metric = ROW_METRICS[row.metric]
    return amount_text(metric, row.value)
