"""Paints the share pictures that tests compare with; `python -m tests.tools.golden_pictures` stores them."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from PySide6.QtGui import QGuiApplication, QImage

from app.core.paths import default_paths
from app.core.plans.study.details import Details
from app.core.report.card import ShareCard
from app.core.report.share import share_card
from app.core.storage.database import Database
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_picture import paint_share_picture
from app.gui.style.theme import load_fonts
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.build import load_study, study_report
from tests.conftest import pretend_installed
from tests.recording import recorded_run
from tests.replay import MACHINE
from tests.study_pictures import OWN_USD_PER_HOUR, curves, store_studies

FOLDER = Path(__file__).parents[1] / "data" / "pictures"
_GPU: dict[str, Any] = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 3090"}
_GPU |= {"value": 6.63, "value_low": 6.58, "value_high": 6.68, "confidence_pct": 95.0}
_THEMES = {"dark": DARK, "light": LIGHT}
# Changes to the recorded run, by the name of its picture.
_CHANGES: dict[str, dict[str, Any]] = {
    "cpu-light": {},
    "gpu-dark": {**_GPU, "power_limit_w": 370.0, "power_default_w": 370.0},
    "gpu-at-230-w-dark": {**_GPU, "power_limit_w": 230.0, "power_default_w": 370.0, "work_per_j": 38.2},
}
RUNS = tuple(_CHANGES)
# Studies left out: one depends on the CPUs of this computer, and one looks like another.
_OTHERS = ("sizing", "cut-short")


def painted_run(name: str) -> QImage:
    run = recorded_run()
    card = share_card(JudgedRun(replace(run, summary=replace(run.summary, **_CHANGES[name]))))
    return _painted(card, name)


def painted_studies() -> Iterator[tuple[str, QImage]]:
    """Paint pictures of studies with computed figures; yield each with its name, such as "study-power-dark".

    Whatever this computer has, there's a compiler for PyTorch.
    """
    with tempfile.TemporaryDirectory() as home, mock.patch("shutil.which", str):
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        pretend_installed("torch", paths, "cuda")
        pretend_installed("jax", paths)
        with Database(paths.database) as database:
            for number, (key, group_id) in enumerate(store_studies(database, paths, MACHINE)):
                result = load_study(database, group_id)
                details = Details(epochs=curves(result)) if key == "convergence" else Details()
                report = study_report(result, details, OWN_USD_PER_HOUR)
                name = f"study-{key}-{tuple(_THEMES)[number % 2]}"
                if key not in _OTHERS:
                    yield name, _painted(report.card(), name)


def _painted(card: ShareCard, name: str) -> QImage:
    # The digits of the checksum, the QR code and the details depend on the version of the app and its packages.
    card = replace(card, short_form="", footer="", details=())
    return paint_share_picture(card, _tokens(name))


def _tokens(name: str) -> Tokens:
    return _THEMES[name.rpartition("-")[2]]


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication([])
    load_fonts()
    FOLDER.mkdir(exist_ok=True)
    for name, picture in (*((name, painted_run(name)) for name in RUNS), *painted_studies()):
        picture.save(str(FOLDER / f"{name}.png"), "PNG", 0)  # type: ignore[call-overload]
    application.shutdown()


if __name__ == "__main__":
    main()
