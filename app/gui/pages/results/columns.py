"""The columns of the results table: which ones to show, and their widths."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QMenu, QTableView, QWidget

from app.core.messages import sentence
from app.core.titles import data_title, level_title, preset_title, status_title, workload_title
from app.gui.services.bundle import Services
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.tables import Column

# By sort key.
COLUMNS = {
    "id": Column("heading.run", 56, is_number=True),
    "started_at": Column("heading.started", 136),
    "workload": Column("label.workload", 136),
    "value": Column("heading.result", 130, is_number=True),
    "verdict": Column("heading.verdict", 84),
    "spread_pct": Column("metric.spread_pct", 80, is_number=True),
    "epochs_done": Column("setting.epochs", 92, is_number=True),
    "batch_size": Column("heading.batch", 68, is_number=True),
    "device": Column("setting.device", 92),
    "data_source": Column("setting.data", 96),
    "work_per_j": Column("heading.work_per_j", 110, is_number=True),
    "status": Column("results_page.status", 94),
    "comment": Column("heading.name", 60),
}
KEYS = tuple(COLUMNS)
COMMENT = KEYS.index("comment")
STARTED = KEYS.index("started_at")
DEFAULT = ("started_at", "workload", "value", "verdict", "device", "comment")
# The start time identifies a row and expands a group, and F2 edits the run's name in the table.
ALWAYS = ("started_at", "comment")
NAME_PX, NAME_MIN_PX = 160, 40
DEVICE_MORE_PX = 90  # additional width for names such as "RTX 4090 Laptop GPU", if there is space
# Columns that become narrower if there isn't enough space, in this order, and their minimum widths.
_SHRINKING = (("device", 66), ("workload", 88), ("comment", NAME_MIN_PX))
# Padding of the style sheet plus Qt's own padding around text.
CELL_PX, HEADING_PX = 27, 28
TRIANGLE_PX = 22  # with its margin; precedes the time of a group
# Workloads of other versions may have any name.
WIDEST_PX = 340


def _longest() -> dict[str, tuple[str, ...]]:
    return {
        "id": ("99999",),
        "started_at": ("2028-08-28 08:48",),
        "value": ("≈ 8,888 images/s", "1st: 8,888 s/epoch"),
        "verdict": tuple(map(level_title, ("valid", "caution", "invalid"))),
        "spread_pct": ("88.8 %",),
        "epochs_done": (sentence("results_page.epochs", done=10, planned=10), preset_title("sustained")),
        "batch_size": ("8888",),
        "data_source": (data_title("synthetic"),),
        "work_per_j": ("8,888 examples/J",),
        "status": tuple(map(status_title, ("completed", "interrupted"))),
    }


def wanted_widths(workloads: frozenset[str], metrics: QFontMetrics, *, has_groups: bool) -> dict[str, int]:
    """Return the width in pixels that each column needs for its heading and typical texts."""
    titles = tuple(workload_title(workload)[:60] for workload in workloads)
    kinds = [f"{sentence('group.kind_engines')} · {name}" for name in titles] if has_groups else []
    texts = _longest() | {"workload": (*titles, *kinds)}
    widths = {}
    for key, column in COLUMNS.items():
        fonts = QFontMetrics(tabular_font(TEXT_PX)) if column.is_number else metrics
        heading_px = metrics.horizontalAdvance(sentence(column.heading)) + HEADING_PX
        cells_px = [fonts.horizontalAdvance(text) + CELL_PX for text in texts.get(key, ())]
        usual_px = column.width_px or 0 if key in ("device", "comment") else 0
        widths[key] = min(max(heading_px, usual_px, *cells_px, 0), WIDEST_PX)
    if has_groups:
        text_px = QFontMetrics(tabular_font(TEXT_PX)).horizontalAdvance(sentence("results_page.runs", count=88))
        widths["id"] = max(widths["id"], text_px + CELL_PX)
        widths["started_at"] += TRIANGLE_PX
    return widths


def chosen_columns(stored: object) -> tuple[str, ...]:
    """Return the columns to show, in the table's order. The stored setting may be invalid."""
    wanted = [key for key in KEYS if key in stored] if isinstance(stored, list | tuple) else []
    return tuple(key for key in KEYS if key in wanted or key in ALWAYS) if wanted else DEFAULT


def fitted_widths(shown: Sequence[str], room_px: int, wanted_px: Mapping[str, int]) -> dict[str, int]:
    """Return the widths of the shown columns in pixels. The name, the last column, gets the remaining space.

    If there isn't enough space, the columns for device, workload and name become narrower. If this isn't enough,
    the table scrolls.
    """
    widths_px = {key: wanted_px[key] for key in shown}
    spare_px = room_px - sum(widths_px.values())
    if "device" in shown:
        widths_px["device"] += max(0, min(DEVICE_MORE_PX, spare_px - max(0, NAME_PX - wanted_px["comment"])))
    for key, limit_px in _SHRINKING:
        if spare_px < 0 and key in shown:
            less_px = min(-spare_px, max(0, widths_px[key] - limit_px))
            widths_px[key] -= less_px
            spare_px += less_px
    return widths_px


class ColumnFitter:
    """Fits the columns of a table to its width. Columns that the user has resized keep their width."""

    def __init__(self, table: QTableView) -> None:
        self._table = table
        self._shown: tuple[str, ...] = DEFAULT
        self._dragged_px: dict[str, int] = {}
        self._workloads: frozenset[str] = frozenset()
        self._has_groups = False
        self._is_fitting = False
        table.horizontalHeader().sectionResized.connect(self._on_resized)

    def show_columns(self, shown: tuple[str, ...]) -> None:
        self._shown = shown
        self.fit()

    def show_contents(self, workloads: frozenset[str], *, has_groups: bool) -> None:
        self._workloads, self._has_groups = workloads, has_groups
        self.fit()

    def fit(self) -> None:
        header = self._table.horizontalHeader()
        metrics = self._table.fontMetrics()
        wanted_px = wanted_widths(self._workloads, metrics, has_groups=self._has_groups)
        widths_px = fitted_widths(self._shown, self._table.viewport().width(), wanted_px | self._dragged_px)
        widths_px |= {key: px for key, px in self._dragged_px.items() if key in self._shown}
        widths_px["comment"] = NAME_MIN_PX  # stretched below
        self._is_fitting = True
        # Turn stretching off while resizing, because whichever column is last would take the remaining space.
        header.setStretchLastSection(False)
        for number, key in enumerate(COLUMNS):
            header.setSectionHidden(number, key not in self._shown)
            if key in self._shown:
                header.resizeSection(number, widths_px[key])
        header.setStretchLastSection(True)
        self._is_fitting = False
        self._table.updateGeometries()  # otherwise the scroll bar would briefly match the old columns

    def _on_resized(self, number: int, _: int, width_px: int) -> None:
        is_dragged = not self._is_fitting and QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        if is_dragged and width_px and number != COMMENT:
            self._dragged_px[KEYS[number]] = width_px


class ColumnMenu(QMenu):
    """The menu that shows and hides columns. The choice is stored in the settings."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(sentence("results_page.columns"), parent)
        self._services = services
        self.entries = {key: QAction(sentence(column.heading), self) for key, column in COLUMNS.items()}
        for key, entry in self.entries.items():
            entry.setCheckable(True)
            entry.setEnabled(key not in ALWAYS)
            entry.triggered.connect(self._on_chosen)
            self.addAction(entry)
        self.addSeparator()
        self.reset = QAction(sentence("results_page.reset_columns"), self)
        self.reset.triggered.connect(lambda _=False: self._store(DEFAULT))
        self.addAction(self.reset)
        self.aboutToShow.connect(self._show_chosen)

    @property
    def chosen(self) -> tuple[str, ...]:
        return chosen_columns(self._services.preferences.settings.results_columns)

    def _show_chosen(self) -> None:
        for key, entry in self.entries.items():
            entry.setChecked(key in self.chosen)
        self.reset.setEnabled(self.chosen != DEFAULT)

    def _on_chosen(self, _: bool = False) -> None:
        self._store(tuple(key for key, entry in self.entries.items() if entry.isChecked()))

    def _store(self, keys: tuple[str, ...]) -> None:
        self._services.change(results_columns=None if keys == DEFAULT else list(keys))
