"""Downloading one file: with progress, resumed after a break, checked, and only when the user asked for it."""

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from app.core.errors import AppError, UsageError

_CHUNK_BYTES = 1 << 18
TIMEOUT_S = 30.0
Progress = Callable[[int, int], None]  # bytes done, bytes in all; may raise to cancel


class DownloadError(AppError):
    """A download ended before its end; what came is kept, and the next one goes on from there."""


def download(url: str, target: Path, size_bytes: int, sha256: str, progress: Progress = lambda *_: None) -> None:
    """Fetch a file of known size and checksum to `target`, which appears only when it is complete and right.

    Args:
        url: http or https.
        target: Next to it grows `target`.part, from where an interrupted download goes on.
        size_bytes: What must come, to the byte.
        sha256: What it must be.
        progress: Told after each piece.

    Raises:
        DownloadError: The connection failed or broke, or the server refused.
        AppError: What came is not the file, or the disk cannot take it.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError(f"{url[:100]!r} is no http or https address.")
    part = target.with_name(target.name + ".part")
    try:
        done_bytes = part.stat().st_size if part.exists() else 0
        if done_bytes > size_bytes:
            part.unlink()
            done_bytes = 0
        if done_bytes < size_bytes:
            _fetch(url, part, done_bytes, size_bytes, progress)
        check_file(part, size_bytes, sha256, url)
        part.replace(target)
    except WrongFileError:
        part.unlink(missing_ok=True)
        raise
    except OSError as error:
        raise AppError(
            f"The download cannot be written to {part} ({error.strerror}).",
            "Free some space or choose another folder with EPOCHMARK_HOME, then try again.",
        ) from error


class WrongFileError(AppError):
    """A file is not the one that it should be."""


def check_file(path: Path, size_bytes: int, sha256: str, name: str) -> None:
    """Raise WrongFileError unless the file has this size and this SHA-256; OSError if it cannot be read."""
    found_bytes = path.stat().st_size
    if found_bytes != size_bytes:
        raise WrongFileError(
            f"{name} is not the expected file: it has {found_bytes} bytes instead of {size_bytes}."
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise WrongFileError(
            f"{name} is not the expected file: its SHA-256 is {digest.hexdigest()[:16]}…, not {sha256[:16]}…."
        )


def _fetch(url: str, part: Path, done_bytes: int, size_bytes: int, progress: Progress) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "Epochmark"})  # noqa: S310 - checked above
    if done_bytes:
        request.add_header("Range", f"bytes={done_bytes}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - checked above
            if not _continues(response, done_bytes):
                done_bytes = 0
            _receive(response, part, done_bytes, size_bytes, progress)
    except urllib.error.HTTPError as error:
        raise DownloadError(f"The server refused {url} ({error.code} {error.reason}).", _ADVICE) from error
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"The download of {url} broke off ({reason}).", _ADVICE) from error


_ADVICE = "Check the connection and try again: it goes on where it stopped."


def _continues(response: HTTPResponse, done_bytes: int) -> bool:
    """Say whether the server sends the rest; one that cannot resume sends everything."""
    content_range = response.headers.get("Content-Range", "")
    return response.status == HTTPStatus.PARTIAL_CONTENT and content_range.startswith(f"bytes {done_bytes}-")


def _receive(response: HTTPResponse, part: Path, done_bytes: int, size_bytes: int, progress: Progress) -> None:
    with part.open("ab" if done_bytes else "wb") as file:
        while done_bytes < size_bytes:
            chunk = response.read(min(_CHUNK_BYTES, size_bytes - done_bytes))
            if not chunk:
                raise DownloadError(f"The download broke off after {done_bytes} of {size_bytes} bytes.", _ADVICE)
            file.write(chunk)
            done_bytes += len(chunk)
            progress(done_bytes, size_bytes)
        if response.read(1):
            raise WrongFileError(f"The server sends more than the expected {size_bytes} bytes.")
        file.flush()
        os.fsync(file.fileno())
