"""Canonical form and digest: what goes out comes back equal, and what was changed isn't taken."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.messages import sentence, text
from app.core.records import RunSummary
from app.core.result_file.canonical import (
    UnfitError,
    decode,
    digest_of,
    file_bytes,
    sealed,
    short_code,
    without_durations,
)
from app.core.result_file.record import Result
from app.core.result_file.summary import summary_of
from tests.core.result_file.results import golden, results


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(results(), min_size=1, max_size=3))
def test_what_goes_out_comes_back_equal(out: list[Result]) -> None:
    content = file_bytes(out)
    assert decode(content) == tuple(out)
    spaced = json.dumps(json.loads(content), indent=2).encode()
    assert decode(spaced) == tuple(out), "the order and the spaces of JSON don't count"


@settings(max_examples=40)
@given(results())
def test_the_digest_stays_without_durations_and_with_another_comment(result: Result) -> None:
    assert digest_of(without_durations(result)) == result.digest
    assert without_durations(result).steps is None or without_durations(result).steps.durations_s is None  # type: ignore[union-attr]


@pytest.mark.parametrize("number", range(4))
def test_a_row_has_all_that_the_result_says(number: int) -> None:
    result = golden()[number]
    row = summary_of(result, 3)
    assert (row.id, row.value, row.engine) == (3, result.statistics.value, result.environment.engine)
    assert (row.cpu_name, row.device, row.verdict) == ("AMD EPYC", "cpu", result.verdict and result.verdict.level)
    missing = [each.name for each in fields(RunSummary) if getattr(row, each.name) is None]
    assert {"error_code", "error_message", "group_id", "side"} <= set(missing)


def changed(change: Callable[[dict[str, Any]], None], *, seal: bool = True) -> bytes:
    """Return the golden file with a change in its third result, whose digest is then right unless it can't be."""
    plain = json.loads(file_bytes(golden()))
    result = plain["results"][2]
    change(result)
    if seal:
        with contextlib.suppress(msgspec.ValidationError):
            result["digest"] = digest_of(msgspec.convert(result, Result))
    return json.dumps(plain).encode()


def put(*place: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(plain: dict[str, Any]) -> None:
        for step in place[:-1]:
            plain = plain[step]
        plain[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("statistics", "value", value=-3.0), "results[2].statistics.value: Expected `float` > 0"),
        (put("statistics", "value", value="3.0"), "statistics.value: Expected `float`, got `str`"),
        (put("spec", "epochs", value=10**9), "spec.epochs: Expected `int` <= 10000000"),
        (put("epochs", 0, "duration_s", value=-3), "duration_s: Expected `float` >= 0"),
        (put("machine", "cpu_name", value="x" * 10_000_000), "machine.cpu_name: Expected `str` of length <= 300"),
        (put("machine", "cpu_name", value="a\u202eb"), "result 3: machine.cpu_name has characters that"),
        (put("machine", "cpu_name", value="a\x1b[31m"), "machine.cpu_name has characters that are hidden"),
        (put("machine", "cpu_name", value="a\u200bb"), "machine.cpu_name has characters that are hidden"),
        (put("machine", "cpu_name", value="a\nb"), "machine.cpu_name has characters that are hidden"),
        (put("comment", value="\u2066"), "comment has characters that are hidden"),
        (put("spec", "parameters", value={"a\n": 1}), "spec.parameters has characters that are hidden"),
        (put("machine", "serial", value="1"), "unknown field `serial`"),
        (put("started_at", value="2026-13-45T00:00:00Z"), "“2026-13-45T00:00:00Z”, which is no date"),
        (put("started_at", value="1970-01-01T00:00:00Z"), "which is no date since 2020"),
        (put("statistics", "low", value=9e9), "9e+09 to "),
        (put("statistics", "epochs_done", value=7), "epochs doesn't have the 7 entries"),
        (put("steps", "durations_s", 3, value=0.5), "its steps don't match their checksum"),
        (put("steps", "count", value=3), "doesn't have the 3 entries"),
        (put("epochs", 1, "duration_s", value=9.0), "but its epochs make 9 s"),
        (put("verdict", "level", value="perfect"), "verdict.level: Invalid enum value 'perfect'"),
        (put("digest", value=None), sentence("exchange.no_digest")),
    ],
)  # fmt: skip
def test_what_is_absurd_is_refused_with_its_place(change: Callable[[dict[str, Any]], None], words: str) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(changed(change, seal="digest" not in words))
    said = text(refusal.value.problem)
    assert words in said
    assert len(said) < 300


def test_a_change_shows_in_the_digest() -> None:
    honest = golden()[2]
    with pytest.raises(UnfitError) as refusal:
        decode(changed(put("spec", "batch_size", value=64), seal=False))
    assert text(refusal.value.problem) == (
        f"result 3: its content doesn't match its code {short_code(honest.digest or '')}:"
        " it was damaged or changed"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Input data was truncated"),
        (b"{}", "missing required field `format`"),
        (b'{"format": "epochmark-result", "format_version": 2, "results": []}', "format version 2"),
        (b'{"format": "epochmark-result", "format_version": 1, "results": []}', "length >= 1"),
        (b'{"format": "epochmark-result", "format_version": 1, "results": NaN}', "isn't valid JSON"),
        (b'{"format": "x", "format_version": 1, "results": []}', "format"),
        (b'{"format": "epochmark-result", "format_version": 1, "results": ' + b"[" * 10_000, "nested too deeply"),
        (b'\xff{"format"', "isn't valid JSON"),
    ],
)
def test_what_is_no_result_file_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(content)
    assert words in text(refusal.value.problem)


def test_the_code_has_eight_digits_in_two_groups() -> None:
    assert short_code(sealed(golden()[0]).digest or "") == "AC55-85EB"
