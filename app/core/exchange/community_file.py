"""Reads community tables strictly, downloads them on request, and stores them.

A table contains the SHA-256 of its rows in the canonical form of result files. The hash detects damage but doesn't
prove who took the measurements.
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from app.core.datasets.addresses import shown
from app.core.errors import AppError, UsageError
from app.core.exchange.web import read_in_time
from app.core.external_results import CommunityRow
from app.core.files import write_whole
from app.core.locks import Hold, acquire
from app.core.messages import message
from app.core.paths import Paths, make_folder
from app.core.plain_text import one_line
from app.core.result_file.canonical import UnfitError, decode_problem
from app.core.result_file.record import (
    Amount,
    Environment,
    Line,
    Machine,
    Number,
    Positive,
    Result,
    Spec,
    Statistics,
)
from app.core.result_file.record import Token as Name
from app.core.result_file.summary import summary_of
from workloads import CATALOGUE
from workloads.datasets.regular_file import read_regular
from workloads.protocol import typed

FORMAT, FORMAT_VERSION = "epochmark-table", 2
SIZE_LIMIT_BYTES, ROWS_LIMIT, CODES_LIMIT = 5_000_000, 20_000, 10_000
# Limits in seconds: for the lock, and for downloading 5 MB over a slow connection.
PATIENCE_S, TIME_LIMIT_S = 10.0, 120.0
_log = logging.getLogger(__name__)
_Code = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-F]{4}-[0-9A-F]{4}$")]
_Text = Annotated[str, msgspec.Meta(max_length=300)]


class _Row(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A row as written by `community_build`."""

    device: Line
    kind: Literal["cpu", "gpu", "tpu"]
    engine: Name
    workload: Name
    workload_version: Number
    variant: _Text
    batch_size: Positive
    precision: Name
    settings: _Text
    metric: Name
    median: Amount
    low: Amount
    high: Amount
    machines: Positive
    results: Positive
    cautions: Number
    codes: Annotated[tuple[_Code, ...], msgspec.Meta(max_length=CODES_LIMIT)]
    power_limit_w: Amount | None = None  # from version 2 on
    power_default_w: Amount | None = None


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    format: Literal["epochmark-table"]
    format_version: Literal[1, 2]
    sha256: str
    rows: Annotated[tuple[_Row, ...], msgspec.Meta(min_length=1, max_length=ROWS_LIMIT)]


def rows_hash(rows: Any) -> str:
    """Return the SHA-256 of a table's rows. The rows are plain lists and dictionaries."""
    text = json.dumps(rows, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def check_row(plain: Mapping[str, Any]) -> None:
    """Raise UnfitError unless a row of plain values is valid in a table."""
    try:
        problem = _problem(typed.convert(plain, _Row))
    except msgspec.ValidationError as error:
        raise decode_problem(error) from error
    if problem is not None:
        raise problem


def read_table(content: bytes) -> list[CommunityRow]:
    """Parse a table; return the rows that this version can use. Raises UnfitError if anything is invalid."""
    try:
        table = typed.decode(content, _Table)
        plain = typed.decode(content, dict[str, Any])["rows"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise decode_problem(error) from error
    try:
        digest = rows_hash(plain)
    except (UnicodeEncodeError, ValueError) as error:
        raise UnfitError("table.other_checksum") from error
    if digest != table.sha256:
        raise UnfitError("table.other_checksum")
    for number, row in enumerate(table.rows, 1):
        _check(row, number)
    return [_community(row) for row in table.rows if _is_of_today(row)]


def load_table(paths: Paths) -> list[CommunityRow]:
    """Return the rows of the current table; empty if there is no readable table."""
    try:
        return read_table(read_regular(paths.table, SIZE_LIMIT_BYTES))
    except FileNotFoundError:
        return []
    except (OSError, UnfitError) as error:
        _log.warning("The table %s can't be read: %s", one_line(str(paths.table), 300), error)
        return []


def get_table(
    paths: Paths, address: str, *, patience_s: float = PATIENCE_S, time_limit_s: float = TIME_LIMIT_S
) -> int | None:
    """Download a table and make it the current one. The old table becomes the previous one.

    Args:
        paths: The app's folders.
        address: An http or https address.
        patience_s: How long to wait for another process that is changing the table, in seconds.
        time_limit_s: Time limit for the whole download in seconds.

    Returns:
        Number of usable rows; None if the table is identical to the current one.

    Raises:
        UsageError: The table is invalid; the current one is kept.
        AppError: The table can't be downloaded or written, or another process is changing it.
    """
    make_folder(paths.table.parent)
    with _only_one(paths, patience_s):
        content = _fetched(address, time_limit_s)
        try:
            count = len(read_table(content))
        except UnfitError as error:
            raise _refused(address, error) from error
        if not count:
            raise _refused(address, UnfitError("table.nothing_for_here"))
        return count if _use(paths, content) else None


def _fetched(address: str, time_limit_s: float) -> bytes:
    """Return the server's response.

    Raises AppError, or UsageError if the response is larger than the limit.
    """
    content = read_in_time(address, SIZE_LIMIT_BYTES, time_limit_s, message("table.try_later"))
    if content is None:
        raise _refused(address, UnfitError("exchange.file_too_large", limit_bytes=SIZE_LIMIT_BYTES))
    return content


def use_previous(paths: Paths) -> int:
    """Swap the previous and the current table; return the number of rows in the new current table.

    Raises:
        UsageError: There is no previous table.
        AppError: The table can't be written, or another process is changing it.
    """
    with _only_one(paths, PATIENCE_S):
        previous, current = (_good(path) for path in (paths.previous_table, paths.table))
        if previous is None:
            raise UsageError(message("table.no_previous"))
        try:
            write_whole(paths.table, [previous])
            if current is not None:
                write_whole(paths.previous_table, [current])
        except OSError as error:
            raise _not_written(paths.table, error) from error
        return len(read_table(previous))


def _use(paths: Paths, content: bytes) -> bool:
    """Replace the current table; return False if the new table is identical."""
    current = _good(paths.table)
    if current == content:
        return False
    try:
        if current is not None:
            write_whole(paths.previous_table, [current])
        write_whole(paths.table, [content])
    except OSError as error:
        raise _not_written(paths.table, error) from error
    return True


def _good(path: Path) -> bytes | None:
    """Return the contents of a valid table; None if there is none."""
    try:
        content = read_regular(path, SIZE_LIMIT_BYTES)
        read_table(content)
    except (OSError, UnfitError):
        return None
    return content


def _only_one(paths: Paths, patience_s: float) -> Hold:
    hold = acquire(paths.locks / "table.lock", patience_s)
    if hold is None:
        raise AppError(message("table.busy"))
    return hold


def _refused(address: str, error: UnfitError) -> UsageError:
    return UsageError(message("table.refused", address=shown(address), problem=error.problem))


def _not_written(path: Path, error: OSError) -> AppError:
    reason = error.strerror or type(error).__name__
    return AppError(message("table.not_written", path=one_line(str(path), 300), reason=reason))


def _check(row: _Row, number: int) -> None:
    """Raise UnfitError if a row contradicts itself or contains hidden characters."""
    if (problem := _problem(row)) is not None:
        raise UnfitError("table.in_row", number=number, problem=problem.problem)


def _problem(row: _Row) -> UnfitError | None:
    """Return an error that describes what is wrong with a row, or None."""
    texts = (row.device, row.variant, row.settings)
    if not row.device.strip() or any(text != one_line(text, 300) for text in texts):
        return UnfitError("table.hidden_characters")
    if not row.low <= row.median <= row.high:
        return UnfitError("exchange.outside_range", low=row.low, high=row.high)
    if row.machines > row.results or row.cautions > row.results:
        return UnfitError("table.more_than_results")
    return None


def _is_of_today(row: _Row) -> bool:
    workload = CATALOGUE.get(row.workload)
    return workload is not None and not workload.is_demo and workload.version == row.workload_version


def _community(row: _Row) -> CommunityRow:
    """Convert a row to a comparable result on the row's device with the row's settings."""
    usual = CATALOGUE[row.workload].default_spec("standard")
    settings = dict(part.partition("=")[::2] for part in row.settings.split())
    threads = settings.pop("threads", "")
    is_compiled = settings.pop("jit", "") == "on"
    samples = CATALOGUE[row.workload].samples_per_epoch
    result = Result(
        app_version="?",
        status="completed",
        spec=Spec(
            workload=row.workload,
            workload_version=row.workload_version,
            variant=row.variant or None,
            preset="standard",
            epochs=usual.epochs or 1,
            steps_per_epoch=max(1, -(-samples // row.batch_size)),
            samples_per_epoch=samples,
            batch_size=row.batch_size,
            precision=row.precision,
            jit=is_compiled,
            threads=int(threads) if threads.isascii() and threads.isdigit() and 0 < len(threads) < 6 else None,
            seed=0,
            settings=" ".join(f"{name}={value}" for name, value in settings.items()) or None,
        ),
        environment=Environment(engine=row.engine, device="cpu" if row.kind == "cpu" else f"{row.kind}:0"),
        machine=Machine(**{"cpu_name" if row.kind == "cpu" else "device_name": row.device}),  # type: ignore[arg-type]
        statistics=Statistics(
            metric=row.metric,
            value=row.median,
            epochs_done=0,
            power_limit_w=row.power_limit_w,
            power_default_w=row.power_default_w,
        ),
    )
    counts = (row.machines, row.results, row.cautions)
    return CommunityRow(row.device, summary_of(result), row.low, row.high, *counts)
