"""Opens pages in the user's browser."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices


def open_address(address: str) -> bool:
    """Open an http or https address as it is, with nothing added; return False if nothing could open it."""
    url = QUrl(address, QUrl.ParsingMode.StrictMode)
    return url.scheme() in ("http", "https") and QDesktopServices.openUrl(url)
