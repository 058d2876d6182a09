"""The short form of a suite: what it says comes back, and a wrong letter never becomes a score."""

import binascii
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.exchange.file_import import read_code
from app.core.exchange.importing import import_text
from app.core.metrics import headline_kind
from app.core.plans.suite.definition import SUITE_1, SUITES
from app.core.plans.suite.known import imported_scores
from app.core.plans.suite.score import SuiteResult, scored_part
from app.core.plans.suite.short_form import KIND, read_suite_form, suite_form
from app.core.plans.suite.texts import points_text
from app.core.records import Group, Plan, Suite
from app.core.result_file.canonical import check
from app.core.result_file.short_form import LETTERS_LIMIT, MARK, read_short_form, read_short_forms, short_form
from app.core.result_file.summary import summary_of
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from tests.build import golden
from tests.core.plans.suite.conftest import Store
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE

ALPHANUMERIC = set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")
CARD = {
    "device": "gpu:0",
    "device_name": "NVIDIA GeForce RTX 5070 Ti (Laptop) Super Founders",
    "settings": "tf32=off",
}
KNOWN = {"engine_version": "2.21.0", "data_source": "synthetic"}
KEPT = (
    *("workload", "workload_version", "metric", "batch_size", "precision", "jit", "settings", "engine"),
    *("preset", "epochs", "engine_version", "device", "samples_per_epoch", "verdict", "variant"),
)
_RUN = next(filter(short_form, golden()))


def suite(speeds: list[tuple[float, ...]], **columns: Any) -> SuiteResult:
    base = replace(summary_of(_RUN), preset="quick", precision="float32", verdict="valid", data_source=None)
    parts = []
    for part, rounds in zip(SUITE_1.parts, speeds, strict=True):
        # The settings are those of `columns`.
        spec = part.spec(engine=base.engine, device="cpu", without_tf32=False)
        like: dict[str, Any] = {"workload": part.workload, "metric": part.metric, "batch_size": spec.batch_size}
        like |= columns
        is_rate = headline_kind(part.metric).is_rate
        values = [part.reference * speed if is_rate else part.reference / speed for speed in rounds]
        runs = [replace(base, **like, value=value, value_low=None, value_high=None) for value in values]
        parts.append(sure(scored_part(part, runs, len(runs))))
    group = Group(id=1, uid="abcdefghij", created_at="", plan=Plan(kind="suite", specs=()), runs=())
    return SuiteResult(group, SUITE_1, tuple(parts))


def even(speed: float = 1.0, **columns: Any) -> SuiteResult:
    return suite([(speed, 1.01 * speed)] * len(SUITE_1.parts), **columns)


SPEEDS = st.floats(0.01, 2_000) | st.floats(1e5, 1e6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.lists(st.lists(SPEEDS, min_size=1, max_size=2).map(tuple), min_size=8, max_size=8),
    st.sampled_from(("valid", "caution")),
)
def test_the_points_are_those_of_the_picture(
    database: Database, speeds: list[tuple[float, ...]], verdict: str
) -> None:
    result = suite(speeds, verdict=verdict)
    form = suite_form(result)
    assert set(form) <= ALPHANUMERIC
    assert len(form) <= LETTERS_LIMIT
    database.connection.execute("DELETE FROM imported")
    outcome = import_text(database, form)
    assert outcome.count == len(result.runs)
    (score,) = imported_scores(database)
    assert points_text(score.score.points) == points_text(sure(result.total).points)
    assert (score.score.low, score.score.high, score.verdict) == (None, None, verdict)


def suite_of(results: tuple[Any, ...]) -> SuiteResult:
    runs = [summary_of(each) for each in results]
    parts = [
        sure(scored_part(part, [run for run in runs if run.workload == part.workload], SUITE_1.rounds))
        for part in SUITE_1.parts
    ]
    plan_uid = sure(results[0].plan_uid)
    return replace(even(), parts=tuple(parts), group=replace(even().group, uid=plan_uid))


@pytest.mark.parametrize("columns", [{}, CARD], ids=["cpu", "card"])
@pytest.mark.parametrize("engine", ["tensorflow", "jax", "torch"])
def test_what_a_suite_says_comes_back(runner: Runner, store: Store, columns: dict[str, Any], engine: str) -> None:
    specs = tuple(
        part.spec(engine=engine, device=columns.get("device", "cpu"), without_tf32=bool(columns))
        for part in SUITE_1.parts
    )
    result = store(Plan(kind="suite", specs=specs, rounds=2, suite=Suite(number=1)), **KNOWN, **columns)
    form = suite_form(result)
    assert set(form) <= ALPHANUMERIC
    results = read_suite_form(form)
    assert read_suite_form(f"  {form.lower()}\n".replace(" ", "\n")) == results
    assert len({each.digest for each in results}) == len(result.runs) == 16
    for run, again in zip(result.runs, results, strict=True):
        check(again)
        told = summary_of(again)
        assert {name: getattr(told, name) for name in KEPT} == {name: getattr(run, name) for name in KEPT}
        assert told.value == pytest.approx(run.value, rel=5e-6)
        assert (told.value_low, told.value_high, told.started_at) == (None, None, "")
    assert suite_form(suite_of(results)) == form, "somebody else's picture of it would have the same code"


@pytest.mark.parametrize(
    "columns",
    [
        {"batch_size": 7},
        {"threads": 1},
        {"settings": "cpus=1"},
        {"variant": "x=1"},
        {"data_source": "real"},
        {"preset": "standard"},
        {"engine_version": "1" * 300},
    ],
)
def test_runs_that_the_definition_does_not_describe_have_no_code(columns: dict[str, Any]) -> None:
    assert suite_form(even())
    assert suite_form(even(**columns)) == ""


def test_no_text_is_both_a_suite_and_a_run() -> None:
    assert KIND.lower() not in CATALOGUE, "the second field tells them apart"
    suite_text, run_text = suite_form(even()), short_form(_RUN)
    for read in (read_short_form, read_short_forms):
        with pytest.raises(UsageError):
            read(suite_text)
    with pytest.raises(UsageError):
        read_suite_form(run_text)
    assert read_code(run_text) == (read_short_form(run_text),)
    assert read_code(suite_text) == read_suite_form(suite_text)


def with_field(number: int, text: str) -> str:
    """Return a short form in which somebody changed a field, and made its check right again."""
    fields = suite_form(even()).split(":")[:-1]
    fields[number] = text
    body = ":".join(fields)
    return f"{body}:{binascii.crc_hqx(body.encode(), 0):04X}"


SUITE_TEXT, RUN_TEXT = suite_form(even()), short_form(_RUN)
WRONG, ALONE, UNKNOWN = "short_form.wrong_letter", "short_form.suite_alone", "short_form.unknown_part"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SUITE_TEXT[:-1], WRONG),
        (SUITE_TEXT[:60], WRONG),
        (f"{MARK}:{KIND}:", WRONG),
        (SUITE_TEXT.replace("45.4", "45.5"), WRONG),
        (SUITE_TEXT[:-4] + "0000", WRONG),
        (SUITE_TEXT.replace("CPU", "CPÜ"), WRONG),
        (SUITE_TEXT + "1" * 10_000, WRONG),
        (f"{MARK}:{KIND}:1:" + "A:" * 5_000, WRONG),
        (with_field(7, "A" * 290), WRONG),
        (f"{SUITE_TEXT} {SUITE_TEXT}", ALONE),
        (f"{SUITE_TEXT} {RUN_TEXT}", ALONE),
        (f"{RUN_TEXT}\n{SUITE_TEXT}", ALONE),
        (f"{RUN_TEXT} {RUN_TEXT} {SUITE_TEXT}", ALONE),
        (f"{SUITE_TEXT} " * 100, ALONE),
        *((with_field(2, number), "short_form.unknown_part") for number in ("2", "0", "999999")),
        *((with_field(2, number), UNKNOWN) for number in ("", "-1", "NAN", "1.5", "9" * 50)),
        *((with_field(3, uid), UNKNOWN) for uid in ("", "ABC", "ABCDEFGHI1")),
        *((with_field(4, engine), UNKNOWN) for engine in ("", "A B", "X" * 100)),
        *((with_field(6, device), UNKNOWN) for device in ("$", "A B")),
        *((with_field(9, value), UNKNOWN) for value in ("", "V", "VNAN", "VINF", "V1E999", "V" + "9" * 40, "V0")),
        *(
            (with_field(9, value), UNKNOWN)
            for value in ("V-1", "V1E-300", "V1/", "V1/2/3", "I45", "45", "VX", "V1/NAN")
        ),
        (with_field(9, "V1:V2"), UNKNOWN),
    ],
    ids=lambda each: each[:40] if isinstance(each, str) else "",
)
def test_what_is_wrong_is_refused_in_a_sentence_and_nothing_is_stored(
    database: Database, text: str, code: str
) -> None:
    outcome = import_text(database, text)
    assert said(code).is_in(str(outcome.refusal))
    assert list_results(database) == []


@pytest.mark.slow
@given(st.data())
def test_one_wrong_letter_is_noticed(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(SUITE_TEXT) - 1))
    letter = data.draw(st.sampled_from(sorted((ALPHANUMERIC | set("–ÄÉ０")) - {SUITE_TEXT[place], " "})))
    with pytest.raises(UsageError) as refused:
        read_code(SUITE_TEXT[:place] + letter + SUITE_TEXT[place + 1 :])
    refusals = (said("short_form.wrong_letter"), said("short_form.not_one"))
    assert any(each.is_in(str(refused.value)) for each in refusals)


def test_a_suite_of_a_newer_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = replace(SUITE_1, number=2, parts=SUITE_1.parts[:4])
    monkeypatch.setitem(SUITES, 2, newer)
    result = even()
    form = suite_form(replace(result, definition=newer, parts=result.parts[:4]))
    assert len(read_code(form)) == 8
    monkeypatch.delitem(SUITES, 2)
    with pytest.raises(UsageError, match=said("short_form.unknown_part").pattern):
        read_code(form)


def test_it_fits_in_a_code_of_the_picture_with_long_names() -> None:
    long = {"cpu_name": "AMD Ryzen Threadripper PRO 7995WX 96-Cores", "engine_version": "2.21.0+cu128"}
    long |= {"device_name": "NVIDIA RTX PRO 6000 Blackwell"}
    form = suite_form(suite([(0.123456, 1234.56789)] * 8, **long))
    assert 200 < len(form) <= 311, "a code of 57 modules"
