"""Reads results from files. The kind of file is detected from its contents.

A file that contains anything invalid is rejected as a whole.
"""

import errno
from pathlib import Path

import msgspec

from app.core.errors import UsageError
from app.core.exchange.png_embed import SIGNATURE, extract
from app.core.files import read_regular
from app.core.messages import message, sentence
from app.core.plans.suite.short_form import has_suite_form, is_suite_form, read_suite_form
from app.core.report.formats.csv_table import CSV_COLUMNS
from app.core.report.run_table import COLUMNS
from app.core.result_file.canonical import UnfitError, decode, decode_problem
from app.core.result_file.record import FORMAT, Result
from app.core.result_file.short_form import read_short_forms
from workloads.protocol import typed

SIZE_LIMIT_BYTES = 32_000_000
# In memory, parsed values and objects take up many times the size of the file.
VALUES_LIMIT, OBJECTS_LIMIT = 2_500_000, 500_000
_BEGINNING_BYTES = 1_024
# First bytes of other kinds of files that users may confuse with ours.
_OTHERS = {
    b"SQLite format 3\0": "exchange.is_database",
    b"\xff\xd8\xff": "exchange.is_jpeg",
    b"PK\x03\x04": "exchange.is_archive",
    b"\x1f\x8b": "exchange.is_archive",
}


def read_results(path: Path) -> tuple[Result, ...]:
    """Return the results in a result file or a picture.

    Args:
        path: A regular file, or a link to one. A file that is too large is rejected before reading.

    Raises:
        UsageError: The file can't be read, is of another kind, or contains anything invalid.
    """
    shown = str(path)
    try:
        return _results(read_regular(path, SIZE_LIMIT_BYTES))
    except UnfitError as error:
        raise UsageError(message("exchange.refused", path=shown, problem=error.problem)) from error
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        code = error.errno if isinstance(error, OSError) else None
        if code == errno.EFBIG:
            problem = message("exchange.file_too_large", limit_bytes=SIZE_LIMIT_BYTES)
        elif code == errno.EINVAL:
            problem = message("files.not_regular")
        else:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageError(message("files.unreadable", path=shown, reason=reason)) from error
        raise UsageError(message("exchange.refused", path=shown, problem=problem)) from error


def read_text(text: str) -> tuple[Result, ...]:
    """Return the results contained in short forms or in the text of a result file. Raises UsageError."""
    content = text.strip().encode("utf-8", "replace")
    if not content.startswith(b"{"):
        return read_code(text)
    if len(content) > SIZE_LIMIT_BYTES:
        problem = message("exchange.file_too_large", limit_bytes=SIZE_LIMIT_BYTES)
        raise UsageError(message("exchange.text_refused", problem=problem))
    try:
        return _results(content)
    except UnfitError as error:
        raise UsageError(message("exchange.text_refused", problem=error.problem)) from error


def read_code(text: str) -> tuple[Result, ...]:
    """Return the results of runs or of a suite from the text of a QR code. Raises UsageError."""
    if is_suite_form(text):
        return read_suite_form(text)
    try:
        return read_short_forms(text)
    except UsageError:
        if has_suite_form(text):
            raise UsageError(message("short_form.suite_alone")) from None
        raise


def _results(content: bytes) -> tuple[Result, ...]:
    if not content:
        raise UnfitError("exchange.empty")
    if content.startswith(SIGNATURE):
        text = extract(content)
        _check_amount(text)
        return decode(text)
    _check_amount(content)
    for beginning, code in _OTHERS.items():
        if content.startswith(beginning):
            raise UnfitError(code)
    if b"\0" in content[:_BEGINNING_BYTES]:
        raise UnfitError("exchange.unknown_kind")
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        content = content.removeprefix(b"\xef\xbb\xbf")
        try:
            kind = typed.decode(content, _Kind)
        except msgspec.DecodeError as error:
            raise decode_problem(error) from error
        if bytes(kind.format) == f'"{FORMAT}"'.encode():
            return decode(content)
        raise UnfitError("exchange.unknown_kind")
    first_line = content[:_BEGINNING_BYTES].removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    names = {name.strip(b'" \r').decode("utf-8", "replace") for name in first_line.replace(b";", b",").split(b",")}
    is_table = CSV_COLUMNS[0] in names or {sentence(code) for code, _ in COLUMNS[:3]} <= names
    raise UnfitError("exchange.is_table" if is_table else "exchange.unknown_kind")


def _check_amount(content: bytes) -> None:
    if content.count(b",") + content.count(b";") > VALUES_LIMIT or content.count(b"{") > OBJECTS_LIMIT:
        raise UnfitError("exchange.too_many_values", limit=VALUES_LIMIT)


class _Kind(msgspec.Struct):
    """The field that distinguishes result files from other JSON."""

    format: msgspec.Raw = msgspec.Raw()
