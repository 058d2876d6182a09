"""The columns of the results table: which ones to show, and their widths."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QTableView

from app.core.messages import sentence
from app.core.titles import data_title, level_title, preset_title, status_title, workload_title
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
    "spread_pct": Column("heading.spread", 80, is_number=True),
    "epochs_done": Column("heading.epochs", 92, is_number=True),
    "batch_size": Column("heading.batch", 68, is_number=True),
    "device": Column("label.device", 92),
    "data_source": Column("label.data", 96),
    "work_per_j": Column("heading.work_per_j", 110, is_number=True),
    "status": Column("results_page.status", 94),
    "comment": Column("heading.name", 60),
}
KEYS = tuple(COLUMNS)
COMMENT = KEYS.index("comment")
# Always shown. The others are shown in this order if they fit; the detail view shows all.
_ALWAYS = ("id", "started_at", "workload", "value", "verdict", "comment")
_OPTIONAL = ("device", "status", "spread_pct", "epochs_done", "batch_size", "work_per_j", "data_source")
_BEFORE_NAME = ("device", "status")  # shown even if this makes the name column narrow
NAME_PX, NAME_MIN_PX = 160, 40
DEVICE_MORE_PX = 90  # additional width for names such as "RTX 4090 Laptop GPU", if there is space
# Padding of the style sheet plus Qt's own padding around text.
CELL_PX, HEADING_PX = 27, 28
TRIANGLE_PX = 22  # with its margin; precedes the number of a group's runs
# Workloads of other versions may have any name.
WIDEST_PX = 260


def _longest() -> dict[str, tuple[str, ...]]:
    """Return the widest typical texts of each column."""
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
    texts = _longest() | {"workload": tuple(_title(workload) for workload in workloads)}
    widths = {}
    for key, column in COLUMNS.items():
        fonts = QFontMetrics(tabular_font(TEXT_PX)) if column.is_number else metrics
        heading_px = metrics.horizontalAdvance(sentence(column.heading)) + HEADING_PX
        cells_px = [fonts.horizontalAdvance(text) + CELL_PX for text in texts.get(key, ())]
        usual_px = column.width_px or 0 if key in ("device", "comment") else 0
        widths[key] = min(max(heading_px, usual_px, *cells_px, 0), WIDEST_PX)
    if has_groups:
        text_px = QFontMetrics(tabular_font(TEXT_PX)).horizontalAdvance(sentence("results_page.runs", count=88))
        widths["id"] = max(widths["id"], text_px + CELL_PX + TRIANGLE_PX)
    return widths


def fitting_columns(room_px: int, wanted_px: Mapping[str, int]) -> list[str]:
    """Return the columns that fit at their preferred widths. The name column is shrunk first."""
    shown = list(_ALWAYS)
    used_px = sum(wanted_px[key] for key in shown)
    for key in _OPTIONAL:
        spared_px = 0 if key in _BEFORE_NAME else max(0, NAME_PX - wanted_px["comment"])
        if used_px + wanted_px[key] + spared_px > room_px:
            break
        shown.append(key)
        used_px += wanted_px[key]
    return shown


class ColumnFitter:
    """Fits the columns of a table to its width. Columns that the user has resized keep their width."""

    def __init__(self, table: QTableView) -> None:
        self._table = table
        self._chosen_px: dict[str, int] = {}
        self._workloads: frozenset[str] = frozenset()
        self._has_groups = False
        self._is_fitting = False
        table.horizontalHeader().sectionResized.connect(self._on_resized)

    def fit(self, workloads: frozenset[str] | None = None, *, has_groups: bool = False) -> None:
        """Fit the columns to the table's width and contents. If `workloads` is None, contents are unchanged."""
        if workloads is not None:
            self._workloads, self._has_groups = workloads, has_groups
        header = self._table.horizontalHeader()
        metrics = self._table.fontMetrics()
        wanted_px = wanted_widths(self._workloads, metrics, has_groups=self._has_groups) | self._chosen_px
        room_px = self._table.viewport().width()
        shown = fitting_columns(room_px, wanted_px)
        spare_px = room_px - sum(wanted_px[key] for key in shown) - max(0, NAME_PX - wanted_px["comment"])
        if "device" not in self._chosen_px:
            wanted_px["device"] += min(DEVICE_MORE_PX, max(0, spare_px))
        self._is_fitting = True
        # Turn stretching off while resizing, because whichever column is last would take the remaining space.
        header.setStretchLastSection(False)
        for number, key in enumerate(COLUMNS):
            header.setSectionHidden(number, key not in shown)
            if key in shown:
                header.resizeSection(number, wanted_px[key] if key != "comment" else NAME_MIN_PX)
        header.setStretchLastSection(True)
        self._is_fitting = False
        self._table.updateGeometries()  # otherwise the scroll bar would briefly match the old columns

    def _on_resized(self, number: int, _: int, width_px: int) -> None:
        is_dragged = not self._is_fitting and QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        last = next(key for key in reversed(COLUMNS) if not self._table.isColumnHidden(KEYS.index(key)))
        if is_dragged and width_px and KEYS[number] != last:
            self._chosen_px[KEYS[number]] = width_px


def _title(workload: str) -> str:
    return workload_title(workload)[:60]
