"""The version of the computer's BIOS or UEFI, which can change its speed."""

import sys
from pathlib import Path

from app.core.hardware import registry
from app.core.hardware.reading import read_text
from app.core.plain_text import one_line

_BIOS_KEY = r"HARDWARE\DESCRIPTION\System\BIOS"
_TEXT_LIMIT = 60


def read_bios_version(root: Path = Path("/")) -> str | None:
    """Return the version as its maker writes it; None if the system doesn't say.

    On a Mac it is part of macOS, whose version is known.
    """
    if sys.platform == "win32":
        text = registry.read_text(_BIOS_KEY, "BIOSVersion")
    else:
        text = read_text(root / "sys/class/dmi/id/bios_version")
    return one_line(" ".join(text.split()), _TEXT_LIMIT) or None
