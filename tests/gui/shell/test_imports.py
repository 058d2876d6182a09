"""Results of others come into the window: dropped, chosen, pasted, typed; what is wrong stops nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog

from app.core.exchange.file_import import read_results
from app.core.exchange.sharing import shared_report
from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.plans.suite.texts import points_text
from app.core.report.export import FORMATS
from app.core.report.formats.result_document import enclosed_file
from app.core.report.share import share_card
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_picture import paint_share_picture, save_share_picture
from app.gui.services.picture_code import scan_file
from app.gui.style.tokens import DARK
from tests.build import in_database, load_suite, set_fields, suite_report
from tests.gui.driving import Driver
from tests.recording import as_preset, recorded_events, store_recording
from tests.saying import said
from tests.study_pictures import store_suite
from tests.sure import sure
from workloads.protocol.machine import Machine


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, session_theme: object) -> Path:
    """What another computer hands out: the same result as a picture, a JPEG without a result file, and a file."""
    folder = tmp_path_factory.mktemp("theirs")
    paths = default_paths({"EPOCHMARK_HOME": str(folder / "home")})
    paths.create()
    with Database(paths.database) as database:
        run_id = store_recording(database, as_preset(recorded_events(), "quick"))
        card = share_card(JudgedRun(load_run(database, run_id)))
        save_share_picture(card, DARK, folder / "result.png", enclosed_file(database, [run_id]))
        (folder / "result.epochmark.json").write_text(
            "".join(FORMATS["result"].lines(database, [run_id])), "utf-8"
        )
    (folder / "code.txt").write_text(card.short_form, "utf-8")
    assert QImage(str(folder / "result.png")).save(str(folder / "forum.jpg"), "JPG", 60)  # type: ignore[call-overload]
    return folder


def drop(driver: Driver, *paths: Path) -> None:
    content = QMimeData()
    content.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    actions, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    place = driver.window.rect().center()
    try:
        entered = QDragEnterEvent(QPointF(place), actions, content, buttons, keys)  # type: ignore[call-overload,unused-ignore]
    except TypeError:  # before Qt 6.12
        entered = QDragEnterEvent(place, actions, content, buttons, keys)
    QApplication.sendEvent(driver.window, entered)
    assert entered.isAccepted()
    QApplication.sendEvent(driver.window, QDropEvent(QPointF(place), actions, content, buttons, keys))


def count(paths: Paths) -> int:
    with Database(paths.database) as database:
        return len(list_results(database))


def sources(paths: Paths) -> list[str]:
    with Database(paths.database) as database:
        return [result.source for result in list_results(database)]


@pytest.mark.parametrize("name", ["result.png", "forum.jpg", "result.epochmark.json"])
def test_dropped_it_is_a_bar_on_compare(driver: Driver, paths: Paths, theirs: Path, name: str) -> None:
    drop(driver, theirs / name)
    driver.until(lambda: said("imports_page.done").is_all_of(driver.message))
    driver.press(driver.window.banner.button)
    compare = driver.window.compare
    driver.until(lambda: any(bar.kind == "imported" for bar in compare.all_bars))
    bar = next(bar for bar in compare.all_bars if bar.kind == "imported")
    assert "EPYC" in bar.name
    assert bar.value == pytest.approx(51.79, rel=1e-3)
    assert any(said("compare.imported_result").is_in(remark) for remark in bar.remarks)
    drop(driver, theirs / name)
    driver.until(lambda: said("imports_page.no_new").is_in(driver.message))
    assert count(paths) == 1
    assert not driver.window.banner.button.isVisible(), "its bar is on this page"
    driver.window.show_page("benchmark")
    drop(driver, theirs / name)
    driver.until(driver.window.banner.button.isVisible)
    driver.press(driver.window.banner.button)
    assert driver.window.page is compare, "where its bar is"


def test_an_own_result_opens_and_the_side_bar_closes_it(driver: Driver, paths: Paths, theirs: Path) -> None:
    mine = in_database(paths.database, store_recording, as_preset(recorded_events(), "quick"))
    (result,) = read_results(theirs / "result.png")
    in_database(paths.database, set_fields, uid=result.uid)
    drop(driver, theirs / "forum.jpg")
    driver.until(lambda: said("imports_page.no_new").is_in(driver.message))
    driver.press(driver.window.banner.button)
    results = driver.window.results
    driver.until(lambda: results.run is not None and results.run.summary.id == mine)
    driver.window.show_page("benchmark")
    driver.press(driver.window.side_bar.places["results"])
    assert driver.window.page is results
    assert results.run is None


def test_pasted_as_text_file_or_picture(driver: Driver, paths: Paths, theirs: Path) -> None:
    clipboard, paste = QGuiApplication.clipboard(), driver.window.action("imports_page.paste")
    clipboard.clear()
    paste.trigger()
    assert said("imports_page.nothing_to_paste").is_in(driver.message)
    clipboard.setText("just a text")
    paste.trigger()
    driver.until(lambda: said("short_form.not_one").is_in(driver.message))
    clipboard.setImage(QImage(str(theirs / "forum.jpg")))
    paste.trigger()
    driver.until(lambda: count(paths) == 1)
    assert sources(paths) == [sentence("exchange.pasted")]
    path = theirs / "result.epochmark.json"
    drop(driver, path)
    driver.until(lambda: sources(paths) == [path.name])  # the file takes the place of its code
    clipboard.setText(path.read_text("utf-8"))
    paste.trigger()
    driver.until(lambda: said("imports_page.no_new").is_in(driver.message))
    assert sources(paths) == [path.name]
    clipboard.clear()


def test_a_suites_jpeg_is_a_bar_among_known_scores_and_its_tests_are_in_compare(
    driver: Driver, paths: Paths, machine: Machine, tmp_path: Path
) -> None:
    home, jpeg = default_paths({"EPOCHMARK_HOME": str(tmp_path / "theirs")}), tmp_path / "forum.jpg"
    home.create()
    with Database(home.database) as database:
        group_id = store_suite(database, home, replace(machine, cpu_name="Their CPU"), [2.0] * 8)
        result = load_suite(database, group_id)
        card = shared_report(database, suite_report(result)).card
    assert paint_share_picture(card, DARK).save(str(jpeg), "JPG", 60)  # type: ignore[call-overload]
    in_database(paths.database, store_suite, paths, machine, [1.0] * 8)
    driver.window.show_page("suite")
    page = driver.window.suite
    driver.until(lambda: page.report is not None)
    drop(driver, jpeg)
    driver.until(lambda: said("imports_page.done", count="16").is_all_of(driver.message))
    driver.press(driver.window.banner.button)
    driver.until(lambda: len(sure(page.view.figure).rows) == 3)
    shown = sure(page.view.figure)
    assert shown.rows[0] == f"THEIR CPU, {sentence('heading.imported')}"
    assert sure(shown.series[0].spots[0]).text == card.headline == points_text(sure(result.total).points)
    driver.window.show_page("compare")
    driver.until(lambda: any("THEIR CPU" in bar.name for bar in driver.window.compare.all_bars))
    drop(driver, jpeg)
    driver.until(lambda: said("imports_page.no_new").is_in(driver.message))


def test_chosen_in_a_dialog_or_dropped_as_a_folder_with_a_broken_file(
    driver: Driver, paths: Paths, theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lit: list[bool] = []
    driver.window.imports.dragged.connect(lit.append)
    driver.window.show_page("compare")
    assert QImage(40, 40, QImage.Format.Format_RGB32).save(str(tmp_path / "cat.jpg"), "JPG")  # type: ignore[call-overload]
    drop(driver, tmp_path / "cat.jpg")
    driver.until(lambda: "cat.jpg" in driver.message)
    assert (lit, count(paths)) == ([True, False], 0)
    assert not driver.window.compare.drop_line.property("lit")
    own = in_database(paths.database, store_recording, recorded_events())
    with Database(paths.database) as database:
        set_fields(database, f"id = {own}", value=100.0, value_low=99.0, value_high=101.0)
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(theirs / "result.png")], ""))
    driver.press(driver.window.compare.import_button)
    driver.until(lambda: said("compare.friend_faster", ratio="≈ 1.9×").is_in(driver.message))
    assert count(paths) == 1
    (tmp_path / "good.json").write_bytes((theirs / "result.epochmark.json").read_bytes())
    (tmp_path / "bad.json").write_text("{")
    drop(driver, tmp_path)
    driver.until(lambda: "bad.json" in driver.message)
    assert count(paths) == 1
    driver.window.action("imports_page.menu").trigger()
    driver.until(lambda: said("imports_page.no_new").is_in(driver.message))


@pytest.mark.qt_log_level_fail("CRITICAL")  # Qt warns of each
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
        b'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"/>',
        # A picture of 60,000 × 60,000 pixels, as its head claims.
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xea\x60\x00\x00\xea\x60\x08\x02\x00\x00\x00\x00\x00\x00\x00",
    ],
)
def test_broken_and_huge_pictures_have_no_code(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    assert scan_file(path) == ""
    assert scan_file(tmp_path) == ""
