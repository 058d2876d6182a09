"""Parses numbers and file names on the command line, and explains what is wrong with invalid ones."""

import argparse
import math
import os
import re
from pathlib import Path

from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.plain_text import one_line

SHOWN_CHARS = 60
STANDARD_OUTPUT = Path("-")
# Python also accepts digits of other scripts, and is slow for thousands of digits.
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE_LIMIT = 2**63 - 1
_LONGEST = 400


def read_whole(text: str) -> int:
    """Parse an integer that fits into the database. The message of a UsageError is the predicate of a sentence."""
    if not _WHOLE.fullmatch(text):
        raise UsageError(message("cli.must_be_whole", value=quoted(text)))
    if len(text) > _LONGEST or abs(int(text)) > _WHOLE_LIMIT:
        raise UsageError(message("cli.is_out_of_range", value=quoted(text)))
    return int(text)


def whole(text: str) -> int:
    try:
        return read_whole(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def check_range(option: str, given: float, least: int, most: int) -> None:
    if not least <= given <= most:
        limits = {"option": option, "least": least, "most": most, "given": given}
        raise UsageError(message("cli.number_out_of_range", **limits))


def fraction(text: str) -> float:
    if not _FRACTION.fullmatch(text):
        raise argparse.ArgumentTypeError(sentence("cli.must_be_number", value=quoted(text)))
    if len(text) > _LONGEST or not math.isfinite(float(text)):
        raise argparse.ArgumentTypeError(sentence("cli.is_out_of_range", value=quoted(text)))
    return float(text)


def output(text: str) -> Path:
    """Parse the path of an output file for argparse. "-" is STANDARD_OUTPUT."""
    if not text:
        raise argparse.ArgumentTypeError(sentence("cli.file_needs_name"))
    if text.endswith((os.sep, os.altsep or os.sep)):
        raise argparse.ArgumentTypeError(sentence("cli.is_folder", path=quoted(text)))
    return Path(text)


def quoted(text: str) -> str:
    return f"'{one_line(text, SHOWN_CHARS)}'"
