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

from app.core.messages import Message, message, text
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
from tests.saying import has_at_its_core


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
    ("change", "code", "place"),
    [
        (put("statistics", "value", value=-3.0), "exchange.wrong_field", "results[2].statistics.value"),
        (put("statistics", "value", value="3.0"), "exchange.wrong_field", "results[2].statistics.value"),
        (put("spec", "epochs", value=10**9), "exchange.wrong_field", "results[2].spec.epochs"),
        (put("epochs", 0, "duration_s", value=-3), "exchange.wrong_field", "results[2].epochs[0].duration_s"),
        (put("machine", "cpu_name", value="x" * 10_000_000), "exchange.wrong_field", "results[2].machine.cpu_name"),
        (put("machine", "cpu_name", value="a\u202eb"), "exchange.hidden_characters", "machine.cpu_name"),
        (put("machine", "cpu_name", value="a\x1b[31m"), "exchange.hidden_characters", "machine.cpu_name"),
        (put("machine", "cpu_name", value="a\u200bb"), "exchange.hidden_characters", "machine.cpu_name"),
        (put("machine", "cpu_name", value="a\nb"), "exchange.hidden_characters", "machine.cpu_name"),
        (put("comment", value="\u2066"), "exchange.hidden_characters", "comment"),
        (put("spec", "parameters", value={"a\n": 1}), "exchange.hidden_characters", "spec.parameters"),
        (put("machine", "serial", value="1"), "exchange.wrong_field", "results[2].machine"),
        (put("started_at", value="2026-13-45T00:00:00Z"), "exchange.no_date", "started_at"),
        (put("started_at", value="1970-01-01T00:00:00Z"), "exchange.no_date", "started_at"),
        (put("statistics", "low", value=9e9), "exchange.outside_range", None),
        (put("statistics", "epochs_done", value=7), "exchange.other_count", "epochs"),
        (put("steps", "durations_s", 3, value=0.5), "exchange.other_steps", None),
        (put("steps", "count", value=3), "exchange.other_count", "steps.blocks"),
        (put("epochs", 1, "duration_s", value=9.0), "exchange.not_of_epochs", None),
        (put("verdict", "level", value="perfect"), "exchange.wrong_field", "results[2].verdict.level"),
        (put("digest", value=None), "exchange.no_digest", None),
    ],
)  # fmt: skip
def test_what_is_absurd_is_refused_with_its_place(
    change: Callable[[dict[str, Any]], None], code: str, place: str | None
) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(changed(change, seal=code != "exchange.no_digest"))
    assert has_at_its_core(refusal.value.problem, message(code, **({"place": place} if place else {})))
    assert len(text(refusal.value.problem)) < 300


def test_a_change_shows_in_the_digest() -> None:
    honest = golden()[2]
    with pytest.raises(UnfitError) as refusal:
        decode(changed(put("spec", "batch_size", value=64), seal=False))
    wrong = message("exchange.other_digest", digits=short_code(honest.digest or ""))
    assert refusal.value.problem == message("exchange.in_result", number=3, problem=wrong)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", message("exchange.not_json")),
        (b"{}", message("exchange.wrong_field", place="")),
        (
            b'{"format": "epochmark-result", "format_version": 2, "results": []}',
            message("exchange.unknown_version", version=2),
        ),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": []}',
            message("exchange.wrong_field", place="results"),
        ),
        (b'{"format": "epochmark-result", "format_version": 1, "results": NaN}', message("exchange.not_json")),
        (b'{"format": "x", "format_version": 1, "results": []}', message("exchange.wrong_field", place="format")),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": ' + b"[" * 10_000,
            message("exchange.nested_too_deeply"),
        ),
        (b'\xff{"format"', message("exchange.not_json")),
    ],
)
def test_what_is_no_result_file_is_refused(content: bytes, wanted: Message) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(content)
    assert has_at_its_core(refusal.value.problem, wanted)


def test_the_code_has_eight_digits_in_two_groups() -> None:
    assert short_code(sealed(golden()[0]).digest or "") == "AC55-85EB"
