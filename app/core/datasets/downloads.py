"""Downloads a file with progress, resumes after interruptions, and verifies the file."""

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from app.core.datasets.addresses import shown, split_login
from app.core.errors import AppError, UsageError
from app.core.files import patiently
from app.core.messages import message
from app.core.plain_text import one_line

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

_CHUNK_BYTES = 1 << 18
TIMEOUT_S = 30.0
_REASON_LIMIT = 100
Progress = Callable[[int, int], None]  # bytes done, total bytes (0: unknown); may raise to cancel
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Chunks:
    """The caller's callbacks, which run before and after each chunk is written."""

    progress: Progress
    check: Check


class DownloadError(AppError):
    """A download was interrupted. The data received so far is kept, and the next attempt resumes."""


class _NoSuchPartError(DownloadError):
    """The server can't resume the download. The partial file is removed, and the next attempt starts over."""


class RefusedError(DownloadError):
    """The server refused access or isn't trusted. Another program may have the required login or certificate."""


def download(
    url: str,
    target: Path,
    size_bytes: int | None,
    sha256: str | None,
    progress: Progress = lambda *_: None,
    *,
    check: Check = lambda: None,
) -> None:
    """Download a file to `target`. The target is created only after the download is complete and verified.

    Args:
        url: An http or https address.
        target: Final path. The partial file, `target`.part, makes it possible to resume.
        size_bytes: Exact size; None to use the size stated by the server.
        sha256: Checksum; None if none is published and the caller checks the contents later.
        progress: Called after each chunk.
        check: Called before each chunk is written; may raise an exception to cancel.

    Raises:
        DownloadError: The connection failed, or the server refused the request.
        AppError: The file is wrong or couldn't be saved.
    """
    check_address(url)
    part = target.with_name(target.name + ".part")
    try:
        _refuse_strangers(target, part)
        done_bytes = part.stat().st_size if part.exists() else 0
        if size_bytes is not None and done_bytes > size_bytes:
            part.unlink()
            done_bytes = 0
        if size_bytes is None or done_bytes < size_bytes:
            _fetch(url, part, done_bytes, size_bytes, _Chunks(progress, check))
        check_file(part, size_bytes, sha256, shown(url))
        patiently(lambda: part.replace(target))
    except (WrongFileError, _NoSuchPartError):
        part.unlink(missing_ok=True)
        raise
    except OSError as error:
        raise AppError(
            message("dataset.download_not_saved", path=one_line(str(part), 300), reason=error.strerror),
            message("dataset.free_space_or_move_home"),
        ) from error


def check_address(url: str) -> None:
    """Raise UsageError unless an address starts with http:// or https://."""
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError(message("dataset.not_a_web_address", address=shown(url)))


def _refuse_strangers(*paths: Path) -> None:
    """Raise AppError unless each path is a regular file or doesn't exist."""
    # A link could point to one of the user's files.
    for path in paths:
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise AppError(
                message("dataset.in_the_way_of_download", path=one_line(str(path), 300)),
                message("database.move_it_away"),
            )


class WrongFileError(AppError):
    """The file isn't the expected one."""


def check_file(path: Path, size_bytes: int | None, sha256: str | None, name: str) -> None:
    """Raise WrongFileError unless a file has this size and SHA-256, or OSError if it can't be read.

    None disables a check.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise WrongFileError(message("dataset.not_a_regular_file", file=name))
    if size_bytes is not None and state.st_size != size_bytes:
        raise WrongFileError(
            message("dataset.wrong_size", file=name, found_bytes=state.st_size, expected_bytes=size_bytes)
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while sha256 is not None and (chunk := file.read(_CHUNK_BYTES)):
            digest.update(chunk)
    if sha256 not in {None, digest.hexdigest()}:
        raise WrongFileError(
            message("dataset.wrong_checksum", file=name, found=digest.hexdigest()[:16], expected=sha256[:16])
        )


_RESUME = message("dataset.try_again_to_resume")
START_OVER = message("dataset.try_again_from_start")


def broken_off(url: str, error: Exception) -> DownloadError:
    """Convert a connection error to a DownloadError."""
    from ssl import SSLCertVerificationError

    reason = getattr(error, "reason", None) or error
    if isinstance(reason, SSLCertVerificationError):
        text = one_line(reason.verify_message, _REASON_LIMIT)
        said = message("dataset.server_not_trusted", address=shown(url), reason=text)
        return RefusedError(said, message("engines.check_date_and_proxy"))
    text = (isinstance(reason, OSError) and reason.strerror) or str(reason) or type(reason).__name__
    return DownloadError(
        message("dataset.download_interrupted", address=shown(url), reason=one_line(text, _REASON_LIMIT)), _RESUME
    )


def _read(response: "HTTPResponse", size_bytes: int) -> bytes:
    from http.client import HTTPException

    try:
        return response.read(size_bytes)
    except (HTTPException, OSError) as error:
        raise broken_off(response.url, error) from error


def stated_size(url: str) -> int | None:
    """Return the size of a file as stated by its server; None if unknown or the server can't be reached."""
    try:
        with open_url(url, 0, "HEAD") as response:
            return _length(response, 0)
    except AppError:
        return None


def _length(response: "HTTPResponse", done_bytes: int) -> int | None:
    """Return the size of the whole file, based on the response to a request for the rest of it."""
    length = response.headers.get("Content-Length", "")
    return done_bytes + int(length) if length.isascii() and length.isdigit() else None


def _fetch(url: str, part: Path, done_bytes: int, size_bytes: int | None, chunks: _Chunks) -> None:
    with open_url(url, done_bytes) as response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            done_bytes = 0  # a server that can't resume sends the whole file
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {done_bytes}-"):
            raise _NoSuchPartError(message("dataset.server_sent_wrong_part", address=shown(url)), START_OVER)
        size_bytes = _length(response, done_bytes) if size_bytes is None else size_bytes
        if size_bytes is None:
            raise RefusedError(message("dataset.server_without_size", address=shown(url)), _RESUME)
        _receive(response, part, done_bytes, size_bytes, chunks)


def open_url(url: str, done_bytes: int = 0, method: str = "GET") -> "HTTPResponse":
    """Request a file from a server, starting at a byte offset.

    Raises:
        UsageError: The address is invalid.
        DownloadError: The connection failed, or the server refused the request.
    """
    # Imported late, because TLS needs memory, and the window usually downloads nothing.
    import urllib.error
    import urllib.request
    from http.client import HTTPException, InvalidURL

    try:
        address = split_login(url)
        headers = {"User-Agent": "Epochmark"}
        request = urllib.request.Request(address.url, headers=headers, method=method)  # noqa: S310 - checked
        if address.login is not None:
            login = base64.b64encode(address.login.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {login}")  # for this server only
        if done_bytes:
            request.add_header("Range", f"bytes={done_bytes}-")
        response: HTTPResponse = _opener().open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if HTTPStatus.MULTIPLE_CHOICES <= error.code < HTTPStatus.BAD_REQUEST:  # its message has the new address
            said = message("dataset.server_redirects", address=shown(url), status=error.code)
        else:
            reason = one_line(str(error.reason), _REASON_LIMIT)
            said = message("dataset.server_refused", address=shown(url), status=error.code, reason=reason)
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _NoSuchPartError(said, START_OVER) from error
        raise RefusedError(said, _RESUME) from error
    except (ValueError, InvalidURL) as error:  # their messages contain the whole address
        raise UsageError(message("dataset.not_a_web_address", address=shown(url))) from error
    except (HTTPException, OSError) as error:
        raise broken_off(url, error) from error
    return response


def _opener() -> "OpenerDirector":
    """Return an opener restricted to http and https; redirects could otherwise lead to local files."""
    import ssl
    from urllib import request

    import truststore  # trusts the system's certificates, wherever the system keeps them

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)),
        request.HTTPDefaultErrorHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _receive(response: "HTTPResponse", part: Path, done_bytes: int, size_bytes: int, chunks: _Chunks) -> None:
    with open(part, "ab" if done_bytes else "wb", opener=_open_own) as file:
        while done_bytes < size_bytes:
            chunk = _read(response, min(_CHUNK_BYTES, size_bytes - done_bytes))
            if not chunk:
                raise DownloadError(
                    message("dataset.download_incomplete", done_bytes=done_bytes, size_bytes=size_bytes), _RESUME
                )
            chunks.check()
            file.write(chunk)
            done_bytes += len(chunk)
            chunks.progress(done_bytes, size_bytes)
        if _read(response, 1):
            raise WrongFileError(message("dataset.server_sends_too_much", size_bytes=size_bytes))
        file.flush()
        os.fsync(file.fileno())


def _open_own(name: str, flags: int) -> int:
    """Open a file, without following a link or blocking on a pipe with that name."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
