"""The page of studies: answers questions that require several runs, with charts and findings."""

from PySide6.QtWidgets import QLabel, QWidget

from app.core.plans.study.kind import StudyPlan
from app.gui.pages.lab.studies.setup import StudySetup
from app.gui.run.kind_page import KindPage, PageTexts
from app.gui.run.plan_layout import SetupOrResult
from app.gui.services.bundle import Services
from app.gui.widgets.basics import column

_TEXTS = PageTexts(
    running="studies_page.running",
    earlier="studies_page.earlier",
    table="studies_page.table",
    export="studies_page.export",
    exported="studies_page.exported",
)


class StudiesPage(KindPage):
    """Sets up, runs, resumes and displays studies."""

    starts_with_newest = False
    headline: QLabel

    def __init__(self, services: Services) -> None:
        self.setup = StudySetup(services)
        super().__init__(services, StudyPlan(), self.setup, _TEXTS)
        self.setup.price_changed.connect(self.refresh)

    def _lay_out(self, shown: QWidget, below: QWidget | None) -> SetupOrResult:
        del below
        result = SetupOrResult(self.setup, shown, self.foot)
        self.setLayout(column(result))
        return result
