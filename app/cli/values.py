"""How the command line reads numbers and names of files, with the sentence for those that are none."""

import argparse
import math
import os
import re
from pathlib import Path

from app.core.errors import UsageError
from app.core.plain_text import one_line

SHOWN_CHARS = 60
STANDARD_OUTPUT = Path("-")
# Digits of other scripts are digits to Python too; numbers of thousands of digits take it long.
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE_LIMIT = 2**63 - 1
_LONGEST = 400


def read_whole(text: str) -> int:
    """Read a whole number that the database can hold; raises UsageError, without a subject, if it is none."""
    if not _WHOLE.fullmatch(text):
        raise UsageError(f"must be a whole number, not {quoted(text)}")
    if len(text) > _LONGEST or abs(int(text)) > _WHOLE_LIMIT:
        raise UsageError(f"is out of range: {quoted(text)}")
    return int(text)


def whole(text: str) -> int:
    """Read a whole number for argparse."""
    try:
        return read_whole(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def fraction(text: str) -> float:
    """Read a number for argparse."""
    if not _FRACTION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be a number, not {quoted(text)}")
    if len(text) > _LONGEST or not math.isfinite(float(text)):
        raise argparse.ArgumentTypeError(f"is out of range: {quoted(text)}")
    return float(text)


def output(text: str) -> Path:
    """Read the name of a file to write for argparse; "-" is STANDARD_OUTPUT."""
    if not text:
        raise argparse.ArgumentTypeError("the file needs a name")
    if text.endswith((os.sep, os.altsep or os.sep)):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is a folder, not a file")
    return Path(text)


def quoted(text: str) -> str:
    """Return what was typed as it is shown in a sentence."""
    return f"'{one_line(text, SHOWN_CHARS)}'"
