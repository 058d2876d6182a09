"""What a screen reader says: every page and dialog, empty and with results, has names and clean descriptions."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QApplication, QDialog, QGraphicsView, QWidget
from pytestqt.qtbot import QtBot

from app.core.exchange.sharing import shared_result
from app.core.exchange.updates import Release
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.conditions import CONDITIONS
from app.core.verdict.context import TelemetryWindow
from app.core.verdict.judged_run import JudgedRun
from app.gui.charts.bar_list import BarList
from app.gui.run.log_dialog import LogDialog
from app.gui.run.share_dialog import ShareDialog
from app.gui.run.verdict_dialog import CautionsDialog, VerdictDialog
from app.gui.run.workload_chooser import WorkloadChooser
from app.gui.shell.help_dialogs import ReportDialog, ShortcutSheet, UpdateDialog, problem_report
from app.gui.shell.pages import PAGES
from app.gui.widgets.basics import ClampedLabel, label, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import FaultDialog, about_dialog
from tests.gui.clipped import clipped, enter
from tests.gui.driving import Driver, added, replay
from tests.gui.full_pages import FULL
from tests.recording import as_preset, recorded_events, store_recording, until_epoch
from workloads import STANDARD
from workloads.protocol.telemetry import Telemetry

SETTLING = 8  # as in test_texts.py
VIEWS = ("parts", "live", "doctor")


def store(driver: Driver) -> list[int]:
    """Store a run of each preset; returns their numbers."""
    recorded = recorded_events()
    quick = as_preset(until_epoch(recorded, 0, more_steps=320), "quick")
    with Database(driver.services.paths.database) as database:
        return [store_recording(database, each) for each in (recorded, quick, as_preset(recorded, "sustained"))]


def is_shown(driver: Driver, run_id: int) -> bool:
    return driver.page.run is not None and driver.page.run.summary.id == run_id


def test_every_page_can_be_heard_while_it_is_empty(driver: Driver) -> None:
    for page in PAGES:
        driver.window.show_page(page.code)
        assert faults(driver.window) == [], page.code
    driver.window.show_page("hardware")
    for view in VIEWS:
        driver.window.hardware.show_view(view)
        assert faults(driver.window) == [], view
    driver.until(lambda: bool(driver.window.settings.engines_card.rows))
    driver.window.show_page("settings")
    assert faults(driver.window) == []


@pytest.mark.slow
def test_a_run_can_be_heard_while_it_runs_and_afterwards(driver: Driver) -> None:
    driver.open_settings()
    assert faults(driver.window) == []
    replay(driver.window, driver.services, until_epoch(recorded_events(), 5, more_steps=214))
    assert faults(driver.window) == []
    for run_id in store(driver):
        driver.page.show_result(run_id)
        driver.until(partial(is_shown, driver, run_id))
        assert faults(driver.window) == []
        driver.view.charts.rate_fold.button.setChecked(True)
        shown = [type(chart).__name__ for chart in charts(driver.page) if chart.accessibleDescription()]
        assert {"ThroughputChart", "TelemetryChart", "BarList", "Legend"} <= set(shown)


@pytest.mark.slow
def test_stored_runs_can_be_heard(driver: Driver) -> None:
    run_id = store(driver)[0]
    driver.open_results()
    assert faults(driver.window) == []
    driver.open_run(run_id)
    assert faults(driver.window) == []
    driver.window.show_page("compare")
    bars = driver.window.page.findChild(BarList)
    assert isinstance(bars, BarList)
    driver.until(lambda: any(bar.kind != "reference" for bar in bars.bars))
    assert faults(driver.window) == []


@pytest.mark.long
@pytest.mark.parametrize("state", FULL)
def test_full_pages_can_be_heard(driver: Driver, state: str) -> None:
    FULL[state](driver)
    QApplication.processEvents()
    assert faults(driver.window) == []


def chooser(driver: Driver) -> WorkloadChooser:
    assert driver.services.finder.machine is not None
    return WorkloadChooser(driver.services, driver.services.finder.machine, STANDARD, driver.window)


def verdict(driver: Driver) -> VerdictDialog:
    run_id = store(driver)[0]
    with Database(driver.services.paths.database) as database:
        return VerdictDialog(driver.services.theme, JudgedRun(load_run(database, run_id)), driver.window)


def share(driver: Driver) -> QDialog:
    run_id = store(driver)[0]
    with Database(driver.services.paths.database) as database:
        run = JudgedRun(load_run(database, run_id))
    load = partial(shared_result, run=run)
    dialog = ShareDialog(driver.services, driver.window, load, lambda *_: None, lambda *_: None)
    driver.until(lambda: bool(dialog.boxes))
    return dialog


def cautions(driver: Driver) -> CautionsDialog:
    window = TelemetryWindow((Telemetry(on_battery=True, other_cpu_pct=34.0, swap_bytes_per_s=1e9),), (0.0,))
    reasons = [reason for each in CONDITIONS if (reason := each.before(window)) is not None]
    return CautionsDialog(driver.services.theme, reasons, driver.window)


DIALOGS: dict[str, Callable[[Driver], QDialog]] = {
    "about": lambda driver: about_dialog(driver.window),
    "shortcuts": lambda driver: ShortcutSheet(driver.window, [driver.window.action("menu.run")]),
    "report": lambda driver: ReportDialog(driver.window, problem_report(driver.machine, Path("none.log"))),
    "fault": lambda driver: FaultDialog(driver.window, "", ""),
    "update": lambda driver: UpdateDialog(driver.window, Release("9.9.9", ()), "https://example.org"),
    "cautions": cautions,
    "log": lambda driver: LogDialog(driver.window, list, lambda: None),
    "verdict": verdict,
    "workloads": chooser,
    "share": share,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALOGS)
def test_every_dialog_can_be_heard_and_read(driver: Driver, name: str) -> None:
    dialog = DIALOGS[name](driver)
    dialog.show()
    assert len(list(nodes(dialog))) > 2
    assert faults(dialog) == []
    for size, may_elide in ((dialog.size(), ()), (dialog.minimumSizeHint(), dialog.findChildren(ClampedLabel))):
        dialog.resize(size)
        for _ in range(SETTLING):
            QApplication.processEvents()
        assert clipped(dialog, may_elide) == []
    dialog.reject()


def test_a_combo_box_is_called_as_its_label_and_not_as_its_value(qtbot: QtBot) -> None:
    box = added(qtbot, ChoiceBox("Number"))
    box.addItems(["one", "two"])
    box.show()
    assert spoken_name(QAccessible.queryAccessibleInterface(box)) == "Number"
    assert len(list(nodes(box))) == 1  # the label isn't read as well
    box.setAccessibleName("Another number")
    assert spoken_name(QAccessible.queryAccessibleInterface(box)) == "Another number"


def test_a_value_without_room_ends_with_a_sign_and_is_whole_under_the_pointer(qtbot: QtBot) -> None:
    box = added(qtbot, ChoiceBox("Result"))
    box.addItem("1: <b>1 thread</b> vs automatic · CIFAR-10 CNN · 2026-11-23")
    set_tip(box, "Earlier A/B tests")
    box.show()
    box.resize(box.sizeHint())
    enter(box)
    assert box.shown_text() == box.currentText()
    assert "Earlier" in box.toolTip()
    box.resize(140, box.height())
    assert box.shown_text().endswith("…")
    for _ in range(2):
        enter(box)
        assert "&lt;b&gt;1 thread" in box.toolTip()
        QApplication.sendEvent(box, QEvent(QEvent.Type.Leave))
        assert "Earlier" in box.toolTip()
    assert spoken_name(QAccessible.queryAccessibleInterface(box)) == "Result"


def test_a_tooltip_is_said_without_its_tags(qtbot: QtBot) -> None:
    text = label("GPU")
    qtbot.addWidget(text)
    text.show()
    text.setToolTip("<qt>there&#x27;s none</qt>")
    assert faults(text)
    set_tip(text, "there's <none>")
    assert text.accessibleDescription() == "there's <none>"
    set_tip(text, "")
    assert text.toolTip() == text.accessibleDescription() == ""


ROLE, TEXT = QAccessible.Role, QAccessible.Text
CONTROLS = {
    ROLE.Button,
    ROLE.CheckBox,
    ROLE.RadioButton,
    ROLE.ComboBox,
    ROLE.EditableText,
    ROLE.SpinBox,
    ROLE.Table,
    ROLE.List,
    ROLE.ProgressBar,
    ROLE.Slider,
    ROLE.MenuItem,
}
TAG = re.compile(r"</?[a-z][^>]*>|&[a-z]+;|&#")


def nodes(widget: QWidget) -> Iterator[QAccessibleInterface]:
    """Yield what is visible of a widget, itself first; of tables only the table."""
    yield from _below(QAccessible.queryAccessibleInterface(widget))


def faults(widget: QWidget) -> list[str]:
    """Return what a screen reader's user would not understand."""
    return [f"{_place(node)}: {fault}" for node in nodes(widget) for fault in _faults(node)]


def charts(widget: QWidget) -> list[QWidget]:
    """Return the visible widgets that a screen reader can know from their description only."""
    seen = (node.object() for node in nodes(widget))
    return [each for each in seen if isinstance(each, QWidget) and _is_painted(each)]


def spoken_name(node: QAccessibleInterface) -> str:
    """Return what a screen reader calls it: on Linux, Qt tells a combo box's name only by its label."""
    if node.role() != ROLE.ComboBox:
        return node.text(TEXT.Name)
    labels = node.relations(QAccessible.RelationFlag.Label)
    return " ".join(label.text(TEXT.Name) for label, _ in labels)


def _below(node: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    if node.state().invisible:
        return
    yield node
    if node.role() != ROLE.Table:
        for number in range(node.childCount()):
            yield from _below(node.child(number))


def _faults(node: QAccessibleInterface) -> Iterator[str]:
    widget, name, description = node.object(), spoken_name(node), node.text(TEXT.Description)
    painted = isinstance(widget, QWidget) and _is_painted(widget)
    if (painted or node.role() in CONTROLS or node.state().focusable) and not name.strip():
        yield "has no name"
    if node.role() == ROLE.ComboBox and name == node.text(TEXT.Value):
        yield f"is named as its value: {name}"
    if TAG.search(name) or TAG.search(description):
        yield f"has tags: {name!r}, {description!r}"
    if isinstance(widget, QGraphicsView) and not description:
        yield "doesn't describe what it shows"


def _is_painted(widget: QWidget) -> bool:
    """Return whether it is a chart, the part of one where it is drawn, or painted by ourselves."""
    if isinstance(widget, QGraphicsView) or isinstance(widget.parent(), QGraphicsView):
        return True
    return any("paintEvent" in vars(kind) for kind in type(widget).__mro__ if kind.__module__.startswith("app."))


def _place(node: QAccessibleInterface) -> str:
    widget: QObject | None = node.object()
    names = []
    while widget is not None:
        names.append(type(widget).__name__)
        widget = widget.parent()
    return " < ".join(names[:4]) + f" {node.text(TEXT.Name)!r}"
