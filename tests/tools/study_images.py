"""The charts of all studies for docs/images: python3 -m tests.tools.study_images FOLDER [dark|light].

Their figures are computed, not measured, and each picture says so.
"""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.plans.study.details import Details
from app.core.plans.study.points import StudyResult
from app.core.report.card import Figure
from app.core.storage.database import Database
from app.gui.charts.figure import ChartStyle, figure_height, paint_figure
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT, Tokens
from tests.build import load_study, study_report
from tests.conftest import pretend_installed
from tests.study_pictures import OWN_USD_PER_HOUR, curves, store_studies
from workloads.protocol.machine import Gpu

WIDTH_PX, MARGIN_PX, FOOT_PX = 640, 16, 24
NOTE = "Example: these figures are computed, not measured."


def main(folder: Path, tokens: Tokens) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    application = QApplication.instance() or QApplication(sys.argv[:1])
    Theme(application)  # type: ignore[arg-type] # loads the fonts
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        pretend_installed("torch", paths, "cuda")
        pretend_installed("jax", paths)
        machine = replace(detect_machine(), gpus=(Gpu("NVIDIA GeForce RTX 5070", "nvidia"),))
        with Database(paths.database) as database:
            for name, group_id in store_studies(database, paths, machine):
                if name != "cut-short":
                    result = load_study(database, group_id)
                    paint(chart_of(result), tokens, folder / f"study-{name}.png")


def chart_of(result: StudyResult) -> Figure:
    details = Details(epochs=curves(result)) if result.experiment.curves == "only" else Details()
    return study_report(result, details, OWN_USD_PER_HOUR).figures()[0]


def paint(figure: Figure, tokens: Tokens, path: Path) -> None:
    look = ChartStyle(tokens)
    height_px = round(figure_height(figure, WIDTH_PX - 2 * MARGIN_PX, look))
    image = QImage(WIDTH_PX, height_px + 2 * MARGIN_PX + FOOT_PX, QImage.Format.Format_RGB32)
    image.fill(QColor(tokens.surface))
    painter = QPainter(image)
    area = QRectF(MARGIN_PX, MARGIN_PX, WIDTH_PX - 2 * MARGIN_PX, height_px)
    paint_figure(painter, area, figure, look)
    foot = QRectF(MARGIN_PX, area.bottom() + 8, area.width(), FOOT_PX)
    look.write(painter, foot, NOTE, look.label_px, tokens.muted)
    painter.end()
    image.save(str(path))
    sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("Usage: python3 -m tests.tools.study_images FOLDER [dark|light]")
    main(Path(sys.argv[1]), DARK if sys.argv[2:] == ["dark"] else LIGHT)
