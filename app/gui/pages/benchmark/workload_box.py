"""A box for selecting a favourite or recently used workload. The workload chooser lists all workloads."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QFont, QStandardItemModel

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import Settings
from app.core.titles import workload_title
from app.gui.services.bundle import Services
from app.gui.style.theme import font
from app.gui.style.tokens import LABEL_PX
from app.gui.widgets.basics import Button, give_way, guard_wheel, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE, STANDARD

RECENT_LIMIT = 6


class WorkloadBox(ChoiceBox):
    """Lists a few workloads in groups. The selected workload is always included."""

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("label.workload"))
        self._services = services
        self._chosen_id = STANDARD
        give_way(self)
        guard_wheel(self)
        self._fill()
        self.currentIndexChanged.connect(self._on_index)
        services.preferences.changed.connect(self._fill)

    @property
    def chosen_id(self) -> str:
        return self._chosen_id

    def choose(self, workload_id: str) -> None:
        """Select a workload as if the user had done so."""
        if self.findData(workload_id) < 0:
            self._fill(workload_id)
        self.setCurrentIndex(self.findData(workload_id))

    def _on_index(self, place: int) -> None:
        self._chosen_id = str(self.itemData(place))

    def _fill(self, also: str = "") -> None:
        """Fill the list without emitting signals. The selection is kept."""
        groups = workload_groups(self._services.preferences.settings, also, self._chosen_id)
        with QSignalBlocker(self):
            self.clear()
            for code, names in groups:
                if len(groups) > 1:
                    self._add_heading(sentence(code))
                for name in names:
                    self.addItem(workload_title(name), name)
            self.setCurrentIndex(self.findData(self._chosen_id))

    def _add_heading(self, text: str) -> None:
        self.addItem(text)
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        heading = model.item(self.count() - 1)
        heading.setFlags(Qt.ItemFlag.NoItemFlags)
        heading.setFont(font(LABEL_PX, QFont.Weight.DemiBold))


class Star(Button):
    """A button that shows and sets whether a workload is a favourite."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.theme, "", "star", kind="flat")
        self._services = services
        self._workload_id = ""
        self.setCheckable(True)
        self.clicked.connect(self._on_clicked)
        services.preferences.changed.connect(self._show)
        self._show()

    def show_workload(self, workload_id: str) -> None:
        """Show whether a workload ("" for none) is a favourite."""
        self._workload_id = workload_id
        self._show()

    def _show(self) -> None:
        is_favourite = self._workload_id in self._services.preferences.settings.favourite_workloads
        self.setEnabled(self._workload_id in CATALOGUE)
        self.setChecked(is_favourite)
        self.show_icon("star-filled" if is_favourite else "star")
        self.setAccessibleName(sentence("setup.favourite"))
        set_tip(self, sentence("setup.remove_favourite" if is_favourite else "setup.add_favourite"))

    def _on_clicked(self, checked: bool) -> None:
        names = self._services.preferences.settings.favourite_workloads
        others = tuple(name for name in names if name != self._workload_id)
        try:
            self._services.preferences.change(
                favourite_workloads=(*others, self._workload_id) if checked else others
            )
        except AppError as error:
            self._services.complain(error)


def workload_groups(settings: Settings, *others: str) -> list[tuple[str, list[str]]]:
    """Group workloads into favourites, recent ones and others, each with the message code of its heading.

    Duplicates and workloads missing from the catalogue are omitted. The standard workload is always included.
    """
    listed: set[str] = set()
    groups = []
    for code, names in (
        ("setup.favourites", settings.favourite_workloads),
        ("setup.recently_used", settings.recent_workloads[:RECENT_LIMIT]),
        ("setup.other_workloads", (*others, STANDARD)),
    ):
        new = [name for name in dict.fromkeys(names) if name in CATALOGUE and name not in listed]
        listed.update(new)
        groups += [(code, new)] if new else []
    return groups


def with_recent(settings: Settings, workload_id: str) -> tuple[str, ...]:
    before = (name for name in settings.recent_workloads if name != workload_id)
    return (workload_id, *before)[:RECENT_LIMIT]
