"""Downloading one file: with progress, resumed after a break, checked, and only when the user asked for it."""

import base64
import errno
import hashlib
import os
import stat
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from app.core.datasets.addresses import shown, split_login
from app.core.errors import AppError, UsageError
from app.core.plain_text import one_line

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

_CHUNK_BYTES = 1 << 18
TIMEOUT_S = 30.0
_REASON_LIMIT = 100
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
Progress = Callable[[int, int], None]  # bytes done, bytes in all; may raise to cancel


class DownloadError(AppError):
    """A download ended before its end; what came is kept, and the next one goes on from there."""


class _NoSuchPartError(DownloadError):
    """The server cannot go on from what came before; that is removed, and the next one starts afresh."""


def download(
    url: str, target: Path, size_bytes: int, sha256: str | None, progress: Progress = lambda *_: None
) -> None:
    """Fetch a file of known size and checksum to `target`, which appears only when it is complete and right.

    Args:
        url: http or https.
        target: Next to it grows `target`.part, from where an interrupted download goes on.
        size_bytes: What must come, to the byte.
        sha256: What it must be; None when that is not published, and the contents are checked later.
        progress: Told after each piece.

    Raises:
        DownloadError: The connection failed or broke, or the server refused.
        AppError: What came is not the file, or the disk cannot take it.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError(f"{shown(url)!r} is no http or https address.")
    part = target.with_name(target.name + ".part")
    try:
        _refuse_strangers(target, part)
        done_bytes = part.stat().st_size if part.exists() else 0
        if done_bytes > size_bytes:
            part.unlink()
            done_bytes = 0
        if done_bytes < size_bytes:
            _fetch(url, part, done_bytes, size_bytes, progress)
        check_file(part, size_bytes, sha256, shown(url))
        part.replace(target)
    except (WrongFileError, _NoSuchPartError):
        part.unlink(missing_ok=True)
        raise
    except OSError as error:
        advice = "choose another folder with EPOCHMARK_HOME, then try again."
        raise AppError(
            f"The download cannot be written to {one_line(str(part), 300)} ({error.strerror}).",
            f"Free some space, or {advice}" if error.errno in _NO_SPACE else advice.capitalize(),
        ) from error


def _refuse_strangers(*paths: Path) -> None:
    """Raise AppError unless each is a file of its own or nothing: a link would lead into a file of the user's."""
    for path in paths:
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise AppError(
                f"{one_line(str(path), 300)} is in the way of a download: it is a link, a folder or the like.",
                "Move it away, then try again.",
            )


class WrongFileError(AppError):
    """A file is not the one that it should be."""


def check_file(path: Path, size_bytes: int | None, sha256: str | None, name: str) -> None:
    """Raise WrongFileError unless it is a file of this size and SHA-256; OSError if it cannot be read.

    What is None is not known, and not checked.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise WrongFileError(f"{name} is not the expected file: it is no regular file.")
    if size_bytes is not None and state.st_size != size_bytes:
        raise WrongFileError(
            f"{name} is not the expected file: it has {state.st_size} bytes instead of {size_bytes}."
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while sha256 is not None and (chunk := file.read(_CHUNK_BYTES)):
            digest.update(chunk)
    if sha256 not in {None, digest.hexdigest()}:
        raise WrongFileError(
            f"{name} is not the expected file: its SHA-256 is {digest.hexdigest()[:16]}…, not {sha256[:16]}…."
        )


_ADVICE = "Check the connection and try again: it goes on where it stopped."
_ADVICE_AFRESH = "Try again: it starts from the beginning."


def _broken_off(url: str, error: Exception) -> DownloadError:
    reason = getattr(error, "reason", None) or error
    text = (isinstance(reason, OSError) and reason.strerror) or str(reason) or type(reason).__name__
    return DownloadError(f"The download of {shown(url)} broke off ({one_line(text, _REASON_LIMIT)}).", _ADVICE)


def _read(response: "HTTPResponse", size_bytes: int) -> bytes:
    from http.client import HTTPException

    try:
        return response.read(size_bytes)
    except (HTTPException, OSError) as error:
        raise _broken_off(response.url, error) from error


def _fetch(url: str, part: Path, done_bytes: int, size_bytes: int, progress: Progress) -> None:
    with _open(url, done_bytes) as response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            done_bytes = 0  # a server that cannot resume sends everything
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {done_bytes}-"):
            sentence = f"The server sent another part of {shown(url)} than was asked for."
            raise _NoSuchPartError(sentence, _ADVICE_AFRESH)
        _receive(response, part, done_bytes, size_bytes, progress)


def _open(url: str, done_bytes: int) -> "HTTPResponse":
    # Loaded here: TLS and its like take memory in a window that, as a rule, never downloads anything.
    import urllib.error
    import urllib.request
    from http.client import HTTPException, InvalidURL

    try:
        address = split_login(url)
        request = urllib.request.Request(address.url, headers={"User-Agent": "Epochmark"})  # noqa: S310 - checked
        if address.login is not None:
            login = base64.b64encode(address.login.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {login}")  # for this server, no other
        if done_bytes:
            request.add_header("Range", f"bytes={done_bytes}-")
        response: HTTPResponse = _opener().open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if HTTPStatus.MULTIPLE_CHOICES <= error.code < HTTPStatus.BAD_REQUEST:  # told with the other address
            reason = "it leads elsewhere, where nothing can be fetched"
        else:
            reason = one_line(str(error.reason), _REASON_LIMIT)
        sentence = f"The server refused {shown(url)} ({error.code} {reason})."
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _NoSuchPartError(sentence, _ADVICE_AFRESH) from error
        raise DownloadError(sentence, _ADVICE) from error
    except (ValueError, InvalidURL) as error:  # whose texts show all of the address
        raise UsageError(f"{shown(url)!r} is no usable address.") from error
    except (HTTPException, OSError) as error:
        raise _broken_off(url, error) from error
    return response


def _opener() -> "OpenerDirector":
    """Return what asks servers of the web only: a server might lead to a file of ours, or to another protocol."""
    from urllib import request

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _receive(response: "HTTPResponse", part: Path, done_bytes: int, size_bytes: int, progress: Progress) -> None:
    with open(part, "ab" if done_bytes else "wb", opener=_open_own) as file:
        while done_bytes < size_bytes:
            chunk = _read(response, min(_CHUNK_BYTES, size_bytes - done_bytes))
            if not chunk:
                raise DownloadError(f"The download broke off after {done_bytes} of {size_bytes} bytes.", _ADVICE)
            file.write(chunk)
            done_bytes += len(chunk)
            progress(done_bytes, size_bytes)
        if _read(response, 1):
            raise WrongFileError(f"The server sends more than the expected {size_bytes} bytes.")
        file.flush()
        os.fsync(file.fileno())


def _open_own(name: str, flags: int) -> int:
    """Open a file, and neither what a link leads to nor a pipe that has come into its place."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
