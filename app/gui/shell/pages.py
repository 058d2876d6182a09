"""The list of the window's pages."""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Literal

from PySide6.QtWidgets import QWidget

from app.gui.services.bundle import Services


@dataclass(frozen=True, slots=True)
class PageEntry:
    """An entry for a page.

    Attributes:
        code: Name of the page's package in app/gui/pages.
        widget: Name of the class in page.py. Its only argument is `services`.
        has_plans: Whether the page is a `PlanPage`, for one kind of plan.
        section: Part of the sidebar: "" at the top, "lab" below a line and a heading, "foot" at the bottom.
    """

    code: str
    title: str
    icon: str
    widget: str
    has_plans: bool = False
    section: Literal["", "lab", "foot"] = ""

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
    PageEntry("suite", "group.kind_suite", "trophy", "SuitePage", has_plans=True),
    PageEntry("ab", "group.kind_ab", "scale", "AbPage", has_plans=True, section="lab"),
    PageEntry("studies", "page.studies", "chart-line", "StudiesPage", has_plans=True, section="lab"),
    PageEntry("hardware", "page.hardware", "cpu", "HardwarePage", section="foot"),
    PageEntry("settings", "page.settings", "settings", "SettingsPage", section="foot"),
)
