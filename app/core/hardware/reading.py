"""Reading what systems tell: small files, programs' answers, marketing names. Failures are empty answers."""

import re
import subprocess
import sys
from pathlib import Path

# Enough for the first processors of a large server; the whole file can be several hundred kilobytes.
MAX_READ_BYTES = 65_536
MAX_NAME_CHARS = 80
_MAX_OUTPUT_BYTES = 2**20


def read_text(path: Path) -> str:
    """Return the beginning of a small system file, or "" when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_READ_BYTES).decode("utf-8", errors="replace").replace("\x00", "")
    except OSError:
        return ""


def read_word(path: Path) -> str:
    """Return the text of a file of one line, without spaces around it."""
    return read_text(path).strip()


def read_count(path: Path) -> int | None:
    """Return a file's number, as it stands or in hexadecimal ("0x10"); None for anything else."""
    return count_of(read_word(path))


def count_of(text: str) -> int | None:
    """Return a whole number that is not negative, None for any other text."""
    if re.fullmatch(r"\d{1,19}", text, re.ASCII):
        return int(text)
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) else None


def output_of(command: list[str], timeout_s: float = 1.0) -> bytes:
    """Return what a program of the system prints; empty if there is none, it fails or takes too long."""
    return answer_of(command, timeout_s) or b""


def answer_of(command: list[str], timeout_s: float, max_bytes: int = _MAX_OUTPUT_BYTES) -> bytes | None:
    """Return what a program of the system prints: empty if it fails or there is none, None if it is too slow."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            creationflags=flags,
        )
    except subprocess.TimeoutExpired:
        return None
    except (OSError, subprocess.SubprocessError):
        return b""
    return done.stdout[:max_bytes]


def tidy_name(text: str | None) -> str | None:
    """Shorten a marketing name: no trademark signs, no clock, single spaces. None when nothing is left."""
    name = "".join(char if char.isprintable() else " " for char in text or "")
    name = re.sub(r"\((R|TM|C)\)|[®™©]", " ", name, flags=re.IGNORECASE)
    name = re.sub(r"@.*", "", name)
    # "Intel Xeon CPU E5-2680 v4", but not "QEMU Virtual CPU version 2.5+".
    name = re.sub(r"\bCPU(?=\s+[A-Z0-9-]*\d|\s*$)", "", name)
    name = " ".join(name.split())[:MAX_NAME_CHARS].strip()
    return None if name.lower() in {"", "unknown", "n/a", "none", "linux,dummy-virt"} else name


def numbers_in(text: str) -> frozenset[int]:
    """Return the processors of a list as Linux writes it: "0-3,8" are 0, 1, 2, 3 and 8."""
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        begin, end = count_of(first.strip()), count_of((last or first).strip())
        if begin is not None and end is not None and begin <= end < begin + 10_000:
            numbers.update(range(begin, end + 1))
    return frozenset(numbers)
