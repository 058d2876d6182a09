"""Code shared by the programs that pack a folder made by build.py: their arguments and the app's icon."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

DRAWING = Path(__file__).resolve().parent.parent / "resources" / "icons" / "epochmark.svg"


def read_arguments(
    description: str | None, kinds: tuple[str, ...] = (), files: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """Parse the input folder, the output folder, which is created, and a program's own arguments.

    Args:
        description: What the program does.
        kinds: Packages to choose from.
        files: Options that take a file, with descriptions of the file.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if kinds:
        parser.add_argument("kind", choices=kinds)
    parser.add_argument("folder", type=Path, help="folder made by build.py")
    parser.add_argument("out", type=Path, help="folder for the result")
    for option, meaning in (files or {}).items():
        parser.add_argument(option, type=Path, metavar="FILE", help=meaning)
    arguments = parser.parse_args()
    arguments.folder, arguments.out = arguments.folder.resolve(), arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments


def draw_icon(*sizes_px: int) -> "list[Image]":
    """Draw the app's icon in some sizes."""
    from PIL import Image
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    drawing, drawn = QSvgRenderer(str(DRAWING)), []
    for size_px in sizes_px:
        picture = QImage(size_px, size_px, QImage.Format.Format_RGBA8888)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        drawing.render(painter)
        painter.end()
        drawn.append(Image.frombytes("RGBA", (size_px, size_px), bytes(picture.constBits())))
    return drawn
