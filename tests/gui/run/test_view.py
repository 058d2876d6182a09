"""What is shown of a run, from a real one that was recorded: while it went on, and after its end."""

from pathlib import Path
from typing import Literal

import pytest
from PySide6.QtCore import QDir, QStandardPaths
from PySide6.QtGui import QDesktopServices, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QLabel

from app.core.messages import message, sentence
from app.core.report.share import share_card
from app.core.storage.runs import load_run
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_dialog import ShareDialog
from tests.build import in_database
from tests.gui.driving import Driver, replay
from tests.recording import as_preset, recorded_events, store_recording, until_epoch
from tests.saying import said
from tests.sure import sure
from workloads.protocol import events

RECORDED = recorded_events()
EPOCHS_S = [event.duration_s for event in RECORDED if isinstance(event, events.Epoch)]


def finish(driver: Driver) -> int:
    run_id = in_database(driver.services.paths.database, store_recording, RECORDED)
    driver.page.show_result(run_id)
    driver.until(lambda: driver.page.run is not None)
    return run_id


def test_the_bottleneck_is_shown_under_the_curves(driver: Driver) -> None:
    replay(driver.window, driver.services, until_epoch(RECORDED, 2))
    assert driver.view.charts.limit.whole_text == sentence("chart.nothing_yet")
    finish(driver)
    text = driver.view.charts.limit.whole_text
    busy = said("bottleneck.busy_of_all", busy="1.8", allowed="2")
    assert said("bottleneck.cpu_bound", busy=busy).is_all_of(text)
    assert text == bottleneck_text(sure(driver.page.run))


def test_in_the_first_epoch_an_estimate_is_shown_and_called_one(driver: Driver) -> None:
    judged = events.Judged(level="valid")
    replay(driver.window, driver.services, [*until_epoch(RECORDED, 0, more_steps=200), judged])
    headline = driver.view.headline
    assert headline.value.text().startswith("≈ ")
    assert 35 < float(headline.value.text().removeprefix("≈ ")) < 70
    assert said("share.estimate_within").is_in(headline.note.whole_text)
    assert sentence("run.validation_not_counted") in headline.note.whole_text
    assert said("run.at_step_of", epoch="1", epochs="10").is_all_of(headline.progress_text.whole_text)
    assert headline.pill.whole_text == sentence("run.no_problems")


def test_in_the_sixth_epoch(driver: Driver) -> None:
    replay(driver.window, driver.services, until_epoch(RECORDED, 5, more_steps=214))
    view = driver.view
    assert driver.services.bridge.fraction == pytest.approx(0.54, abs=0.01)
    later_s = sorted(EPOCHS_S[1:5])
    median_s = (later_s[1] + later_s[2]) / 2
    assert view.headline.value.text() == f"{median_s:.1f}"
    assert 500 < view.headline.progress_bar.value() < 600
    assert said("run.time_left").is_all_of(view.headline.remaining.text())
    charts = view.charts
    assert list(charts.epochs.bars.opts["height"]) == [median_s / epoch_s for epoch_s in EPOCHS_S[:5]]
    assert len(charts.throughput.line.item.getData()[0]) > 200
    assert {"cpu_pct", "memory_used_bytes"} <= set(charts.machine.lines)
    assert len(charts.machine.lines["cpu_pct"].item.getData()[0]) > 250
    you = next(bar for bar in charts.bars.bars if bar.kind == "you")
    assert you.value == pytest.approx(median_s)
    assert len(charts.bars.bars) == 8
    notes = [child.text() for child in charts.findChildren(QLabel)]
    assert sentence("chart.one_times_median", median=message("chart.seconds", median_s=median_s)) in notes


def test_a_warning_is_shown_while_the_run_continues(driver: Driver) -> None:
    text = "The training process hasn't responded for 120 s. It may be compiling, or may have hung."
    warned = [*until_epoch(RECORDED, 1), events.Warn(code="silent_worker", message=text)]
    replay(driver.window, driver.services, warned)
    assert driver.view.headline.message.whole_text == text
    assert sentence("short.silent_worker") in driver.view.headline.pill.whole_text


def test_after_the_end(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_id = finish(driver)
    headline = driver.view.headline
    run = in_database(driver.services.paths.database, load_run, run_id)
    assert headline.value.text() == share_card(JudgedRun(run)).headline
    assert said("position.faster", baseline="i5-8250U (2019)").is_in(headline.rank.whole_text)
    assert said("advice.varies").is_in(headline.message.whole_text)
    assert said("result.verdict_because", verdict="Caution").is_all_of(headline.pill.whole_text)
    assert driver.view.charts.loss.lines["val_accuracy"].item.getData()[1][-1] < 100
    driver.page.copy_text()
    assert share_card(JudgedRun(run)).headline in QGuiApplication.clipboard().text()
    driver.window.action("menu.copy_picture").trigger()
    driver.until(lambda: QGuiApplication.clipboard().image().width() == 1200)
    target = tmp_path_factory.mktemp("pictures") / "mine.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), sentence("picture.png")))
    save_picture(driver)
    driver.until(target.exists)
    assert QImage(str(target)).height() == 630


def save_picture(driver: Driver) -> None:
    """Save the picture from the menu, without the preview, because another run would have the same caution."""
    driver.page.save_picture()
    assert not any(each.isVisible() for each in driver.page.findChildren(ShareDialog))


@pytest.mark.parametrize("has_pictures", [True, False])
def test_saving_begins_where_pictures_are_and_then_where_it_was(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, has_pictures: bool
) -> None:
    finish(driver)
    folder, pictures = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("home") / "Pictures"
    if has_pictures:
        pictures.mkdir()
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _: str(pictures))
    begins: list[Path] = []
    shown_in: list[Path] = []

    def answer(_: object, __: str, begin: str, kinds: str) -> tuple[str, str]:
        begins.append(Path(begin))
        return str(folder / Path(begin).name), kinds.split(";;", maxsplit=1)[0]

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown_in.append(Path(url.toLocalFile())))
    save_picture(driver)
    driver.until(lambda: said("picture.saved").is_in(driver.message))
    driver.press(driver.window.banner.button)
    assert shown_in == [folder]
    save_picture(driver)
    driver.until(lambda: len(begins) == 2)
    assert [path.parent for path in begins] == [pictures if has_pictures else Path(QDir.homePath()), folder]
    assert driver.services.preferences.settings.save_folder == str(folder)


@pytest.mark.parametrize(("preset", "is_open"), [("quick", False), ("sustained", True)])
def test_only_quick_folds_hardware(driver: Driver, preset: Literal["quick", "sustained"], is_open: bool) -> None:
    recorded = as_preset(recorded_events(), preset)
    driver.page.show_result(in_database(driver.services.paths.database, store_recording, recorded))
    driver.until(lambda: driver.page.run is not None)
    charts = driver.view.charts
    assert charts.throughput.isVisible() == is_open
    assert charts.rate_fold.button.isVisible() != is_open
    charts.rate_fold.button.setChecked(True)
    assert charts.throughput.isVisible()
