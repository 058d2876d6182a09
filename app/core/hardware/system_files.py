"""Reads small system files and program output, and cleans up product names. Failures yield empty values."""

import plistlib
import re
import subprocess
import sys
import xml.parsers.expat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

# Enough for the first CPUs of a large server, whose file can be several hundred kilobytes long.
MAX_READ_BYTES = 65_536
MAX_NAME_CHARS = 80
_MAX_OUTPUT_BYTES = 2**20
# Exceptions raised by plistlib for invalid data.
_PLIST_FAILURES = (
    xml.parsers.expat.ExpatError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    AttributeError,
    RecursionError,
)
_Value = TypeVar("_Value")


def attempt(read: Callable[[], _Value]) -> _Value | None:
    """Call psutil; None if it fails. Its files and system calls differ between kernels, and processes end."""
    import psutil  # late, because most modules that read files don't need it

    try:
        return read()
    except (psutil.Error, RuntimeError, OSError, AttributeError, ValueError, LookupError):
        return None


def read_text(path: Path) -> str:
    """Return the beginning of a small system file; "" if it can't be read."""
    return read_bytes(path).decode("utf-8", errors="replace").replace("\x00", "")


def read_bytes(path: Path, max_bytes: int = MAX_READ_BYTES) -> bytes:
    """Return the beginning of a file; empty if it can't be read."""
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except (OSError, ValueError):  # ValueError: a path with a null character
        return b""


def read_word(path: Path) -> str:
    """Return the text of a one-line file without surrounding whitespace; "" if it can't be read."""
    return read_text(path).strip()


def read_count(path: Path) -> int | None:
    """Read a decimal or hexadecimal ("0x10") number from a file; None if there is none."""
    return count_of(read_word(path))


def count_of(text: str) -> int | None:
    """Parse a non-negative integer; None for any other text."""
    if re.fullmatch(r"\d{1,19}", text, re.ASCII):
        return int(text)
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) else None


def version_of(text: str) -> str | None:
    """Return only the version numbers at the start of a text; None if there are none."""
    version = re.match(r"\d+(\.\d+)*", text)
    return version[0] if version else None


def plist_of(data: bytes) -> object:
    """Parse a property list; None if it is invalid."""
    try:
        return plistlib.loads(data)
    except _PLIST_FAILURES:
        return None


def output_of(command: list[str], timeout_s: float = 1.0) -> bytes:
    """Return a system program's output; empty if the program is missing, fails or takes too long."""
    return answer_of(command, timeout_s) or b""


def answer_of(command: list[str], timeout_s: float, max_bytes: int = _MAX_OUTPUT_BYTES) -> bytes | None:
    """Return a system program's output; empty if the program is missing or fails, None if it takes too long."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    nothing = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, stdin=nothing, capture_output=True, timeout=timeout_s, check=False, creationflags=flags
        )
    except subprocess.TimeoutExpired:
        return None
    except (OSError, subprocess.SubprocessError):
        return b""
    return done.stdout[:max_bytes]


def tidy_name(text: str | None) -> str | None:
    """Clean up a product name: remove trademark signs, clock speed and extra spaces. None if nothing remains."""
    name = "".join(char if char.isprintable() else " " for char in text or "")
    name = re.sub(r"\((R|TM|C)\)|[®™©]", " ", name, flags=re.IGNORECASE)
    name = re.sub(r"@.*", "", name)
    # Matches in "Intel Xeon CPU E5-2680 v4" but not in "QEMU Virtual CPU version 2.5+".
    name = re.sub(r"\bCPU(?=\s+[A-Z0-9-]*\d|\s*$)", "", name)
    name = " ".join(name.split())[:MAX_NAME_CHARS].strip()
    return None if name.lower() in {"", "unknown", "n/a", "none", "linux,dummy-virt"} else name


def numbers_in(text: str) -> frozenset[int]:
    """Parse a list of CPUs as written by Linux: "0-3,8" is 0, 1, 2, 3 and 8."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        begin, end = count_of(first.strip()), count_of((last or first).strip())
        if begin is not None and end is not None and begin <= end < begin + 10_000:
            numbers.update(range(begin, end + 1))
    return frozenset(numbers)
