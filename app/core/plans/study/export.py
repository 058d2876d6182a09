"""Studies as files."""

from collections.abc import Iterator

from app.core.plans.export import PlanTable
from app.core.plans.study.costs import Costs
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.points import StudyResult
from app.core.plans.study.tables import COLUMNS, study_as_dict, study_cells
from app.core.report.private_texts import chosen_texts, private_texts


def study_lines(
    result: StudyResult, form: str, details: Details = NO_DETAILS, costs: Costs | None = None
) -> Iterator[str]:
    """Yield a study's file piece by piece.

    Args:
        result: The study.
        form: One of app.core.plans.export.FORMATS.
        details: What was loaded for it.
        costs: Prices of what it ran on, for a study of costs.
    """
    table = PlanTable(
        format_version=1,
        plain=study_as_dict(result, details, costs),
        rows="points",
        columns=COLUMNS,
        cells=study_cells(result, costs),
        private=chosen_texts(point.spec for point in result.points) | private_texts(),
    )
    return table.lines(form)
