"""The Studies page: answers questions that require several runs, with charts and findings."""

from PySide6.QtWidgets import QLabel

from app.core.plans.study.kind import StudyPlan
from app.gui.pages.studies.setup import StudySetup
from app.gui.run.kind_page import KindPage, PageTexts
from app.gui.services.bundle import Services

_TEXTS = PageTexts(
    title="page.studies",
    purpose="studies_page.what",
    running="studies_page.running",
    earlier="studies_page.earlier",
    table="studies_page.table",
    nothing="studies_page.nothing",
    steps=(("1", "studies_page.step_1"), ("2", "studies_page.step_2"), ("3", "studies_page.step_3")),
    export="studies_page.export",
    exported="studies_page.exported",
)


class StudiesPage(KindPage):
    """Sets up, runs, resumes and displays studies."""

    headline: QLabel

    def __init__(self, services: Services) -> None:
        self.setup = StudySetup(services)
        super().__init__(services, StudyPlan(), self.setup, _TEXTS)
        self.setup.price_changed.connect(self.refresh)
