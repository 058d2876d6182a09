"""Stored runs as a table: finding, sorting, naming them, and how long the next one will take."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.paths import default_paths
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.queries import (
    SORT_KEYS,
    Query,
    expected_duration_s,
    find_ids,
    own_runs,
    set_comment,
    trash_runs,
)
from app.core.storage.runs import list_runs, load_run
from app.core.titles import workload_title
from tests.build import set_fields, store
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

COMMENTS = [
    "Night run, Zürich",
    "100 % sure_thing",
    "STRASSE straße 東京",
    "a'b\"c\\d",
    "7 of 9",
    "e\u0301 é İ ﬁ K",
]
MACHINES = {"Intel Core i5-8250U": "cpu", "AMD Ryzen 7 5800X": "gpu:0", None: "cpu"}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    paths = default_paths({"EPOCHMARK_HOME": str(tmp_path_factory.mktemp("many"))})
    plain = Machine(None, 4, 8, 16_000_000_000, "Test OS 1", "x86_64", "3.11.7", False)
    with Database(paths.database) as database:
        for number in range(60):
            cpu_name, device = list(MACHINES.items())[number % 3]
            columns = {
                "started_at": f"2026-11-{1 + 7 * number % 28:02}T10:00:00Z",
                "device": device,
                "device_name": "NVIDIA GeForce RTX 4090" if device != "cpu" else None,
                "data_source": [None, "real", "synthetic"][number % 5 % 3],
                "comment": COMMENTS[number % 9] if number % 9 < len(COMMENTS) else None,
                "value": None if number % 7 == 0 else 50.0 + number % 4,
                "spread_pct": None if number % 4 == 0 else number % 10 / 3,
                "epochs_done": number % 6,
                "verdict": [None, "valid", "caution", "invalid"][number % 13 % 4],
            }
            store(
                database,
                dataclasses.replace(plain, cpu_name=cpu_name),
                status=["completed", "failed", "cancelled"][number % 4 % 3],
                columns=columns,
                preset="quick" if number % 2 else "standard",
                workload="demo" if number % 11 == 0 else "cifar10_keras_cnn",
                batch_size=10 * (1 + number % 3),
            )
        yield database


def holds(run: RunSummary, word: str) -> bool:
    texts = [run.comment, run.workload, run.cpu_name, run.device_name, run.status, run.preset, run.data_source]
    texts += [run.engine, str(run.id), workload_title(run.workload)]
    is_verdict = (run.verdict or "").startswith(word.casefold())
    is_day = re.fullmatch("[0-9-]{4,10}", word) is not None
    return (
        is_verdict
        or (is_day and word in run.started_at[:10])
        or any(word.casefold() in (text or "").casefold() for text in texts)
    )


def test_without_a_wish_there_are_all_runs_newest_first(many: Database) -> None:
    assert find_ids(many, Query()) == list(range(60, 0, -1))


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("comment", "Night run", "night"),
        ("workload", "other_workload", "OTHER"),
        ("device_name", "NVIDIA GeForce RTX 4090", "geforce 4090"),
        ("status", "interrupted", "interrupt"),
        ("preset", "quick", "QUICK"),
        ("data_source", "synthetic", "synth"),
        ("engine", "jax", "jax"),
        ("id", 4711, "471"),
        ("workload", "demo", workload_title("demo")),
        ("started_at", "2016-03-01T10:00:00Z", "2016-03-01"),
        ("started_at", "2016-03-01T10:00:00Z", "2016"),
        ("started_at", "2016-03-01T10:00:00Z", "-03-01"),
    ],
)
def test_a_word_is_found_in_each_text_of_a_run(
    database: Database, machine: Machine, column: str, value: object, text: str
) -> None:
    store(database, machine, 90, 60)
    set_fields(database, f"id = {store(database, machine)}", **{column: value})
    assert len(find_ids(database, Query())) == 2
    assert find_ids(database, Query(text)) == [4711 if column == "id" else 2]


@pytest.mark.parametrize(
    ("comment", "text", "found"),
    [
        ("100 % sure_thing", "%", True),
        ("100 percent", "%", False),
        ("sure_thing", "sure_thing", True),
        ("sure-thing", "sure_thing", False),
        ("Zürich", "ZÜRICH", True),
        ("Straße", "STRASSE", True),
        ("東京 run", "東京", True),
        ("it's", "' OR 1=1 --", False),
        ("x", "\x00", False),
        ("x", "\ud800", False),
        ("x", " ".join(f"word{number}" for number in range(5_000)), False),
        ("x", "x " * 50_000, True),
    ],
)
def test_the_text_is_matched_literally_in_any_case(
    database: Database, machine: Machine, comment: str, text: str, found: bool
) -> None:
    run_id = store(database, machine, columns={"comment": comment})
    assert find_ids(database, Query(text)) == ([run_id] if found else [])


FRAGMENTS = " ".join(
    [
        *COMMENTS,
        r"intel RYZEN demo VALID cau 2026 11-08 -1 cifar-10 _cnn fail real quick none 1 59 % _ \ ''",
        "\x00",
    ]
).split()
ANY_TEXT = st.text(st.characters(), max_size=20)  # with halves of surrogate pairs, which no database takes
WORDS = st.lists(st.sampled_from(FRAGMENTS) | ANY_TEXT, max_size=4).map(" ".join)


@given(WORDS)
def test_any_text_finds_the_runs_that_hold_its_words(many: Database, text: str) -> None:
    expected = [run.id for run in list_runs(many) if all(holds(run, word) for word in text.split())]
    assert find_ids(many, Query(text)) == expected


def sort_value(run: RunSummary, key: str) -> Any:
    value = (run.device_name or run.cpu_name) if key == "device" else getattr(run, key)
    return value.lower() if isinstance(value, str) else value


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("key", SORT_KEYS)
def test_each_key_sorts_with_missing_values_last_and_equal_ones_by_number(
    many: Database, key: str, descending: bool
) -> None:
    runs = sorted(list_runs(many), key=lambda run: run.id, reverse=descending)
    known = [run for run in runs if sort_value(run, key) is not None]
    known.sort(key=lambda run: (sort_value(run, key), run.id), reverse=descending)
    missing = [run for run in runs if sort_value(run, key) is None]
    expected = [run.id for run in (*known, *missing)]
    assert find_ids(many, Query(sort=key, descending=descending)) == expected


@pytest.mark.parametrize("key", ["", "nonsense", "id; DROP TABLE runs", "spec"])
def test_an_unknown_sort_key_is_refused(database: Database, key: str) -> None:
    with pytest.raises(UsageError, match=said("runs.unknown_sort_key", key=key).pattern) as refused:
        find_ids(database, Query(sort=key))
    assert "id, started_at" in (refused.value.advice_text or "")


def test_a_comment_is_stripped_and_can_be_removed(database: Database, machine: Machine) -> None:
    run_id, other = store(database, machine), store(database, machine)
    set_comment(database, run_id, "  Night run\n")
    assert load_run(database, run_id).summary.comment == "Night run"
    for none in ("", " \t", None):
        set_comment(database, run_id, "x")
        set_comment(database, run_id, none)
        assert load_run(database, run_id).summary.comment is None
    assert load_run(database, other).summary.comment is None


@pytest.mark.parametrize(
    "comment", ["a\nb", "a\tb", "a\x00b", "a\x7fb", "a\u2028b", "a\u2029b", "a\ud800b", "a\x85b"]
)
def test_a_comment_is_refused_if_it_is_no_plain_line(database: Database, machine: Machine, comment: str) -> None:
    run_id = store(database, machine, columns={"comment": "before"})
    with pytest.raises(UsageError, match=said("runs.bad_comment").pattern):
        set_comment(database, run_id, comment)
    assert load_run(database, run_id).summary.comment == "before"


def test_a_comment_has_two_hundred_characters_at_most(database: Database, machine: Machine) -> None:
    run_id = store(database, machine)
    set_comment(database, run_id, "東" * 200 + " ")
    with pytest.raises(UsageError, match=said("runs.comment_too_long", given="201", limit="200").pattern):
        set_comment(database, run_id, "x" * 201)
    assert load_run(database, run_id).summary.comment == "東" * 200


def test_own_runs_are_completed_ones_with_a_headline_newest_first(database: Database, machine: Machine) -> None:
    first, second = store(database, machine, 90, 60), store(database, machine, 90, 61)
    store(database, machine, 90, 60, status="cancelled")
    store(database, machine, 3, 2, steps=10)
    store(database, machine, 3, 2, workload="demo")
    third = store(database, machine, 90)
    assert [run.id for run in own_runs(database, "cifar10_keras_cnn", 9)] == [third, second, first]
    assert [run.id for run in own_runs(database, "cifar10_keras_cnn", 2)] == [third, second]
    assert own_runs(database, "nonsense", 2) == []
    trash_runs(database, [third])
    assert [run.id for run in own_runs(database, "cifar10_keras_cnn", 1)] == [second]


def spec(**changes: Any) -> RunSpec:
    return CATALOGUE["cifar10_keras_cnn"].default_spec(**changes)


def test_the_next_run_takes_as_long_as_the_newest_one_like_it(database: Database, machine: Machine) -> None:
    assert expected_duration_s(database, spec(), machine) is None
    store(database, machine, 90, 50)
    store(database, machine, 90, 60)
    assert expected_duration_s(database, spec(), machine) == 10 * 60
    assert expected_duration_s(database, spec(epochs=3), machine) == 3 * 60
    assert expected_duration_s(database, spec(epochs=2, steps=50), machine) == pytest.approx(2 * 60 * 50 / 500)
    assert expected_duration_s(database, spec(seed=9, data="synthetic"), machine) == 10 * 60
    assert expected_duration_s(database, spec(preset="quick"), machine) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 50},
        {"precision": "mixed_float16"},
        {"jit": True},
        {"threads": 2},
        {"device": "cpu"},
        {"engine": "other"},
    ],
)
def test_a_run_that_differs_says_nothing_about_the_next(
    database: Database, machine: Machine, changes: dict[str, Any]
) -> None:
    store(database, machine, 90, 60, **changes)
    assert expected_duration_s(database, spec(), machine) is None
    assert expected_duration_s(database, spec(**changes), machine) is not None
    store(database, machine, 90, 61)
    assert expected_duration_s(database, spec(), machine) == 610


def test_where_steps_give_the_result_what_follows_counts_too(database: Database, machine: Machine) -> None:
    workload = CATALOGUE["resnet_50_inference"]
    asked = workload.default_spec()
    steps_only = {"seconds_per_epoch_s": None, "step_median_s": 0.64, "value": 100.0}
    store(database, machine, workload=workload.id, columns=steps_only)
    after_s = workload.after_steps_s(0.64 / asked.batch_size)
    assert after_s > 0
    whole_s = 0.64 * asked.epochs * workload.steps_per_epoch(asked) + after_s
    assert expected_duration_s(database, asked, machine) == pytest.approx(whole_s)


def test_nothing_is_taken_from_another_machine_version_or_from_runs_that_do_not_count(
    database: Database, machine: Machine
) -> None:
    store(database, dataclasses.replace(machine, memory_bytes=8_000_000_000), 90, 60)
    store(database, machine, 90, 60, columns={"workload_version": 99})
    store(database, machine, 90, 60, status="cancelled")
    store(database, machine, 90, 60, steps=10)
    store(database, machine, 90, 60, columns={"workload": "other"})
    trash_runs(database, [store(database, machine, 90, 60)])
    assert expected_duration_s(database, spec(), machine) is None


def test_parameters_of_the_workload_count_too(database: Database, machine: Machine) -> None:
    demo = CATALOGUE["demo"]
    store(database, machine, 9, 6, workload="demo", parameters={"step_s": 0.5})
    assert expected_duration_s(database, demo.default_spec(), machine) is None
    assert expected_duration_s(database, demo.default_spec(parameters={"step_s": 0.5}), machine) == 18


def test_later_epochs_precede_estimates_and_these_first_epochs(database: Database, machine: Machine) -> None:
    for basis, seconds_s in (("later_epochs", 60.0), ("estimate", 50.0), ("first_epoch", 70.0)):
        store(database, machine, columns={"basis": basis, "seconds_per_epoch_s": seconds_s, "value": seconds_s})
    found = []
    for _ in range(3):
        found.append(expected_duration_s(database, spec(epochs=1), machine))
        best = database.connection.execute("SELECT min(id) FROM runs WHERE deleted_at IS NULL").fetchone()[0]
        trash_runs(database, [best])
    assert found == [60, 50, 70]
