"""The page that compares: which bars stand where, what the filters leave, and the table that says the same."""

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from app.core.analysis.compare import Bar, bars
from app.core.clock import local_time
from app.core.messages import sentence
from app.core.plans.repeat import repeat_plan
from app.core.storage.database import Database
from app.core.storage.queries import set_comment
from app.gui.charts.bar_list import AXIS_PX
from app.gui.charts.bars import Scale, scale_for, text_room, value_text
from app.gui.pages.compare.page import ComparePage
from app.gui.pages.compare.table import COLUMNS, CompareModel
from app.gui.services.bundle import Services
from tests.core.storage.storing import in_database, store
from tests.gui.conftest import Told
from tests.gui.driving import Driver, added
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


def opened(page: ComparePage, qtbot: QtBot, *, runs: bool = True, own_runs: int = 20) -> ComparePage:
    page.resize(840, 650)
    choose(page.limit, own_runs)
    page.show()
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
    assert page.bar_list.slot == (
        sentence("compare.you"),
        sentence("compare_page.run_to_see_rank"),
    )
    assert page.baseline.currentText() == "i5-8250U"
    assert page.reasons.isHidden()
    assert page.workload.findData("demo") == -1


def test_the_newest_run_is_you_and_earlier_ones_stand_beside_it(
    page: ComparePage, four_runs: None, qtbot: QtBot
) -> None:
    opened(page, qtbot)
    assert names(page).index(sentence("compare.you")) == names(page).index(here("2018-11-20")) - 1
    assert names(page)[:3] == ["GTX 1080 Ti", "RTX 4070 · 2026-11-19", "GTX 1060"]
    assert page.bar_list.slot is None
    assert page.reasons.text().splitlines()[1:] == [
        f"{sentence('compare.other_setting', theirs='batch 32', mine='batch 100')}: " + here("2026-11-19")
    ]
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
    assert page.bar_list.sentence() == f"{sentence('compare.you')} 66.3 s per epoch"


@pytest.mark.parametrize(("precision", "explains"), [("float32", True), ("mixed_float16", False)])
def test_bars_that_are_not_ranked_are_explained(
    precision: str, explains: bool, page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    columns = {"workload": "gpt_mini", "metric": "tokens_per_s", "precision": precision, "batch_size": 16}
    in_database(services.paths.database, store, machine, 70.0, 66.3, columns=columns)
    opened(page, qtbot, runs=False)
    choose(page.workload, "gpt_mini")
    qtbot.waitUntil(lambda: any(bar.kind == "you" for bar in page.bar_list.bars), timeout=10_000)
    assert page.unlike.isVisible() == explains == any(not bar.is_like for bar in page.bar_list.bars)


def test_selected_runs_have_the_scale_of_their_workload(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    run_id = in_database(services.paths.database, store, machine, 70.0, 66.3)
    opened(page, qtbot)
    choose(page.workload, "gpt_mini")
    qtbot.waitUntil(lambda: page.filters.scale.value == "linear", timeout=10_000)
    page.show_runs([run_id])
    qtbot.waitUntil(lambda: page.workload.currentData() == STANDARD, timeout=10_000)
    assert page.filters.scale.value == "log"


def test_runs_with_energy_can_be_ranked_by_efficiency(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        for value, work in ((60.0, 9.0), (50.0, 3.0), (40.0, None)):
            store(database, machine, 70.0, value, columns={"device": "cpu", "started_at": DAY, "work_per_j": work})
    opened(page, qtbot)
    assert page.rank.isVisible()
    choose(page.rank, True)
    assert [bar.text for bar in page.bar_list.bars] == ["9.00", "3.00"]
    assert page.card.heading.text() == sentence("headline.examples_per_j")
    page.view.select("table")
    assert cells(page, 1) == ["9.00", "3.00"]
    choose(page.rank, False)
    assert page.card.heading.text() == sentence("headline.seconds_per_epoch_s")
    choose(page.rank, True)
    choose(page.workload, "mnist_mlp")  # nothing here has energy
    qtbot.waitUntil(page.rank.isHidden)
    assert page.rank.currentData() is False


def test_filters_keep_what_matches_and_always_you(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot)
    choose(page.filters.device, "gpu")
    gpus = ["GTX 1080 Ti", "RTX 4070 · 2026-11-19", "GTX 1060", "Colab GPU", "MX150"]
    assert names(page) == [*gpus, sentence("compare.you")]
    choose(page.filters.device, "tpu")
    assert names(page) == [sentence("compare.you"), "Colab TPU"]
    choose(page.filters.device, "")
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
    choose(page.filters.device, "tpu")
    choose(page.filters.year, 2019)
    assert names(page) == ["Colab TPU"]
    page.all_bars = [bar for bar in page.all_bars if bar.name != "Colab TPU"]
    page.draw()
    assert page.nothing.isVisible()
    assert not page.copy_button.isEnabled()
    choose(page.filters.device, "")
    assert page.bar_list.isVisible()


def here(date: str) -> str:
    return sentence("compare.own_here", computer=sentence("compare.you"), date=date)


def published(name: str) -> str:
    return sentence("position.baseline", name=name, year=2019)


def test_every_bar_is_compared_with_the_baseline(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot)
    assert cells(page, 2)[0] == "80×"
    page.baseline.setCurrentText("GTX 1060")
    page.baseline.activated.emit(page.baseline.currentIndex())
    factors = sentence("compare_page.times_as_fast", baseline=published("GTX 1060"))
    better, scale = sentence("compare.lower_is_better"), sentence("compare_page.log_scale")
    assert page.card.note.whole_text == f"{better} · {scale} · {factors}"
    assert cells(page, 2)[:3] == ["2.2×", "1.1×", "baseline"]
    page.baseline.setCurrentText(sentence("compare.you"))
    page.baseline.activated.emit(page.baseline.currentIndex())
    assert said("compare_page.times_as_this").is_in(page.card.note.whole_text)
    page.baseline.setCurrentText("GTX 1060")
    page.baseline.activated.emit(page.baseline.currentIndex())
    page.hide()
    opened(page, qtbot)
    qtbot.wait(100)
    assert page.baseline.currentText() == "GTX 1060"


def test_a_ratio_names_its_baseline_once_and_in_the_right_direction() -> None:
    fast, slow = (bar for bar in bars(STANDARD, None) if bar.name in ("GTX 1060", "i5-8250U"))
    you = Bar(sentence("compare.you"), "you", 80.0)
    assert value_text(you, slow, ratios=True) == "80.0 · 4.0×"
    assert value_text(fast, slow, ratios=True) == "9.00 · 36×"
    assert said("chart.is_baseline", value="320").is_all_of(value_text(slow, slow, ratios=True))
    assert value_text(slow, fast, ratios=True) == "320 · 0.028×"
    assert value_text(fast, slow) == "9.00"
    assert value_text(slow, None, ratios=True) == "320"


def test_the_scale_can_be_linear(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    QTest.mouseClick(page.filters.button, Qt.MouseButton.LeftButton)
    assert page.filters.isVisible()
    QTest.mouseClick(page.filters.scale.buttons["linear"], Qt.MouseButton.LeftButton)
    assert said("compare_page.linear_scale").is_in(page.card.note.whole_text)
    assert page.filters.scale.buttons["linear"].isChecked()
    assert not page.filters.scale.buttons["log"].isChecked()
    assert page.view.buttons["bars"].isChecked()
    page.filters.scale.buttons["linear"].setFocus()
    QTest.keyClick(page.filters.scale.buttons["linear"], Qt.Key.Key_Left)
    assert said("compare_page.log_scale").is_in(page.card.note.whole_text)


def test_rates_are_linear_with_one_bar_for_each_device(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    assert page.filters.scale.value == "log"
    choose(page.workload, "resnet50_224_inference")
    assert page.filters.scale.value == "linear"
    assert said("compare.higher_is_better").is_in(page.card.note.whole_text)
    assert names(page).count("RTX 5090") == 1
    assert said("compare_page.filter").is_all_of(page.filters.button.accessibleName())
    choose(page.filters.conditions, True)
    assert names(page).count("RTX 5090") > 1
    assert said("compare_page.filtered", count="1").is_all_of(page.filters.button.accessibleName())


def test_the_empty_place_is_a_button(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    wanted: list[str] = []
    page.run_wanted.connect(wanted.append)
    choose(page.workload, "mnist_mlp")
    QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(300, 10))
    page.bar_list.setFocus()
    QTest.keyClick(page.bar_list, Qt.Key.Key_Return)
    assert wanted == ["mnist_mlp"] * 2


def test_scales_hold_every_value_and_few_grid_lines() -> None:
    for values in ([0.0001, 1e6], [4.0, 382.0], [1.0], [10.0, 10.0], []):
        for log in (True, False):
            scale = scale_for(values, log=log)
            assert all(0 < scale.share(value) <= 1.000001 for value in values)
            assert 1 <= len(scale.ticks()) <= 7
            assert all(scale.share(value) <= 1.000001 for value in scale.ticks())
    assert Scale(1.0, 1000.0, log=True).ticks() == [1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize("values", [[1e-299, 1.0, 1e24], [5e-324, 1.0, 1e24], [5e-324]])
def test_a_scale_holds_the_absurd_values_of_somebodys_file(values: list[float]) -> None:
    scale = scale_for(values, log=True)
    shares = [scale.share(value) for value in values]
    assert shares == sorted(set(shares))
    assert all(0 <= share <= 1.000001 for share in shares)
    assert 1 <= len(scale.ticks()) <= 7


def test_bars_leave_room_for_each_text() -> None:
    assert text_room(500.0, [1.0, 0.1], [50.0, 200.0]) == 50.0
    assert text_room(500.0, [1.0, 0.9], [50.0, 200.0]) == pytest.approx(500 - 300 / 0.9)
    assert text_room(500.0, [], []) == 0.0
    assert text_room(100.0, [1.0], [300.0]) == 100.0


def test_the_table_shows_the_same_and_can_be_sorted_and_copied(
    page: ComparePage, four_runs: None, qtbot: QtBot, told: Told
) -> None:
    opened(page, qtbot)
    QTest.mouseClick(page.view.buttons["table"], Qt.MouseButton.LeftButton)
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
    assert lines[0].split("\t") == [sentence(column.heading) for column in COLUMNS]
    assert [line.split("\t")[0] for line in lines[1:]] == ["i5-8250U"]
    assert len(lines[1].split("\t")) == len(COLUMNS)
    page.table.clearSelection()
    QTest.mouseClick(page.copy_button, Qt.MouseButton.LeftButton)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 1 + len(names(page))
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


def test_the_number_of_own_runs_is_a_choice(
    page: ComparePage, services: Services, machine: Machine, qtbot: QtBot
) -> None:
    with Database(services.paths.database) as database:
        for number in range(8):
            store(database, machine, 70.0 + number, 66.0 + number)
    opened(page, qtbot)
    assert sum(bar.kind == "own" for bar in page.bar_list.bars) == 7
    choose(page.limit, 5)
    qtbot.waitUntil(lambda: sum(bar.kind == "own" for bar in page.bar_list.bars) == 4, timeout=10_000)


def test_results_of_several_gpus_are_shown_when_asked_for(page: ComparePage, qtbot: QtBot) -> None:
    opened(page, qtbot, runs=False)
    assert not page.filters.several.isEnabled(), "the standard workload has none"
    choose(page.workload, "resnet_50")
    assert page.filters.several.isEnabled()
    assert not [name for name in names(page) if " × " in name]
    choose(page.filters.several, True)
    assert "8 × Tesla P100" in names(page)
    assert "8 × Tesla P100" in cells(page, 0)


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
    assert page.limit.currentIndex() == 0
    opened(page, qtbot, own_runs=page.limit.currentData())
    own = [(bar.kind, bar.value) for bar in page.bar_list.bars if bar.kind in ("you", "own")]
    assert own == [("you", 50.0), ("own", 60.0), ("own", 66.0)]
    choose(page.limit, 5)
    qtbot.waitUntil(
        lambda: said("compare.own_numbered", name=here(local_time(DAY)), run_id="1").is_in(names(page)),
        timeout=10_000,
    )


def test_a_click_on_a_bar_opens_its_run(page: ComparePage, four_runs: None, qtbot: QtBot) -> None:
    opened(page, qtbot)
    chosen: list[int] = []
    page.run_chosen.connect(chosen.append)
    bar_list = page.bar_list

    def place(name: str) -> QPoint:
        row_px = (bar_list.height() - AXIS_PX) // len(names(page))
        return QPoint(200, min(40, row_px) * names(page).index(name) + 10)

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
    at = QPoint(page.bar_list.width() // 2, 8)

    def click() -> None:
        QTest.mouseClick(page.bar_list, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        QTest.keyClick(page.bar_list, Qt.Key.Key_Return)

    click()
    assert asked == 2 * [page.workload.currentData()]
    machine, plan = driver.machine, repeat_plan(CATALOGUE["demo"].default_spec("standard", epochs=1_000))
    bridge.start(plan, machine)
    driver.until(lambda: sure(page.bar_list.slot)[1] == sentence("compare_page.slot_busy"))
    click()
    assert len(asked) == 2
    bridge.cancel()
    driver.until(lambda: sure(page.bar_list.slot)[1] == sentence("compare_page.run_to_see_rank"))
    driver.services.engines.installed = {}
    driver.services.engines.changed.emit()
    assert sure(page.bar_list.slot)[1] == sentence("compare_page.slot_no_engine")
    click()
    assert len(asked) == 2
