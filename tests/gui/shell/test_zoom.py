"""Zoom: stored by the menu's keys, within what the screen has room for, and seen after a restart."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt

from app.core.paths import Paths
from app.core.settings import ZOOM_STEPS_PCT, Settings, load_settings, save_settings
from app.gui.services.bundle import Services
from app.gui.shell.zoom import VARIABLE, Zoom, zoomed
from tests.child import python
from tests.gui.conftest import Told
from tests.gui.driving import Driver
from tests.saying import said

SMALLEST, HUGE = QSize(800, 480), QSize(8000, 5000)
# Zooms out and restarts as a user would; after that, only says its zoom.
RESTART = """
from PySide6.QtWidgets import QApplication

def use(application):
    window = next(each for each in application.topLevelWidgets() if hasattr(each, "banner"))
    print("ratio", window.devicePixelRatio(), flush=True)
    if window.devicePixelRatio() == 1:
        window._actions["menu.zoom_out"].trigger()
        window.banner.button.click()
        assert not window.isVisible()
    return 0

QApplication.exec = use
from app.gui.shell.application import run_window
run_window()
"""


def press(driver: Driver, key: Qt.Key) -> int:
    driver.qtbot.keyClick(driver.window, key, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    return driver.services.preferences.settings.zoom_pct


def test_the_keys_store_a_zoom_and_say_when_it_is_seen(driver: Driver) -> None:
    assert press(driver, Qt.Key.Key_Minus) == 90
    assert said("zoom.next_start", zoom_pct="90").is_all_of(driver.message)
    assert load_settings(driver.services.paths.settings).zoom_pct == 90
    assert press(driver, Qt.Key.Key_Plus) == 100
    assert said("zoom.stays", zoom_pct="100").is_all_of(driver.message)
    press(driver, Qt.Key.Key_Minus)
    assert press(driver, Qt.Key.Key_0) == 100


def test_the_window_never_becomes_larger_than_the_screen(services: Services, told: Told) -> None:
    zoom = Zoom(services, SMALLEST, lambda: None)
    for _ in ZOOM_STEPS_PCT:
        zoom.larger(QSize(1100, 660))
    assert services.preferences.settings.zoom_pct == 125
    assert said("zoom.limit", zoom_pct="125").is_all_of(told.messages[-1][0])
    zoomed_since = Zoom(services, SMALLEST, lambda: None)  # as after a restart: screens seem smaller by as much
    zoomed_since.larger(QSize(1100 * 100 // 125, 660 * 100 // 125))
    assert services.preferences.settings.zoom_pct == 125
    zoomed_since.larger(QSize(1920 * 100 // 125, 1080 * 100 // 125))
    assert services.preferences.settings.zoom_pct == 150
    for _ in ZOOM_STEPS_PCT:
        zoom.larger(HUGE)
    assert services.preferences.settings.zoom_pct == 200
    for _ in ZOOM_STEPS_PCT:
        zoom.smaller()
    assert services.preferences.settings.zoom_pct == 80


@pytest.mark.parametrize(("own", "inside"), [(None, "1.5"), ("2", "3.0"), ("large", "large")])
def test_only_we_are_zoomed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, inside: str) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if own is not None:
        monkeypatch.setenv(VARIABLE, own)
    file = tmp_path / "settings.json"
    save_settings(file, Settings(zoom_pct=150))
    with zoomed(file):
        assert os.environ[VARIABLE] == inside
    assert os.environ.get(VARIABLE) == own


def test_settings_that_cannot_be_read_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    file = tmp_path / "settings.json"
    for content in ("", "{", "[]", '{"zoom_pct": 1000}', '{"zoom_pct": "much"}', '{"zoom_pct": null}'):
        file.write_text(content)
        with zoomed(file):
            assert VARIABLE not in os.environ
        assert file.read_text() == content


@pytest.mark.slow
def test_one_click_restarts_with_the_zoom(paths: Paths) -> None:
    environment = {**os.environ, "EPOCHMARK_HOME": str(paths.data.parent), "QT_QPA_PLATFORM": "offscreen"}
    environment.pop(VARIABLE, None)
    done = python("-c", RESTART, env=environment)
    assert done.stdout.splitlines() == ["ratio 1.0", "ratio 0.9"], done.stderr
