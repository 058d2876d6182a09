"""Reads a small file from the web within a time limit."""

from threading import Event

from app.core.datasets.addresses import shown
from app.core.datasets.downloads import DownloadError
from app.core.datasets.small_files import read_small
from app.core.errors import AppError
from app.core.hardware.blocking import call_in_thread
from app.core.messages import Message, message


def read_in_time(address: str, limit_bytes: int, limit_s: float, advice: Message) -> bytes | None:
    """Return a server's response; None if it is larger than `limit_bytes`.

    Args:
        address: An http or https address.
        limit_bytes: Largest accepted response.
        limit_s: Time limit for the whole response in seconds.
        advice: What the user can do if the download fails.

    Raises:
        AppError: The file can't be downloaded in time.
    """
    is_late = Event()
    # A server may send single bytes forever, even before the content, so the limit must be enforced from another
    # thread.
    reading = call_in_thread(lambda: read_small(address, limit_bytes, lambda: not is_late.is_set()), "web")
    try:
        return reading.result(limit_s)
    except DownloadError as error:
        raise AppError(error.message, advice) from error
    except TimeoutError as error:
        raise AppError(message("web.too_slow", address=shown(address), limit_s=limit_s), advice) from error
    finally:
        is_late.set()
