"""Exports runs as a report: an HTML page that opens anywhere, prints well, and embeds the result file."""

from collections.abc import Iterator, Sequence

from app.core.errors import UsageError
from app.core.files import closing
from app.core.messages import message
from app.core.redaction.private_texts import private_texts
from app.core.report.formats.export_format import ExportFormat
from app.core.report.formats.result_document import enclosed_file
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_runs
from app.core.verdict.judged_run import JudgedRun

# Maximum number of runs, because each run has several charts and tables.
RUNS_LIMIT = 20


def _lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    chosen = sorted(set(ids)) or list(all_ids(database))
    if len(chosen) > RUNS_LIMIT:
        raise UsageError(message("html.too_many", count=len(chosen), limit=RUNS_LIMIT), message("html.choose"))
    with closing(load_runs(database, chosen)) as loaded:
        runs = [JudgedRun(run) for run in loaded]
    if not runs:
        raise UsageError(message("html.nothing"), message("html.choose"))
    from app.core.report.html.page import report_page  # imported late, because opening the window doesn't need it

    yield report_page(runs, enclosed_file(database, chosen), private_texts())


FORMAT = ExportFormat("html", "export.html", ".html", _lines)
