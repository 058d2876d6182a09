"""Everything can be seen: text, frames, lines and the focus by their contrast, lines with every kind of eyes."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from app.gui.shell.pages import PAGES
from app.gui.style.theme import Choice, Theme, style_sheet
from app.gui.style.tokens import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, SERIES, Tokens
from tests.gui.driving import Driver
from tests.gui.pixels import number, pixels

TEXT, LINE = 4.5, 3.0
GROUNDS = ("window", "surface", "raised")
CONTROLS = ("QLineEdit", "QPushButton", "QCheckBox::indicator", "QTableView:focus", "QScrollArea:focus")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# How eyes without one kind of cones see linear red, green and blue (Machado, Oliveira and Fernandes, 2009).
CONES = {
    "usual": "1 0 0 / 0 1 0 / 0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868 / 0.114503 0.786281 0.099216 / -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 / 0.280085 0.672501 0.047413 / -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 / -0.078411 0.930809 0.147602 / 0.004733 0.691367 0.303900",
}
EYES = {eyes: tuple(tuple(map(float, row.split())) for row in text.split("/")) for eyes, text in CONES.items()}
XYZ = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0178, 0.1095, 0.8727))  # by the white of sRGB
# Smallest difference (CIE 1976) of two lines, by any kind of eyes; Okabe and Ito's colours have 16.
DISTINCT = 14.0

HIGH = (DARK_CONTRAST, LIGHT_CONTRAST)
both = pytest.mark.parametrize(
    "tokens", [DARK, LIGHT, *HIGH], ids=["dark", "light", "dark contrast", "light contrast"]
)


def linear(colour: str) -> tuple[float, ...]:
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return tuple(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21."""
    low, high = sorted(
        sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))
        for colour in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, eyes: str) -> tuple[float, float, float]:
    rgb = [min(1.0, max(0.0, part)) for part in times(EYES[eyes], linear(colour))]
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in times(XYZ, rgb))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def times(matrix: tuple[tuple[float, ...], ...], vector: tuple[float, ...] | list[float]) -> list[float]:
    return [sum(weight * part for weight, part in zip(row, vector, strict=True)) for row in matrix]


@both
def test_text_can_be_read_wherever_it_stands(tokens: Tokens) -> None:
    for name in ("text", "muted", "accent", "valid", "caution", "invalid"):
        for ground in (*GROUNDS, "selected"):
            assert contrast(getattr(tokens, name), getattr(tokens, ground)) >= TEXT, (name, ground)
    assert contrast(tokens.on_accent, tokens.accent) >= TEXT


@both
def test_every_rule_of_the_style_sheet_has_contrast(tokens: Tokens) -> None:
    checked = 0
    for selector, body in RULE.findall(style_sheet(tokens, "folder")):
        rule = dict(re.findall(r"([a-z-]+):\s*([^;]+);", body))
        if ":disabled" in selector:
            continue  # which WCAG leaves out
        own = re.findall(r"#[0-9A-F]{6}", rule.get("background", ""))
        grounds = own or [getattr(tokens, ground) for ground in GROUNDS]
        for place, least in (("color", TEXT), ("placeholder-text-color", TEXT)):
            for ground in grounds if place in rule else ():
                checked += 1
                assert contrast(rule[place], ground) >= least, (selector, place, ground)
        is_control = any(selector.strip().startswith(each) or f", {each}" in selector for each in CONTROLS)
        frame = re.findall(r"#[0-9A-F]{6}", rule.get("border", "") + rule.get("border-color", ""))
        for colour, ground in itertools.product(frame if is_control else (), GROUNDS):
            checked += 1
            assert contrast(colour, getattr(tokens, ground)) >= LINE, (selector, colour, ground)
    assert checked > 80


@both
def test_lines_stand_out_and_differ_for_all_eyes(tokens: Tokens) -> None:
    for name in (*SERIES, "accent", "muted", "text", "valid", "caution"):
        assert contrast(getattr(tokens, name), tokens.surface) >= LINE, name
    for one, other in itertools.combinations(SERIES, 2):
        for eyes in EYES:
            first, second = (seen(getattr(tokens, name), eyes) for name in (one, other))
            assert math.dist(first, second) > DISTINCT, (one, other, eyes)


@pytest.mark.parametrize("tokens", HIGH, ids=["dark", "light"])
def test_high_contrast_is_higher(tokens: Tokens) -> None:
    for name in ("text", "muted", "accent", "valid", "caution", "invalid"):
        assert contrast(getattr(tokens, name), tokens.surface) >= 7, name
    for name in ("border", "control", "neutral_bar", *SERIES):
        assert contrast(getattr(tokens, name), tokens.surface) >= TEXT, name


def test_the_systems_high_contrast_is_followed_at_once(qapp: QApplication, application_theme: Theme) -> None:
    hints = qapp.styleHints().accessibility()
    hints.contrastPreferenceChanged.emit(Qt.ContrastPreference.HighContrast)
    assert application_theme.tokens == LIGHT_CONTRAST
    assert LIGHT_CONTRAST.control in application_theme.sheet
    application_theme.choose("dark")
    assert application_theme.tokens == DARK_CONTRAST
    hints.contrastPreferenceChanged.emit(Qt.ContrastPreference.NoPreference)
    assert application_theme.tokens == DARK
    assert DARK_CONTRAST.control not in application_theme.sheet


# Grounds and frames, which have no shades in between as letters do.
MANY = 60
FLAT = ("window", "surface", "raised", "border", "selected", "grid")
THEMES: tuple[tuple[Choice, Tokens, Tokens], ...] = (("dark", DARK, LIGHT), ("light", LIGHT, DARK))


def colours(picture: QImage) -> set[int]:
    """Return the colours of a picture without those of few pixels, as letters have them at their edges."""
    counts = Counter(pixels(picture)[::2, ::2].ravel().tolist())
    return {colour for colour, count in counts.items() if count > MANY}


def stale(widget: QWidget, now: Tokens, before: Tokens) -> list[str]:
    """Return which colours a widget still has of the theme before."""
    shown = colours(widget.grab().toImage())
    names = {name: number(getattr(before, name)) for name in FLAT}
    own = {number(getattr(now, name)) for name in FLAT}
    assert shown & own
    return [name for name, colour in names.items() if colour in shown - own]


@pytest.fixture
def opened(driver: Driver) -> Iterator[Driver]:
    for page in PAGES:
        driver.window.show_page(page.code)
        QApplication.processEvents()
    yield driver
    driver.services.theme.choose("light")


@pytest.mark.slow
def test_every_page_has_the_new_colours_whenever_it_is_opened(opened: Driver) -> None:
    window = opened.window
    window.show_page("benchmark")
    for choice, now, before in THEMES:
        opened.services.theme.choose(choice)
        for page in PAGES:
            window.show_page(page.code)
            QApplication.processEvents()
            assert stale(window.page, now, before) == [], page.code
        assert stale(window.side_bar.menu, now, before) == []
        window.show_page("benchmark")
        length = window.benchmark.setup.length
        length.showPopup()
        assert stale(length.view().window(), now, before) == []
        length.hidePopup()
