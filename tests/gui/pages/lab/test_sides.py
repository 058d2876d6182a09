"""The form of the sides of an A/B test, and the plan that it makes."""

from operator import attrgetter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QSpinBox

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.ab import ab_plan
from app.core.records import Plan
from app.core.titles import differing
from app.gui.pages.lab.setup import LabSetup
from app.gui.pages.lab.side_form import SideForm, side_settings
from app.gui.pages.lab.sides import BY_HAND, NOTHING, RARELY_ALONE, SEVERAL
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.editors import set_edited
from tests.conftest import pretend_installed
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu
from workloads.protocol.spec import ParameterValue


def open_form(driver: Driver, *engines: str) -> LabSetup:
    install(driver, *engines)
    driver.window.show_page("lab")
    return driver.window.lab.setup


def install(driver: Driver, *engines: str) -> None:
    for engine in engines:
        pretend_installed(engine, driver.services.paths)
    driver.services.engines.look()
    driver.until(lambda: set(driver.services.engines.installed) == {"tensorflow", *engines})


def let_differ(setup: LabSetup, what: str) -> None:
    setup.sides.what.setCurrentIndex(setup.sides.what.findData(what))


def planned(driver: Driver) -> Plan:
    """Wait until the form's choices are planned, which happens in the background."""
    setup = driver.window.lab.setup
    driver.until(lambda: setup.plan is not None)
    return sure(setup.plan)


def is_enabled(side: SideForm, engine: str) -> bool:
    flags = side.engine.model().index(side.engine.findData(engine), 0).flags()
    return bool(flags & Qt.ItemFlag.ItemIsEnabled)


def tip(side: SideForm, engine: str) -> str:
    return str(side.engine.itemData(side.engine.findData(engine), Qt.ItemDataRole.ToolTipRole))


def test_equal_sides_are_said_and_what_does_not_fit_is_a_problem(driver: Driver) -> None:
    setup = open_form(driver)
    sides = setup.sides
    assert not planned(driver).has_equal_sides
    let_differ(setup, NOTHING)
    assert planned(driver).has_equal_sides
    assert said("ab_setup.equal").is_in(setup.points.whole_text)
    assert not setup.problem.isVisible()
    assert setup.run_button.isEnabled()
    sides.by_hand.setChecked(True)
    assert not planned(driver).has_equal_sides
    sides.by_hand.setChecked(False)
    set_edited(sides.sides[1].editors["threads"], 1)
    assert not planned(driver).has_equal_sides
    assert not said("ab_setup.equal").is_in(setup.points.whole_text)
    assert [side.name.placeholderText() for side in sides.sides] == ["automatic threads", "1 thread"]
    driver.become(memory_bytes=8_000_000_000)
    batch = only(QSpinBox, sides.sides[1].editors["batch_size"])
    batch.setValue(batch.maximum())
    driver.until(setup.problem.isVisible)
    assert setup.problem.property("tone") == "invalid"
    assert said("memory.computer_too_small", there_bytes="7.5 GB").is_in(setup.problem.text())


def test_only_what_differs_is_shown_and_differs(driver: Driver) -> None:
    setup = open_form(driver)
    a, b = setup.sides.sides
    assert [name for name, editor in b.editors.items() if editor.isVisible()] == ["jit"]
    for setting in side_settings():
        if setting.name in RARELY_ALONE:
            continue
        let_differ(setup, setting.name)
        assert [name for name, editor in b.editors.items() if editor.isVisible()] == [setting.name]
        one, other = a.values(), b.values()
        apart = [name for name in one if one[name] != other[name]]
        assert apart == ([] if setting.name == "engine" else [setting.name]), "there is a single engine"
    assert not setup.sides.held.isVisible()
    let_differ(setup, SEVERAL)
    assert all(editor.isVisible() for side in setup.sides.sides for editor in side.widgets)
    for side in setup.sides.sides:
        set_edited(side.editors["threads"], 2)
    b.name.setText("mine")
    let_differ(setup, "batch_size")
    assert said("ab_setup.held", settings="2 threads").is_all_of(setup.sides.held.text())
    assert [spec.threads for spec in planned(driver).specs] == [2, 2]
    assert planned(driver).label_b == "batch 200"
    setup.workload.setCurrentIndex(setup.workload.findData("mnist_mlp"))
    assert [spec.batch_size for spec in planned(driver).specs] == [128, 256]
    let_differ(setup, BY_HAND)
    assert b.name.isVisible()
    assert planned(driver).by_hand
    assert planned(driver).specs[0] == planned(driver).specs[1]


REFILLED: list[tuple[dict[str, object], bool, str]] = [
    ({}, False, NOTHING),
    ({"batch_size": 64}, False, "batch_size"),
    ({"engine": "jax"}, False, "engine"),
    ({"batch_size": 64, "threads": 1}, False, SEVERAL),
    ({}, True, BY_HAND),
    ({"batch_size": 64}, True, SEVERAL),
]


def test_a_plan_is_shown_by_what_differs(driver: Driver) -> None:
    setup, spec = open_form(driver, "jax"), CATALOGUE["mnist_mlp"].default_spec
    chosen = attrgetter("batch_size", "engine", "threads")
    for changes, by_hand, what in REFILLED:
        plan = ab_plan((spec("quick"), spec("quick", **changes)), 3, ("A", "B"), by_hand=by_hand)
        setup.refill(plan)
        assert setup.sides.what.currentData() == what
        assert list(map(chosen, planned(driver).specs)) == list(map(chosen, plan.specs)), changes


def test_all_settings_reach_their_side(driver: Driver) -> None:
    setup = open_form(driver)
    setup.workload.setCurrentIndex(setup.workload.findData("demo"))
    setup.more.button.setChecked(True)
    driver.press(setup.preset.buttons["standard"])
    let_differ(setup, NOTHING)
    let_differ(setup, SEVERAL)
    setup.rounds.setValue(3)
    a, b = setup.sides.sides
    set_edited(a.editors["device"], "CPU")
    values: dict[str, ParameterValue] = {
        "batch_size": 200,
        "threads": 2,
        "precision": "mixed_bfloat16",
        "jit": True,
        "onednn": "off",
    }
    for name, value in values.items():
        set_edited(b.editors[name], value)
    a.name.setText("  plain   one ")
    plan = planned(driver)
    assert (plan.kind, plan.rounds, plan.by_hand, plan.label_a) == ("ab", 3, False, "plain one")
    assert plan.label_b == "batch 200, automatic device, mixed_bfloat16, compiled, without oneDNN, 2 threads"[:60]
    chosen = attrgetter("preset", "device", "threads", "precision", "jit", "onednn", "batch_size")
    assert list(map(chosen, plan.specs)) == [
        ("standard", "cpu", None, "float32", False, None, 100),
        ("standard", "auto", 2, "mixed_bfloat16", True, False, 200),
    ]
    driver.press(setup.preset.buttons["quick"])
    assert [spec.preset for spec in planned(driver).specs] == ["quick", "quick"]
    set_edited(b.editors["power_limit_w"], 45)
    assert planned(driver).specs[1].settings == {"power_limit_w": 45}
    assert said("run.no_power_limit").is_in(setup.problem.text())
    driver.become(cpu_power_limit_w=65.0)
    set_edited(b.editors["power_limit_w"], 44)
    driver.until(setup.run_button.isEnabled)
    set_edited(b.editors["power_limit_w"], 0)
    assert planned(driver).specs[1].settings == {}


def test_sides_are_named_by_what_differs() -> None:
    spec = CATALOGUE["demo"].default_spec
    assert differing(spec(), spec()) == ("A", "B")
    assert differing(spec(), spec(engine="jax")) == ("TensorFlow", "JAX")  # which has no other way than to compile
    assert differing(spec(), spec(engine="torch", jit=True)) == ("TensorFlow, not compiled", "PyTorch, compiled")
    assert differing(spec(jit=True), spec(threads=1)) == ("compiled, automatic threads", "not compiled, 1 thread")
    assert differing(spec(device="cpu"), spec(device="gpu:1")) == ("CPU", "GPU 1")
    assert differing(spec(onednn=True), spec()) == ("oneDNN", "automatic oneDNN")


def test_engines_that_can_be_a_side(driver: Driver, monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    monkeypatch.setattr(CATALOGUE["imdb_bidirectional_lstm"], "engines", ("tensorflow",))
    setup = open_form(driver)
    a, b = setup.sides.sides
    let_differ(setup, "engine")
    assert planned(driver).has_equal_sides
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, False, False]
    assert tip(b, "torch") == plain_tip(sentence("setup.engine_not_installed", engine="PyTorch"))
    install(driver, "torch")
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, True, False]
    b.engine.select("torch")
    plan = planned(driver)
    assert [spec.engine for spec in plan.specs] == ["tensorflow", "torch"]
    names = [side.name.placeholderText() for side in (a, b)]
    assert names == [plan.label_a, plan.label_b] == ["TensorFlow", "PyTorch"]
    assert setup.run_button.isEnabled()
    setup.workload.setCurrentIndex(setup.workload.findData("imdb_bidirectional_lstm"))
    assert b.values()["engine"] == "tensorflow"
    assert tip(b, "torch") == plain_tip(sentence("setup.engine_not_able", engine="PyTorch"))


def test_a_side_has_the_devices_and_the_compilation_of_its_engine(driver: Driver) -> None:
    driver.become(gpus=(Gpu("A GPU", "nvidia"),), os_name="Linux")
    setup = open_form(driver, "torch", "jax")
    let_differ(setup, SEVERAL)
    b = setup.sides.sides[1]
    device = only(QComboBox, b.editors["device"])
    set_edited(b.editors["jit"], False)
    offered = [sentence("settings.data_auto"), "CPU", "GPU 0"]
    set_edited(device, "GPU 0")
    for engine, count, chosen in (("torch", 2, "auto"), ("tensorflow", 3, "gpu:0")):
        b.engine.select(engine)
        assert [device.itemText(number) for number in range(device.count())] == offered[:count]
        assert b.values()["device"] == chosen
    b.engine.select("jax")
    assert [spec.jit for spec in planned(driver).specs] == [False, True]
    assert not b.compiled.isEnabled()
    assert said("setup.always_compiled", engine="JAX").is_in(b.compiled.toolTip())
    b.engine.select("tensorflow")
    assert (b.compiled.isEnabled(), b.values()["jit"]) == (True, False)
