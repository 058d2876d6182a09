"""The bars as a widget: the order, the place that waits, the move of one's own bar, and where numbers are from."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.core.analysis.bars import Bar, bars, doubts, find_baseline
from app.core.analysis.position import chart_note
from app.core.analysis.provenance import provenance
from app.core.messages import sentence
from app.gui.charts import bars as bar_painting
from app.gui.charts.bar_list import AXIS_PX, ROW_MIN_PX, BarList, fitting_remarks
from app.gui.charts.plots import Plot, ValueAxis
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


def test_remarks_that_all_bars_share_are_shown_once() -> None:
    published = bars("cifar10_keras_cnn", None)
    assert chart_note(published).split(" · ") == [
        "seconds per epoch",
        sentence("compare.longer_is_faster_log"),
        sentence("compare.published_older", first=2019, last=2019, count=1),
    ]
    told = {bar.name: doubts(bar) for bar in published}
    assert told["GTX 1060"] == ()
    assert told["Colab TPU"] == (sentence("compare.likely_cpu"),)
    synthetic = sentence("setting_value.data_synthetic")
    own = Bar("You", "you", 1.0, ("TensorFlow 2.21.0", synthetic))
    assert doubts(own) == (synthetic,)


@pytest.mark.parametrize("width_px", [380, 402, 441])
@pytest.mark.parametrize("own_s", [None, 179.0, 500.0])
def test_a_doubtful_bar_is_marked_before_and_after_a_run(
    qtbot: QtBot, application_theme: Theme, width_px: int, own_s: float | None
) -> None:
    published = bars("cifar10_keras_cnn", None)
    all_bars = published if own_s is None else with_you(published, own_s)
    baseline = None if own_s is None else find_baseline(all_bars, None, "cifar10_keras_cnn")
    unmarked = [replace(bar, remarks=("2019",)) if bar.row else bar for bar in all_bars]
    pictures = []
    for drawn in (all_bars, unmarked):
        widget = added(qtbot, BarList(application_theme, row_max_px=140))
        widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        widget.resize(width_px, 540)
        widget.show_bars(drawn, baseline, slot=None if own_s else SLOT)
        widget.show()
        pictures.append(pixels(widget.grab().toImage()))
    of_slot = 1 if own_s is None else 0
    row_px = (540 - AXIS_PX) / (len(all_bars) + of_slot)
    place = next(at for at, bar in enumerate(all_bars) if bar.row is not None and bar.row.is_doubtful)
    rows = slice(round(place * row_px) + 4, round((place + 1) * row_px) - 4)
    with_mark, without = (picture[rows, width_px // 2 :] for picture in pictures)
    assert (with_mark != without).any()


def test_the_tooltip_of_a_doubtful_bar_says_why() -> None:
    told = {bar.name: dict(provenance(bar)) for bar in bars("cifar10_keras_cnn", None)}
    assert "host CPU" in told["Colab TPU"][sentence("provenance.doubtful")]
    assert sentence("provenance.doubtful") not in told["GTX 1060"]


def test_provenance_names_the_source_of_every_published_bar() -> None:
    for bar in bars("cifar10_keras_cnn", None):
        told = dict(provenance(bar))
        assert bar.row is not None
        assert told[sentence("heading.source")].startswith(bar.row.source)
        assert told[sentence("heading.year")] == "2019"
        assert told[sentence("provenance.published")].endswith("s per epoch")
        assert ("37 GFLOP/s" in told.get(sentence("provenance.same_table"), "")) == (
            bar.row.hardware_kind == "cpu"
        )


def test_where_there_is_little_room_the_neighbours_remain_and_nothing_is_cut(
    qtbot: QtBot, application_theme: Theme
) -> None:
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


def test_remarks_take_as_many_lines_as_they_need(qtbot: QtBot, application_theme: Theme) -> None:
    widget = added(qtbot, BarList(application_theme, detailed=True))
    widget.resize(780, 480)
    widget.show()
    short = [Bar("A", "reference", 4.0, ("2019",)), Bar("B", "reference", 5.0, ("2019",))]
    widget.show_bars(short)
    low = widget.minimumSizeHint().height()
    said = ("batch 2048", "bfloat16 autocast", "compiled", "PyTorch 2.9.1", "2026", "some more", "and more")
    widget.show_bars([replace(bar, remarks=said) for bar in short])
    high = widget.minimumSizeHint().height()
    assert high > low + 20
    widget.resize(1_800, 480)
    assert widget.minimumSizeHint().height() < high


@pytest.mark.parametrize(
    ("value", "text"), [(0.002, "0.002"), (100.0, "100"), (1e5, "100,000"), (2.5e6, "2,500,000")]
)
def test_axes_group_thousands(value: float, text: str) -> None:
    assert ValueAxis("left").tickStrings([value], 1.0, min(value, 1.0)) == [text]


def test_an_axis_is_as_wide_as_its_labels(qtbot: QtBot, application_theme: Theme) -> None:
    plot = added(qtbot, Plot(application_theme))
    plot.set_range("y", 0.0, 20.0)
    narrow = plot.getAxis("left").minimumWidth()
    plot.set_range("y", 1_331_000.0, 1_339_000.0)
    wide = plot.getAxis("left").minimumWidth()
    text = QFontMetricsF(tabular_font(LABEL_PX)).horizontalAdvance("1,339,000")
    assert narrow < text < wide


def reached(widget: BarList) -> list[Bar]:
    pointed: list[Bar | None] = []
    widget.setFocus()
    QApplication.sendEvent(widget, QEvent(QEvent.Type.Leave))
    widget.pointed.connect(pointed.append)
    for _ in widget.bars:
        QTest.keyClick(widget, Qt.Key.Key_Down)
    widget.pointed.disconnect(pointed.append)
    return [bar for bar in pointed if bar is not None]


def test_a_name_cannot_turn_texts_around(
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


def test_bars_keep_their_length_beside_a_long_baseline(qtbot: QtBot, application_theme: Theme) -> None:
    widget = added(qtbot, BarList(application_theme, detailed=True))
    widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    widget.resize(560, 900)
    all_bars = with_you(bars("mnist_mlp", None), 1.0)
    widget.show_bars(all_bars, find_baseline(all_bars, None, "mnist_mlp"))
    widget.show()
    own = pixels(widget.grab().toImage()) == number(application_theme.tokens.accent)
    assert own.any(axis=0).sum() > 100


@pytest.mark.parametrize(
    ("of_whole", "text"),
    [(1.01, "caution · synthetic data · running"), (0.95, "caution · synthetic data"), (0.35, "caution")],
)
def test_remarks_after_a_bar_are_left_out_whole(application_theme: Theme, of_whole: float, text: str) -> None:
    metrics, remarks = QFontMetricsF(tabular_font(LABEL_PX)), ("caution", "synthetic data", "running")
    room_px = of_whole * metrics.horizontalAdvance(" · ".join(remarks))
    assert fitting_remarks(remarks, metrics, room_px) == text


def test_a_remark_that_is_too_long_ends_after_a_word(application_theme: Theme) -> None:
    metrics, remarks = QFontMetricsF(tabular_font(LABEL_PX)), ("an anomaly, see notes", "2019")
    room_px = metrics.horizontalAdvance("an anomaly, see n")
    assert fitting_remarks(remarks, metrics, room_px) == "an anomaly …"


def test_without_remarks_nothing_is_written(application_theme: Theme) -> None:
    assert fitting_remarks((), QFontMetricsF(tabular_font(LABEL_PX)), 100.0) == ""
