"""Compact text form of a result, short enough for a QR code or for typing.

Only the characters of QR codes' alphanumeric mode (ISO/IEC 18004) are used: digits, capitals, space and $%*+-./:.
An underscore is written as "-", which doesn't occur in identifiers; all other characters as a space. The fields,
separated by ":", are: mark, workload, its version, preset, batch size, precision, metric, value, ends of the
interval (empty if unknown), verdict, engine, its version, device, names of processor and graphics card, first
digits of the digest, and a checksum of the whole (CRC-16/XMODEM). Several short forms are separated by spaces.
"""

import binascii
import math
import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from app.core.errors import UsageError
from app.core.messages import message
from app.core.result_file.canonical import check, sealed, short_code
from app.core.result_file.record import Environment, Machine, Result, Spec, Statistics, Verdict
from workloads import CATALOGUE

MARK = "EPOCHMARK1"
# App version of results from a short form, which doesn't contain it.
UNKNOWN_VERSION = "?"
LENGTH_LIMIT = 300
# Limits for a QR code with 65 modules per side, which fits in a picture: number of results and of characters.
RESULTS_LIMIT, LETTERS_LIMIT = 3, 419
_FIELDS = 17
_BETWEEN = " "
_LONGEST = RESULTS_LIMIT * (LENGTH_LIMIT + 1)
# Identified by the number of fields, because a name may also contain the mark.
_FORMS = re.compile(rf"(?:^| )(?P<form>(?:[^:]*:){{{_FIELDS}}}[^: ]*)(?= |$)")
_NAMES = slice(14, 16)  # indexes of processor and graphics card
_NAME_LIMIT = 28
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
        *(result.environment.engine_version or "", (result.environment.device or "").replace(":", "")),
        *(_name(machine.cpu_name), _name(machine.device_name), short_code(result.digest or "").replace("-", "")),
    )
    text = ":".join(map(_written, parts))
    return f"{text}:{_check(text)}"


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
    if is_too_long and words.startswith(f"{MARK}:"):
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
    text = " ".join(typed[: _LONGEST + 1].upper().split())
    if not text.startswith(f"{MARK}:"):
        raise UsageError(message("short_form.not_one", mark=MARK))
    if len(text) > LENGTH_LIMIT or not text.isascii():  # some phones replace "-" by a dash
        raise UsageError(message("short_form.wrong_letter"), message("short_form.type_again"))
    body, _, digits = text.rpartition(":")
    parts = body.split(":")
    if len(parts) != _FIELDS or digits != _check(body):
        raise UsageError(message("short_form.wrong_letter"), message("short_form.type_again"))
    try:
        # Each field is validated as in any file, because anyone can compute the checksum.
        result = sealed(msgspec.convert(msgspec.to_builtins(_result(parts)), Result))
        check(result)
    except (ValueError, KeyError, OverflowError, msgspec.ValidationError) as error:
        raise UsageError(message("short_form.unknown_part")) from error
    return result


def rounded(value: float) -> float:
    """Round a number to the digits of a short form."""
    return float(_number(value))


def may_be(whole: Result, code: Result) -> bool:
    """Return whether `code`, a result parsed from a short form, may be the same result as `whole`.

    Names of components may be missing in one of them, provided that an interval identifies the run.
    """
    theirs, ours = (short_form(each).split(":")[: _NAMES.stop] for each in (code, whole))
    if len(theirs) != len(ours) or theirs[: _NAMES.start] != ours[: _NAMES.start]:
        return False
    names = list(zip(theirs[_NAMES], ours[_NAMES], strict=True))
    has_interval = code.statistics.low is not None
    return all(one == other or (has_interval and not (one and other)) for one, other in names)


def _result(parts: list[str]) -> Result:
    workload = CATALOGUE[_read(parts[1])]
    value, low, high = (float(part) if part else None for part in parts[7:10])
    if value is None or not all(
        end is None or (math.isfinite(end) and 0 < end < 1e24) for end in (value, low, high)
    ):
        raise ValueError("no amount")
    preset, metric, level = (
        {letters: name for name, letters in table.items()}[part]
        for table, part in ((_PRESETS, parts[3][:1]), (_METRICS, parts[6]), (_LEVELS | {"": ""}, parts[10]))
    )
    usual, batch_size = workload.default_spec("standard"), int(parts[4])
    if not 1 <= batch_size < 2**31:
        raise ValueError("no batch size")
    precision, compiled, _ = parts[5].partition(_COMPILED)
    device = _read(parts[13])
    return Result(
        app_version=UNKNOWN_VERSION,
        status="completed",
        spec=Spec(
            workload=workload.id,
            workload_version=int(parts[2]),
            preset=preset,
            epochs=usual.epochs if preset == "standard" else 1,
            steps_per_epoch=max(1, math.ceil(workload.samples_per_epoch / batch_size)),
            samples_per_epoch=workload.samples_per_epoch,
            batch_size=batch_size,
            precision=_read(precision),
            jit=bool(compiled),
            seed=0,
        ),
        environment=Environment(
            engine=_read(parts[11]),
            engine_version=parts[12] or None,
            device=device.replace("gpu", "gpu:") or None,
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
        verdict=msgspec.convert({"level": level}, Verdict) if level else None,
    )


def _basis(part: str) -> Literal["estimate"] | None:
    if part[1:] not in ("", _ESTIMATE):
        raise ValueError(part)
    return "estimate" if part[1:] else None


def _written(part: str) -> str:
    return " ".join(_LETTERS.sub(" ", part.upper().replace("_", "-")).split())


def _read(part: str) -> str:
    return part.lower().replace("-", "_")


def _name(name: str | None) -> str:
    """Return a name without brackets and clock speed, truncated to the limit; "" for None."""
    words = re.sub(r"\(.*?\)|@.*", " ", name or "").split()
    return " ".join(words)[:_NAME_LIMIT].strip()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}".replace("e+", "E")


def _check(text: str) -> str:
    return f"{binascii.crc_hqx(text.encode('ascii'), 0):04X}"
