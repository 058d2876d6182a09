"""The columns of the results table, and their widths."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QTableView

from app.core.messages import sentence
from app.core.titles import level_title, workload_title
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.tables import Column

# By sort key.
COLUMNS = {
    "started_at": Column("heading.started", 136),
    "workload": Column("label.workload", 136),
    "value": Column("heading.result", 130, is_number=True),
    "verdict": Column("heading.verdict", 84),
    "device": Column("setting.device", 92),
    "comment": Column("heading.name", 60),
}
KEYS = tuple(COLUMNS)
COMMENT = KEYS.index("comment")
STARTED = KEYS.index("started_at")
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
        "started_at": ("2028-08-28 08:48",),
        "value": ("≈ 8,888 images/s", "1st: 8,888 s/epoch"),
        "verdict": tuple(map(level_title, ("valid", "caution", "invalid"))),
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
        widths["started_at"] += TRIANGLE_PX
    return widths


def fitted_widths(room_px: int, wanted_px: Mapping[str, int]) -> dict[str, int]:
    """Return the widths of the columns in pixels. The name, the last column, gets the remaining space.

    If there isn't enough space, the columns for device, workload and name become narrower. If this isn't enough,
    the table scrolls.
    """
    widths_px = dict(wanted_px)
    spare_px = room_px - sum(widths_px.values())
    widths_px["device"] += max(0, min(DEVICE_MORE_PX, spare_px - max(0, NAME_PX - wanted_px["comment"])))
    for key, limit_px in _SHRINKING:
        if spare_px < 0:
            less_px = min(-spare_px, max(0, widths_px[key] - limit_px))
            widths_px[key] -= less_px
            spare_px += less_px
    return widths_px


class ColumnFitter:
    """Fits the columns of a table to its width. Columns that the user has resized keep their width."""

    def __init__(self, table: QTableView) -> None:
        self._table = table
        self._dragged_px: dict[str, int] = {}
        self._workloads: frozenset[str] = frozenset()
        self._has_groups = False
        self._is_fitting = False
        table.horizontalHeader().sectionResized.connect(self._on_resized)

    def show_contents(self, workloads: frozenset[str], *, has_groups: bool) -> None:
        self._workloads, self._has_groups = workloads, has_groups
        self.fit()

    def fit(self) -> None:
        header = self._table.horizontalHeader()
        metrics = self._table.fontMetrics()
        wanted_px = wanted_widths(self._workloads, metrics, has_groups=self._has_groups)
        widths_px = fitted_widths(self._table.viewport().width(), wanted_px | self._dragged_px) | self._dragged_px
        widths_px["comment"] = NAME_MIN_PX  # stretched below
        self._is_fitting = True
        # Turn stretching off while resizing, because whichever column is last would take the remaining space.
        header.setStretchLastSection(False)
        for number, key in enumerate(COLUMNS):
            header.resizeSection(number, widths_px[key])
        header.setStretchLastSection(True)
        self._is_fitting = False
        self._table.updateGeometries()  # otherwise the scroll bar would briefly match the old columns

    def _on_resized(self, number: int, _: int, width_px: int) -> None:
        is_dragged = not self._is_fitting and QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        if is_dragged and width_px and number != COMMENT:
            self._dragged_px[KEYS[number]] = width_px
