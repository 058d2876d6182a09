"""Another theme: at once and everywhere, in what is open, in what is opened later and in dialogs."""

from collections import Counter
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QFont, QImage
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.gui.shell.pages import PAGES
from app.gui.style.theme import Choice
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.gui.driving import Driver
from tests.gui.pixels import number, pixels

pytestmark = pytest.mark.slow

# Grounds and frames, which have no shades in between as letters do.
MANY = 60
GROUNDS = ("window", "surface", "raised", "border", "selected", "grid")
THEMES: tuple[tuple[Choice, Tokens, Tokens], ...] = (("dark", DARK, LIGHT), ("light", LIGHT, DARK))


def colours(picture: QImage) -> set[int]:
    """Return the colours of a picture without those of few pixels, as letters have them at their edges."""
    counts = Counter(pixels(picture)[::2, ::2].ravel().tolist())
    return {colour for colour, count in counts.items() if count > MANY}


def stale(widget: QWidget, now: Tokens, before: Tokens) -> list[str]:
    """Return which colours a widget still has of the theme before."""
    shown = colours(widget.grab().toImage())
    names = {name: number(getattr(before, name)) for name in GROUNDS}
    own = {number(getattr(now, name)) for name in GROUNDS}
    assert shown & own
    return [name for name, colour in names.items() if colour in shown - own]


@pytest.fixture
def opened(driver: Driver) -> Iterator[Driver]:
    for page in PAGES:
        driver.window.show_page(page.code)
        QApplication.processEvents()
    yield driver
    driver.services.theme.choose("light")


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


def test_only_the_window_is_styled(driver: Driver, qapp: QApplication) -> None:
    """A sheet of the application would also be applied to hundreds of hidden widgets of the charts."""
    assert qapp.styleSheet() == ""
    assert driver.window.styleSheet()
    button = driver.window.findChild(QPushButton)
    assert button is not None
    assert button.sizeHint().height() >= 34


def test_text_is_as_wide_on_every_system(opened: Driver) -> None:
    """Hinting, usual on Windows, makes it wider: what fits here was cut there."""
    hinted = {
        type(widget).__name__
        for widget in opened.window.findChildren(QWidget)
        if widget.font().hintingPreference() != QFont.HintingPreference.PreferNoHinting
    }
    assert hinted == set()
