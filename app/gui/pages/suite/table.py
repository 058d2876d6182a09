"""The table of a suite's parts."""

from app.core.messages import sentence
from app.core.plans.suite.score import SuiteResult
from app.core.plans.suite.texts import suite_lines, suite_table
from app.gui.widgets.tables import TextTable


class PartTable(TextTable):
    """Shows a line for each part: points, interval, result and verdict."""

    def __init__(self) -> None:
        super().__init__(sentence("suite_page.parts_table"))

    def show_suite(self, result: SuiteResult) -> None:
        """Show a suite, finished or not; columns without a value are hidden."""
        table = suite_table(result)
        tips = [each.reason for each in result.parts]
        self.show_texts(table.headings, table.rows, numbers=range(1, len(table.headings) - 1), tips=tips)
        self.setAccessibleDescription(" ".join(suite_lines(result)))
