"""The pictures of a result and of an A/B: sizes, colours, bars as long as their values, and nothing overflows."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter

from app.core.analysis.bars import Bar, bars
from app.core.analysis.published import reference_rows
from app.core.errors import AppError, UsageError
from app.core.report.card import Bars, Figure, Series, ShareCard, Side, Sides, Spot
from app.core.report.formats.result_document import PICTURE_LIMIT_BYTES
from app.core.report.share import share_card
from app.core.result_file.short_form import LETTERS_LIMIT
from app.core.verdict.judged_run import JudgedRun
from app.gui.run import picture_charts, picture_frame, share_picture
from app.gui.run.picture_frame import SMALLEST_PX
from app.gui.run.share_picture import paint_share_picture, save_share_picture
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.child import python
from tests.gui.pixels import names, number, pixels
from tests.recording import recorded_run
from tests.saying import said
from tests.tools.golden_pictures import FOLDER, RUNS, painted_run, painted_studies
from workloads import CATALOGUE

LONG = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition (東京 £ 🙂) with a name as long as this" * 3


def example(seconds_s: float = 66.3) -> ShareCard:
    mine = Bar("This computer", "you", seconds_s)
    chart = sorted([*bars("cifar10_keras_cnn", None), mine], key=lambda bar: bar.value)
    return ShareCard(
        title="CIFAR-10 CNN, training",
        headline=f"{seconds_s}",
        unit="seconds per epoch",
        place="#6 of 8: 4.8× the i5-8250U (2019)",
        notes=("± 0.7 %",),
        machine="AMD Ryzen 7 7800X3D",
        details=("8 cores · 32 GB · Windows 11", "TensorFlow 2.21.0"),
        badge=("Valid",),
        level="valid",
        chart=Bars(tuple(chart), None),
        footer="2026-11-21",
    )


NAMES: dict[str, Any] = {"title": LONG, "machine": LONG, "details": (LONG, f"{LONG} · {LONG}", LONG)}


def hostile() -> ShareCard:
    many = [Bar(LONG, "reference", 10.0 ** (number - 4)) for number in range(9)]
    chart = Bars((*many, Bar(f"You · {LONG}", "you", 10.0**6)), None)
    more: dict[str, Any] = {"unit": LONG, "place": LONG, "notes": (LONG,), "badge": (LONG, LONG), "footer": LONG}
    return replace(example(), headline="123456.7", level="caution", chart=chart, **NAMES, **more)


def colours(picture: QImage, columns: tuple[int, int], rows: tuple[int, int]) -> set[str]:
    return names(pixels(picture)[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1])


def accent_columns(picture: QImage, tokens: Tokens) -> list[int]:
    own = pixels(picture)[118:512, 524:1143] == number(tokens.accent)
    return [524 + x for x in own.any(axis=0).nonzero()[0].tolist()]


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_the_picture_has_its_size_and_the_colours_of_its_theme(application_theme: Theme, tokens: Tokens) -> None:
    picture = paint_share_picture(example(), tokens)
    assert (picture.width(), picture.height(), picture.devicePixelRatio()) == (1200, 630, 1.0)
    assert colours(picture, (0, 1199), (0, 40)) == {tokens.window}
    assert tokens.text in colours(picture, (56, 460), (120, 212))
    badge = (56, 460), (440, 490)
    assert tokens.valid in colours(picture, *badge)
    assert tokens.caution not in colours(picture, *badge)
    assert tokens.neutral_bar in colours(picture, (700, 1100), (130, 440))
    assert accent_columns(picture, tokens)
    cautious = paint_share_picture(replace(example(), level="caution"), tokens)
    assert tokens.caution in colours(cautious, *badge)
    invalid = paint_share_picture(replace(example(), level="invalid", badge=()), tokens)
    assert tokens.invalid in colours(invalid, *badge)


def test_the_own_bar_is_the_shortest_or_the_longest_where_it_should_be(application_theme: Theme) -> None:
    shortest, middle, longest = (
        accent_columns(paint_share_picture(example(seconds_s), DARK), DARK) for seconds_s in (9_000.0, 66.3, 0.5)
    )
    assert shortest[0] == middle[0] == longest[0]
    assert len(shortest) < len(middle) < len(longest)


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
    save_share_picture(example(), DARK, again, b"x" * (PICTURE_LIMIT_BYTES + 1))
    assert here.read_bytes() == again.read_bytes(), "without a result file that is too large"
    assert QImage(str(there)).size().toTuple() == (1200, 630)


def test_a_picture_that_cannot_be_written_leaves_what_was_there(application_theme: Theme, tmp_path: Path) -> None:
    for name in ("result.jpg", "result", "png"):
        with pytest.raises(UsageError, match=said("picture.not_png", name=name).pattern):
            save_share_picture(example(), DARK, tmp_path / name)
    in_its_place = tmp_path / "folder.png"
    in_its_place.mkdir()
    for path in (tmp_path / "missing" / "result.png", in_its_place):
        with pytest.raises(AppError, match=said("export.not_written").pattern):
            save_share_picture(example(), DARK, path)
    assert list(tmp_path.iterdir()) == [in_its_place]


def side(name: str, value: float, **changes: object) -> Side:
    usual = Side(name, "automatic threads", value, 0.97 * value, 1.02 * value, f"{value:.1f}", is_faster=False)
    return replace(usual, **changes)  # type: ignore[arg-type]


def ab_example() -> ShareCard:
    sides = side("A", 50.0), side("B · one thread", 100.0, is_faster=True)
    return replace(
        example(),
        title="A/B test · CIFAR-10 CNN · batch 100 · float32",
        headline="B is 100.0 % faster than A (± 1.2 %)",
        unit="",
        place="",
        notes=("95 % interval from 6 pairs",),
        chart=Sides(sides, "seconds per epoch, longer is faster"),
        badge=("Valid · all 12 runs", "Valid"),
    )


def ab_hostile() -> ShareCard:
    last = side(LONG, 123456.0, settings=LONG, text="123,456 · 123,456 to 123,456 (95 %)")
    chart = Sides((side(LONG, 1e-9, settings=LONG), last), LONG)
    more: dict[str, Any] = {"headline": LONG, "notes": (LONG, LONG), "badge": (LONG, "Caution")}
    return replace(ab_example(), level="caution", chart=chart, **NAMES, **more)


def study_example(name: str = "32", sentence: str = "Batch 256 is the fastest") -> ShareCard:
    spots = tuple(Spot(0, value, 0.9 * value, 1.1 * value, f"{value}") for value in (100.0, 250.0, 180.0))
    chart = Figure(name="Speed", kind="rows", value_title=name, rows=(name,) * 3, series=(Series(name, spots),))
    details = (f"8 cores · {name}",)
    return replace(ab_example(), headline=sentence, notes=(sentence,) * 3, chart=chart, details=details)


def length_of(picture: QImage, colour: str) -> int:
    rows = pixels(picture)[200:450, 80:1120] == number(colour)
    return int(max(rows.sum(axis=1)))


@pytest.mark.parametrize("tokens", [DARK, LIGHT])
def test_bars_of_sides_are_as_long_as_their_speeds(application_theme: Theme, tokens: Tokens) -> None:
    picture = paint_share_picture(ab_example(), tokens)
    slow, fast = length_of(picture, tokens.neutral_bar), length_of(picture, tokens.accent)
    assert slow / fast == pytest.approx(0.5, abs=0.02)
    assert tokens.valid in names(pixels(picture)[540:, 56:400])
    level = replace(ab_example(), chart=Sides((side("A", 100.0), side("B", 100.0)), ""))
    assert length_of(paint_share_picture(level, tokens), tokens.accent) == 0


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, QRectF, int]]:
    lines: list[tuple[str, QRectF, int]] = []
    write = picture_frame.write

    def record(painter: QPainter, place: QPointF, text: str, chosen: QFont, colour: str) -> None:
        box = QFontMetricsF(chosen).tightBoundingRect(text).translated(place)
        lines.append((text, box, chosen.pixelSize()))
        write(painter, place, text, chosen, colour)

    for module in (share_picture, picture_charts, picture_frame):
        monkeypatch.setattr(module, "write", record)
    return lines


Written = list[tuple[str, QRectF, int]]


def test_a_long_device_name_is_written_in_full(application_theme: Theme, written: Written) -> None:
    for name in (" ".join(["NVIDIA RTX PRO 6000 Blackwell"] * 10), "x" * 300):
        written.clear()
        paint_share_picture(replace(ab_example(), machine=f"This computer: {name}"), DARK)
        assert name.replace(" ", "") in "".join(text.replace(" ", "") for text, *_ in written)
        assert "TensorFlow 2.21.0" in "".join(text for text, *_ in written)
    paint_share_picture(ab_hostile(), DARK)
    assert min(size_px for *_, size_px in written) >= SMALLEST_PX


def test_the_line_below_the_bars_is_written_in_full(application_theme: Theme, written: Written) -> None:
    run, cut = recorded_run(), []
    for name in {row.workload for row in reference_rows()} & {*CATALOGUE}:
        changes: dict[str, Any] = {
            "metric": CATALOGUE[name].metric,
            "batch_size": CATALOGUE[name].batch_size,
            "variant": "",
        }
        judged = JudgedRun(replace(run, summary=replace(run.summary, workload=name, **changes)))
        card = share_card(judged)
        written.clear()
        paint_share_picture(card, DARK)
        cut += [(name, text) for text, *_ in written if "…" in text and text != name]
    assert not cut


@pytest.mark.parametrize("letters", [0, 115, LETTERS_LIMIT])
@pytest.mark.parametrize(
    "card",
    [hostile(), ab_example(), ab_hostile(), study_example(), study_example(LONG, LONG)],
    ids=["result", "A/B", "long A/B", "study", "long study"],
)
def test_nothing_overflows_or_overlaps(
    application_theme: Theme, written: Written, card: ShareCard, letters: int
) -> None:
    code = "X" * letters
    picture = paint_share_picture(replace(card, short_form=code), DARK)
    inside = QRectF(55, 30, 1091, 578)
    edge = picture_frame.code_edge_px(code)
    corner = QRectF(1144 - edge, 630 - picture_frame.code_below_px(code) - edge, edge, edge)
    boxes = [box for text, box, _ in written if text.strip()]
    assert boxes
    for at, box in enumerate(boxes):
        assert inside.contains(box), written[at][0]
        assert not box.intersects(corner)
        assert not any(box.intersects(other) for other in boxes[:at]), written[at][0]
    for columns in ((0, 54), (1146, 1199)):  # and nothing else is in the margins
        assert colours(picture, columns, (0, 629)) == {DARK.window}
    if edge:
        left, top = int(corner.left()), int(corner.top())
        assert colours(picture, (left, 1143), (top, int(corner.bottom()) - 1)) == {"#FFFFFF", "#000000"}
        assert colours(picture, (left, 1143), (top - 2, top - 1)) == {DARK.window}


# In blocks of 15 pixels, because systems smooth letters differently; rows of a multiple of 4 have no padding.
BLOCKS, LIMIT = QSize(80, 42), 12


def blocks(picture: QImage) -> bytes:
    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    reduced = grey.scaled(BLOCKS, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    return bytes(reduced.convertToFormat(QImage.Format.Format_Grayscale8).constBits())


def difference(picture: QImage, other: QImage) -> int:
    return max(abs(one - two) for one, two in zip(blocks(picture), blocks(other), strict=True))


def check(name: str, painted: QImage) -> None:
    stored = QImage(str(FOLDER / f"{name}.png"))
    assert not stored.isNull()
    assert difference(painted, stored) <= LIMIT, f"look at {name}, run `python -m tests.tools.golden_pictures`"


def test_pictures_look_as_they_did_when_somebody_last_looked_at_them(application_theme: Theme) -> None:
    for name in RUNS:
        check(name, painted_run(name))
    for name, painted in painted_studies():
        check(name, painted)
    stored = QImage(str(FOLDER / "gpu-at-230-w-dark.png"))
    assert difference(painted_run("gpu-dark"), stored) > 3 * LIMIT, "a power limit is seen"
