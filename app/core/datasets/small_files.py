"""Reads a small file from the web into memory, even if the server doesn't state its size."""

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.core.datasets.addresses import shown
from app.core.datasets.downloads import (
    START_OVER,
    DownloadError,
    RefusedError,
    broken_off,
    check_address,
    open_url,
)
from app.core.messages import message
from app.core.plain_text import one_line

if TYPE_CHECKING:
    from http.client import HTTPResponse

_CHUNK_BYTES = 1 << 16
_GZIP_BITS = 16 + zlib.MAX_WBITS
_REASON_LIMIT = 40


def read_small(url: str, limit_bytes: int, is_wanted: Callable[[], bool] = lambda: True) -> bytes | None:
    """Return the contents of a file, decompressed if the server sends gzip; None if it is too large.

    At most the limit plus one chunk is read, regardless of the size that the server states.

    Args:
        url: An http or https address.
        limit_bytes: Limit for the size of the response and for its decompressed size.
        is_wanted: Called before each chunk. If it returns False, reading stops, and the result must be ignored.

    Raises:
        UsageError: The address isn't http or https.
        DownloadError: The connection failed, the server refused the request, or the data is incomplete.
    """
    check_address(url)
    with open_url(url) as response:
        stated_bytes = response.length  # None if not stated, or with chunked transfer encoding
        if stated_bytes is not None and stated_bytes > limit_bytes:
            return None
        unpack = _Unpacking(url, response.headers.get("Content-Encoding", ""))
        content, done_bytes = bytearray(), 0
        while is_wanted() and (stated_bytes is None or done_bytes < stated_bytes):
            part = _part(response, url, done_bytes)
            if not part:
                break
            done_bytes += len(part)
            content += unpack.add(part, limit_bytes + 1 - len(content))
            if max(done_bytes, len(content)) > limit_bytes:
                return None
    if stated_bytes is not None and done_bytes < stated_bytes:
        said = message("dataset.download_incomplete", done_bytes=done_bytes, size_bytes=stated_bytes)
        raise DownloadError(said, START_OVER)
    if not unpack.is_complete:
        raise _cut_off(url, done_bytes)
    return bytes(content)


def _part(response: "HTTPResponse", url: str, done_bytes: int) -> bytes:
    """Return the data that has been received, waiting only if there is none; b"" at the end."""
    from http.client import HTTPException, IncompleteRead

    try:
        return response.read1(_CHUNK_BYTES)
    except IncompleteRead as error:
        raise _cut_off(url, done_bytes) from error
    except (HTTPException, OSError) as error:
        raise broken_off(url, error) from error


def _cut_off(url: str, done_bytes: int) -> DownloadError:
    return DownloadError(
        message("dataset.download_cut_off", address=shown(url), done_bytes=done_bytes), START_OVER
    )


class _Unpacking:
    """Decompresses a response."""

    def __init__(self, url: str, encoding: str) -> None:
        self._url = url
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip"):
            reason = one_line(name, _REASON_LIMIT)
            raise RefusedError(message("dataset.unknown_packing", address=shown(url), encoding=reason), START_OVER)
        self._gzip = zlib.decompressobj(_GZIP_BITS) if name.endswith("gzip") else None

    @property
    def is_complete(self) -> bool:
        return self._gzip is None or self._gzip.eof

    def add(self, part: bytes, limit_bytes: int) -> bytes:
        """Return the decompressed data of a chunk, at most `limit_bytes`."""
        if self._gzip is None:
            return part
        try:
            content = self._gzip.decompress(part, limit_bytes)
        except zlib.error as error:
            raise self._damaged() from error
        if self._gzip.unused_data:
            raise self._damaged()
        return content

    def _damaged(self) -> DownloadError:
        return DownloadError(message("dataset.damaged_packing", address=shown(self._url)), START_OVER)
