"""Paints the share pictures that are compared with stored ones: `python -m tests.golden_pictures` stores them."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtGui import QGuiApplication, QImage

from app.core.report.share import share_card
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.share_picture import paint_share_picture
from app.gui.style.theme import load_fonts
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.recording import recorded_run

FOLDER = Path(__file__).parent / "data" / "pictures"
_GPU: dict[str, Any] = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 3090"}
_GPU |= {"value": 6.63, "value_low": 6.58, "value_high": 6.68, "confidence_pct": 95.0}
_THEMES = {"dark": DARK, "light": LIGHT}
# Changes to the recorded run, by the name of its picture.
_CHANGES: dict[str, dict[str, Any]] = {
    "cpu-light": {},
    "gpu-dark": {**_GPU, "power_limit_w": 370.0, "power_default_w": 370.0},
    "gpu-at-230-w-dark": {**_GPU, "power_limit_w": 230.0, "power_default_w": 370.0, "work_per_j": 38.2},
}
NAMES = tuple(_CHANGES)


def painted(name: str) -> QImage:
    """Paint the picture with this name."""
    run = recorded_run()
    card = share_card(JudgedRun(replace(run, summary=replace(run.summary, **_CHANGES[name]))))
    # The digits of the checksum and the QR code depend on the version of the app.
    card = replace(card, short_form="", footer="")
    return paint_share_picture(card, _tokens(name))


def _tokens(name: str) -> Tokens:
    return _THEMES[name.rpartition("-")[2]]


def main() -> None:
    """Store all pictures."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication([])
    load_fonts()
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        painted(name).save(str(FOLDER / f"{name}.png"), "PNG", 0)  # type: ignore[call-overload]
    application.shutdown()


if __name__ == "__main__":
    main()
