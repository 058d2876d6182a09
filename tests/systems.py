"""What only some systems or users can: marks for the tests that need it."""

import ctypes
import os
import tempfile
from pathlib import Path

import pytest


def _can_link() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        target, link = Path(folder, "target"), Path(folder, "link")
        target.write_text("there", encoding="utf-8")
        try:
            link.symlink_to(target)
            return link.is_symlink() and link.read_text(encoding="utf-8") == "there"
        except OSError:
            return False


IN_WINE = os.name == "nt" and hasattr(ctypes.CDLL("ntdll"), "wine_get_version")


def not_in_wine(reason: str) -> pytest.MarkDecorator:
    """Skip a test where wine stands in for Windows, for what is its fault and not ours."""
    return pytest.mark.skipif(IN_WINE, reason=f"wine {reason}")


WITHOUT_WINDOW = "EPOCHMARK_TESTS_WITHOUT_WINDOW" in os.environ  # start.py sets it
needs_qt = pytest.mark.skipif(WITHOUT_WINDOW, reason="Qt's libraries are missing")
CAN_LINK = _can_link()
needs_links = pytest.mark.skipif(not CAN_LINK, reason="this user can't make links here")
needs_scripts = pytest.mark.skipif(os.name == "nt", reason="programs are replaced by scripts of a shell")
linux_names = pytest.mark.skipif(os.name == "nt", reason="Linux's folders, with links, and colons in their names")
# What a process is said to have died of that touches memory that isn't its own.
FATAL = "access violation" if os.name == "nt" else "Fatal Python error: Segmentation fault"
