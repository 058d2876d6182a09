"""The list of the window's pages."""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from PySide6.QtWidgets import QWidget

from app.gui.services.bundle import Services


@dataclass(frozen=True, slots=True)
class PageEntry:
    """An entry for a page."""

    code: str  # name of the page's package in app/gui/pages
    title: str
    icon: str
    widget: str  # Name of the class in page.py. Its only argument is `services`.
    runs_plans: bool = False  # whether it is a `PlanPage`
    under: str = ""  # code of the page whose entry in the sidebar is marked; "" if the page has an entry itself

    def load(self) -> ModuleType:
        return import_module(f"app.gui.pages.{self.code}.page")

    def make(self, services: Services) -> QWidget:
        page: QWidget = getattr(self.load(), self.widget)(services)
        return page


# In the order of the sidebar and of the shortcuts.
PAGES = (
    PageEntry("benchmark", "page.benchmark", "gauge", "BenchmarkPage"),
    PageEntry("results", "page.results", "list", "ResultsPage"),
    PageEntry("compare", "page.compare", "chart-bar-decreasing", "ComparePage"),
    PageEntry("lab", "page.lab", "flask-conical", "LabPage", runs_plans=True),
    PageEntry("settings", "page.settings", "settings", "SettingsPage"),
    PageEntry("suite", "group.kind_suite", "trophy", "SuitePage", runs_plans=True, under="benchmark"),
    PageEntry("hardware", "page.hardware", "cpu", "HardwarePage", under="settings"),
)
