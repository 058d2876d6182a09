"""The table of a study's points."""

from app.core.messages import sentence
from app.core.plans.study.findings import findings
from app.core.plans.study.points import StudyResult
from app.core.plans.study.tables import study_table
from app.gui.widgets.tables import TextTable


class StudyTable(TextTable):
    """Shows a line for each point; those within 5 % of the fastest are bold."""

    def __init__(self) -> None:
        super().__init__(sentence("studies_page.table"))

    def show_study(self, result: StudyResult) -> None:
        """Show a study, finished or not; columns without a value are hidden."""
        table = study_table(result)
        self.show_texts(
            table.headings,
            table.rows,
            numbers=range(table.left, len(table.headings) - 1),
            bold=table.is_best,
            tips=[point.reason for point in result.points],
        )
        self.setAccessibleDescription(" ".join(findings(result)))
