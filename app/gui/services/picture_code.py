"""Reads the code on a picture that was shared, also from a screenshot, a JPEG or a photo."""

from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from app.core.result_file.short_form import MARK

SIZE_LIMIT_BYTES = 40_000_000
FORMATS = (b"png", b"jpeg", b"webp")
# Of a decoded picture, whatever its file claims: a photo of 48 megapixels fits.
PIXELS_LIMIT, EDGE_LIMIT_PX = 60_000_000, 20_000
_MEGABYTES_LIMIT = 256
_LARGEST_PX = 3_000


def scan_file(path: Path) -> str:
    """Return the text of the code on a picture; "" if there's none, or the file is no picture of a usual size."""
    try:
        if not path.is_file() or path.stat().st_size > SIZE_LIMIT_BYTES:
            return ""
    except OSError:
        return ""
    QImageReader.setAllocationLimit(_MEGABYTES_LIMIT)
    reader = QImageReader(str(path))
    reader.setDecideFormatFromContent(True)
    reader.setAutoTransform(True)
    if bytes(reader.format().data()) not in FORMATS:  # others have decoders that nobody needs here
        return ""
    size = reader.size()
    if not _is_usual(size):
        return ""
    if max(size.width(), size.height()) > _LARGEST_PX:
        reader.setScaledSize(size.scaled(QSize(_LARGEST_PX, _LARGEST_PX), Qt.AspectRatioMode.KeepAspectRatio))
    return scan(reader.read())


def _is_usual(size: QSize) -> bool:
    edges = (size.width(), size.height())
    return min(edges) > 0 and max(edges) <= EDGE_LIMIT_PX and edges[0] * edges[1] <= PIXELS_LIMIT


def scan(picture: QImage) -> str:
    """Return the text of the code on a picture; "" if there's none of ours."""
    if picture.isNull():
        return ""
    import numpy as np  # both of them take as long as a page to open
    import zxingcpp

    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    lines = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    codes = zxingcpp.read_barcodes(np.ascontiguousarray(lines[:, : grey.width()]))
    return next((code.text for code in codes if code.text.startswith(f"{MARK}:")), "")
