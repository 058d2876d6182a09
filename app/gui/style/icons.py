"""Lucide icons from resources/icons, in the theme's colours."""

from functools import cache

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from app.core.paths import RESOURCES

FOLDER = RESOURCES / "icons"
# Icons of verdicts and their reasons.
LEVELS = {"valid": "circle-check", "caution": "triangle-alert", "invalid": "circle-x", "fact": "info"}
_SIZES_PX = (20, 40)  # normal and double pixel density


def icon(name: str, colour: str, chosen: str | None = None) -> QIcon:
    """Return an icon in one colour, or in two if it can be checked or selected.

    Args:
        chosen: Colour when checked or selected; None for the same colour.
    """
    result = QIcon()
    paints = [(QIcon.State.Off, colour), *([(QIcon.State.On, chosen)] if chosen else [])]
    for state, paint in paints:
        for size_px in _SIZES_PX:
            result.addPixmap(pixmap(name, paint, size_px), QIcon.Mode.Normal, state)
    return result


def pixmap(name: str, colour: str, size_px: int) -> QPixmap:
    key = f"{name} {colour} {size_px}"
    picture = QPixmap()
    if not QPixmapCache.find(key, picture):
        picture = _drawn(renderer(name, colour), size_px)
        QPixmapCache.insert(key, picture)
    return picture


def renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_svg(name).replace("currentColor", colour).encode()))


@cache
def _svg(name: str) -> str:
    return (FOLDER / f"{name}.svg").read_text(encoding="utf-8")


def application_icon() -> QIcon:
    drawing = QSvgRenderer(str(FOLDER / "epochmark.svg"))
    result = QIcon()
    for size_px in (16, 24, 32, 48, 64, 128, 256):
        result.addPixmap(_drawn(drawing, size_px))
    return result


def _drawn(drawing: QSvgRenderer, size_px: int) -> QPixmap:
    picture = QPixmap(QSize(size_px, size_px))
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    drawing.render(painter)
    painter.end()
    return picture
