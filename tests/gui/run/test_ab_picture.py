"""The picture of an A/B: nothing overflows, bars have the lengths of their values, and no type is small."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QImage, QPainter

from app.core.report.ab_result import AbCard, Side
from app.core.result_file.short_form import LETTERS_LIMIT
from app.gui.run import ab_picture, picture_frame
from app.gui.run.picture_frame import SMALLEST_PX
from app.gui.run.share_picture import paint_share_picture
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.gui.pixels import number, pixels
from tests.gui.run.test_share_picture import LONG, colours

INSIDE = (58, 1142)


def side(name: str, value: float, **changes: object) -> Side:
    usual = Side(name, "threads automatic", value, 0.97 * value, 1.02 * value, f"{value:.1f}", is_faster=False)
    return replace(usual, **changes)  # type: ignore[arg-type]


def example() -> AbCard:
    return AbCard(
        title="A/B test · CIFAR-10 CNN · batch 100 · float32",
        headline="B is 100.0 % faster than A (± 1.2 %)",
        note="95 % interval of 6 pairs",
        sides=(side("A", 100.0), side("B · one thread", 50.0, is_faster=True)),
        axis="seconds per epoch (lower is better)",
        machine="This computer: AMD Ryzen 7 7800X3D",
        details=("8 cores · 32 GB · Windows 11 · CPU run", "TensorFlow 2.21.0 · real data"),
        badge=("Valid · all 12 runs", "Valid"),
        level="valid",
        footer="2026-11-21 · Epochmark 0.1.0",
    )


def hostile() -> AbCard:
    return AbCard(
        title=LONG,
        headline=LONG,
        note=LONG,
        sides=(
            side(LONG, 1e-9, settings=LONG),
            side(LONG, 123456.0, settings=LONG, text="123,456 · 123,456 to 123,456 (95 %)"),
        ),
        axis=LONG,
        machine=f"This computer: {LONG}",
        details=(LONG, f"{LONG} · {LONG}", LONG),
        badge=(LONG, "Caution"),
        level="caution",
        footer="2026-11-21 · Epochmark 0.1.0",
    )


def length_of(picture: QImage, colour: str, rows: tuple[int, int]) -> int:
    """Return how far the bar of a colour reaches."""
    bar = pixels(picture)[slice(*rows), 80:1120] == number(colour)
    return 80 + int(bar.any(axis=0).nonzero()[0].max())


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_the_faster_side_stands_out_and_bars_are_as_long_as_their_values(
    application_theme: Theme, tokens: Tokens
) -> None:
    picture = paint_share_picture(example(), tokens)
    assert (picture.width(), picture.height()) == (1200, 630)
    slow, fast = length_of(picture, tokens.neutral_bar, (270, 305)), length_of(picture, tokens.accent, (340, 385))
    assert (fast - 80) / (slow - 80) == pytest.approx(0.5, abs=0.02)
    assert tokens.valid in colours(picture, (56, 400), (545, 590))
    level = replace(example(), sides=(side("A", 100.0), side("B", 100.0)))
    assert tokens.accent not in colours(paint_share_picture(level, tokens), INSIDE, (226, 430))


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_nothing_overflows_however_long_the_names_are(application_theme: Theme, tokens: Tokens) -> None:
    picture = paint_share_picture(hostile(), tokens)
    for columns, rows in (((0, 54), (0, 629)), ((1146, 1199), (0, 629)), ((0, 1199), (595, 629))):
        assert colours(picture, columns, rows) == {tokens.window}
    for columns in ((60, 78), (1123, 1140)):
        assert colours(picture, columns, (240, 415)) == {tokens.surface}
    for rows in ((216, 225), (432, 444), (540, 546)):
        assert colours(picture, (56, 1143), rows) == {tokens.window}


def test_a_long_device_name_is_written_in_full_and_no_type_is_small(
    application_theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, int]] = []
    write = picture_frame.write

    def record(painter: QPainter, place: QPointF, text: str, chosen: QFont, colour: str) -> None:
        written.append((text, chosen.pixelSize()))
        write(painter, place, text, chosen, colour)

    for module in (ab_picture, picture_frame):
        monkeypatch.setattr(module, "write", record)
    for name in (" ".join(["NVIDIA RTX PRO 6000 Blackwell"] * 10), "x" * 300):
        written.clear()
        paint_share_picture(replace(example(), machine=f"This computer: {name}"), DARK)
        assert name.replace(" ", "") in "".join(text.replace(" ", "") for text, _ in written)
        assert "TensorFlow 2.21.0" in "".join(text for text, _ in written)
    paint_share_picture(hostile(), DARK)
    assert min(size_px for _, size_px in written) >= SMALLEST_PX


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
@pytest.mark.parametrize("letters", [115, 250, LETTERS_LIMIT])
def test_beside_a_code_nothing_overlaps(application_theme: Theme, tokens: Tokens, letters: int) -> None:
    code = "X" * letters
    picture = paint_share_picture(replace(hostile(), short_form=code), tokens)
    edge = picture_frame.code_edge_px(code)
    left, top = 1144 - edge, 630 - picture_frame.CODE_BELOW_PX - edge
    assert colours(picture, (left, 1143), (top, 623)) == {"#FFFFFF", "#000000"}
    around = [((left - 20, left - 1), (440, 629)), ((left, 1199), (top - 2, top - 1)), ((1145, 1199), (0, 629))]
    for columns, rows in around:
        assert colours(picture, columns, rows) == {tokens.window}
    chart_end = min(430, top - picture_frame.CODE_ABOVE_PX)
    assert colours(picture, (600, 900), (chart_end - 8, chart_end - 3)) == {tokens.surface}
    few = paint_share_picture(replace(example(), short_form=code), tokens)
    assert colours(few, (200, 240), (chart_end - 8, chart_end - 3)) == {tokens.surface}
