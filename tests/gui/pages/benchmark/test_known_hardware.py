"""This computer's own place among published results, before a run."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.core.storage.database import Database
from app.core.storage.queries import trash_runs
from app.gui.pages.benchmark.known_hardware import KnownHardware
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from workloads import STANDARD


def store_runs(driver: Driver, *durations_s: float, verdict: str = "valid") -> list[int]:
    machine = driver.machine
    columns = {"verdict": verdict, "device": "cpu"}
    with Database(driver.services.paths.database) as database:
        return [store(database, machine, each, each, each, columns=columns) for each in durations_s]


def own(known: KnownHardware) -> list[tuple[str, float]]:
    return [(bar.kind, bar.value) for bar in known.bars.bars if bar.run is not None]


def test_own_runs_take_the_slot_and_a_click_opens_them(driver: Driver) -> None:
    known, setup = driver.page.setup.known, driver.page.setup
    assert known.bars.slot is not None
    best, _ = store_runs(driver, 1.5, 50.0)
    setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    assert own(known) == [("you", 1.5), ("own", 50.0)]
    assert any(bar.kind == "reference" for bar in known.bars.bars)
    place = [bar.kind for bar in known.bars.bars].index("you")
    row_px = (known.bars.height() - 20) / len(known.bars.bars)
    at = QPoint(90, round((place + 0.5) * min(64.0, row_px)))
    QTest.mouseClick(known.bars, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    results = driver.window.results
    driver.until(lambda: results.run is not None)
    assert results.run is not None
    assert results.run.summary.id == best


def test_other_settings_and_other_workloads_have_the_empty_slot(driver: Driver) -> None:
    setup, known = driver.page.setup, driver.page.setup.known
    store_runs(driver, 50.0)
    setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    setup.form.set_value("batch_size", 64)
    assert known.bars.slot is not None
    setup.form.set_value("batch_size", 100)
    assert own(known) == [("you", 50.0)]
    setup.workload.choose("mnist_mlp")
    assert known.bars.slot is not None
    setup.workload.choose(STANDARD)
    driver.until(lambda: known.bars.slot is None)


def test_a_run_that_was_deleted_elsewhere_leaves_its_place(driver: Driver) -> None:
    known = driver.page.setup.known
    ids = store_runs(driver, 50.0, verdict="caution")
    driver.page.setup.refresh()
    driver.until(lambda: known.bars.slot is None)
    with Database(driver.services.paths.database) as database:
        trash_runs(database, ids)
    driver.window.show_page("results")
    driver.window.show_page("benchmark")
    driver.until(lambda: known.bars.slot is not None)
