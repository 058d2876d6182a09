"""The code on a picture, read by a decoder that isn't ours: from the PNG, from a JPEG, and made smaller."""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image  # noqa: TID253
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage

from app.core.paths import Paths
from app.core.plans.experiments import report_of
from app.core.plans.suite.short_form import read_suite_form
from app.core.records import Plan, PlanPlace, Run
from app.core.report.formats.result_document import results_of
from app.core.report.share import share_card
from app.core.result_file.short_form import LETTERS_LIMIT, read_short_form, read_short_forms
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_picture import paint_share_picture
from app.gui.services.picture_code import scan, scan_file
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.build import load_suite, set_fields, suite_report
from tests.gui.run.test_share_picture import ab_example
from tests.recording import as_preset, asked, recorded_events, store_recording
from tests.study_pictures import store_suite
from workloads.protocol.machine import Machine

pytestmark = pytest.mark.slow


@pytest.fixture
def run(paths: Paths) -> Run:
    with Database(paths.database) as database:
        return load_run(database, store_recording(database, as_preset(recorded_events(), "quick")))


def scanned(picture: QImage) -> list[str]:
    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    import numpy as np

    lines = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    return [code.text for code in zxingcpp.read_barcodes(lines[:, : grey.width()])]


def recompressed(picture: QImage, quality: int) -> QImage:
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "JPG", quality)  # type: ignore[call-overload]
    return QImage.fromData(content)


def smaller(picture: QImage, share: float) -> QImage:
    size = picture.size() * share
    modes = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    return picture.scaled(size, *modes)


def as_forums_show(picture: QImage) -> tuple[QImage, ...]:
    small = smaller(picture, 0.6)
    return picture, recompressed(picture, 60), small, recompressed(small, 60)


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
def test_it_survives_what_forums_do(run: Run, application_theme: Theme, tokens: Tokens) -> None:
    card = share_card(JudgedRun(run))
    picture = paint_share_picture(card, tokens)
    for version in as_forums_show(picture):
        assert scanned(version) == [card.short_form]
    result = read_short_form(card.short_form)
    assert result.statistics.value == pytest.approx(run.summary.value, rel=1e-3)
    assert result.uid == run.summary.uid


def test_other_networks_have_no_code(run: Run, application_theme: Theme) -> None:
    other = replace(run, summary=replace(run.summary, variant="lstm=fused"))
    assert share_card(JudgedRun(other)).short_form == ""
    assert scanned(paint_share_picture(share_card(JudgedRun(other)), DARK)) == []


def test_repetitions_have_the_code_of_the_typical_run(paths: Paths, application_theme: Theme) -> None:
    recorded = as_preset(recorded_events(), "quick")
    spec, _ = asked(recorded)
    with Database(paths.database) as database:
        group_id = begin_group(database, Plan(kind="repeat", specs=(spec,), rounds=2))
        ids = [store_recording(database, recorded, place=PlanPlace(group_id, number)) for number in (1, 2)]
        group, run = load_group(database, group_id), load_run(database, ids[0])
        (mine, _) = results_of(database, ids)
    card = replace(report_of(group), run=JudgedRun(run)).card()
    for picture in (paint_share_picture(card, LIGHT), smaller(paint_share_picture(card, DARK), 0.6)):
        (text,) = scanned(picture)
        assert read_short_form(text).uid == mine.uid


@pytest.mark.long
@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_code_of_several_results_survives_the_same(
    run: Run, application_theme: Theme, tokens: Tokens, count: int
) -> None:
    forms = " ".join([share_card(JudgedRun(run)).short_form] * count)
    assert len(read_short_forms(forms)) == count
    longest = forms.ljust(LETTERS_LIMIT, "X")  # what no form is, but a picture has room for it
    for card in (replace(share_card(JudgedRun(run)), short_form=forms), replace(ab_example(), short_form=longest)):
        picture = paint_share_picture(card, tokens)
        for version in as_forums_show(picture):
            assert scanned(version) == [card.short_form]


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("card_name", [None, "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"])
def test_a_suites_code_survives_the_same(
    paths: Paths, machine: Machine, application_theme: Theme, tokens: Tokens, card_name: str | None
) -> None:
    with Database(paths.database) as database:
        there = replace(machine, cpu_name="AMD Ryzen Threadripper PRO 7995WX 96-Cores")
        group_id = store_suite(database, paths, there, [61.23456789 + number / 7 for number in range(8)])
        if card_name is not None:
            software = {"settings": "tf32=off", "engine_version": "2.21.0+cu128"}
            set_fields(database, device="gpu:0", device_name=card_name, **software)
        card = suite_report(load_suite(database, group_id)).card()
    assert len(read_suite_form(card.short_form)) == 16
    picture = paint_share_picture(card, tokens)
    for version in as_forums_show(picture):
        assert scanned(version) == [card.short_form]
    half = smaller(picture, 0.5)
    for version in (half, recompressed(half, 60), recompressed(smaller(picture, 0.45), 60)):
        assert scan(version) == card.short_form


def framed(picture: QImage, width: int, height: int) -> Image.Image:
    inside = picture.scaledToWidth(width // 2).convertToFormat(QImage.Format.Format_Grayscale8)
    lines = Image.frombuffer(
        "L", (inside.width(), inside.height()), bytes(inside.constBits()), "raw", "L", inside.bytesPerLine(), 1
    )
    photo = Image.new("RGB", (width, height), (90, 90, 90))
    photo.paste(lines, (80, 80))
    return photo


@pytest.mark.long
def test_large_pictures_are_read_if_they_need_little_memory(
    run: Run, application_theme: Theme, tmp_path: Path
) -> None:
    card = share_card(JudgedRun(run))
    picture, path = paint_share_picture(card, DARK), tmp_path / "photo"
    photo = framed(picture, 5_200, 4_800)
    photo.save(path, "JPEG", quality=60)
    baseline = path.read_bytes()
    assert scan_file(path) == card.short_form
    photo.resize((80, 60)).save(path, "JPEG", progressive=True)
    thumbnail = b"\xff\xe1" + (len(path.read_bytes()) + 2).to_bytes(2) + path.read_bytes()
    path.write_bytes(baseline[:2] + thumbnail + baseline[2:] + path.read_bytes())
    assert scan_file(path) == card.short_form, "as cameras do: with small pictures before and after it"
    photo.save(path, "JPEG", quality=60, progressive=True)
    assert scan_file(path) == "", "its decoder would hold all of it"
    photo.resize((2_600, 2_400)).save(path, "JPEG", quality=60, progressive=True)
    assert scan_file(path) == card.short_form
    photo.save(path, "PNG", compress_level=1)
    assert scan_file(path) == card.short_form
    photo.convert("RGBA").save(path, "PNG", compress_level=1)
    assert scan_file(path) == "", "transparency needs twice the memory"


@pytest.mark.parametrize("spoil", ["cut", "flip"])
def test_a_broken_picture_says_nothing_in_the_terminal(
    spoil: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    picture = QImage(300, 200, QImage.Format.Format_RGB32)
    picture.fill(0x336699)
    whole, path = tmp_path / "whole.png", tmp_path / "broken.png"
    picture.save(str(whole))
    content = bytearray(whole.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content if spoil == "flip" else content[: len(content) // 2])
    with caplog.at_level(logging.INFO):
        assert scan_file(path) == ""
    assert capfd.readouterr() == ("", "")
    assert any("libpng" in record.getMessage() for record in caplog.records)
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "heard again"
