"""The pictures of a result and of an A/B: sizes, colours, bars as long as their values, and nothing overflows."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QImage, QPainter

from app.core.analysis.compare import Bar, bars, shortlist
from app.core.errors import AppError, UsageError
from app.core.plans.ab_card import AbCard, Side
from app.core.plans.kind import Card
from app.core.report.formats.result_document import PICTURE_LIMIT_BYTES
from app.core.report.share import ShareCard
from app.core.result_file.short_form import LETTERS_LIMIT
from app.gui.run import ab_picture, picture_frame
from app.gui.run.picture_frame import SMALLEST_PX
from app.gui.run.share_picture import BARS_LIMIT, paint_share_picture, save_share_picture
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.child import python
from tests.gui.pixels import names, number, pixels
from tests.saying import said

LONG = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition (東京 £ 🙂) with a name as long as this" * 3


def example(seconds_s: float = 66.3) -> ShareCard:
    mine = Bar("This computer", "you", seconds_s)
    chart = sorted([*bars("cifar10_keras_cnn", None), mine], key=lambda bar: bar.value)
    return ShareCard(
        title="CIFAR-10 CNN · Keras · batch 100 · float32",
        value=f"{seconds_s}",
        unit="seconds per epoch",
        certainty="± 0.7 % (95 %)",
        machine="AMD Ryzen 7 7800X3D",
        details=("8 cores · 32 GB · Windows 11 · CPU run", "TensorFlow 2.21.0 · Keras 3.15.1"),
        badge=("Valid · 10 epochs", "Valid"),
        level="valid",
        bars=tuple(chart),
        axis="seconds per epoch, log scale · published results: 2019 software",
        footer="4.8× the i5-8250U on 2019 software, between MX150 and i5-8250U · 2026-11-21",
    )


def hostile() -> ShareCard:
    many = [Bar(LONG, "reference", 10.0 ** (number - 4)) for number in range(9)]
    return ShareCard(
        title=LONG,
        value="123456.7",
        unit=LONG,
        certainty=LONG,
        machine=LONG,
        details=(LONG, LONG, f"{LONG} · {LONG}"),
        badge=(LONG, f"{LONG}"),
        level="caution",
        bars=(*many, Bar(f"You · {LONG}", "you", 10.0**6)),
        axis=LONG,
        footer=LONG,
    )


def colours(picture: QImage, columns: tuple[int, int], rows: tuple[int, int]) -> set[str]:
    return names(pixels(picture)[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1])


def accent_columns(picture: QImage, tokens: Tokens) -> list[int]:
    """Return how far the user's own bar reaches."""
    own = pixels(picture)[121:500, 497:1143] == number(tokens.accent)
    return [497 + x for x in own.any(axis=0).nonzero()[0].tolist()]


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_the_picture_has_its_size_and_the_colours_of_its_theme(application_theme: Theme, tokens: Tokens) -> None:
    picture = paint_share_picture(example(), tokens)
    assert (picture.width(), picture.height(), picture.devicePixelRatio()) == (1200, 630, 1.0)
    assert colours(picture, (0, 1199), (0, 40)) == {tokens.window}
    assert colours(picture, (1100, 1120), (440, 450)) == {tokens.surface}
    assert tokens.text in colours(picture, (56, 460), (120, 212))
    assert tokens.valid in colours(picture, (56, 460), (464, 504))
    assert tokens.caution not in colours(picture, (56, 460), (464, 504))
    assert tokens.neutral_bar in colours(picture, (700, 1100), (130, 440))
    assert accent_columns(picture, tokens)
    cautious = paint_share_picture(replace(example(), level="caution"), tokens)
    assert tokens.caution in colours(cautious, (56, 460), (464, 504))
    invalid = paint_share_picture(replace(example(), level="invalid", badge=()), tokens)
    assert tokens.invalid in colours(invalid, (56, 460), (464, 504))


def test_the_own_bar_is_the_shortest_or_the_longest_where_it_should_be(application_theme: Theme) -> None:
    shortest, middle, longest = (
        accent_columns(paint_share_picture(example(seconds_s), DARK), DARK) for seconds_s in (0.5, 66.3, 9_000.0)
    )
    assert shortest[0] == middle[0] == longest[0]
    assert len(shortest) < len(middle) < len(longest)
    only = accent_columns(paint_share_picture(replace(example(), bars=(Bar("You", "you", 5.0),)), DARK), DARK)
    assert only


@pytest.mark.parametrize("count", [0, 1, 3, 12, 40])
def test_any_number_of_bars_fits(application_theme: Theme, count: int) -> None:
    chart = tuple(Bar(f"Machine {number}", "reference", 1.5**number) for number in range(count))
    picture = paint_share_picture(replace(example(), bars=chart), LIGHT)
    assert colours(picture, (512, 1128), (123, 134)) == {LIGHT.surface}
    assert colours(picture, (512, 1128), (466, 476)) == {LIGHT.surface}
    fewer = tuple(shortlist(chart, BARS_LIMIT))
    assert picture == paint_share_picture(replace(example(), bars=fewer), LIGHT)


def test_too_many_bars_leave_yours_its_neighbours_and_the_best_known() -> None:
    others = [Bar(f"Other {number}", "reference", 0.1 * 1.2**number) for number in range(40)]
    own = Bar("You", "you", 20.5)
    chart = sorted([*others, *bars("cifar10_keras_cnn", None), own], key=lambda bar: bar.value)
    kept = shortlist(chart, BARS_LIMIT)
    assert len(kept) == BARS_LIMIT
    at = chart.index(own)
    assert shortlist(chart, 3) == chart[at - 1 : at + 2]
    assert kept == sorted(kept, key=lambda bar: bar.value)
    assert {own, chart[at - 1], chart[at + 1]} <= set(kept)
    assert {bar.name for bar in bars("cifar10_keras_cnn", None)} <= {bar.name for bar in kept}


def test_a_picture_is_saved_without_a_result_file_that_is_too_large(
    application_theme: Theme, tmp_path: Path
) -> None:
    bare, loaded = tmp_path / "bare.png", tmp_path / "loaded.png"
    save_share_picture(example(), DARK, bare)
    save_share_picture(example(), DARK, loaded, b"x" * (PICTURE_LIMIT_BYTES + 1))
    assert loaded.read_bytes() == bare.read_bytes()


@pytest.mark.slow
def test_the_file_is_the_same_whatever_screen_style_and_scale(application_theme: Theme, tmp_path: Path) -> None:
    here, again, there = tmp_path / "here.png", tmp_path / "again.png", tmp_path / "there.PNG"
    save_share_picture(example(), DARK, here)
    application_theme.choose("dark")
    save_share_picture(example(), DARK, again)
    code = (
        "import sys; from pathlib import Path; from app.gui.run.share_picture import draw_headless;"
        "from tests.gui.run.test_share_picture import example; draw_headless(example(), Path(sys.argv[1]), True)"
    )
    changes = {"QT_FONT_DPI": "168", "QT_SCALE_FACTOR": "2", "QT_STYLE_OVERRIDE": "windows", "DISPLAY": ":nowhere"}
    surroundings = os.environ | changes | {"QT_QPA_PLATFORM": "xcb"}
    assert python("-c", code, str(there), env=surroundings).returncode == 0
    assert here.read_bytes() == again.read_bytes()
    assert here.read_bytes() == there.read_bytes()
    assert QImage(str(there)).size().toTuple() == (1200, 630)


def test_a_picture_is_a_png_and_says_so_in_its_name(application_theme: Theme, tmp_path: Path) -> None:
    for name in ("result.jpg", "result", "png"):
        with pytest.raises(UsageError, match=said("picture.not_png", name=name).pattern):
            save_share_picture(example(), DARK, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_leaves_what_was_there(application_theme: Theme, tmp_path: Path) -> None:
    with pytest.raises(AppError, match=said("picture.not_saved").pattern):
        save_share_picture(example(), DARK, tmp_path / "missing" / "result.png")
    in_its_place = tmp_path / "folder.png"
    in_its_place.mkdir()
    with pytest.raises(AppError, match=said("picture.not_saved").pattern):
        save_share_picture(example(), DARK, in_its_place)
    assert list(tmp_path.iterdir()) == [in_its_place]


INSIDE = (58, 1142)


def side(name: str, value: float, **changes: object) -> Side:
    usual = Side(name, "threads automatic", value, 0.97 * value, 1.02 * value, f"{value:.1f}", is_faster=False)
    return replace(usual, **changes)  # type: ignore[arg-type]


def ab_example() -> AbCard:
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


def ab_hostile() -> AbCard:
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
    picture = paint_share_picture(ab_example(), tokens)
    assert (picture.width(), picture.height()) == (1200, 630)
    slow, fast = length_of(picture, tokens.neutral_bar, (270, 305)), length_of(picture, tokens.accent, (340, 385))
    assert (fast - 80) / (slow - 80) == pytest.approx(0.5, abs=0.02)
    assert tokens.valid in colours(picture, (56, 400), (545, 590))
    level = replace(ab_example(), sides=(side("A", 100.0), side("B", 100.0)))
    assert tokens.accent not in colours(paint_share_picture(level, tokens), INSIDE, (226, 430))


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
        paint_share_picture(replace(ab_example(), machine=f"This computer: {name}"), DARK)
        assert name.replace(" ", "") in "".join(text.replace(" ", "") for text, _ in written)
        assert "TensorFlow 2.21.0" in "".join(text for text, _ in written)
    paint_share_picture(ab_hostile(), DARK)
    assert min(size_px for _, size_px in written) >= SMALLEST_PX


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
@pytest.mark.parametrize("letters", [115, 250, LETTERS_LIMIT])
def test_beside_a_code_nothing_overlaps(application_theme: Theme, tokens: Tokens, letters: int) -> None:
    code = "X" * letters
    picture = paint_share_picture(replace(ab_hostile(), short_form=code), tokens)
    edge = picture_frame.code_edge_px(code)
    left, top = 1144 - edge, 630 - picture_frame.CODE_BELOW_PX - edge
    assert colours(picture, (left, 1143), (top, 623)) == {"#FFFFFF", "#000000"}
    around = [((left - 20, left - 1), (440, 629)), ((left, 1199), (top - 2, top - 1)), ((1145, 1199), (0, 629))]
    for columns, rows in around:
        assert colours(picture, columns, rows) == {tokens.window}
    chart_end = min(430, top - picture_frame.CODE_ABOVE_PX)
    assert colours(picture, (600, 900), (chart_end - 8, chart_end - 3)) == {tokens.surface}
    few = paint_share_picture(replace(ab_example(), short_form=code), tokens)
    assert colours(few, (200, 240), (chart_end - 8, chart_end - 3)) == {tokens.surface}


# Where no text may ever stand, as columns and rows: margins, between the parts, and the chart's own margins.
Areas = tuple[tuple[tuple[int, int], tuple[int, int]], ...]
RESULT: Areas = (((0, 55), (0, 629)), ((460, 494), (100, 540)), ((1146, 1199), (0, 629)), ((56, 1140), (506, 530)))
AB: Areas = (((0, 54), (0, 629)), ((1146, 1199), (0, 629)), ((0, 1199), (595, 629)), ((56, 1143), (216, 225)))
AB_BELOW: Areas = (((56, 1143), (432, 444)), ((56, 1143), (540, 546)))


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
@pytest.mark.parametrize(
    ("card", "areas", "margins"),
    [
        (hostile(), RESULT, (((499, 517), (140, 456)), ((1122, 1141), (140, 456)))),
        (ab_hostile(), AB + AB_BELOW, (((60, 78), (240, 415)), ((1123, 1140), (240, 415)))),
    ],
    ids=["result", "A/B"],
)
def test_nothing_overflows_however_long_the_names_are(
    application_theme: Theme, tokens: Tokens, card: Card, areas: Areas, margins: Areas
) -> None:
    picture = paint_share_picture(card, tokens)
    for columns, rows in areas:
        assert colours(picture, columns, rows) == {tokens.window}
    for columns, rows in margins:
        assert colours(picture, columns, rows) == {tokens.surface}
