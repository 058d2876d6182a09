"""The code on a picture, read by a decoder that isn't ours: from the PNG, from a JPEG, and made smaller."""

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
import zxingcpp
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage

from app.core.paths import Paths
from app.core.plans.suite.short_form import read_suite_form
from app.core.records import Run
from app.core.report.share import share_card
from app.core.result_file.short_form import read_short_form
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_picture import paint_share_picture
from app.gui.services.picture_code import scan, scan_file
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.build import load_suite, set_fields, suite_report
from tests.recording import as_preset, recorded_events, store_recording
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
        assert card.short_form in scanned(version)  # the decoder may take noise for a code of another kind
    result = read_short_form(card.short_form)
    assert result.statistics.value == pytest.approx(run.summary.value, rel=1e-3)
    assert result.uid == run.summary.uid


def test_other_networks_have_no_code(run: Run, application_theme: Theme) -> None:
    other = replace(run, summary=replace(run.summary, variant="lstm=fused"))
    assert share_card(JudgedRun(other)).short_form == ""
    assert scanned(paint_share_picture(share_card(JudgedRun(other)), DARK)) == []


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
        assert card.short_form in scanned(version)  # the decoder may take noise for a code of another kind
    half = smaller(picture, 0.5)
    for version in (half, recompressed(half, 60), recompressed(smaller(picture, 0.45), 60)):
        assert scan(version) == card.short_form


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
