"""The page that compares: which bars stand where, what the filters leave, and the table that says the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox
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
from app.gui.charts.bar_list import AXIS_PX
from app.gui.charts.bars import bar_key, text_room, value_texts
from app.gui.pages.compare.page import ROW_PX, ComparePage
from app.gui.pages.compare.table import COLUMNS, COPIED, CompareModel
from app.gui.services.bundle import Services
from tests.build import in_database, store
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added, slot_place
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

DAY, LAST_YEAR = "2026-11-19T10:00:00Z", "2018-11-20T10:00:00Z"
STANDARD = "cifar10_keras_cnn"
PUBLISHED = ["GTX 1080 Ti", "GTX 1060", "Colab GPU", "i7-9700K", "MX150", "i5-8250U", "Colab TPU"]


@pytest.fixture
def four_runs(services: Services, machine: Machine) -> None:
    gpu = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 4070", "started_at": DAY}
    with Database(services.paths.database) as database:
        store(database, machine, 70.0, 66.3, batch_size=32, columns={"device": "cpu", "started_at": DAY})
        store(database, machine, 90.0, 86.3, columns={"device": "cpu", "started_at": LAST_YEAR})
        store(database, machine, 9.0, 8.5, columns=gpu)
        store(database, machine, 70.0, 66.4, columns={"device": "cpu", "engine_version": "2.21.0"})


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> ComparePage:
    return added(qtbot, ComparePage(services))


def opened(page: ComparePage, qtbot: QtBot, *, runs: bool = True, ids: Sequence[int] = ()) -> ComparePage:
    """Open the page. `ids` are selected runs; without them, the page chooses runs."""
    page.resize(840, 650)
    page.show()
    if ids:
        page.show_runs(ids)
        qtbot.waitUntil(
            lambda: {*ids} <= {bar.run.id for bar in page.all_bars if bar.run is not None}, timeout=10_000
        )
    if runs:
        qtbot.waitUntil(lambda: any(bar.kind == "you" for bar in page.bar_list.bars), timeout=10_000)
    return page


def names(page: ComparePage) -> list[str]:
    return [bar.name for bar in page.bar_list.bars]


def choose(combo: QComboBox, value: object) -> None:
    assert combo.findData(value) >= 0
    combo.setCurrentIndex(combo.findData(value))


def cells(page: ComparePage, column: int) -> list[str]:
    model = page.table.model()
    return [model.index(number, column).data() for number in range(model.rowCount(QModelIndex()))]


def test_without_own_runs_there_is_a_place_that_waits(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    assert sorted(names(page)) == sorted(PUBLISHED)
    assert page.bar_list.slot == (sentence("compare.you"), sentence("compare_page.run_to_see_place"))
    assert page.baseline.currentText() == "i5-8250U"
    assert page.reasons.isHidden()
    assert page.workload.findData("demo") == -1


def test_the_newest_run_is_you_and_earlier_ones_stand_beside_it(
    page: ComparePage, four_runs: None, qtbot: QtBot
) -> None:
    opened(page, qtbot, ids=(2, 3, 4))
    assert names(page).index(sentence("compare.you")) == names(page).index(here("2018-11-20")) - 1
    assert names(page)[:3] == ["GTX 1080 Ti", "RTX 4070 · 2026-11-19", "GTX 1060"]
    assert page.bar_list.slot is None
    page.show_runs((1, 2, 3, 4))
    refused = f"{sentence('compare.other_setting', theirs='batch 32', mine='batch 100')}: " + here("2026-11-19")
    qtbot.waitUntil(lambda: page.reasons.text().splitlines()[1:] == [refused], timeout=10_000)
    assert page.reasons.isVisible()


def test_a_run_unlike_any_published_one_explains_why_it_is_alone(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    in_database(services.paths.database, store, machine, 70.0, 66.3, batch_size=32)
    opened(page, qtbot)
    assert names(page) == [sentence("compare.you")]
    assert all(name in page.reasons.text() for name in PUBLISHED)
    assert page.reasons.text().count(sentence("compare.other_setting", theirs="batch 100", mine="batch 32")) == 1
    assert page.baseline.currentIndex() == -1
    choose(page.baseline, "you")
    page.baseline.activated.emit(0)
    assert page.bar_list.sentence() == f"{sentence('compare.you')} 66.3 s"


@pytest.mark.parametrize(("precision", "explains"), [("float32", True), ("mixed_float16", False)])
def test_bars_that_are_not_ranked_are_explained(
    precision: str, explains: bool, page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    columns = {"workload": "gpt_mini", "metric": "tokens_per_s", "precision": precision, "batch_size": 16}
    in_database(services.paths.database, store, machine, 70.0, 66.3, columns=columns)
    opened(page, qtbot, runs=False)
    choose(page.workload, "gpt_mini")
    qtbot.waitUntil(lambda: any(bar.kind == "you" for bar in page.bar_list.bars), timeout=10_000)
    assert any(not bar.is_like for bar in page.bar_list.bars) == explains
    assert (sentence("compare.not_ranked") in page.note.whole_text) == explains
    assert (sentence("position.none_like") == page.answer.whole_text) == explains


def test_runs_with_energy_can_be_ranked_by_efficiency(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        for value, work in ((60.0, 9.0), (50.0, 3.0), (40.0, None)):
            store(database, machine, 70.0, value, columns={"device": "cpu", "started_at": DAY, "work_per_j": work})
    opened(page, qtbot, ids=(1, 2, 3))
    assert page.by_work.isVisible()
    page.by_work.setChecked(True)
    assert [bar.text for bar in page.bar_list.bars] == ["9.00", "3.00"]
    assert page.note.whole_text.startswith(headline_kind("examples_per_j").label_within)
    page.as_table.setChecked(True)
    assert cells(page, 1) == ["9.00", "3.00"]
    choose(page.workload, "mnist_mlp")  # nothing here has energy
    qtbot.waitUntil(lambda: not page.by_work.isVisible())
    assert not page.by_work.isChecked()


def test_filters_keep_what_matches_and_always_you(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot, ids=(2, 3, 4))
    years = [page.filters.year.itemText(number) for number in range(page.filters.year.count())]
    assert years[-2:] == ["2019", "2018"]
    choose(page.filters.year, 2018)
    assert names(page) == [sentence("compare.you"), here("2018-11-20")]
    assert page.baseline.currentText() == "i5-8250U"
    choose(page.filters.match, "exact")
    assert names(page) == [sentence("compare.you"), here("2018-11-20")]


def test_close_rows_can_be_left_out(page: ComparePage, qtbot: QtBot) -> None:
    row = bars(STANDARD, None)[0].row
    assert row is not None
    close = Bar("Nearly", "reference", 5.0, row=replace(row, id="other", match="close"))
    page.all_bars.append(close)
    choose(page.filters.conditions, True)
    choose(page.filters.match, "exact")
    assert "Nearly" not in names(page)
    choose(page.filters.match, "")
    assert "Nearly" in names(page)


def test_filters_that_leave_nothing_say_so(page: ComparePage, services: Services, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    choose(page.filters.year, 2019)
    page.all_bars = []
    page.draw()
    assert page.nothing.isVisible()
    assert page.note.whole_text == ""


def here(date: str) -> str:
    return sentence("compare.own_here", computer=sentence("compare.you"), date=date)


def test_every_bar_is_compared_with_the_baseline(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot, ids=(2, 3, 4))
    assert cells(page, 2)[0] == "80×"
    for baseline, ticks in (("GTX 1060", "GTX 1060 (2019)"), (sentence("compare.you"), sentence("compare.you"))):
        page.baseline.setCurrentText(baseline)
        page.baseline.activated.emit(page.baseline.currentIndex())
        assert sentence("compare.one_times", baseline=ticks) in page.note.whole_text.split(" · ")
    assert cells(page, 2)[names(page).index(sentence("compare.you"))] == "baseline"
    page.baseline.setCurrentText("GTX 1060")
    page.baseline.activated.emit(page.baseline.currentIndex())
    assert cells(page, 2)[:3] == ["2.2×", "1.1×", "baseline"]
    page.hide()
    opened(page, qtbot)
    qtbot.wait(100)
    assert page.baseline.currentText() == "GTX 1060"


def test_only_own_and_imported_bars_have_a_ratio() -> None:
    fast, slow = (bar for bar in bars(STANDARD, None) if bar.name in ("GTX 1060", "i5-8250U"))
    you = Bar(sentence("compare.you"), "you", 80.0)
    assert value_texts(you, slow) == ("80.0 s · 4.0×", "80.0 s")
    assert value_texts(you, you) == value_texts(you, None) == ("80.0 s",)
    assert value_texts(fast, slow) == ("9.00 s",)


def test_a_friends_result_is_answered_in_words(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        store(database, machine, 70.0, 66.3, columns={"device": "cpu"})
        friend = result_of(load_run(database, store(database, machine, 40.0, 33.15)))
        database.connection.execute("DELETE FROM runs WHERE id = 2")
        add_results(database, [friend], "Ben's picture.png")
    opened(page, qtbot)
    assert said("compare.friend_faster", ratio="2.0×").is_all_of(page.answer.whole_text)
    assert "Ben's picture" in page.answer.whole_text


def test_what_all_published_bars_have_in_common_is_said_once(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    software = "Keras / tf.keras on TensorFlow 1.x"
    assert page.note.whole_text.split(" · ")[-1] == software
    assert not any(software in bar.remarks for bar in page.bar_list.bars)


def test_each_device_has_one_bar_unless_all_conditions_are_wanted(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    choose(page.workload, "resnet50_224_inference")
    assert sentence("compare.longer_is_faster_log") in page.note.whole_text.split(" · ")
    assert names(page).count("RTX 5090") == 1
    choose(page.filters.conditions, True)
    assert names(page).count("RTX 5090") > 1


def test_a_click_on_a_device_shows_all_its_results_and_another_one_hides_them(
    page: ComparePage, qtbot: QtBot
) -> None:
    opened(page, qtbot, runs=False)
    choose(page.workload, "matmul")
    shown = page.bar_list
    qtbot.waitUntil(lambda: "RTX 5070" in [bar.name for bar in shown.bars])
    folded = shown.bars
    assert said("compare_page.click_for_more").is_in(page.note.whole_text)
    card = next(bar for bar in folded if bar.name == "RTX 5070")
    shown.chosen.emit(card)
    results = [bar for bar in page.all_bars if bar.name == "RTX 5070"]
    assert len(results) == 24  # six computers, four kinds of arithmetic
    assert {bar_key(bar) for bar in shown.bars} == {bar_key(bar) for bar in (*folded, *results)}
    assert len(page.table.rows.rows) == len(shown.bars)
    shown.chosen.emit(card)
    assert shown.bars == folded
    choose(page.filters.conditions, True)
    assert not said("compare_page.click_for_more").is_in(page.note.whole_text)


def test_the_empty_place_is_a_button(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    wanted: list[str] = []
    page.run_wanted.connect(wanted.append)
    choose(page.workload, "mnist_mlp")
    QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, pos=slot_place(page.bar_list))
    page.bar_list.setFocus()
    QTest.keyClick(page.bar_list, Qt.Key.Key_Return)
    assert wanted == ["mnist_mlp"] * 2


@pytest.mark.parametrize(
    ("workload", "code"), [("gpt_mini", "slot_only_16_bits"), ("mnist_mlp", "run_to_see_place")]
)
def test_a_cpu_is_offered_no_place_among_results_in_16_bits(
    driver: Driver, machine: Machine, workload: str, code: str
) -> None:
    driver.window.show_page("compare")
    page = driver.window.compare
    driver.services.finder.machine = replace(machine, gpus=())
    choose(page.workload, workload)
    assert sure(page.bar_list.slot)[1] == sentence(f"compare_page.{code}")


def test_bars_leave_room_for_each_text() -> None:
    assert text_room(500.0, [1.0, 0.1], [50.0, 200.0]) == 50.0
    assert text_room(500.0, [1.0, 0.9], [50.0, 200.0]) == pytest.approx(500 - 300 / 0.9)
    assert text_room(500.0, [], []) == 0.0
    assert text_room(100.0, [1.0], [300.0]) == 100.0


def test_the_table_shows_the_same_and_can_be_sorted_and_copied(
    page: ComparePage, four_runs: None, qtbot: QtBot, told: Told
) -> None:
    opened(page, qtbot, ids=(2, 3, 4))
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


def test_a_run_that_ends_takes_its_place_at_once(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        store(database, machine, 70.0, 66.3)
        opened(page, qtbot)
        run_id = store(database, machine, 7.0, 6.6)
    services.bridge.ended.emit(run_id)
    qtbot.waitUntil(lambda: here("20") in " ".join(names(page)), timeout=10_000)
    assert said("compare.you").is_all_of(names(page)[1])


def test_an_unreadable_database_is_reported(
    page: ComparePage, services: Services, qtbot: QtBot, told: Told
) -> None:
    services.paths.database.mkdir()
    opened(page, qtbot, runs=False)
    qtbot.waitUntil(lambda: bool(told.messages), timeout=10_000)
    assert told.messages[0][1] == "invalid"


def test_at_first_the_best_and_the_latest_stand_beside_it(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        for value_s in (90.0, 50.0, 70.0, 60.0, 66.0):
            store(database, machine, value_s + 4, value_s, columns={"started_at": DAY})
        set_comment(database, 2, "overclocked")
    opened(page, qtbot)
    own = [(bar.kind, bar.value) for bar in page.bar_list.bars if bar.kind in ("you", "own")]
    assert own == [("you", 50.0), ("own", 60.0), ("own", 66.0)]
    page.show_runs([1, 2, 3, 4, 5])
    qtbot.waitUntil(
        lambda: said("compare.own_numbered", name=here(local_time(DAY)), run_id="1").is_in(names(page)),
        timeout=10_000,
    )


def test_a_click_on_a_bar_opens_its_run(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot, ids=(2, 3, 4))
    chosen: list[int] = []
    page.run_chosen.connect(chosen.append)
    bar_list = page.bar_list

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


def test_the_window_opens_the_run_of_a_bar(driver: Driver, machine: Machine) -> None:
    run_id = in_database(driver.services.paths.database, store, machine, 70.0, 66.3)
    driver.window.show_page("compare")
    driver.window.compare.run_chosen.emit(run_id)
    driver.until(lambda: driver.window.results.run is not None)
    assert driver.window.page is driver.window.results


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
def test_the_empty_place_says_why_nothing_can_be_run_now(driver: Driver) -> None:
    driver.window.show_page("compare")
    page, asked = driver.window.compare, list[str]()
    driver.until(lambda: page.bar_list.slot is not None)
    page.run_wanted.disconnect()
    page.run_wanted.connect(asked.append)
    bridge = driver.services.bridge

    def click() -> None:
        QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, pos=slot_place(page.bar_list))
        QTest.keyClick(page.bar_list, Qt.Key.Key_Return)

    click()
    assert asked == 2 * [page.workload.currentData()]
    machine, plan = driver.machine, repeat_plan(CATALOGUE["demo"].default_spec("standard", epochs=1_000))
    bridge.start(plan, machine)
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
