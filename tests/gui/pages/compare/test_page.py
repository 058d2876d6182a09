"""The page that compares: which bars stand where, what the filters leave, and the table that says the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QMenu
from pytestqt.qtbot import QtBot

from app.core.analysis.bars import Bar, bars
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plans.repeat import repeat_plan
from app.core.report.result_records import result_of
from app.core.storage.database import Database
from app.core.storage.imported_results import add_results
from app.core.storage.queries import set_comment
from app.core.storage.runs import load_run
from app.core.titles import level_title
from app.gui.charts.bar_list import AXIS_PX
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.page import ROW_PX, ComparePage
from app.gui.pages.compare.table import COLUMNS, COPIED, CompareModel
from app.gui.services.bundle import Services
from tests.build import golden, in_database, store
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added, slot_place
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

DAY, LAST_YEAR = "2026-11-19T10:00:00Z", "2018-11-20T10:00:00Z"
STANDARD = "cifar10_keras_cnn"
PUBLISHED = ["GTX 1080 Ti", "GTX 1060", "Colab GPU", "i7-9700K", "MX150", "i5-8250U", "Colab TPU"]


class Shown:
    """The page, and what fills it."""

    def __init__(self, services: Services, machine: Machine, qtbot: QtBot) -> None:
        self.services, self._machine, self._qtbot = services, machine, qtbot
        self.page = added(qtbot, ComparePage(services))

    def store(self, value: float, **columns: object) -> int:
        changes: dict[str, Any] = {"batch_size": columns.pop("batch_size", 100), "columns": columns}
        return in_database(self.services.paths.database, store, self._machine, value + 3.7, value, **changes)

    def open(self, *ids: int, runs: bool = True) -> ComparePage:
        """Open the page. `ids` are selected runs; without them, the page chooses runs."""
        self.page.resize(840, 650)
        self.page.show()
        if ids:
            self.page.show_runs(ids)
            self.until(lambda: {*ids} <= {bar.run.id for bar in self.page.all_bars if bar.run is not None})
        if runs:
            self.until(lambda: any(bar.kind == "you" for bar in self.page.bar_list.bars))
        return self.page

    def until(self, condition: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(condition, timeout=10_000)


@pytest.fixture
def shown(services: Services, machine: Machine, qtbot: QtBot) -> Shown:
    return Shown(services, machine, qtbot)


@pytest.fixture
def three(shown: Shown) -> ComparePage:
    """The page with three of four runs; the first one has another batch size."""
    shown.store(66.3, batch_size=32, device="cpu", started_at=DAY)
    shown.store(86.3, device="cpu", started_at=LAST_YEAR)
    shown.store(8.5, device="gpu:0", device_name="NVIDIA GeForce RTX 4070", started_at=DAY)
    shown.store(66.4, device="cpu", engine_version="2.21.0")
    return shown.open(2, 3, 4)


def names(page: ComparePage) -> list[str]:
    return [bar.name for bar in page.bar_list.bars]


def choose(combo: QComboBox, value: object) -> None:
    assert combo.findData(value) >= 0
    combo.setCurrentIndex(combo.findData(value))


def cells(page: ComparePage, column: int) -> list[str]:
    model = page.table.model()
    return [model.index(number, column).data() for number in range(model.rowCount(QModelIndex()))]


def test_without_own_runs_there_is_a_place_that_waits(shown: Shown) -> None:
    page = shown.open(runs=False)
    assert sorted(names(page)) == sorted(PUBLISHED)
    assert page.bar_list.slot == (sentence("compare.you"), sentence("compare_page.run_to_see_place"))
    assert page.baseline.currentText() == "i5-8250U"
    assert page.reasons.isHidden()
    assert page.workload.findData("demo") == -1
    software = "Keras / tf.keras on TensorFlow 1.x"
    assert page.note.whole_text.split(" · ")[-1] == software, "what all have in common is said once"
    assert not any(software in bar.remarks for bar in page.bar_list.bars)
    wanted: list[str] = []
    page.run_wanted.connect(wanted.append)
    choose(page.workload, "mnist_mlp")
    QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, pos=slot_place(page.bar_list))
    page.bar_list.setFocus()
    QTest.keyClick(page.bar_list, Qt.Key.Key_Return)
    assert wanted == ["mnist_mlp"] * 2
    choose(page.workload, "resnet50_224_inference")
    assert sentence("compare.longer_is_faster_log") in page.note.whole_text.split(" · ")
    assert names(page).count("RTX 5090") == 1
    choose(page.filters.conditions, True)
    assert names(page).count("RTX 5090") > 1
    page.all_bars = []
    page.draw()
    assert page.nothing.isVisible()
    assert page.note.whole_text == ""


def test_a_run_unlike_any_published_one_explains_why_it_is_alone(shown: Shown) -> None:
    shown.store(66.3, batch_size=32)
    page = shown.open()
    assert names(page) == [sentence("compare.you")]
    assert all(name in page.reasons.text() for name in PUBLISHED)
    assert page.reasons.text().count(sentence("compare.other_setting", theirs="batch 100", mine="batch 32")) == 1
    assert page.baseline.currentIndex() == -1
    choose(page.baseline, "you")
    page.baseline.activated.emit(0)
    assert page.bar_list.sentence() == f"{sentence('compare.you')} 66.3 s"


@pytest.mark.parametrize(("precision", "explains"), [("float32", True), ("mixed_float16", False)])
def test_bars_that_are_not_ranked_are_explained(precision: str, explains: bool, shown: Shown) -> None:
    shown.store(66.3, workload="gpt_mini", metric="tokens_per_s", precision=precision, batch_size=16)
    page = shown.open(runs=False)
    choose(page.workload, "gpt_mini")
    shown.until(lambda: any(bar.kind == "you" for bar in page.bar_list.bars))
    assert any(not bar.is_like for bar in page.bar_list.bars) == explains
    assert (sentence("compare.not_ranked") in page.note.whole_text) == explains
    assert (sentence("position.none_like") == page.answer.whole_text) == explains


def test_runs_with_energy_can_be_ranked_by_efficiency(shown: Shown) -> None:
    for value_s, work_per_j in ((60.0, 9.0), (50.0, 3.0), (40.0, None)):
        shown.store(value_s, device="cpu", started_at=DAY, work_per_j=work_per_j)
    page = shown.open(1, 2, 3)
    assert page.by_work.isVisible()
    page.by_work.setChecked(True)
    assert [bar.text for bar in page.bar_list.bars] == ["9.00", "3.00"]
    assert page.note.whole_text.startswith(headline_kind("examples_per_j").label_within)
    page.as_table.setChecked(True)
    assert cells(page, 1) == ["9.00", "3.00"]
    choose(page.workload, "mnist_mlp")  # nothing here has energy
    shown.until(lambda: not page.by_work.isVisible())
    assert not page.by_work.isChecked()


def test_filters_keep_what_matches_and_always_you(shown: Shown, three: ComparePage) -> None:
    page, you = three, sentence("compare.you")
    assert names(page).index(you) == names(page).index(here("2018-11-20")) - 1
    assert names(page)[:3] == ["GTX 1080 Ti", "RTX 4070 · 2026-11-19", "GTX 1060"]
    assert page.bar_list.slot is None
    row = sure(bars(STANDARD, None)[0].row)
    page.all_bars.append(Bar("Nearly", "reference", 5.0, row=replace(row, id="other", match="close")))
    for match, is_shown in (("exact", False), ("", True)):
        choose(page.filters.conditions, True)
        choose(page.filters.match, match)
        assert ("Nearly" in names(page)) == is_shown
    years = [page.filters.year.itemText(number) for number in range(page.filters.year.count())]
    assert years[-2:] == ["2019", "2018"]
    choose(page.filters.year, 2018)
    assert names(page) == [you, here("2018-11-20")]
    assert page.baseline.currentText() == "i5-8250U"
    choose(page.filters.match, "exact")
    assert names(page) == [you, here("2018-11-20")]
    page.show_runs((1, 2, 3, 4))
    refused = f"{sentence('compare.other_setting', theirs='batch 32', mine='batch 100')}: " + here("2026-11-19")
    shown.until(lambda: page.reasons.text().splitlines()[1:] == [refused])
    assert page.reasons.isVisible()


def here(date: str) -> str:
    return sentence("compare.own_here", computer=sentence("compare.you"), date=date)


def test_a_friends_result_is_answered_in_words(shown: Shown) -> None:
    shown.store(66.3, device="cpu")
    theirs = shown.store(33.15)
    with Database(shown.services.paths.database) as database:
        friend = result_of(load_run(database, theirs))
        database.connection.execute("DELETE FROM runs WHERE id = 2")
        add_results(database, [friend], "Ben's picture.png")
    page = shown.open()
    assert said("compare.friend_faster", ratio="2.0×").is_all_of(page.answer.whole_text)
    assert "Ben's picture" in page.answer.whole_text


def test_a_click_on_a_device_shows_all_its_results_and_another_one_hides_them(shown: Shown) -> None:
    page = shown.open(runs=False)
    choose(page.workload, "matmul")
    shown.until(lambda: "RTX 5070" in names(page))
    drawn, folded = page.bar_list, page.bar_list.bars
    assert said("compare_page.click_for_more").is_in(page.note.whole_text)
    card = next(bar for bar in folded if bar.name == "RTX 5070")
    drawn.chosen.emit(card)
    results = [bar for bar in page.all_bars if bar.name == "RTX 5070"]
    assert len(results) == 24  # six computers, four kinds of arithmetic
    assert {bar_key(bar) for bar in drawn.bars} == {bar_key(bar) for bar in (*folded, *results)}
    assert len(page.table.rows.rows) == len(drawn.bars)
    drawn.chosen.emit(card)
    assert drawn.bars == folded
    choose(page.filters.conditions, True)
    assert not said("compare_page.click_for_more").is_in(page.note.whole_text)


def test_every_bar_is_compared_with_the_baseline(shown: Shown, three: ComparePage) -> None:
    page, you = three, sentence("compare.you")
    assert cells(page, 2)[0] == "80×"
    for baseline, title in ((you, you), ("GTX 1060", "GTX 1060 (2019)")):
        page.baseline.setCurrentText(baseline)
        page.baseline.activated.emit(page.baseline.currentIndex())
        assert sentence("compare.one_times", baseline=title) in page.note.whole_text.split(" · ")
        assert cells(page, 2)[names(page).index(baseline)] == "baseline"
    assert cells(page, 2)[:3] == ["2.2×", "1.1×", "baseline"]
    page.refresh()
    answers: list[None] = []
    shown.services.query(lambda _: None, answers.append)
    shown.until(lambda: bool(answers))
    assert page.baseline.currentText() == "GTX 1060"


def test_the_table_shows_the_same_and_can_be_sorted_and_copied(three: ComparePage, told: Told) -> None:
    page = three
    page.as_table.setChecked(True)
    assert page.table.isVisible()
    assert cells(page, 0) == names(page)
    assert cells(page, 3)[:2] == ["GPU", "GPU"]
    at = names(page).index(sentence("compare.you"))
    assert cells(page, 5)[at] == "TensorFlow 2.21.0"
    assert cells(page, 8)[at - 1 : at + 1] == ["exact", sentence("compare_page.match_own")]
    page.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert cells(page, 0)[:3] == names(page)[:-4:-1]
    page.table.selectRow(1)
    page.table.setFocus()
    QTest.keyClick(page.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t") == [sentence(column.heading) for column in COLUMNS[:COPIED]]
    assert [line.split("\t")[0] for line in lines[1:]] == ["i5-8250U"]
    assert "https://" not in lines[1], "sources aren't copied"
    page.table.clearSelection()
    page.copy("markdown")
    assert len(QGuiApplication.clipboard().text().splitlines()) == 2 + len(names(page))
    assert told.messages == [(sentence("compare_page.rows_copied", count=len(names(page))), "")]


def test_at_first_the_best_and_the_latest_stand_beside_it_and_a_run_that_ends(shown: Shown) -> None:
    for value_s in (90.0, 50.0, 70.0, 60.0, 66.0):
        shown.store(value_s, started_at=DAY)
    in_database(shown.services.paths.database, set_comment, 2, "overclocked")
    page = shown.open()

    def own() -> list[tuple[str, float]]:
        return [(bar.kind, bar.value) for bar in page.bar_list.bars if bar.kind in ("you", "own")]

    assert own() == [("you", 50.0), ("own", 60.0), ("own", 66.0)]
    shown.services.bridge.ended.emit(shown.store(6.6))
    shown.until(lambda: ("you", 6.6) in own())
    page.show_runs([1, 2, 3, 4, 5])
    numbered = said("compare.own_numbered", name=here(local_time(DAY)), run_id="1")
    shown.until(lambda: numbered.is_in(names(page)))


def test_a_click_on_a_bar_opens_its_run(three: ComparePage) -> None:
    page, bar_list, chosen = three, three.bar_list, list[int]()
    page.run_chosen.connect(chosen.append)

    def place(name: str) -> QPoint:
        row_px = (bar_list.height() - AXIS_PX) // len(names(page))
        return QPoint(200, min(ROW_PX, row_px) * names(page).index(name) + 10)

    for name in ("RTX 4070 · 2026-11-19", "GTX 1060"):  # nothing opens a published result
        QTest.mouseClick(bar_list, Qt.MouseButton.LeftButton, pos=place(name))
    assert chosen == [3]
    bar_list.setFocus()
    for _ in range(len(names(page))):
        QTest.keyClick(bar_list, Qt.Key.Key_Up)
    for _ in range(names(page).index(sentence("compare.you"))):
        QTest.keyClick(bar_list, Qt.Key.Key_Down)
    QTest.keyClick(bar_list, Qt.Key.Key_Return)
    assert chosen == [3, 4]


@pytest.mark.parametrize(
    ("metric", "names"), [("seconds_per_epoch_s", ["ten", "twenty"]), ("images_per_s", ["twenty", "ten"])]
)
def test_the_fastest_comes_first(qapp: QApplication, metric: str, names: list[str]) -> None:
    ten, twenty = Bar("ten", "own", 10.0, metric=metric), Bar("twenty", "own", 20.0, metric=metric)
    model = CompareModel()
    model.show_bars([ten, twenty], ten)

    def column(number: int) -> list[Any]:
        return [model.index(row, number).data() for row in range(model.rowCount())]

    assert column(0) == names
    model.sort(1, Qt.SortOrder.DescendingOrder)
    assert column(0) == names[::-1]
    ratios = dict(zip(column(0), column(2), strict=True))
    assert ratios == {"ten": "baseline", "twenty": "0.50×" if metric == "seconds_per_epoch_s" else "2.0×"}


@pytest.mark.slow
def test_the_empty_place_says_why_nothing_can_be_run_now(driver: Driver, machine: Machine) -> None:
    driver.window.show_page("compare")
    page, asked = driver.window.compare, list[str]()
    driver.until(lambda: page.bar_list.slot is not None)
    page.run_wanted.disconnect()
    page.run_wanted.connect(asked.append)
    bridge = driver.services.bridge

    def click() -> None:
        QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, pos=slot_place(page.bar_list))
        QTest.keyClick(page.bar_list, Qt.Key.Key_Return)

    driver.services.finder.machine = replace(driver.machine, gpus=())
    for workload, code in (("gpt_mini", "slot_only_16_bits"), ("mnist_mlp", "run_to_see_place")):
        choose(page.workload, workload)
        assert sure(page.bar_list.slot)[1] == sentence(f"compare_page.{code}")
    click()
    assert asked == 2 * [page.workload.currentData()]
    plan = repeat_plan(CATALOGUE["demo"].default_spec("standard", epochs=1_000))
    bridge.start(plan, driver.machine)
    driver.until(lambda: sure(page.bar_list.slot)[1] == sentence("compare_page.slot_busy"))
    click()
    assert len(asked) == 2
    bridge.cancel()
    driver.until(lambda: sure(page.bar_list.slot)[1] == sentence("compare_page.run_to_see_place"))
    driver.services.engines.installed = {}
    driver.services.engines.changed.emit()
    assert sure(page.bar_list.slot)[1] == sentence("compare_page.slot_no_engine")
    click()
    assert len(asked) == 2
    run_id = in_database(driver.services.paths.database, store, machine, 70.0, 66.3)
    page.run_chosen.emit(run_id)
    driver.until(lambda: driver.window.results.run is not None)
    assert driver.window.page is driver.window.results


def test_todays_network_is_run_with_one_click(driver: Driver) -> None:
    driver.window.show_page("compare")
    compare, asked = driver.window.compare, list[str]()
    compare.show_workload("resnet50_224")
    driver.until(lambda: compare.bar_list.slot is not None)
    driver.page.setup.run_requested.disconnect()  # a real run takes long
    driver.page.setup.run_requested.connect(lambda spec, _: asked.append(spec.workload))
    QTest.mouseClick(compare.bar_list, Qt.MouseButton.LeftButton, pos=slot_place(compare.bar_list))
    assert driver.window.page is driver.page
    assert asked == ["resnet50_224"]


def imported(page: ComparePage) -> list[Bar]:
    return [bar for bar in page.bar_list.bars if bar.kind == "imported"]


def test_an_imported_result_has_its_bar_and_row_until_it_is_removed(shown: Shown, told: Told) -> None:
    page = shown.page
    choose(page.workload, "mnist_mlp")
    page.show()
    in_database(shown.services.paths.database, add_results, golden(), "lab.json")
    page.refresh()
    shown.until(lambda: [bar_key(bar) for bar in imported(page)] == ["imported-3", "imported-1"])
    bar = imported(page)[0]
    assert bar.remarks[:3] == (sentence("compare.imported_result"), "TensorFlow 2.21.0", level_title("valid"))
    name = said("compare.imported_numbered", number="3", name="EPYC (lab)")
    row = next(row for row in page.table.rows.rows if name.is_all_of(row.texts[0]))
    assert row.texts[3:8] == ("CPU", "2026", "TensorFlow 2.21.0", "128", "float32")
    assert said("compare_page.from_imported", source="lab.json", number="3").is_in(row.texts[9])
    page.bar_list.pointed.emit(bar)
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, page.mapToGlobal(place))
    QApplication.sendEvent(page, event)
    (action,) = page.findChildren(QMenu)[-1].actions()
    assert said("compare_page.remove_result").is_all_of(action.text())
    action.trigger()
    shown.until(lambda: [bar_key(bar) for bar in imported(page)] == ["imported-1"])
    assert (sentence("compare_page.removed", name="EPYC"), "") in told.messages
