"""The canonical form of results, their digest, and consistency checks."""

import hashlib
import json
import math
import statistics
from array import array
from collections.abc import Iterator, Sequence
from datetime import datetime
from sys import byteorder
from typing import Any

import msgspec

from app.core.messages import Message, message
from app.core.plain_text import one_line
from app.core.result_file.record import FORMAT, FORMAT_VERSION, Result, ResultFile
from workloads.protocol import typed

# Relative tolerance for comparing the headline with the median of the epochs.
_AS_EPOCHS = 1e-6
_LONGEST = 2_000
_FIRST_YEAR = 2020
_PLACE = " - at `$"


class UnfitError(ValueError):
    """A result contradicts itself or its digest.

    Attributes:
        problem: Description of the problem, as a clause.
    """

    def __init__(self, code: str, **arguments: object) -> None:
        super().__init__(code)
        self.problem: Message = message(code, **arguments)


def steps_hash(durations_s: Sequence[float]) -> str:
    """Return the SHA-256 of step durations, encoded as little-endian doubles."""
    doubles = array("d", durations_s)
    if byteorder == "big":
        doubles.byteswap()
    return hashlib.sha256(doubles.tobytes()).hexdigest()


def canonical(value: msgspec.Struct) -> bytes:
    """Return a section of a result file as JSON with sorted keys, no spaces, and the shortest exact numbers."""
    plain = msgspec.to_builtins(value)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def digest_of(result: Result) -> str:
    """Return the digest of a result. It excludes the comment, and includes step durations only as a hash."""
    steps = result.steps and msgspec.structs.replace(result.steps, durations_s=None)
    return hashlib.sha256(
        canonical(msgspec.structs.replace(result, steps=steps, comment=None, digest=None))
    ).hexdigest()


def sealed(result: Result) -> Result:
    return msgspec.structs.replace(result, digest=digest_of(result))


def without_durations(result: Result) -> Result:
    """Return a result without its step durations. The digest doesn't change."""
    if result.steps is None or result.steps.durations_s is None:
        return result
    return msgspec.structs.replace(result, steps=msgspec.structs.replace(result.steps, durations_s=None))


def file_bytes(results: Sequence[Result]) -> bytes:
    whole = ResultFile(format=FORMAT, format_version=FORMAT_VERSION, results=tuple(results))
    return canonical(whole) + b"\n"


def check(result: Result, *, with_digest: bool = True) -> None:
    """Raise UnfitError if a result contradicts itself or its digest, or contains hidden characters."""
    for place, text in _texts(msgspec.to_builtins(without_durations(result)), ""):
        if text != one_line(text, _LONGEST):
            raise UnfitError("exchange.hidden_characters", place=place)
    _check_moments(result)
    _check_steps(result)
    _check_statistics(result)
    if with_digest:
        if result.digest is None:
            raise UnfitError("exchange.no_digest")
        if result.digest != digest_of(result):
            raise UnfitError("exchange.other_digest", digits=result.digest[:8])


def _texts(plain: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(plain, str):
        yield place, plain
    elif isinstance(plain, dict):
        for name, value in plain.items():
            here = f"{place}.{name}" if place else name
            if isinstance(value, str | dict | list | tuple):
                yield from _texts(value, here)
            if not name.isascii() or not name.isprintable():
                yield place, name
    elif plain and not isinstance(plain[0], float):
        for number, value in enumerate(plain):
            if isinstance(value, str | dict):
                yield from _texts(value, f"{place}[{number}]")


def _check_moments(result: Result) -> None:
    for name in ("started_at", "finished_at"):
        moment = getattr(result, name)
        try:
            year = datetime.fromisoformat(moment).year if moment is not None else _FIRST_YEAR
        except ValueError:
            year = 0
        if year < _FIRST_YEAR:
            raise UnfitError("exchange.no_date", place=name, text=one_line(moment, 40))


def _check_steps(result: Result) -> None:
    steps = result.steps
    if steps is None:
        return
    if steps.blocks is not None and sum(block.count for block in steps.blocks) != steps.count:
        raise UnfitError("exchange.other_count", place="steps.blocks", count=steps.count)
    if steps.durations_s is not None:
        if len(steps.durations_s) != steps.count:
            raise UnfitError("exchange.other_count", place="steps.durations_s", count=steps.count)
        if steps_hash(steps.durations_s) != steps.sha256:
            raise UnfitError("exchange.other_steps")


def _check_statistics(result: Result) -> None:
    numbers = result.statistics
    for low, high in (
        (numbers.low, numbers.value),
        (numbers.value, numbers.high),
        (numbers.minimum_s, numbers.maximum_s),
    ):
        if low is not None and high is not None and low > high:
            raise UnfitError("exchange.outside_range", low=low, high=high)
    if result.epochs is None:
        return
    if len(result.epochs) != numbers.epochs_done:
        raise UnfitError("exchange.other_count", place="epochs", count=numbers.epochs_done)
    if numbers.metric != "seconds_per_epoch_s" or numbers.basis not in ("later_epochs", "first_epoch"):
        return
    durations_s = [epoch.duration_s for epoch in result.epochs]
    median_s = statistics.median(durations_s[1:] or durations_s) if durations_s else 0.0
    if not math.isclose(median_s, numbers.value, rel_tol=_AS_EPOCHS):
        raise UnfitError("exchange.not_of_epochs", value_s=numbers.value, median_s=median_s)


def decode(content: bytes) -> tuple[Result, ...]:
    """Parse a result file. Raises UnfitError with the position and the reason if anything is invalid."""
    try:
        head = typed.decode(content, _Head)
        if not 1 <= head.format_version <= FORMAT_VERSION:
            raise UnfitError("exchange.unknown_version", version=head.format_version, newest=FORMAT_VERSION)
        whole = typed.decode(content, ResultFile)
    except msgspec.DecodeError as error:
        raise decode_problem(error) from error
    for number, result in enumerate(whole.results, 1):
        try:
            check(result)
        except UnfitError as error:
            raise UnfitError("exchange.in_result", number=number, problem=error.problem) from error
    return whole.results


class _Head(msgspec.Struct):
    format: str
    format_version: int


def decode_problem(error: msgspec.DecodeError) -> UnfitError:
    """Convert a decoding error to an UnfitError with the reason and, if known, the position in the JSON."""
    if isinstance(error, typed.TooDeepError):
        return UnfitError("exchange.nested_too_deeply")
    if isinstance(error, typed.NotUtf8Error):
        return UnfitError("exchange.not_utf8")
    reason, _, place = str(error).partition(_PLACE)
    reason = one_line(reason, 120)
    if place:
        return UnfitError("exchange.wrong_field", place=one_line(place.strip(".`"), 80), reason=reason)
    return UnfitError("exchange.not_json", reason=reason)
