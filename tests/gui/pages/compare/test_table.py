"""The table beside the bars: the fastest result comes first, whether more or less is faster."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.core.analysis.compare import Bar
from app.gui.pages.compare.table import CompareModel


@pytest.mark.parametrize(
    ("metric", "names"), [("seconds_per_epoch_s", ["ten", "twenty"]), ("images_per_s", ["twenty", "ten"])]
)
def test_the_fastest_comes_first(qapp: QApplication, metric: str, names: list[str]) -> None:
    ten, twenty = Bar("ten", "own", 10.0, metric=metric), Bar("twenty", "own", 20.0, metric=metric)
    model = CompareModel()
    model.show_bars([ten, twenty], ten)

    def column(number: int) -> list[Any]:
        return [model.index(row, number).data() for row in range(model.rowCount())]

    assert column(0) == names
    model.sort(1, Qt.SortOrder.DescendingOrder)
    assert column(0) == names[::-1]
    ratios = dict(zip(column(0), column(2), strict=True))
    assert ratios == {"ten": "baseline", "twenty": "0.50×" if metric == "seconds_per_epoch_s" else "2.0×"}
