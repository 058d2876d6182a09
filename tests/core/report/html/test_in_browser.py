"""The report in a real browser: accessible in both themes, nothing loaded, drawn."""

from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from app.core.report.export import FORMATS
from app.core.storage.database import Database
from tests import browser
from tests.recording import as_preset, recorded_events, store_recording

pytestmark = pytest.mark.long


@pytest.fixture
def page(database: Database, tmp_path: Path) -> Path:
    ids = [store_recording(database, recorded_events())]
    ids.append(store_recording(database, as_preset(recorded_events(), "quick")))
    path = tmp_path / "report.html"
    path.write_text("".join(FORMATS["html"].lines(database, ids)), "utf-8")
    return path


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_inaccessible(page: Path, dark: bool) -> None:
    assert browser.violations(page, dark=dark) == []


def test_axe_would_find_a_fault(page: Path) -> None:
    page.write_text(
        page.read_text("utf-8").replace('lang="en"', "").replace("--muted: #545D6B", "--muted: #DDDDDD"), "utf-8"
    )
    assert {mark["id"] for mark in browser.violations(page)} >= {"html-has-lang", "color-contrast"}


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_drawn_within_its_width(page: Path, tmp_path: Path, dark: bool) -> None:
    picture = tmp_path / "page.png"
    browser.run(page, f"--screenshot={picture}", "--window-size=500,1600", "--hide-scrollbars", dark=dark)
    image = QImage(str(picture))
    assert image.width() == 500
    corner = image.pixelColor(2, 2).lightness()
    assert corner < 60 if dark else corner > 200
    colours = {image.pixelColor(x, y).name() for x in range(0, 500, 3) for y in range(0, 1600, 3)}
    assert ("#4c8dff" if dark else "#1f6feb") in colours  # the own bar
    # Nothing sticks out at the right: the last columns are the page's own colour.
    assert {image.pixelColor(497, y).name() for y in range(0, 1600, 5)} == {image.pixelColor(2, 2).name()}
