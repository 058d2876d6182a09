"""Reads the QR code in share pictures, including screenshots, JPEGs and photos of them."""

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from app.core.result_file.short_form import MARK

_log = logging.getLogger(__name__)
_ERRORS = 2  # file descriptor of standard error
_one_at_a_time = threading.Lock()
SIZE_LIMIT_BYTES = 40_000_000
FORMATS = (b"png", b"jpeg", b"webp")
# Limits regardless of the file's header: a 48-megapixel photo, reduced while decoding, or an 8K screen.
PIXELS_LIMIT, EDGE_LIMIT_PX, DECODED_LIMIT_BYTES = 60_000_000, 20_000, 133_000_000
_MEGABYTES_LIMIT = 256
_OF_DECODERS = (b"libpng ", b"qt.gui.imageio")
# Bytes per pixel that Qt needs to decode and reduce an image.
_OPAQUE_BYTES, _OTHER_BYTES, _DEEP_BYTES, _USUAL_BITS = 4, 9, 18, 32
_JPEG_WHOLE_BYTES = 6  # for a JPEG with several scans, each of which covers the whole image
# JPEG markers (ITU-T T.81, table B.1): scan, end, progressive frames.
_MARK, _SCAN, _END, _PROGRESSIVE = 0xFF, 0xDA, 0xD9, frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_LARGEST_PX, _SMALL_PX = 3_000, 1_000


def scan_file(path: Path) -> str:
    """Return the text of the QR code in an image; "" if there is none or the file isn't a supported image."""
    try:
        if not path.is_file() or path.stat().st_size > SIZE_LIMIT_BYTES:
            return ""
    except OSError:
        return ""
    with _decoders_heard():
        return _scan_readable(path)


def _scan_readable(path: Path) -> str:
    QImageReader.setAllocationLimit(_MEGABYTES_LIMIT)
    reader = QImageReader(str(path))
    reader.setDecideFormatFromContent(True)
    reader.setAutoTransform(True)
    if bytes(reader.format().data()) not in FORMATS:  # other formats have decoders that aren't needed here
        return ""
    size = reader.size()
    if not _is_usual(size) or size.width() * size.height() * _bytes_per_pixel(reader, path) > DECODED_LIMIT_BYTES:
        return ""
    if max(size.width(), size.height()) > _LARGEST_PX:
        reader.setScaledSize(size.scaled(QSize(_LARGEST_PX, _LARGEST_PX), Qt.AspectRatioMode.KeepAspectRatio))
    return scan(reader.read())


@contextlib.contextmanager
def _decoders_heard() -> Iterator[None]:
    """Log messages about broken images that decoders such as libpng write directly to standard error.

    Other output to standard error is delayed until the end of the block.
    """
    with _one_at_a_time, contextlib.ExitStack() as stack:
        try:
            heard = stack.enter_context(tempfile.TemporaryFile())
            terminal = os.dup(_ERRORS)
        except OSError:  # disk full or no terminal, so messages aren't captured
            yield
            return
        stack.callback(os.close, terminal)
        os.dup2(heard.fileno(), _ERRORS)
        try:
            yield
        finally:
            os.dup2(terminal, _ERRORS)
            heard.seek(0)
            for line in heard:
                if line.startswith(_OF_DECODERS):
                    _log.info("A picture can't be read: %s", line.decode("utf-8", "replace").strip())
                else:
                    with contextlib.suppress(OSError):
                        os.write(_ERRORS, line)


def _is_usual(size: QSize) -> bool:
    edges = (size.width(), size.height())
    return min(edges) > 0 and max(edges) <= EDGE_LIMIT_PX and edges[0] * edges[1] <= PIXELS_LIMIT


def _bytes_per_pixel(reader: QImageReader, path: Path) -> int:
    """Return the maximum memory, in bytes per pixel, that is needed while reading an image."""
    if bytes(reader.format().data()) == b"jpeg":
        try:
            return _JPEG_WHOLE_BYTES if _has_several_scans(path.read_bytes()) else 0
        except OSError:
            return _JPEG_WHOLE_BYTES
    decoded = reader.imageFormat()
    if QImage.toPixelFormat(decoded).bitsPerPixel() > _USUAL_BITS:
        return _DEEP_BYTES
    return _OPAQUE_BYTES if decoded == QImage.Format.Format_RGB32 else _OTHER_BYTES


def _has_several_scans(jpeg: bytes) -> bool:
    """Return whether decoding a JPEG requires the whole image in memory. Returns True if this is unclear."""
    at = 2
    while at + 4 <= len(jpeg):
        mark, kind, length = jpeg[at], jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4])
        if mark != _MARK or kind == _MARK or kind in _PROGRESSIVE:
            return True
        at += 2 + length
        if kind == _SCAN:
            # Within a scan, these markers have no length. Other images may follow the end marker.
            end = jpeg.find(bytes((_MARK, _END)), at)
            return bytes((_MARK, _SCAN)) in jpeg[at : end if end >= 0 else len(jpeg)]
    return True


def scan(picture: QImage) -> str:
    """Return the text of Epochmark's QR code in an image; "" if there is none."""
    if picture.isNull():
        return ""
    text = _text_in(picture)
    if not text and max(picture.width(), picture.height()) <= _SMALL_PX:
        # The decoder misses codes whose modules are 1.5 pixels wide, as in a picture of half the size.
        modes = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        text = _text_in(picture.scaled(picture.size() * 2, *modes))
    return text


def _text_in(picture: QImage) -> str:
    import numpy as np  # both imports take as long as opening a page
    import zxingcpp

    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    lines = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    codes = zxingcpp.read_barcodes(np.ascontiguousarray(lines[:, : grey.width()]))
    return next((code.text for code in codes if code.text.startswith(f"{MARK}:")), "")
