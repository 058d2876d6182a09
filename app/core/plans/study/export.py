"""Studies as files: CSV with a row for each point, and JSON."""

import csv
import io
import json
from collections.abc import Iterator

from app.core.plans.study.costs import Costs
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.points import StudyResult
from app.core.plans.study.tables import COLUMNS, study_as_dict, study_cells
from app.core.report.formats.csv_table import guarded
from app.core.report.private_texts import chosen_texts, hide, private_texts

FORMATS = ("csv", "json")
FORMAT_VERSION = 1


def study_lines(
    result: StudyResult, form: str, details: Details = NO_DETAILS, costs: Costs | None = None
) -> Iterator[str]:
    """Yield a study's file piece by piece; `form` is one of FORMATS, `costs` are prices for a study of costs."""
    private = chosen_texts(point.spec for point in result.points) | private_texts()
    if form == "json":
        plain = {"format_version": FORMAT_VERSION, **study_as_dict(result, details, costs)}
        for point in plain["points"]:
            point["reason"] = hide(point["reason"], private)
        yield json.dumps(plain, indent=2, allow_nan=False) + "\n"
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("format_version", *COLUMNS))
    for cells in study_cells(result, costs):
        texts = [guarded(hide(cell, private) or "") if isinstance(cell, str) else cell for cell in cells]
        writer.writerow((FORMAT_VERSION, *texts))
    yield buffer.getvalue()
