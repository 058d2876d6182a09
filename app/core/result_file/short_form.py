"""Compact text form of a result, short enough for a QR code or for typing.

Only the characters of QR codes' alphanumeric mode (ISO/IEC 18004) are used: digits, capital letters, the space and
$%*+-./:. An underscore is written as "-", which doesn't occur in identifiers; all other characters are written as
spaces. The fields, separated by ":", are: mark, workload, its version, preset, batch size, precision, metric,
value, ends of the interval (empty if unknown), verdict, engine, its version, device, names of the processor and
graphics card, uid, and a checksum of the whole (CRC-16/XMODEM). Several short forms are
separated by spaces.
"""

import binascii
import math
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from app.core.errors import UsageError
from app.core.messages import message
from app.core.result_file.canonical import check, sealed
from app.core.result_file.identity import uid_of
from app.core.result_file.record import Environment, Machine, Result, Spec, Statistics, Verdict
from app.core.uids import derived_uid
from workloads import CATALOGUE
from workloads.protocol import typed
from workloads.workload import Workload

MARK = "EPOCHMARK2"
# Short forms of earlier versions have the first digits of the digest in place of the uid.
OLD_MARK = "EPOCHMARK1"
UNKNOWN_VERSION = "?"  # app version of results from a short form, which doesn't contain it
# Errors of `checked` for fields that make no sense.
FIELD_ERRORS = (ValueError, KeyError, OverflowError, msgspec.ValidationError)
LENGTH_LIMIT = 300
# Limits for a QR code with 65 modules per side, which fits in a picture: number of results and of characters.
RESULTS_LIMIT, LETTERS_LIMIT = 3, 419
_FIELDS = 17
_BETWEEN = " "
_LONGEST = RESULTS_LIMIT * (LENGTH_LIMIT + 1)
# Identified by the number of fields, because a name may also contain the mark.
_FORMS = re.compile(rf"(?:^| )(?P<form>(?:[^:]*:){{{_FIELDS}}}[^: ]*)(?= |$)")
DIGITS, ROUNDED_BY = 6, 5.1e-4  # codes of earlier versions have four digits
_NAME_LIMIT = 28
SUITE_DIGITS, SUITE_ROUNDED_BY = 6, 5.1e-6  # values of a suite have at least so many digits
_LETTERS = re.compile(r"[^0-9A-Z $%*+\-./]")
_METRICS = {
    "seconds_per_epoch_s": "SE",
    "seconds_per_batch_s": "SB",
    "images_per_s": "IS",
    "words_per_s": "WS",
    "tokens_per_s": "TS",
    "flop_per_s": "FS",
    "bytes_per_s": "BS",
}
_COMPILED, _ESTIMATE = "+JIT", "E"
CONFIDENCE_PCT = 95.0
_PRESETS = {"quick": "Q", "standard": "S", "sustained": "L"}
_LEVELS = {"valid": "V", "caution": "C", "invalid": "I"}


def short_form(result: Result) -> str:
    """Return the short form of a result; "" if it has none, as with a modified network or settings."""
    spec, numbers = result.spec, result.statistics
    is_usual = spec.variant is None and spec.settings is None and spec.threads is None
    is_sure = numbers.basis != "first_epoch"  # the first epoch includes the engine's start
    if not is_usual or not is_sure or numbers.metric not in _METRICS or spec.preset not in _PRESETS:
        return ""
    # Intervals with another confidence level aren't comparable.
    ends = (numbers.low, numbers.high) if (numbers.confidence_pct or 0) >= CONFIDENCE_PCT else (None, None)
    preset = _PRESETS[spec.preset] + (_ESTIMATE if numbers.basis == "estimate" else "")
    level = _LEVELS[result.verdict.level] if result.verdict is not None else ""
    machine = result.machine
    parts = (
        *(MARK, spec.workload, str(spec.workload_version), preset, str(spec.batch_size)),
        *(f"{spec.precision}{_COMPILED if spec.jit else ''}", _METRICS[numbers.metric]),
        *(*map(_number, (numbers.value, *ends)), level, result.environment.engine),
        *(result.environment.engine_version or "", written_device(result.environment.device)),
        *(written_name(machine.cpu_name), written_name(machine.device_name)),
        uid_of(result),
    )
    return with_checksum(parts)


def short_forms(results: Iterable[Result]) -> str:
    """Join the short forms of as many results as fit in one QR code; "" if none has a short form."""
    forms = list(dict.fromkeys(filter(None, map(short_form, results))))[:RESULTS_LIMIT]
    while len(_BETWEEN.join(forms)) > LETTERS_LIMIT:
        forms.pop()
    return _BETWEEN.join(forms)


def read_short_forms(typed: str) -> tuple[Result, ...]:
    """Parse one or more short forms, such as the text of a QR code.

    Raises:
        UsageError: A short form is invalid, or there are too many.
    """
    words = " ".join(typed[:_LONGEST].upper().split())
    is_too_long = len(typed) > _LONGEST or words.count(":") > RESULTS_LIMIT * _FIELDS
    if is_too_long and has_mark(words):
        raise UsageError(message("short_form.too_many", limit=RESULTS_LIMIT))
    forms = [match["form"] for match in _FORMS.finditer(words)]
    if len(forms) < 2 or _BETWEEN.join(forms) != words:
        return (read_short_form(typed),)
    return tuple(map(read_short_form, forms))


def read_short_form(typed: str) -> Result:
    """Parse a typed or scanned short form. Fields that it doesn't contain are unset.

    Raises:
        UsageError: The text isn't a short form, contains a wrong character, or refers to something that this
            version doesn't support.
    """
    text = normalized(typed)
    if not has_mark(text):
        raise UsageError(message("short_form.not_one", mark=MARK))
    parts = fields_of(text, LENGTH_LIMIT)
    if len(parts) != _FIELDS:
        raise wrong_letter()
    try:
        return checked(_result(parts))
    except FIELD_ERRORS as error:
        raise UsageError(message("short_form.unknown_part")) from error


def has_mark(text: str) -> bool:
    """Return whether a text in capitals begins like a short form."""
    return text.startswith((f"{MARK}:", f"{OLD_MARK}:"))


def normalized(typed: str) -> str:
    """Return a typed text in capitals with single spaces, truncated if it is too long for short forms."""
    return " ".join(typed[: _LONGEST + 1].upper().split())


def fields_of(text: str, limit: int) -> list[str]:
    """Return the fields of a normalised text of at most `limit` characters, without the checksum.

    Raises:
        UsageError: The text is too long, or the checksum is wrong.
    """
    body, _, digits = text.rpartition(":")
    # Some phones replace "-" by a dash.
    if len(text) > limit or not text.isascii() or digits != _checksum(body):
        raise wrong_letter()
    return body.split(":")


def wrong_letter() -> UsageError:
    """Return the error for a text with a wrong or missing character."""
    return UsageError(message("short_form.wrong_letter"), message("short_form.type_again"))


def with_checksum(fields: Iterable[str]) -> str:
    text = ":".join(map(_written, fields))
    return f"{text}:{_checksum(text)}"


def checked(result: Result) -> Result:
    """Return a result with its digest. Raises one of FIELD_ERRORS if it wouldn't be accepted in a file."""
    # Anyone can compute the checksum of a short form.
    whole = sealed(typed.convert(msgspec.to_builtins(result), Result))
    check(whole)
    return whole


def is_of_code(app_version: str) -> bool:
    """Return whether a result's app version shows that it was parsed from a short form."""
    return app_version == UNKNOWN_VERSION


def _result(parts: list[str]) -> Result:
    workload = CATALOGUE[read_token(parts[1])]
    value, low, high = (float(part) if part else None for part in parts[7:10])
    if value is None or not all(
        end is None or (math.isfinite(end) and 0 < end < 1e24) for end in (value, low, high)
    ):
        raise ValueError("no amount")
    preset, metric, level = (
        {letters: name for name, letters in table.items()}[part]
        for table, part in ((_PRESETS, parts[3][:1]), (_METRICS, parts[6]), (_LEVELS | {"": ""}, parts[10]))
    )
    precision, compiled, _ = parts[5].partition(_COMPILED)
    return Result(
        uid=derived_uid(parts[16]) if parts[0] == OLD_MARK else parts[16].lower(),
        app_version=UNKNOWN_VERSION,
        status="completed",
        spec=usual_spec(
            workload,
            workload_version=int(parts[2]),
            preset=preset,
            epochs=workload.default_spec("standard").epochs if preset == "standard" else 1,
            batch_size=int(parts[4]),
            precision=read_token(precision),
            jit=bool(compiled),
            seed=0,
        ),
        environment=Environment(
            engine=read_token(parts[11]), engine_version=parts[12] or None, device=read_device(parts[13])
        ),
        machine=Machine(cpu_name=parts[14] or None, device_name=parts[15] or None),
        statistics=Statistics(
            metric=metric,
            value=value,
            low=low,
            high=high,
            confidence_pct=CONFIDENCE_PCT if low is not None else None,
            basis=_basis(parts[3]),
            epochs_done=0,
        ),
        verdict=typed.convert({"level": level}, Verdict) if level else None,
    )


def usual_spec(workload: Workload, *, batch_size: int, **fields: Any) -> Spec:
    """Return the spec of a run with whole epochs. Raises one of FIELD_ERRORS if the batch size is out of range."""
    if not 1 <= batch_size < 2**31:
        raise ValueError("no batch size")
    return Spec(
        workload=workload.id,
        steps_per_epoch=max(1, math.ceil(workload.samples_per_epoch / batch_size)),
        samples_per_epoch=workload.samples_per_epoch,
        batch_size=batch_size,
        **fields,
    )


def written_device(device: str | None) -> str:
    """Return a device without the separator of the fields; "" for None."""
    return (device or "").replace(":", "")


def read_device(part: str) -> str | None:
    """Return the device in a field; None if it is empty."""
    return read_token(part).replace("gpu", "gpu:") or None


def _basis(part: str) -> Literal["estimate"] | None:
    if part[1:] not in ("", _ESTIMATE):
        raise ValueError(part)
    return "estimate" if part[1:] else None


def _written(part: str) -> str:
    return " ".join(_LETTERS.sub(" ", part.upper().replace("_", "-")).split())


def read_token(part: str) -> str:
    return part.lower().replace("-", "_")


def written_name(name: str | None) -> str:
    """Return a name without brackets or the clock speed, truncated to the limit; "" for None."""
    words = re.sub(r"\(.*?\)|@.*", " ", name or "").split()
    return " ".join(words)[:_NAME_LIMIT].strip()


def written_number(value: float, digits: int = DIGITS) -> str:
    """Return a number with at most this many significant digits and without superfluous characters."""
    return f"{value:.{digits}g}".upper().replace("E+", "E")


def _number(value: float | None) -> str:
    return "" if value is None else written_number(value)


def _checksum(text: str) -> str:
    return f"{binascii.crc_hqx(text.encode('ascii'), 0):04X}"
