"""The short list of workloads: favourites and recently used ones, grouped, and the star."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.core.settings import Settings, load_settings, save_settings
from app.gui.pages.benchmark.workload_box import RECENT_LIMIT, WorkloadBox, with_recent, workload_groups
from app.gui.pages.benchmark.workload_chooser import WorkloadChooser
from app.gui.services.bundle import Services
from tests.gui.driving import PATIENCE_MS, Driver
from tests.saying import said
from workloads import CATALOGUE, STANDARD
from workloads.protocol.machine import Machine


def listed(box: WorkloadBox) -> list[str]:
    """Return the box's entries: ids of workloads, and headings."""
    return [box.itemData(number) or box.itemText(number) for number in range(box.count())]


def test_at_first_there_is_the_standard_workload_and_what_was_chosen(services: Services, qtbot: QtBot) -> None:
    box = WorkloadBox(services)
    qtbot.addWidget(box)
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
    assert listed(setup.workload) == ["Favourites", "mnist_cnn", "Others", STANDARD]
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
    box = WorkloadBox(services)
    qtbot.addWidget(box)
    assert listed(box) == ["Favourites", "demo", "Recently used", "mnist_mlp", "Others", STANDARD]
    for expected in ("mnist_mlp", "demo", "demo"):
        QTest.keyClick(box, Qt.Key.Key_Up)
        assert box.chosen_id == expected


def test_the_chooser_has_the_star_too(services: Services, machine: Machine, qtbot: QtBot) -> None:
    dialog = WorkloadChooser(services, machine, "mnist_cnn", {})
    qtbot.addWidget(dialog)
    dialog.show()
    table = dialog.table
    qtbot.waitUntil(lambda: bool(table.entries.rows), timeout=PATIENCE_MS)
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
