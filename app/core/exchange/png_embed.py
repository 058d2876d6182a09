"""Embeds a result file in a compressed text chunk of a PNG, without decoding the picture."""

import struct
import zlib
from collections.abc import Iterator

from app.core.result_file.canonical import UnfitError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"epochmark-result"
# Limits for the text, compressed and uncompressed.
PACKED_LIMIT_BYTES, TEXT_LIMIT_BYTES = 8_000_000, 32_000_000
CHUNKS_LIMIT = 10_000
# Keyword, deflate compression, no language, no translated keyword (PNG specification, 11.3.3.4).
_HEAD = KEYWORD + b"\0\x01\0\0\0"


def embed(picture: bytes, content: bytes) -> bytes:
    """Return a PNG with the text embedded, replacing any previously embedded text.

    Raises:
        UnfitError: The picture isn't a PNG, or the text is too large.
    """
    packed = _HEAD + zlib.compress(content, 6)
    if len(packed) > PACKED_LIMIT_BYTES or len(content) > TEXT_LIMIT_BYTES:
        raise UnfitError("exchange.file_too_large", limit_bytes=TEXT_LIMIT_BYTES)
    parts = [SIGNATURE]
    for kind, body in _chunks(picture):
        if kind == b"IEND":
            parts.append(_chunk(b"iTXt", packed))
        if not _is_ours(kind, body):
            parts.append(_chunk(kind, body))
    return b"".join(parts)


def extract(picture: bytes) -> bytes:
    """Return the text embedded in a PNG. Raises UnfitError if the PNG is invalid or contains no such text."""
    texts = [body for kind, body in _chunks(picture) if _is_ours(kind, body)]
    if not texts:
        raise UnfitError("exchange.no_text")
    if len(texts) > 1:
        raise UnfitError("exchange.several_texts", count=len(texts))
    return _unpacked(texts[0])


def _is_ours(kind: bytes, body: memoryview) -> bool:
    return kind in (b"iTXt", b"zTXt", b"tEXt") and bytes(body[: len(KEYWORD) + 1]) == KEYWORD + b"\0"


def _chunks(picture: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the type and contents of each chunk. Raises UnfitError at the first invalid chunk."""
    if not picture.startswith(SIGNATURE):
        raise UnfitError("exchange.not_png")
    view, at = memoryview(picture), len(SIGNATURE)
    for number in range(CHUNKS_LIMIT):
        if at + 12 > len(view):
            raise UnfitError("exchange.damaged_picture", position=len(view))
        (length,) = struct.unpack(">I", view[at : at + 4])
        kind, end = bytes(view[at + 4 : at + 8]), at + 8 + length
        if end + 4 > len(view):
            raise UnfitError("exchange.damaged_picture", position=at)
        (checksum,) = struct.unpack(">I", view[end : end + 4])
        if not kind.isalpha() or (number == 0) != (kind == b"IHDR"):
            raise UnfitError("exchange.damaged_picture", position=at)
        if zlib.crc32(view[at + 4 : end]) != checksum:
            raise UnfitError("exchange.damaged_picture", position=at)
        yield kind, view[at + 8 : end]
        if kind == b"IEND":
            return
        at = end + 4
    raise UnfitError("exchange.too_many_values", limit=CHUNKS_LIMIT)


def _chunk(kind: bytes, body: bytes | memoryview) -> bytes:
    checksum = zlib.crc32(body, zlib.crc32(kind))
    return b"".join((struct.pack(">I", len(body)), kind, body, struct.pack(">I", checksum)))


def _unpacked(body: memoryview) -> bytes:
    if bytes(body[: len(_HEAD)]) != _HEAD:
        raise UnfitError("exchange.not_unpacked")
    if len(body) > PACKED_LIMIT_BYTES:
        raise UnfitError("exchange.file_too_large", limit_bytes=TEXT_LIMIT_BYTES)
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(body[len(_HEAD) :], TEXT_LIMIT_BYTES + 1)
    except zlib.error as error:
        raise UnfitError("exchange.not_unpacked") from error
    if len(text) > TEXT_LIMIT_BYTES:
        raise UnfitError("exchange.file_too_large", limit_bytes=TEXT_LIMIT_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise UnfitError("exchange.not_unpacked")
    return text
