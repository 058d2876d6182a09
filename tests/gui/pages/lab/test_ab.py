"""The A/B page and repetitions on the Benchmark page, with real runs of the demo in the real window."""

import math
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QComboBox, QSpinBox

from app.core.analysis.ab import PairResult, judge_pairs, percent_text
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.ab import ab_plan
from app.core.records import Group, Plan
from app.core.storage.groups import list_groups
from app.core.titles import differing
from app.gui.charts.pair_plot import ratio_scale
from app.gui.pages.lab.page import LabPage
from app.gui.pages.lab.setup import LabSetup
from app.gui.pages.lab.side_form import SideForm, side_settings
from app.gui.pages.lab.sides import BY_HAND, NOTHING, RARELY_ALONE, SEVERAL
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.editors import set_edited
from tests.conftest import pretend_installed
from tests.core.storage.storing import in_database
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to
from tests.gui.run.test_runs import NO, YES, answer, workers
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu
from workloads.protocol.spec import RunSpec


def open_page(driver: Driver, *, pairs: int = 2, batch: int = 200) -> LabPage:
    """Open the page with the demo chosen, whose epochs take half as long with twice the batch."""
    driver.window.show_page("lab")
    page = driver.window.lab
    setup = page.setup
    setup.workload.setCurrentIndex(setup.workload.findData("demo"))
    setup.more.button.setChecked(True)
    driver.press(setup.preset.buttons["standard"])
    for what in (NOTHING, SEVERAL):  # equal sides with all their editors
        let_differ(setup, what)
    set_edited(setup.sides.sides[1].editors["batch_size"], batch)
    setup.rounds.setValue(pairs)
    planned(driver)
    return page


def let_differ(setup: LabSetup, what: str) -> None:
    setup.sides.what.setCurrentIndex(setup.sides.what.findData(what))


def begun(driver: Driver, pairs: int) -> LabPage:
    page = open_page(driver, pairs=pairs)
    press_run(driver)
    driver.until(lambda: driver.services.bridge.planned is not None)
    return page


def ended(driver: Driver, page: LabPage) -> Callable[[], bool]:
    return lambda: not driver.services.bridge.is_running and not page.foot.isVisible() and bool(group_of(page))


def group_of(page: LabPage) -> Group | None:
    """Return the stored A/B test that is displayed."""
    return page.report.group if page.report is not None and not page.is_live else None


def press_run(driver: Driver) -> None:
    planned(driver)
    driver.press(driver.window.lab.setup.run_button)


def runs_of(page: LabPage) -> int:
    return len(group.runs) if (group := group_of(page)) is not None else 0


def planned(driver: Driver) -> Plan:
    """Wait until the form's choices are planned, which happens in the background."""
    setup = driver.window.lab.setup
    driver.until(lambda: setup.plan is not None)
    return sure(setup.plan)


def stored(driver: Driver) -> list[Group]:
    return in_database(driver.services.paths.database, list_groups)


def demo(**parameters: object) -> RunSpec:
    return CATALOGUE["demo"].default_spec(epochs=2, parameters={"step_s": 0.001, **parameters})


def begin(driver: Driver, page: LabPage, plan: Plan) -> None:
    machine = driver.machine
    page.setup.run_requested.emit(plan, machine)


def test_with_nothing_compared_the_page_says_what_to_do(driver: Driver) -> None:
    driver.window.show_page("lab")
    page = driver.window.lab
    assert group_of(page) is None
    assert not page.entries
    assert not planned(driver).has_equal_sides
    let_differ(page.setup, NOTHING)
    assert planned(driver).has_equal_sides
    assert said("ab_setup.equal").is_in(page.setup.points.whole_text)
    assert not page.setup.problem.isVisible()
    assert page.setup.run_button.isEnabled()
    page.setup.sides.by_hand.setChecked(True)
    assert not planned(driver).has_equal_sides
    page.setup.sides.by_hand.setChecked(False)
    set_edited(page.setup.sides.sides[1].editors["threads"], 1)
    assert not planned(driver).has_equal_sides
    assert not said("ab_setup.equal").is_in(page.setup.points.whole_text)
    assert [side.name.placeholderText() for side in page.setup.sides.sides] == ["automatic threads", "1 thread"]
    driver.become(memory_bytes=8_000_000_000)
    batch = only(QSpinBox, page.setup.sides.sides[1].editors["batch_size"])
    batch.setValue(batch.maximum())
    driver.until(page.setup.problem.isVisible)
    assert page.setup.problem.property("tone") == "invalid"
    assert said("memory.computer_too_small", there_bytes="7.5 GB").is_in(page.setup.problem.text())


def test_only_what_differs_is_shown_and_differs(driver: Driver) -> None:
    driver.window.show_page("lab")
    setup = driver.window.lab.setup
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


@pytest.mark.parametrize(
    ("changes", "by_hand", "what"),
    [
        ({}, False, NOTHING),
        ({"batch_size": 64}, False, "batch_size"),
        ({"engine": "jax"}, False, "engine"),
        ({"batch_size": 64, "threads": 1}, False, SEVERAL),
        ({}, True, BY_HAND),
        ({"batch_size": 64}, True, SEVERAL),
    ],
)
def test_a_plan_is_shown_by_what_differs(
    driver: Driver, paths: Paths, changes: dict[str, object], by_hand: bool, what: str
) -> None:
    install(driver, paths, "jax")
    driver.window.show_page("lab")
    setup, usual = driver.window.lab.setup, CATALOGUE["mnist_mlp"].default_spec("quick")
    changed = CATALOGUE["mnist_mlp"].default_spec("quick", **changes)
    plan = ab_plan((usual, changed), 3, ("A", "B"), by_hand=by_hand)
    setup.refill(plan)
    assert setup.sides.what.currentData() == what
    assert [(spec.batch_size, spec.engine, spec.threads) for spec in planned(driver).specs] == [
        (spec.batch_size, spec.engine, spec.threads) for spec in plan.specs
    ]


def test_all_settings_reach_their_side(driver: Driver) -> None:
    setup = open_page(driver, pairs=3).setup
    a, b = setup.sides.sides
    set_edited(a.editors["device"], "CPU")
    for name, value in (("threads", 2), ("precision", "mixed_bfloat16"), ("jit", True), ("onednn", "off")):
        set_edited(b.editors[name], value)
    a.name.setText("  plain   one ")
    plan = planned(driver)
    assert (plan.kind, plan.rounds, plan.by_hand, plan.label_a) == ("ab", 3, False, "plain one")
    assert plan.label_b == "batch 200, automatic device, mixed_bfloat16, compiled, without oneDNN, 2 threads"[:60]
    first, second = plan.specs
    chosen = attrgetter("device", "threads", "precision", "jit", "onednn", "batch_size")
    assert chosen(first) == ("cpu", None, "float32", False, None, 100)
    assert chosen(second) == ("auto", 2, "mixed_bfloat16", True, False, 200)
    driver.press(setup.preset.buttons["quick"])
    assert [spec.preset for spec in planned(driver).specs] == ["quick", "quick"]


def test_a_side_can_have_a_power_limit_that_its_device_accepts(driver: Driver) -> None:
    setup = open_page(driver, pairs=3).setup
    set_edited(setup.sides.sides[1].editors["power_limit_w"], 45)
    assert planned(driver).specs[1].settings == {"power_limit_w": 45}
    assert said("run.no_power_limit").is_in(setup.problem.text())
    driver.become(cpu_power_limit_w=65.0)
    set_edited(setup.sides.sides[1].editors["power_limit_w"], 44)
    driver.until(setup.run_button.isEnabled)
    set_edited(setup.sides.sides[1].editors["power_limit_w"], 0)
    assert planned(driver).specs[1].settings == {}


def test_sides_are_named_by_what_differs() -> None:
    spec = CATALOGUE["demo"].default_spec
    assert differing(spec(), spec()) == ("A", "B")
    assert differing(spec(), spec(engine="jax")) == ("TensorFlow", "JAX")  # which has no other way than to compile
    assert differing(spec(), spec(engine="torch", jit=True)) == ("TensorFlow, not compiled", "PyTorch, compiled")
    assert differing(spec(jit=True), spec(threads=1)) == ("compiled, automatic threads", "not compiled, 1 thread")
    assert differing(spec(device="cpu"), spec(device="gpu:1")) == ("CPU", "GPU 1")
    assert differing(spec(onednn=True), spec()) == ("oneDNN", "automatic oneDNN")


@pytest.mark.slow
def test_equal_sides_check_the_computer(driver: Driver) -> None:
    page = open_page(driver, pairs=2, batch=100)
    press_run(driver)
    driver.until(lambda: driver.services.bridge.planned is not None)
    driver.until(ended(driver, page))
    driver.until(lambda: runs_of(page) == 4)  # it is read in the background
    result = judge_pairs(sure(group_of(page)))
    assert page.sentence.whole_text == result.check_sentence()
    if not result.is_shown:  # by chance, or on a busy computer
        assert page.headline.value.text() == f"± {percent_text(sure(result.smallest_pct))} %"
        assert page.headline.unit.text() == sentence("ab_page.smallest")


@pytest.mark.slow
def test_an_ab_is_run_shown_and_kept(driver: Driver) -> None:
    page = begun(driver, pairs=2)
    assert page.foot.cancel_button.isVisible()
    assert len(page.plot.pairs) == 2
    driver.until(lambda: len(driver.services.bridge.done) >= 2)
    assert "of 4 · batch" in page.foot.progress_text.whole_text
    driver.until(lambda: page.foot.remaining.text().endswith(" left"))
    driver.until(ended(driver, page))
    driver.until(lambda: runs_of(page) == 4)  # it is read in the background
    group = sure(group_of(page))
    assert "".join(run.side or "" for run in group.runs) in ("ABBA", "BAAB")
    assert not page.foot.cancel_button.isVisible()
    assert "“batch 200” is " in page.sentence.whole_text
    if page.headline.value.text() != sentence("ab_page.no_difference"):  # two pairs may leave it open
        assert 1.2 < float(page.headline.value.text().rstrip("×")) < 4
        assert page.headline.unit.text() == sentence("ab_page.faster", label="batch 200")
    assert page.more.whole_text.startswith("A: batch 100 · B: batch 200 · s per epoch")
    assert said("group.other_work").is_in(page.more.whole_text)
    assert page.plot.accessibleDescription().startswith("pair 1: batch 100 0.1")
    assert len(page.entries) == 1
    assert not workers()


@pytest.mark.slow
def test_a_finished_ab_can_be_saved_copied_and_run_again(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = open_page(driver, pairs=1)
    page.setup.sides.sides[0].name.setText("usual")
    assert not driver.window.action("menu.save_picture").isEnabled()
    press_run(driver)
    driver.until(ended(driver, page))
    save_to(monkeypatch, tmp_path / "ab.png")
    page.save_picture()
    driver.until(lambda: said("picture.saved", name="ab.png").is_all_of(driver.message))
    assert QImage(str(tmp_path / "ab.png")).size().toTuple() == (1200, 630)
    driver.window.action("menu.copy_picture").trigger()
    driver.until(lambda: driver.message == sentence("picture.copied"))
    assert QGuiApplication.clipboard().image().width() == 1200
    page.copy_text()
    driver.until(lambda: driver.message == sentence("result.copied"))
    assert "in the only pair · A/B test · Demo" in QGuiApplication.clipboard().text()
    setup = page.setup
    setup.workload.setCurrentIndex(setup.workload.findData("mnist_mlp"))
    setup.rounds.setValue(9)
    setup.sides.sides[0].name.setText("")
    results = driver.open_results()
    results.table.selectRow(0)
    results.commands.actions["again"].trigger()
    driver.until(lambda: page.isVisible() and driver.services.bridge.is_running)
    page.cancel()
    driver.until(ended(driver, page))
    page.ask()
    plan = planned(driver)
    assert (plan.specs[0].workload, plan.rounds) == ("demo", 1)
    assert [spec.batch_size for spec in plan.specs] == [100, 200]
    assert (plan.label_a, plan.label_b, setup.sides.sides[1].name.text()) == ("usual", "batch 200", "")


@pytest.mark.slow
def test_an_answer_that_is_still_being_read_does_not_hide_the_questions(driver: Driver) -> None:
    page = begun(driver, pairs=20)
    driver.window.action("menu.cancel").trigger()
    driver.until(ended(driver, page))
    page.refresh(choose=(entries := page.entries)[0].group_id)
    page.ask()
    driver.until(lambda: page.entries is not entries)
    assert page.report is None


@pytest.mark.slow
def test_neither_page_starts_a_run_while_the_other_has_one(driver: Driver) -> None:
    page = begun(driver, pairs=20)
    assert not page.setup.run_button.isEnabled()
    driver.window.show_page("benchmark")
    setup = driver.page.setup
    assert setup.problem.text() == sentence("benchmark.running")
    assert not setup.run_button.isEnabled()
    assert not driver.window.action("menu.run").isEnabled()
    driver.window.action("menu.cancel").trigger()
    driver.until(ended(driver, page))
    assert setup.run_button.isEnabled()
    assert setup.isVisible(), "what ended was not this page's"
    driver.choose_demo(epochs=500)
    driver.press(setup.run_button)
    driver.until(lambda: driver.services.bridge.is_running)
    driver.window.show_page("lab")
    assert "A benchmark is running" in page.setup.problem.text()
    assert not page.setup.run_button.isEnabled()
    assert group_of(page) is not None, "the earlier one is still shown"
    driver.window.action("menu.cancel").trigger()
    page.ask()
    driver.until(page.setup.run_button.isEnabled)


@pytest.mark.long
def test_an_ab_beside_a_shown_result_leaves_it_alone(driver: Driver) -> None:
    summary = driver.run_demo()
    page = begun(driver, pairs=1)
    driver.window.show_page("benchmark")
    driver.until(ended(driver, page))
    assert sure(driver.page.run).summary.id == summary.id
    view = driver.view
    assert view.headline.pill.isVisible()
    assert driver.page.again_button.isEnabled()


@pytest.mark.slow
def test_cancel_keeps_the_finished_pairs(driver: Driver) -> None:
    page = begun(driver, pairs=20)
    driver.until(lambda: len(driver.services.bridge.done) >= 3)
    driver.press(page.foot.cancel_button)
    assert page.foot.progress_text.whole_text == "Cancelling …"
    driver.until(ended(driver, page))
    assert said("ab.only_pair").is_in(page.sentence.whole_text)
    assert said("group.not_begun").is_in(page.more.whole_text)
    assert stored(driver)[0].runs[-1].status == "cancelled"


@pytest.mark.slow
def test_by_hand_asks_before_each_change_and_can_be_stopped(driver: Driver) -> None:
    page = open_page(driver, batch=100)
    page.setup.sides.by_hand.setChecked(True)
    for side, name in zip(page.setup.sides.sides, ("plugged in", "on battery"), strict=True):
        side.name.setText(name)
    press_run(driver)
    driver.until(page.foot.go_button.isVisible)
    assert said(
        "plan_page.set_up", planned="4", number="1", what=sentence("plan_page.side", side="A", label="plugged in")
    ).is_all_of(page.foot.question.whole_text)
    assert not driver.stored()
    driver.press(page.foot.go_button)
    assert page.foot.cancel_button.isVisible()
    driver.until(page.foot.go_button.isVisible)
    assert said("plan_page.side", label="on battery", side="B").is_in(page.foot.question.whole_text)
    assert len(driver.stored()) == 1
    driver.press(page.foot.stop_button)
    driver.until(ended(driver, page))
    assert said("group.not_begun", planned="4", count="3").is_in(page.more.whole_text)


def test_cancel_while_it_asks_ends_it(driver: Driver) -> None:
    page = open_page(driver)
    page.setup.sides.by_hand.setChecked(True)
    press_run(driver)
    driver.until(page.foot.go_button.isVisible)
    driver.window.action("menu.cancel").trigger()
    driver.until(lambda: not driver.services.bridge.is_running)
    assert not driver.stored()
    driver.until(lambda: page.report is None)
    assert page.setup.run_button.isEnabled()


@pytest.mark.slow
def test_a_failed_run_is_reported(driver: Driver) -> None:
    page = open_page(driver)
    begin(driver, page, Plan(kind="ab", order="pairs", specs=(demo(), demo(outcome="out_of_memory")), rounds=2))
    driver.until(ended(driver, page))
    assert said("ab.no_pair").is_all_of(page.sentence.whole_text)
    assert sentence("group.run_not_completed", run_id=2, status=sentence("status.failed")) in page.more.whole_text
    assert "memory" in page.more.whole_text


@pytest.mark.long
def test_earlier_ones_can_be_chosen(driver: Driver) -> None:
    page = open_page(driver)
    for slow in ("A", "B"):
        specs = tuple(demo(step_s=0.02 if side == slow else 0.001) for side in ("A", "B"))
        begin(
            driver,
            page,
            Plan(kind="ab", order="pairs", specs=specs, rounds=1, label_a="one", label_b=f"slow {slow}"),
        )
        driver.until(ended(driver, page))
    driver.until(lambda: len(page.entries) == 2)
    assert page.sentence.whole_text.startswith("one was ")
    page.close_answer()
    page.earlier.setFocus()
    driver.qtbot.keyClick(page.earlier, Qt.Key.Key_End)  # type: ignore[no-untyped-call]
    driver.until(lambda: group_of(page) is not None)
    assert sure(group_of(page)).labels == ("one", "slow A")
    assert page.sentence.whole_text.startswith("“slow A” was ")


def test_an_ab_that_cannot_start_is_reported_and_not_stored(driver: Driver) -> None:
    page = open_page(driver)
    wrong = CATALOGUE["demo"].default_spec(batch_size=5_000)
    begin(driver, page, Plan(kind="ab", order="pairs", specs=(demo(), wrong), rounds=1))
    too_large = said("workload.batch_too_large", batch_size="5,000")
    driver.until(lambda: too_large.is_in(driver.message))
    driver.until(page.setup.run_button.isEnabled)
    assert not stored(driver)


@pytest.mark.slow
def test_another_epochmark_is_asked_about(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(driver, pairs=1)
    monkeypatch.setattr("app.gui.services.run_bridge.has_running", lambda *_: True)
    asked = answer(monkeypatch, NO)
    press_run(driver)
    driver.until(lambda: len(asked) == 1)
    assert said("busy.other_epochmark").is_in(asked[0])
    driver.until(page.setup.run_button.isEnabled)
    answer(monkeypatch, YES)
    press_run(driver)
    driver.until(ended(driver, page))
    assert len(driver.stored()) == 2


@pytest.mark.long
def test_repetitions_are_counted_and_summed_up(driver: Driver) -> None:
    driver.choose_demo(repeat=3)
    setup = driver.page.setup
    driver.press(setup.run_button)
    driver.until(lambda: driver.services.bridge.planned is not None and driver.services.bridge.planned.number == 2)
    view = driver.view
    driver.until(lambda: view.about.whole_text.startswith("run 2 of 3 · "))
    summary = driver.wait_for_result()
    (group,) = stored(driver)
    assert [run.id for run in group.runs][-1] == summary.id
    assert len(group.runs) == 3
    assert driver.epochs_done() == 3, "of the last run alone"
    assert view.about.whole_text.startswith("run 3 of 3 · ")
    assert view.headline.note.whole_text.startswith("median of 3 runs · ")
    assert "spread between runs" in view.headline.note.whole_text
    assert len(view.charts.epochs.bars.opts["height"]) == 3
    driver.press(driver.page.again_button)
    driver.until(lambda: len(driver.services.bridge.done) == 1)
    driver.press(driver.page.cancel_button)
    driver.wait_for_result()
    groups = stored(driver)
    assert len(groups) == 2
    assert groups[0].planned == 3
    assert groups[0].runs[-1].status == "cancelled"
    assert not workers()


@pytest.mark.long
def test_a_single_run_is_not_a_group(driver: Driver) -> None:
    driver.run_demo(repeat=2)
    driver.press(driver.page.new_button)
    summary = driver.run_demo(repeat=1)
    assert summary.group_id is None
    view = driver.view
    assert not view.headline.message.whole_text.startswith("2 runs")


RATIOS = st.floats(min_value=1e-3, max_value=1e3)


@given(st.lists(RATIOS, max_size=10), RATIOS, RATIOS)
def test_one_and_all_ratios_are_on_the_scale(ratios: list[float], one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    known = (low, high) if len(ratios) > 1 else (None, None)
    scale = ratio_scale(PairResult(tuple(ratios), ratios[0] if ratios else None, *known))
    assert scale.low < min([1.0, *ratios])
    assert scale.high > max([1.0, *ratios])
    assert all(0 < scale.share(ratio) < 1 for ratio in (1.0, *ratios))
    assert scale.share(scale.low / 2) == 0
    assert math.isfinite(scale.high)


def test_each_side_offers_the_devices_of_its_engine(driver: Driver, paths: Paths) -> None:
    driver.become(gpus=(Gpu("A GPU", "nvidia"),), os_name="Linux")
    install(driver, paths, "torch")
    driver.window.show_page("lab")
    setup = driver.window.lab.setup
    let_differ(setup, SEVERAL)
    a, b = setup.sides.sides
    set_edited(b.editors["device"], "GPU 0")
    b.engine.select("torch")
    automatic = sentence("settings.data_auto")
    assert [devices_of(side) for side in (a, b)] == [[automatic, "CPU", "GPU 0"], [automatic, "CPU"]]
    assert b.values()["device"] == "auto"
    b.engine.select("tensorflow")
    assert b.values()["device"] == "gpu:0"


def devices_of(side: SideForm) -> list[str]:
    box = only(QComboBox, side.editors["device"])
    return [box.itemText(number) for number in range(box.count())]


def install(driver: Driver, paths: Paths, *engines: str) -> None:
    for engine in engines:
        pretend_installed(engine, paths)
    driver.services.engines.look()
    driver.until(lambda: set(driver.services.engines.installed) == {"tensorflow", *engines})


def told(engines: QComboBox, code: str) -> bool:
    return str(engines.itemData(1, Qt.ItemDataRole.ToolTipRole)) == plain_tip(sentence(code, engine="PyTorch"))


def is_enabled(side: SideForm, engine: str) -> bool:
    flags = side.engine.model().index(side.engine.findData(engine), 0).flags()
    return bool(flags & Qt.ItemFlag.ItemIsEnabled)


def test_an_engine_is_a_side_if_it_is_installed_and_able(
    driver: Driver, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CATALOGUE["imdb_bidirectional_lstm"], "engines", ("tensorflow",))
    driver.window.show_page("lab")
    setup = driver.window.lab.setup
    a, b = setup.sides.sides
    let_differ(setup, "engine")
    assert planned(driver).has_equal_sides
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, False, False]
    assert told(b.engine, "setup.engine_not_installed")
    install(driver, paths, "torch")
    assert [is_enabled(b, engine) for engine in ("tensorflow", "torch", "jax")] == [True, True, False]
    b.engine.select("torch")
    assert [side.name.placeholderText() for side in (a, b)] == ["TensorFlow", "PyTorch"]
    plan = planned(driver)
    assert [spec.engine for spec in plan.specs] == ["tensorflow", "torch"]
    assert (plan.label_a, plan.label_b) == ("TensorFlow", "PyTorch")
    assert setup.run_button.isEnabled()
    setup.workload.setCurrentIndex(setup.workload.findData("imdb_bidirectional_lstm"))
    assert b.values()["engine"] == "tensorflow"
    assert told(b.engine, "setup.engine_not_able")


def test_a_side_that_always_compiles_says_so(driver: Driver, paths: Paths) -> None:
    driver.window.show_page("lab")
    setup = driver.window.lab.setup
    install(driver, paths, "jax")
    let_differ(setup, "engine")
    b = setup.sides.sides[1]
    assert [spec.jit for spec in planned(driver).specs] == [False, True]
    assert (b.compiled.isEnabled(), said("setup.always_compiled", engine="JAX").is_in(b.compiled.toolTip())) == (
        False,
        True,
    )
    assert setup.run_button.isEnabled()
    b.engine.select("tensorflow")
    assert (b.compiled.isEnabled(), b.values()["jit"]) == (True, False)


@pytest.mark.slow
@pytest.mark.engine
def test_two_engines_are_compared(driver: Driver, installed_engines: Paths) -> None:
    page = open_page(driver, pairs=1)
    page.setup.workload.setCurrentIndex(page.setup.workload.findData("mnist_mlp"))
    driver.services.engines.look()
    driver.until(lambda: "torch" in driver.services.engines.installed)
    page.setup.sides.sides[1].engine.select("torch")
    plan = planned(driver)
    short = tuple(msgspec.structs.replace(spec, epochs=1, steps=3) for spec in plan.specs)
    begin(driver, page, replace(plan, specs=short))
    driver.until(ended(driver, page))
    (group,) = stored(driver)
    assert sorted(run.engine for run in group.runs) == ["tensorflow", "torch"]
    assert [run.status for run in group.runs] == ["completed"] * 2
    assert (group.plan.label_a, group.plan.label_b) == ("TensorFlow", "PyTorch")
