"""The big number is never cut: for every unit at its longest and shortest, in every width and type."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from app.core.metrics import HEADLINES, format_value
from app.gui.run.headline_row import SMALLEST_PX, HeadlineRow
from app.gui.style.theme import Theme
from app.gui.style.tokens import HEADLINE_PX
from app.gui.widgets.basics import Button

TEXTS = (
    ("Caution: on battery; other programs used 58 % of the CPU", "Caution: on battery + 1 more", "Caution"),
    ("Invalid",),
    (),
)
# As wide as the card leaves it in a window of 1024 pixels, down to one of 800, and up to the largest screens.
WIDTHS_PX = st.integers(390, 3_600)


@pytest.fixture
def line(application_theme: Theme, qtbot: QtBot) -> HeadlineRow:
    line = HeadlineRow(application_theme, Button(application_theme, "Why?", kind="flat"))
    qtbot.addWidget(line)
    application_theme.dress(line)
    line.show()
    return line


def assert_all_is_read(line: HeadlineRow) -> None:
    """Each part has the room its text needs, stands beside the others, and inside the line."""
    metrics = QFontMetricsF(line.value.font())
    assert line.value.width() >= metrics.horizontalAdvance(line.value.text())
    assert line.value.height() >= metrics.capHeight()
    assert line.unit.width() >= QFontMetricsF(line.unit.font()).horizontalAdvance(line.unit.text())
    right = 0
    for part in (line.value, line.unit, line.pill, line.beside):
        if part.isHidden():
            continue
        assert part.x() >= right
        right = part.x() + part.width()
    assert right <= line.width()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    metric=st.sampled_from(sorted(HEADLINES)),
    shown=st.floats(1e-4, 1e7),
    about=st.sampled_from(["", "≈ "]),
    width_px=WIDTHS_PX,
    texts=st.sampled_from(TEXTS),
    has_button=st.booleans(),
)
def test_nothing_is_cut_whatever_is_measured(
    line: HeadlineRow,
    metric: str,
    shown: float,
    about: str,
    width_px: int,
    texts: tuple[str, ...],
    has_button: bool,
) -> None:
    line.beside.setVisible(has_button)
    line.pill.show_verdict(texts, "caution")
    value = shown / HEADLINES[metric].scale
    line.show_number(about + format_value(metric, value), HEADLINES[metric].short_unit, muted=False)
    line.resize(width_px, line.height())
    assert_all_is_read(line)


def test_the_verdict_uses_fewer_words_before_the_number_becomes_smaller(line: HeadlineRow) -> None:
    line.pill.show_verdict(TEXTS[0], "caution")
    sizes, widths = [], []
    for width_px in range(1_000, 380, -20):
        line.resize(width_px, line.height())
        line.show_number("≈ 0.0213", "s / epoch", muted=False)
        sizes.append(line.value.font().pixelSize())
        widths.append(line.pill.width())
    assert sizes[0] == HEADLINE_PX
    assert SMALLEST_PX < sizes[-1] < HEADLINE_PX
    assert sizes == sorted(sizes, reverse=True)
    first_smaller = next(number for number, size_px in enumerate(sizes) if size_px < HEADLINE_PX)
    assert len(set(widths[:first_smaller])) == 3
    assert set(widths[first_smaller:]) == {min(widths)}


def test_the_whole_verdict_is_said_and_shown_on_hover(line: HeadlineRow) -> None:
    line.pill.show_verdict(TEXTS[0], "caution")
    assert line.pill.accessibleName() == TEXTS[0][0]
    assert TEXTS[0][0] in line.pill.toolTip()
    line.pill.show_verdict((), "")
    assert line.pill.isHidden()
