"""The short form: what it tells comes back, and a wrong letter never becomes a result."""

import binascii
import math
import string
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.result_file.canonical import check, sealed
from app.core.result_file.identity import uid_of
from app.core.result_file.record import Machine, Result, Verdict
from app.core.result_file.short_form import (
    LENGTH_LIMIT,
    LETTERS_LIMIT,
    RESULTS_LIMIT,
    read_short_form,
    read_short_forms,
    short_form,
    short_forms,
)
from app.core.uids import derived_uid
from tests.build import LINES, finite, golden
from tests.saying import said
from workloads import CATALOGUE

ALPHANUMERIC = set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")
replace = msgspec.structs.replace
UIDS = st.text(string.ascii_lowercase, min_size=10, max_size=10)
TRAINING = [name for name, workload in CATALOGUE.items() if workload.trains]


@st.composite
def usual_results(draw: Any) -> Result:
    """A result without anything that a short form can't tell."""
    base = draw(st.sampled_from(golden()))
    value = draw(finite(1e-9, 1e20))
    spec = replace(
        base.spec,
        workload=draw(st.sampled_from(TRAINING)),
        variant=None,
        settings=None,
        threads=None,
        preset=draw(st.sampled_from(("quick", "standard", "sustained"))),
        precision=draw(st.sampled_from(("float32", "mixed_float16", "mixed_bfloat16"))),
        batch_size=draw(st.integers(1, 2**20)),
        jit=draw(st.booleans()),
    )
    low, high = draw(st.sampled_from(((None, None), (0.98 * value, 1.02 * value))))
    numbers = replace(
        base.statistics,
        metric="images_per_s",
        value=value,
        low=low,
        high=high,
        confidence_pct=None if low is None else 95.0,
        basis=draw(st.sampled_from(("estimate", "later_epochs", "repetitions", None))),
    )
    machine = Machine(cpu_name=draw(st.none() | LINES), device_name=draw(st.none() | LINES))
    level = draw(st.none() | st.sampled_from(("valid", "caution", "invalid")))
    verdict = None if level is None else Verdict(level=level)
    return sealed(
        replace(
            base,
            uid=draw(UIDS),
            spec=spec,
            statistics=numbers,
            machine=machine,
            verdict=verdict,
            epochs=None,
            steps=None,
        )
    )


def told(result: Result) -> tuple[object, ...]:
    spec = result.spec
    return (
        *(spec.workload, spec.workload_version, spec.preset, spec.batch_size, spec.precision, spec.jit),
        *(result.statistics.metric, result.verdict and result.verdict.level),
        *(result.environment.engine, result.environment.engine_version, result.environment.device),
    )


@given(usual_results())
def test_what_it_tells_comes_back(result: Result) -> None:
    text = short_form(result)
    assert set(text) <= ALPHANUMERIC
    assert len(text) <= LENGTH_LIMIT
    again = read_short_form(text)
    check(again)
    assert told(again) == told(result)
    assert again.uid == result.uid
    assert again.statistics.basis == ("estimate" if result.statistics.basis == "estimate" else None)
    for end in ("value", "low", "high"):
        mine, theirs = getattr(result.statistics, end), getattr(again.statistics, end)
        assert (mine is None) == (theirs is None)
        assert mine is None or math.isclose(mine, theirs, rel_tol=5.1e-4)


@pytest.mark.slow
@given(usual_results(), st.data())
def test_one_wrong_letter_is_noticed(result: Result, data: st.DataObject) -> None:
    text = short_form(result)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(sorted((ALPHANUMERIC | set("–ÄÉ０")) - {text[place], " "})))
    wrong = text[:place] + letter + text[place + 1 :]
    if " ".join(wrong.split()) == text:
        return
    with pytest.raises(UsageError):
        read_short_form(wrong)


@pytest.mark.parametrize(
    "text", ["", "EPOCHMARK1", "EPOCHMARK1:" * 17, "EPOCHMARK2:A", "EPOCHMARK3:A", "1" * 10_000, "\x1b[31m", "ÄÖÜ"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_short_form(text)


def test_typed_in_small_letters_and_with_line_breaks_it_is_the_same() -> None:
    text = short_form(next(filter(short_form, golden())))
    assert read_short_form(f"  {text.lower()}\n") == read_short_form(text)


@pytest.mark.parametrize(
    "change", [{"variant": "lstm=fused"}, {"settings": "cpus=1"}, {"threads": 1}, {"preset": "x"}]
)
def test_what_it_could_not_tell_has_none(change: dict[str, Any]) -> None:
    result = next(filter(short_form, golden()))
    assert short_form(replace(result, spec=replace(result.spec, **change))) == ""


def test_a_workload_or_an_amount_that_makes_no_sense_is_refused() -> None:
    result = next(filter(short_form, golden()))
    unknown = replace(result, spec=replace(result.spec, workload="from_the_future"))
    with pytest.raises(UsageError, match=said("short_form.unknown_part").pattern):
        read_short_form(short_form(unknown))
    for value in (float("nan"), float("inf"), -1.0, 0.0):
        with pytest.raises(UsageError, match=said("short_form.unknown_part").pattern):
            read_short_form(short_form(replace(result, statistics=replace(result.statistics, value=value))))


def test_a_narrower_range_is_no_interval_and_a_first_epoch_has_no_code() -> None:
    result = next(filter(short_form, golden()))
    numbers = replace(result.statistics, low=0.9 * result.statistics.value, high=2 * result.statistics.value)
    narrow = replace(result, statistics=replace(numbers, confidence_pct=75.0))
    again = read_short_form(short_form(narrow)).statistics
    assert (again.low, again.high, again.confidence_pct) == (None, None, None)
    assert short_form(replace(result, statistics=replace(numbers, basis="first_epoch"))) == ""


@pytest.mark.slow
@given(st.lists(usual_results(), max_size=5))
def test_a_code_of_several_tells_each_as_its_own_code_does(several: list[Result]) -> None:
    text = short_forms(several)
    assert set(text) <= ALPHANUMERIC
    assert len(text) <= LETTERS_LIMIT
    once = list({short_form(result): result for result in several}.values())
    if text:
        again = read_short_forms(text)
        assert again == tuple(read_short_form(short_form(result)) for result in once[: len(again)])
        assert len(again) in (1, 2, RESULTS_LIMIT)
        assert read_short_forms(text.replace(" ", "\n").lower()) == again
    else:
        assert not several


def named(name: str) -> Result:
    result = next(filter(short_form, golden()))
    return sealed(replace(result, uid=derived_uid(name), machine=Machine(cpu_name=name, device_name=name)))


@pytest.mark.slow
@given(st.data())
def test_a_wrong_letter_in_any_of_several_refuses_all(data: st.DataObject) -> None:
    text = short_forms([named("X"), named("Y")])
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from(sorted(ALPHANUMERIC - {text[place], " "})))
    with pytest.raises(UsageError) as refused:
        read_short_forms(text[:place] + letter + text[place + 1 :])
    refusals = (said("short_form.wrong_letter"), said("short_form.not_one"))
    assert any(each.is_in(str(refused.value)) for each in refusals)


def with_field(number: int, text: str) -> str:
    """Return a short form in which somebody changed a field, and made its check right again."""
    parts = short_form(named("X")).split(":")[:-1]
    parts[number] = text
    body = ":".join(parts)
    return f"{body}:{binascii.crc_hqx(body.encode(), 0):04X}"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((2, "9" * 50), (2, "-5"), (3, "QX"), (4, "0"), (4, "9" * 50), (5, ""), (5, "A B"), (5, "X" * 100)),
        *((7, "NAN"), (7, "1E999"), (7, "-1"), (7, "1E25"), (8, "1E9"), (9, "1E-9"), (11, ""), (11, "A B")),
        *((12, " " * 9 + "A" * 301), (13, "%$ *"), (16, ""), (16, "ABCDEFGHI"), (16, "ABCDEFGHI1")),
    ],
)
def test_a_right_check_makes_no_field_right(number: int, text: str) -> None:
    with pytest.raises(UsageError):
        read_short_form(with_field(number, text))


OLD = "EPOCHMARK1:MNIST-MLP:1:QE:128:FLOAT32:SE:2.26998:2.22438:2.31744:V:TENSORFLOW:2.21.0:CPU:AMD EPYC::67D0963F"


def test_a_code_of_an_earlier_version_is_the_result_of_its_file() -> None:
    text = f"{OLD}:{binascii.crc_hqx(OLD.encode(), 0):04X}"
    assert read_short_form(text).uid == uid_of(golden()[2])


@pytest.mark.parametrize("workload_id", list(CATALOGUE))
def test_every_workload_has_a_code_that_is_read(workload_id: str) -> None:
    usual = named("X")
    spec = replace(usual.spec, workload=workload_id, batch_size=1)
    assert read_short_form(short_form(replace(usual, spec=spec))).spec.workload == workload_id
