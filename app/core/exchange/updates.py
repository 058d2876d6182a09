"""Checks whether a newer version of Epochmark has been released, without downloading or replacing anything."""

import re
from threading import Event
from typing import Annotated

import msgspec

import app
from app.core.datasets.addresses import shown
from app.core.datasets.downloads import DownloadError, broken_off, open_url
from app.core.errors import AppError
from app.core.hardware.blocking import call_in_thread
from app.core.messages import message
from app.core.plain_text import one_line
from workloads.protocol import typed

# The release workflow publishes this file with each release; packaging/release.py writes it.
FEED = "/releases/latest/download/release.json"
PAGE = "/releases/latest"
SIZE_LIMIT_BYTES, TIME_LIMIT_S = 200_000, 20.0
_NOTES_LIMIT, _LINE_LIMIT = 100, 300


class Release(msgspec.Struct, frozen=True):
    """A release, as described by its feed. Keys of later versions are ignored."""

    version: Annotated[str, msgspec.Meta(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}\Z")]  # version, such as "0.3.0"
    notes: tuple[str, ...] = ()  # the changes, one item each


def newer_release(
    project_url: str, version: str = app.__version__, time_limit_s: float = TIME_LIMIT_S
) -> Release | None:
    """Return the latest release; None if `version` is at least as new.

    Args:
        project_url: Address of the project, without a slash at the end.
        version: Version to compare with.
        time_limit_s: Time limit for the whole response.

    Raises:
        AppError: The server can't be reached in time, or its response is invalid.
    """
    advice = message("database.try_later")
    try:
        content = _read_in_time(project_url + FEED, time_limit_s)
        latest = typed.decode(content, Release)
    except DownloadError as error:
        raise AppError(error.message, advice) from error
    except TimeoutError as error:
        late = message("updates.too_slow", address=shown(project_url + FEED), limit_s=time_limit_s)
        raise AppError(late, advice) from error
    except msgspec.DecodeError as error:
        raise AppError(message("updates.unreadable"), advice) from error
    if _numbers(latest.version) <= _numbers(version):
        return None
    notes = tuple(one_line(note, _LINE_LIMIT) for note in latest.notes[:_NOTES_LIMIT])
    return Release(latest.version, notes)


def _read_in_time(address: str, limit_s: float) -> bytes:
    is_late = Event()
    # A server may send single bytes forever, even before the content, so the limit must be enforced from another
    # thread.
    reading = call_in_thread(lambda: _read(address, is_late), "web")
    try:
        return reading.result(limit_s)
    finally:
        is_late.set()


def _read(address: str, is_late: Event) -> bytes:
    """Return the beginning of a response; an incomplete or too large one is no release."""
    from http.client import HTTPException  # imported late, because TLS needs memory

    content = b""
    with open_url(address) as response:
        try:
            while len(content) <= SIZE_LIMIT_BYTES and not is_late.is_set():
                if not (part := response.read1(SIZE_LIMIT_BYTES)):
                    break
                content += part
        except (HTTPException, OSError) as error:
            raise broken_off(address, error) from error
    return content[:SIZE_LIMIT_BYTES]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
