"""The window's pages: one row each."""

from dataclasses import dataclass
from importlib import import_module

from PySide6.QtWidgets import QWidget

from app.gui.services.bundle import Services


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page.

    Attributes:
        code: Name of its folder in app/gui/pages.
        title: Message code of its name.
        icon: Icon next to its name in the side bar.
        widget: Its class in the folder's page.py, which is created with the services.
        has_plans: Whether it is a `PlanPage`, the page of a kind of plan.
    """

    code: str
    title: str
    icon: str
    widget: str
    has_plans: bool = False

    def make(self, services: Services) -> QWidget:
        """Create the page. It is imported only now, so that unopened pages cost nothing."""
        page: QWidget = getattr(import_module(f"app.gui.pages.{self.code}.page"), self.widget)(services)
        return page


# In the order of the side bar; the last one is at its bottom.
PAGES = (
    PageEntry("benchmark", "page.benchmark", "gauge", "BenchmarkPage"),
    PageEntry("results", "page.results", "list", "ResultsPage"),
    PageEntry("compare", "page.compare", "chart-bar-decreasing", "ComparePage"),
    PageEntry("ab", "page.ab", "scale", "AbPage", has_plans=True),
    PageEntry("studies", "page.studies", "chart-line", "StudiesPage", has_plans=True),
    PageEntry("suite", "page.suite", "trophy", "SuitePage", has_plans=True),
    PageEntry("hardware", "page.hardware", "cpu", "HardwarePage"),
    PageEntry("settings", "page.settings", "settings", "SettingsPage"),
)
