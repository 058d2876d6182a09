"""Canonical form and digest: what goes out comes back equal, and what was changed isn't taken."""

import contextlib
import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.messages import message, text
from app.core.records import RunSummary
from app.core.result_file.canonical import UnfitError, decode, digest_of, file_bytes, without_durations
from app.core.result_file.record import FORMAT_VERSION, Result, ResultFile, ResultSection
from app.core.result_file.summary import summary_of
from tests.build import golden, results
from tests.conftest import ROOT
from tests.saying import Saying, said
from tests.sure import sure


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
    row = summary_of(result)
    assert (row.value, row.engine) == (result.statistics.value, result.environment.engine)
    assert (row.cpu_name, row.device, row.verdict) == ("AMD EPYC", "cpu", result.verdict and result.verdict.level)
    missing = [each.name for each in fields(RunSummary) if getattr(row, each.name) is None]
    assert {"error_code", "error_said", "group_id", "side"} <= set(missing)


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


NO_DIGEST = said("exchange.no_digest")


TOO_LONG = "Expected `str` of length <= 300"
UNKNOWN_FIELD = "Object contains unknown field `serial`"


def hidden(place: str) -> Saying:
    return said("exchange.hidden_characters", place=place)


def wrong(place: str, reason: str) -> Saying:
    return said("exchange.wrong_field", place=place, reason=reason)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (put("statistics", "value", value=-3.0), wrong("results[2].statistics.value", "Expected `float` > 0")),
        (put("statistics", "value", value="3.0"), wrong("statistics.value", "Expected `float`, got `str`")),
        (put("spec", "epochs", value=10**9), wrong("spec.epochs", "Expected `int` <= 10000000")),
        (put("epochs", 0, "duration_s", value=-3), wrong("duration_s", "Expected `float` >= 0")),
        (put("machine", "cpu_name", value="x" * 10_000_000), wrong("machine.cpu_name", TOO_LONG)),
        (put("machine", "cpu_name", value="a\u202eb"), hidden("machine.cpu_name")),
        (put("machine", "cpu_name", value="a\x1b[31m"), hidden("machine.cpu_name")),
        (put("machine", "cpu_name", value="a\u200bb"), hidden("machine.cpu_name")),
        (put("machine", "cpu_name", value="a\nb"), hidden("machine.cpu_name")),
        (put("comment", value="\u2066"), hidden("comment")),
        (put("spec", "parameters", value={"a\n": 1}), hidden("spec.parameters")),
        (put("machine", "serial", value="1"), wrong("results[2].machine", UNKNOWN_FIELD)),
        (put("started_at", value="2026-13-45T00:00:00Z"), said("exchange.no_date", text="2026-13-45T00:00:00Z")),
        (put("started_at", value="1970-01-01T00:00:00Z"), said("exchange.no_date", text="1970-01-01T00:00:00Z")),
        (put("statistics", "low", value=9e9), said("exchange.outside_range", low="9e+09")),
        (put("statistics", "epochs_done", value=7), said("exchange.other_count", place="epochs", count="7")),
        (put("steps", "durations_s", 3, value=0.5), said("exchange.other_steps")),
        (put("steps", "count", value=3), said("exchange.other_count", count="3")),
        (put("epochs", 1, "duration_s", value=9.0), said("exchange.not_of_epochs", median_s="9")),
        (put("verdict", "level", value="perfect"), wrong("verdict.level", "Invalid enum value 'perfect'")),
        (put("digest", value=None), NO_DIGEST),
    ],
)  # fmt: skip
def test_what_is_absurd_is_refused_with_its_place(
    change: Callable[[dict[str, Any]], None], wanted: Saying
) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(changed(change, seal=wanted is not NO_DIGEST))
    told = text(refusal.value.problem)
    assert wanted.is_in(told)
    assert len(told) < 300


def test_a_change_shows_in_the_digest() -> None:
    honest = golden()[2]
    with pytest.raises(UnfitError) as refusal:
        decode(changed(put("spec", "batch_size", value=64), seal=False))
    other = message("exchange.other_digest", digits=sure(honest.digest)[:8])
    assert refusal.value.problem == message("exchange.in_result", number=3, problem=other)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", said("exchange.not_json", reason="Input data was truncated")),
        (b"{}", said("exchange.not_json", reason="Object missing required field `format`")),
        (
            b'{"format": "epochmark-result", "format_version": 4, "results": []}',
            said("exchange.unknown_version", version="4"),
        ),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": []}',
            wrong("results", "Expected `array` of length >= 1"),
        ),
        (b'{"format": "epochmark-result", "format_version": 1, "results": NaN}', said("exchange.not_json")),
        (b'{"format": "x", "format_version": 1, "results": []}', wrong("format", "Invalid enum value 'x'")),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": ' + b"[" * 1_000_000,
            said("exchange.nested_too_deeply"),
        ),
        (b'\xff{"format"', said("exchange.not_json")),
    ],
)
def test_what_is_no_result_file_is_refused(content: bytes, wanted: Saying) -> None:
    with pytest.raises(UnfitError) as refusal:
        decode(content)
    assert wanted.is_in(text(refusal.value.problem))


GOLDEN = ROOT / "tests" / "data" / "results"
SCHEMA = ROOT / "resources" / "result-format" / "epochmark-result-3.schema.json"
# Digests of the files' results, which were published: they must stay true.
DIGESTS = {
    "format_1": ["ac5585eb", "d49c39e8", "67d0963f", "700d2314"],
    "format_2": ["0b6c249d"],
    "format_3": ["91bf554d"],
}


def test_every_version_has_its_file() -> None:
    assert len(list(GOLDEN.iterdir())) == FORMAT_VERSION == len(DIGESTS)


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.name.partition(".")[0])
def test_a_file_of_each_version_is_read_and_keeps_its_digests(path: Path) -> None:
    results = decode(path.read_bytes())
    assert [digest_of(result)[:8] for result in results] == DIGESTS[path.name.partition(".")[0]]
    number = path.name.partition(".")[0].removeprefix("format_").encode()
    newest = str(FORMAT_VERSION).encode()
    assert (
        file_bytes(results).replace(b'"format_version":' + newest, b'"format_version":' + number)
        == path.read_bytes()
    )


def test_what_the_file_of_format_1_says() -> None:
    first, *_, last = decode((GOLDEN / "format_1.epochmark.json").read_bytes())
    assert (first.spec.workload, first.spec.preset, first.spec.settings) == ("mnist_mlp", "quick", "cpus=1")
    assert first.steps is not None
    assert len(sure(first.steps.durations_s)) == first.steps.count
    assert (last.comment, last.statistics.metric) == ("Œuvre, 東京 £ <b>=1+1</b>", "flop_per_s")
    assert last.machine.cpu_name == "AMD EPYC"


def test_the_shipped_schema_is_that_of_the_record() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json.loads(
        json.dumps(plain(msgspec.json.schema(ResultFile)))
    )


def plain(part: Any) -> Any:
    """Return a part of a schema with its docstrings as Python 3.13 and later have them, without indentation."""
    if isinstance(part, dict):
        return {
            name: inspect.cleandoc(value) if name == "description" and isinstance(value, str) else plain(value)
            for name, value in part.items()
        }
    return [plain(each) for each in part] if isinstance(part, list) else part


def test_whatever_may_be_missing_is_none_so_that_older_digests_stay_true() -> None:
    for kind in parts(ResultSection):
        for field in msgspec.structs.fields(kind):
            assert field.required or field.default in (None, ()), f"{kind.__name__}.{field.name}"


def parts(kind: type[ResultSection]) -> list[type[ResultSection]]:
    return [each for below in kind.__subclasses__() for each in (below, *parts(below))]
