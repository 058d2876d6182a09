"""Every text of labels and buttons can be read: on each page, in each theme, size and zoom, with any name."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.core.messages import sentence
from app.core.storage.database import Database
from app.gui.pages.benchmark.device_row import DeviceRow
from app.gui.pages.settings.engine_line import EngineLine
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.preflight import PreflightLine
from app.gui.run.view import RunView
from app.gui.style.theme import Choice
from app.gui.widgets.basics import ElidedLabel
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.device_list import DeviceList
from tests.gui.clipped import clipped, steering
from tests.gui.driving import Driver, replay
from tests.recording import as_preset, recorded_events, store_recording, until_epoch
from tests.tools.screenshots import DISTURBED
from workloads.protocol import events
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import Telemetry

SIZES = ((800, 480), (1024, 600), (3840, 2160))
SETTLING = 8  # a label that becomes higher makes another layout necessary, and so on upwards
UNSETTLED_S = 2.0
THEMES: tuple[Choice, ...] = ("dark", "light")
PLANS = ("lab", "suite")
LISTS = ("label.workload", "compare_page.baseline", *(f"{plan}_page.earlier" for plan in PLANS))
LONG = "NVIDIA GeForce RTX 5090 Founders Edition " * 8
NAMES = {
    "long": LONG[:300],
    "without spaces": "W" * 300,
    "right to left": "מעבד גרפי של המחשב הזה، بطاقة الرسومات",
    "zero width": "RTX\u200b 40\u200d90\ufeff",
    "turns the line around": "RTX \u202e4090",
    "empty": "\u200b",
}


def may_elide(driver: Driver) -> list[QWidget]:
    window = driver.window
    return [
        window.benchmark.setup.machine_line,  # the names of its parts: firmware may say anything
        # The device's name, of any length; they give way to what was measured, and *Why?* has them all.
        *(line.text for line in window.findChildren(PreflightLine) if line.details_button.isVisible()),
        *(view.headline.facts for view in window.findChildren(RunView)),
        *(line.note for line in window.findChildren(EngineLine)),  # says which devices an engine would use
        *(label for label in window.findChildren(ElidedLabel) if Path(label.whole_text).is_absolute()),
        *window.findChildren(DeviceList),  # a card's name
        *(each.help_text for each in window.findChildren(DeviceRow)),  # a card's name
        *(box for box in window.findChildren(ChoiceBox) if box.accessibleName() in map(sentence, LISTS)),
    ]


def faults(
    driver: Driver, state: str, themes: Sequence[Choice] = THEMES, sizes: Sequence[tuple[int, int]] = SIZES
) -> list[str]:
    """Return what can't be read in the window as it is, in every theme and size."""
    window, result = driver.window, []
    # Its line is higher than its figures, for which test_headline.py looks.
    numbers = [headline.value for headline in window.findChildren(HeadlineRow)]
    for theme in themes:
        driver.services.theme.choose(theme)
        for width, height in sizes:
            window.resize(width, height)
            window.setUpdatesEnabled(False)  # laid out, not painted, which takes most of the time
            for _ in range(SETTLING):
                QApplication.processEvents()
            window.setUpdatesEnabled(True)
            assert (window.width(), window.height()) == (width, height), state
            seen = [*clipped(window, may_elide(driver), numbers), *steering(window)]
            end_s = time.monotonic() + UNSETTLED_S
            while seen and time.monotonic() < end_s:  # what other threads find out may still change the layout
                QApplication.processEvents()
                seen = [*clipped(window, may_elide(driver), numbers), *steering(window)]
            result += [f"{state}, {theme}, {width}: {fault}" for fault in seen]
    return result


def show_setup(driver: Driver) -> None:
    driver.window.show_page("benchmark")
    driver.page.choose()
    driver.page.setup.preflight.show_telemetry((Telemetry(other_cpu_pct=1.0),) * 2)


def show_result(driver: Driver, run_id: int) -> None:
    driver.page.show_result(run_id)
    driver.wait_for_result()


@pytest.mark.slow
def test_every_text_can_be_read_before_and_during_a_run(driver: Driver) -> None:
    recorded, seen = recorded_events(), list[str]()
    show_setup(driver)
    seen += faults(driver, "setup")
    driver.open_settings()
    seen += faults(driver, "more settings")
    driver.page.setup.preflight.show_telemetry((Telemetry(on_battery=True, other_cpu_pct=34.0),) * 2)
    seen += faults(driver, "cautions", ("light",))
    later = until_epoch(recorded, 5, more_steps=214)
    for name, events_so_far in (
        ("begun", recorded[:3]),
        ("running", later),
        ("running with a caution", [*later, DISTURBED]),
        ("running Quick", as_preset(until_epoch(recorded, 0, more_steps=200), "quick")),
    ):
        replay(driver.window, driver.services, events_so_far)
        seen += faults(driver, name)
    assert seen == []


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_device_leaves_the_other_texts_whole(driver: Driver, name: str) -> None:
    named, seen = NAMES[name], list[str]()
    gpu = Gpu(named, "nvidia", memory_bytes=12_282 * 2**20)
    driver.become(os_name="Windows 11", cpu_name=named, gpus=(gpu, gpu))
    show_setup(driver)
    seen += faults(driver, "setup", ("light",))
    recorded = [_renamed(event, named) for event in recorded_events()]
    with Database(driver.services.paths.database) as database:
        run_id = store_recording(database, recorded)
    show_result(driver, run_id)
    seen += faults(driver, "result", ("light",))
    driver.open_run(run_id)
    seen += faults(driver, "opened run", ("light",))
    for code in ("compare", "lab", "suite", "hardware", "settings"):
        driver.window.show_page(code)
        seen += faults(driver, code, ("light",))
    assert seen == []


def test_what_helps_an_idle_card_on_windows_can_be_read(driver: Driver) -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4090 Laptop GPU", "nvidia", memory_bytes=16 * 2**30)
    driver.become(os_name="Windows 11 24H2", gpus=(gpu,))
    show_setup(driver)
    assert faults(driver, "setup", ("light",)) == []
    (row,) = driver.window.findChildren(DeviceRow)
    for width, height in SIZES:
        driver.window.resize(width, height)
        QApplication.processEvents()
        assert row.help_text.isVisible()
        assert row.help_text.text() == row.help_text.whole_text


def _renamed(event: events.AnyEvent, name: str) -> events.AnyEvent:
    if isinstance(event, events.Run):
        return msgspec.structs.replace(event, machine=replace(event.machine, cpu_name=name))
    if isinstance(event, events.Environment):
        return msgspec.structs.replace(event, device_name=name)
    return event
