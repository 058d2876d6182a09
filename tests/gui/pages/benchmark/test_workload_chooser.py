"""Choosing a workload: among all, by kind, words and what they take here; in the short list; and the star."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.messages import sentence
from app.core.settings import Settings, load_settings, save_settings
from app.gui.pages.benchmark.workload_box import RECENT_LIMIT, WorkloadBox, with_recent, workload_groups
from app.gui.pages.benchmark.workload_chooser import KINDS, WorkloadChooser
from app.gui.services.bundle import Services
from tests.core.storage.storing import in_database, store
from tests.gui.driving import PATIENCE_MS, Driver, added
from tests.saying import said
from workloads import CATALOGUE, STANDARD
from workloads.protocol.machine import Machine
from workloads.workload import MemoryNeed, Workload

ON_ONE_DEVICE = [name for name, workload in CATALOGUE.items() if workload.least_devices == 1]


def opened(dialog: WorkloadChooser, qtbot: QtBot) -> WorkloadChooser:
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: bool(dialog.table.entries.rows), timeout=PATIENCE_MS)
    return dialog


@pytest.fixture
def chooser(services: Services, machine: Machine, qtbot: QtBot) -> Iterator[WorkloadChooser]:
    in_database(services.paths.database, store, machine, 80.0, 60.0)
    times_s = {("fcn_r", "tensorflow", "auto"): 40.0}
    dialog = opened(WorkloadChooser(services, machine, "mnist_cnn", times_s), qtbot)
    yield dialog
    dialog.reject()


def shown(chooser: WorkloadChooser) -> list[str]:
    return [entry.workload.id for entry in chooser.table.entries.rows]


def cells(chooser: WorkloadChooser, workload_id: str) -> list[str]:
    model, row = chooser.table.entries, shown(chooser).index(workload_id)
    return [model.data(model.index(row, column)) for column in range(model.columnCount())]


def test_all_workloads_are_there_and_the_chosen_one_is_marked(chooser: WorkloadChooser) -> None:
    assert shown(chooser) == ON_ONE_DEVICE
    assert chooser.table.chosen is not None
    assert chooser.table.chosen.workload.id == "mnist_cnn"
    assert chooser.title.text() == "MNIST CNN (mnist_cnn)"
    assert said("workloads.parameters", parameters="1,199,882").is_in(
        chooser.facts.toolTip() + chooser.facts.text()
    )
    assert cells(chooser, "cifar10_keras_cnn")[1:3] == ["Song 2019", "about 10 min"]
    assert cells(chooser, "fcn_r")[2] == "about 40 s"
    assert said("workloads.duration_unknown").is_all_of(cells(chooser, "mnist_cnn")[2])
    assert cells(chooser, "resnet_50")[4] == sentence("setting_value.data_generated")


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS if kind])
def test_a_kind_shows_only_its_workloads(chooser: WorkloadChooser, kind: str) -> None:
    chooser.kinds.buttons[kind].click()
    assert shown(chooser) == [name for name in ON_ONE_DEVICE if CATALOGUE[name].kind == kind]
    assert shown(chooser)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("study 002 INFERENCE xception", ["flowers_xception_331_inference"]),
        ("mooney INFERENCE xception", ["flowers_xception_331_inference"]),
        ("lstm_ptb", ["lstm_ptb_32", "lstm_ptb_64"]),
        ("no such thing", []),
    ],
)
def test_words_are_looked_for_everywhere(chooser: WorkloadChooser, text: str, ids: list[str]) -> None:
    chooser.search.setText(text)
    assert shown(chooser) == ids
    assert chooser.choose_button.isEnabled() == bool(ids)
    if not ids:
        assert said("workloads.nothing_found").is_all_of(chooser.title.text())


def test_the_keyboard_alone_chooses(chooser: WorkloadChooser, qtbot: QtBot) -> None:
    chooser.search.setText("lstm_ptb")
    qtbot.keyClick(chooser.table, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    chooser.choose_button.click()
    assert chooser.chosen_id == "lstm_ptb_64"


def test_cancelling_leaves_the_choice(chooser: WorkloadChooser) -> None:
    chooser.search.setText("lstm_ptb")
    chooser.close_button.click()
    assert chooser.chosen_id == "mnist_cnn"


@pytest.mark.long
def test_a_probe_estimates_the_time_of_a_whole_run(chooser: WorkloadChooser, qtbot: QtBot) -> None:
    chooser.search.setText("demo")
    chooser.probe_button.click()
    assert not chooser.probe_button.isEnabled()
    assert said("workloads.probing").is_in(chooser.answer.text())
    qtbot.waitUntil(lambda: not said("workloads.probing").is_in(chooser.answer.text()), timeout=PATIENCE_MS)
    assert said("workloads.duration").is_in(chooser.answer.text())
    assert cells(chooser, "demo")[2] == "about 1 s"
    assert chooser.probe_button.isEnabled()


def test_a_workload_that_does_not_fit_says_so_and_is_not_probed(
    services: Services, machine: Machine, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(10**11, 0))
    dialog = opened(WorkloadChooser(services, machine, "demo", {}), qtbot)
    assert cells(dialog, "demo")[3] == "93.1 GB"
    assert said("memory.computer_too_small", there_bytes="15 GB", need_bytes="93.1 GB", batch_size="100").begins(
        dialog.answer.text()
    )
    assert not dialog.probe_button.isEnabled()
    dialog.reject()


def test_the_button_opens_it_and_takes_the_choice_over(driver: Driver) -> None:
    setup = driver.page.setup

    def choose_there() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, WorkloadChooser)
        driver.until(lambda: bool(dialog.table.entries.rows))
        dialog.search.setText("mnist_mlp")
        dialog.choose_button.click()

    QTimer.singleShot(100, choose_there)
    driver.press(setup.browse_button)
    assert setup.chosen_workload.id == "mnist_mlp"
    assert "30 epochs" not in setup.presets["standard"].text()


def test_a_workload_that_certainly_does_not_fit_cannot_be_started(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.become(memory_bytes=10**9)
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(2 * 10**9, 0))
    driver.choose_demo()
    assert said("memory.computer_too_small", need_bytes="1.9 GB", batch_size="100").begins(
        driver.page.setup.problem.text()
    )
    assert not driver.page.setup.run_button.isEnabled()


def test_no_column_of_the_chooser_is_cut(services: Services, machine: Machine, qtbot: QtBot) -> None:
    chooser = opened(WorkloadChooser(services, machine, "demo", {}), qtbot)
    table, model = chooser.table, chooser.table.model()
    metrics, padding_px = table.fontMetrics(), 2 * 9
    for column in (0, 1):
        texts = [model.index(row, column).data() for row in range(model.rowCount())]
        assert max(map(metrics.horizontalAdvance, texts)) + padding_px <= table.columnWidth(column)
    assert table.horizontalScrollBar().maximum() == 0


def listed(box: WorkloadBox) -> list[str]:
    return [box.itemData(number) or box.itemText(number) for number in range(box.count())]


def test_at_first_there_is_the_standard_workload_and_what_was_chosen(services: Services, qtbot: QtBot) -> None:
    box = added(qtbot, WorkloadBox(services))
    assert listed(box) == [STANDARD]
    with qtbot.waitSignal(box.currentIndexChanged):
        box.choose("fcn_r")
    assert (box.chosen_id, listed(box)) == ("fcn_r", ["fcn_r", STANDARD])
    box.choose("mnist_mlp")
    assert box.chosen_id == "mnist_mlp"
    assert set(listed(box)) == {"mnist_mlp", "fcn_r", STANDARD}


def test_favourites_and_recent_ones_come_first_each_once() -> None:
    settings = Settings(
        favourite_workloads=("mnist_cnn", "gone"), recent_workloads=("demo", "mnist_cnn", "gone", "fcn_r")
    )
    assert workload_groups(settings, "mnist_mlp") == [
        ("setup.favourites", ["mnist_cnn"]),
        ("setup.recently_used", ["demo", "fcn_r"]),
        ("setup.other_workloads", ["mnist_mlp", STANDARD]),
    ]
    for name in CATALOGUE:
        settings = Settings(recent_workloads=with_recent(settings, name))
    assert settings.recent_workloads == tuple(reversed(CATALOGUE))[:RECENT_LIMIT]
    assert with_recent(settings, settings.recent_workloads[2])[0] == settings.recent_workloads[2]


@pytest.mark.parametrize("by_keyboard", [False, True], ids=["mouse", "keyboard"])
def test_the_star_makes_a_favourite_that_stays(driver: Driver, by_keyboard: bool) -> None:
    setup, file = driver.page.setup, driver.services.home.settings
    setup.workload.choose("mnist_cnn")

    def press_star() -> None:
        if by_keyboard:
            setup.workload.setFocus()
            QTest.keyClick(setup.workload, Qt.Key.Key_Tab)
            assert driver.window.focusWidget() is setup.star
            QTest.keyClick(setup.star, Qt.Key.Key_Space)
        else:
            driver.press(setup.star)

    assert not setup.star.isChecked()
    press_star()
    assert load_settings(file).favourite_workloads == ("mnist_cnn",)
    assert setup.star.isChecked()
    assert said("setup.remove_favourite").is_all_of(setup.star.accessibleDescription())
    assert listed(setup.workload) == [
        sentence("setup.favourites"),
        "mnist_cnn",
        sentence("setup.other_workloads"),
        STANDARD,
    ]
    assert setup.chosen_workload.id == "mnist_cnn"
    setup.workload.choose(STANDARD)
    assert not setup.star.isChecked()
    setup.workload.choose("mnist_cnn")
    press_star()
    assert load_settings(file).favourite_workloads == ()
    assert setup.chosen_workload.id == "mnist_cnn"


def test_arrow_keys_pass_over_headings(services: Services, qtbot: QtBot) -> None:
    save_settings(services.home.settings, Settings(favourite_workloads=("demo",), recent_workloads=("mnist_mlp",)))
    services.preferences.change(zoom_pct=110)
    box = added(qtbot, WorkloadBox(services))
    assert listed(box) == [
        sentence("setup.favourites"),
        "demo",
        sentence("setup.recently_used"),
        "mnist_mlp",
        sentence("setup.other_workloads"),
        STANDARD,
    ]
    for expected in ("mnist_mlp", "demo", "demo"):
        QTest.keyClick(box, Qt.Key.Key_Up)
        assert box.chosen_id == expected


def test_the_chooser_has_the_star_too(services: Services, machine: Machine, qtbot: QtBot) -> None:
    dialog = opened(WorkloadChooser(services, machine, "mnist_cnn", {}), qtbot)
    table = dialog.table
    dialog.star.click()
    dialog.search.setText("lstm_ptb_64")
    assert not dialog.star.isChecked()
    dialog.star.click()
    assert services.preferences.settings.favourite_workloads == ("mnist_cnn", "lstm_ptb_64")
    dialog.search.setText("")
    marked = [
        entry.workload.id
        for row, entry in enumerate(table.entries.rows)
        if table.entries.index(row, 0).data(Qt.ItemDataRole.DecorationRole) is not None
    ]
    assert sorted(marked) == ["lstm_ptb_64", "mnist_cnn"]
    dialog.search.setText("no such thing")
    assert not dialog.star.isEnabled()
    dialog.reject()


@pytest.mark.slow
def test_what_was_run_is_recently_used(driver: Driver) -> None:
    driver.run_demo(epochs=1)
    assert load_settings(driver.services.home.settings).recent_workloads == ("demo",)
    assert said("setup.recently_used").is_in(listed(driver.page.setup.workload))
