"""Engines as sides of an A/B: those that are installed, with the devices that each can use."""

from dataclasses import replace

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from app.core.paths import Paths
from app.gui.pages.ab.setup import SideForm
from app.gui.widgets.editors import set_edited
from tests.conftest import pretend_installed
from tests.gui.driving import Driver
from tests.gui.pages.ab.test_page import begin, ended, open_page, stored
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu


def test_each_side_offers_the_devices_of_its_engine(driver: Driver, paths: Paths) -> None:
    finder = driver.services.finder
    assert finder.machine is not None
    finder.machine = replace(finder.machine, gpus=(Gpu("A GPU", "nvidia"),), os_name="Linux")
    install(driver, paths, "torch")
    driver.window.show_page("ab")
    a, b = driver.window.ab.setup.sides
    set_edited(b.editors["device"], "GPU 0")
    b.engine.take("torch")
    assert [devices_of(side) for side in (a, b)] == [["Automatic", "CPU", "GPU 0"], ["Automatic", "CPU"]]
    assert b.values()["device"] == "auto"
    b.engine.take("tensorflow")
    assert b.values()["device"] == "gpu:0"


def devices_of(side: SideForm) -> list[str]:
    box = side.editors["device"]
    assert isinstance(box, QComboBox)
    return [box.itemText(number) for number in range(box.count())]


def install(driver: Driver, paths: Paths, *engines: str) -> None:
    """Pretend that engines are installed, with builds for the processor."""
    for engine in engines:
        pretend_installed(engine, paths)
    driver.services.engines.look()
    driver.until(lambda: set(driver.services.engines.installed) == {"tensorflow", *engines})


def is_enabled(side: SideForm, engine: str) -> bool:
    flags = side.engine.model().index(side.engine.findData(engine), 0).flags()
    return bool(flags & Qt.ItemFlag.ItemIsEnabled)


def test_an_engine_is_a_side_if_it_is_installed_and_able(
    driver: Driver, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CATALOGUE["imdb_bidirectional_lstm"], "engines", ("tensorflow",))
    driver.window.show_page("ab")
    setup = driver.window.ab.setup
    a, b = setup.sides
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, False, False]
    assert "PyTorch isn" in b.engine.itemData(1, Qt.ItemDataRole.ToolTipRole)
    install(driver, paths, "torch")
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, True, False]
    b.engine.take("torch")
    assert [side.name.placeholderText() for side in (a, b)] == ["TensorFlow", "PyTorch"]
    plan = setup.plan()
    assert [spec.engine for spec in plan.specs] == ["tensorflow", "torch"]
    assert (plan.label_a, plan.label_b) == ("TensorFlow", "PyTorch")
    assert setup.run_button.isEnabled()
    setup.workload.setCurrentIndex(setup.workload.findData("imdb_bidirectional_lstm"))
    assert b.values()["engine"] == "tensorflow"
    assert "run this workload" in b.engine.itemData(1, Qt.ItemDataRole.ToolTipRole)


def test_a_side_that_always_compiles_says_so(driver: Driver, paths: Paths) -> None:
    driver.window.show_page("ab")
    setup = driver.window.ab.setup
    install(driver, paths, "jax")
    b = setup.sides[1]
    b.engine.take("jax")
    assert [spec.jit for spec in setup.plan().specs] == [False, True]
    assert (b.compiled.isEnabled(), said("setup.always_compiled", engine="JAX").is_in(b.compiled.toolTip())) == (
        False,
        True,
    )
    assert setup.run_button.isEnabled()
    b.engine.take("tensorflow")
    assert (b.compiled.isEnabled(), b.values()["jit"]) == (True, False)


@pytest.mark.slow
@pytest.mark.engine
def test_two_engines_are_compared(driver: Driver, installed_engines: Paths) -> None:
    page = open_page(driver, pairs=1)
    page.setup.workload.setCurrentIndex(page.setup.workload.findData("mnist_mlp"))
    driver.services.engines.look()
    driver.until(lambda: "torch" in driver.services.engines.installed)
    page.setup.sides[1].engine.take("torch")
    plan = page.setup.plan()
    short = tuple(msgspec.structs.replace(spec, epochs=1, steps=3) for spec in plan.specs)
    begin(driver, page, replace(plan, specs=short))
    driver.until(ended(driver, page))
    (group,) = stored(driver)
    assert [run.engine for run in group.runs] == ["tensorflow", "torch"]
    assert [run.status for run in group.runs] == ["completed"] * 2
    assert (group.plan.label_a, group.plan.label_b) == ("TensorFlow", "PyTorch")
