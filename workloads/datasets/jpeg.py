"""Reads a JPEG's size without decoding it."""

from workloads.datasets.source import UnfitError
from workloads.protocol.messages import message

# Start-of-frame markers: C0 to CF except DHT (C4), JPG (C8) and DAC (CC).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset({0x01, *range(0xD0, 0xD8)})  # markers without a length field
_START, _END, _SCAN = 0xD8, 0xD9, 0xDA


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Return the width and height in pixels, read from the frame header.

    Raises:
        UnfitError: The file isn't a JPEG, or it is truncated or damaged before the frame header.
    """
    if data[:2] != bytes((0xFF, _START)):
        raise UnfitError(message("jpeg.bad_start"))
    place = 2
    while place + 1 < len(data):
        if data[place] != 0xFF:
            raise UnfitError(message("jpeg.bad_header", position=place))
        marker = data[place + 1]
        if marker == 0xFF:  # padding
            place += 1
        elif marker in _BARE:
            place += 2
        elif marker in _FRAMES:
            return _frame_size(data[place + 2 : place + 9])
        elif marker in {0x00, _START, _END, _SCAN}:
            raise UnfitError(message("jpeg.no_size"))
        else:
            place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    raise UnfitError(message("jpeg.cut"))


def _frame_size(header: bytes) -> tuple[int, int]:
    """Parse the frame header (length, precision, height and width) and return the width and height."""
    if len(header) < 7:
        raise UnfitError(message("jpeg.cut"))
    height, width = int.from_bytes(header[3:5], "big"), int.from_bytes(header[5:7], "big")
    if not height or not width:
        raise UnfitError(message("jpeg.no_pixels", width=width, height=height))
    return width, height
