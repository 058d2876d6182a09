"""The bars as a widget: the order, the place that waits, the move of one's own bar, and where numbers are from."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.core.analysis.bars import Bar, bars, doubts, find_baseline
from app.core.analysis.provenance import provenance
from app.core.analysis.speed_scale import SpeedScale
from app.core.messages import sentence
from app.gui.charts import bars as bar_painting
from app.gui.charts.bar_list import AXIS_PX, ROW_MIN_PX, BarList, fitting_remarks
from app.gui.charts.bars import RowLook, paint_grid, text_room, value_texts
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import LABEL_PX
from tests.gui.driving import added
from tests.gui.pixels import number, pixels

SLOT = ("You", "press Run benchmark")


def shown(qtbot: QtBot, theme: Theme) -> BarList:
    widget = added(qtbot, BarList(theme))
    widget.resize(420, 260)
    widget.show()
    return widget


def with_you(published: list[Bar], value_s: float) -> list[Bar]:
    return sorted([*published, Bar("You", "you", value_s)], key=lambda bar: bar.value)


def accent_rows(widget: BarList, theme: Theme) -> list[int]:
    """Return in which rows a pixel column near the bars' left end has the colour of one's own bar."""
    own = pixels(widget.grab().toImage())[:, 80:140] == number(theme.tokens.accent)
    row_px = (widget.height() - AXIS_PX) // len(widget.bars)
    return sorted({y // row_px for y in own.any(axis=1).nonzero()[0].tolist()})


def test_the_own_bar_moves_to_its_place(qtbot: QtBot, application_theme: Theme) -> None:
    published = bars("cifar10_keras_cnn", None)
    widget = shown(qtbot, application_theme)
    widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # whose frame has the accent's colour too
    widget.show_bars(published, slot=SLOT)
    assert "GTX 1080 Ti 4.00 s" in widget.sentence()
    assert widget.slot == SLOT
    slow, fast = with_you(published, 300.0), with_you(published, 5.0)
    widget.show_bars(slow, find_baseline(slow, None, "cifar10_keras_cnn"))
    assert accent_rows(widget, application_theme) == [5]
    widget.show_bars(fast, find_baseline(fast, None, "cifar10_keras_cnn"))
    assert accent_rows(widget, application_theme) != [1]  # on its way
    qtbot.waitUntil(lambda: accent_rows(widget, application_theme) == [1], timeout=10_000)


def test_arrow_keys_tell_where_a_number_is_from(qtbot: QtBot, application_theme: Theme) -> None:
    widget = shown(qtbot, application_theme)
    published = bars("cifar10_keras_cnn", None)
    widget.show_bars(published)
    pointed: list[Bar | None] = []
    widget.setFocus()
    widget.pointed.connect(pointed.append)
    QTest.keyClick(widget, Qt.Key.Key_Down)
    QTest.keyClick(widget, Qt.Key.Key_Down)
    QTest.keyClick(widget, Qt.Key.Key_Up)
    assert pointed == [published[0], published[1], published[0]]
    assert "study 004" in QToolTip.text()
    QTest.mouseMove(widget, QPoint(200, widget.height() // 2))
    assert "2019" in QToolTip.text()


def test_names_are_never_read_as_html(qtbot: QtBot, application_theme: Theme) -> None:
    widget = shown(qtbot, application_theme)
    row = next(bar.row for bar in bars("cifar10_keras_cnn", None) if bar.row)
    hostile = replace(row, hardware="<img src=x> & Co", notes="<b>bold</b>")
    widget.show_bars([Bar("x", "reference", 4.0, row=hostile)])
    QTest.keyClick(widget, Qt.Key.Key_Down)
    assert "&lt;img src=x&gt; &amp; Co" in QToolTip.text()
    assert "<b>bold</b>" not in QToolTip.text()


def test_provenance_names_the_source_and_the_doubts_of_every_published_bar() -> None:
    for bar in bars("cifar10_keras_cnn", None):
        told = dict(provenance(bar))
        assert bar.row is not None
        assert told[sentence("heading.source")].startswith(bar.row.source)
        assert told[sentence("heading.year")] == "2019"
        assert told[sentence("provenance.published")].endswith("s per epoch")
        is_cpu = "37 GFLOP/s" in told.get(sentence("provenance.same_table"), "")
        assert is_cpu == (bar.row.hardware_kind == "cpu")
        is_doubtful = "host CPU" in told.get(sentence("provenance.doubtful"), "")
        assert is_doubtful == (bar.name == "Colab TPU") == (doubts(bar) == (sentence("compare.likely_cpu"),))
        assert is_doubtful or doubts(bar) == ()
    synthetic = sentence("setting_value.data_synthetic")
    assert doubts(Bar("You", "you", 1.0, ("TensorFlow 2.21.0", synthetic))) == (synthetic,)


def test_where_there_is_little_room_the_neighbours_remain(qtbot: QtBot, application_theme: Theme) -> None:
    widget = shown(qtbot, application_theme)
    all_bars = with_you(bars("cifar10_keras_cnn", None), 51.2)
    widget.show_bars(all_bars)
    for height_px in range(400, 60, -27):
        widget.resize(330, height_px)
        drawn = reached(widget)
        assert any(bar.kind == "you" for bar in drawn)
        assert len(drawn) == min(len(all_bars), (height_px - AXIS_PX) // ROW_MIN_PX)
        assert drawn == [bar for bar in all_bars if bar in drawn]
    assert len(widget.bars) == len(all_bars), "a screen reader hears all"
    assert "GTX 1080 Ti" in widget.accessibleDescription()
    widget.resize(330, 400)
    assert reached(widget) == all_bars


def reached(widget: BarList) -> list[Bar]:
    pointed: list[Bar | None] = []
    widget.setFocus()
    QApplication.sendEvent(widget, QEvent(QEvent.Type.Leave))
    widget.pointed.connect(pointed.append)
    for _ in widget.bars:
        QTest.keyClick(widget, Qt.Key.Key_Down)
    widget.pointed.disconnect(pointed.append)
    return [bar for bar in pointed if bar is not None]


def test_a_doubtful_bar_is_marked(qtbot: QtBot, application_theme: Theme) -> None:
    doubtful = bars("cifar10_keras_cnn", None)
    pictures = []
    for drawn in (doubtful, [replace(bar, remarks=("2019",)) for bar in doubtful]):
        widget = added(qtbot, BarList(application_theme, row_max_px=140))
        widget.resize(380, 540)
        widget.show_bars(drawn, slot=SLOT)
        widget.show()
        pictures.append(pixels(widget.grab().toImage())[:, 190:])
    assert (pictures[0] != pictures[1]).any()


def test_names_turn_nothing_around(
    qtbot: QtBot, application_theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted = set[str]()
    monkeypatch.setattr(bar_painting, "draw_text", lambda _painter, _box, text, **_: painted.add(text))
    widget = shown(qtbot, application_theme)
    widget.show_bars([Bar("\u202egnorw", "you", 5.0), Bar("GTX", "reference", 9.0)])
    widget.grab()
    assert "GTX" in painted
    assert any(text.startswith(r"\u2") for text in painted)
    assert not any("\u202e" in text for text in painted)


@pytest.mark.parametrize(
    ("of_whole", "text"),
    [(1.01, "caution · synthetic data · running"), (0.95, "caution · synthetic data"), (0.35, "caution")],
)
def test_remarks_after_a_bar_are_left_out_whole(application_theme: Theme, of_whole: float, text: str) -> None:
    metrics, remarks = QFontMetricsF(tabular_font(LABEL_PX)), ("caution", "synthetic data", "running")
    room_px = of_whole * metrics.horizontalAdvance(" · ".join(remarks))
    assert fitting_remarks(remarks, metrics, room_px) == text
    long = ("an anomaly, see notes", "2019")
    assert fitting_remarks(long, metrics, metrics.horizontalAdvance("an anomaly, see n")) == "an anomaly …"
    assert fitting_remarks((), metrics, 100.0) == ""


def test_only_own_and_imported_bars_have_a_ratio() -> None:
    fast, slow = (bar for bar in bars("cifar10_keras_cnn", None) if bar.name in ("GTX 1060", "i5-8250U"))
    you = Bar(sentence("compare.you"), "you", 80.0)
    assert value_texts(you, slow) == ("80.0 s · 4.0×", "80.0 s")
    assert value_texts(you, you) == value_texts(you, None) == ("80.0 s",)
    assert value_texts(fast, slow) == ("9.00 s",)


def test_bars_leave_room_for_each_text() -> None:
    assert text_room(500.0, [1.0, 0.1], [50.0, 200.0]) == 50.0
    assert text_room(500.0, [1.0, 0.9], [50.0, 200.0]) == pytest.approx(500 - 300 / 0.9)
    assert text_room(500.0, [], []) == 0.0
    assert text_room(100.0, [1.0], [300.0]) == 100.0


@pytest.mark.parametrize(("space_px", "drawn"), [(7, 5), (5, 3)], ids=["all fit", "every second one"])
def test_labels_of_the_grid_stand_as_close_as_they_can(
    application_theme: Theme, monkeypatch: pytest.MonkeyPatch, space_px: int, drawn: int
) -> None:
    lefts_px: list[float] = []
    monkeypatch.setattr(bar_painting, "draw_text", lambda _painter, box, _text, **_: lefts_px.append(box.left()))
    step_px = QFontMetricsF(tabular_font(LABEL_PX)).horizontalAdvance("10×") + space_px
    monkeypatch.setattr(SpeedScale, "ticks", lambda _: [(number / 4, "10×") for number in range(5)])
    look = RowLook(name_width=40, text_width=0, bar_height=8, text_px=12)
    image = QImage(800, 80, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        rect = QRectF(0, 0, 4 * step_px + look.name_width + 2 * look.gap, 80)
        paint_grid(painter, rect, SpeedScale(1.0, 10.0, None), look, application_theme.tokens)
    assert len(lefts_px) == drawn
