"""A table of everybody's machines: rows of what counts, and a reason for everything else."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.analysis.compare import community_remarks
from app.core.errors import UsageError
from app.core.exchange.community_build import look_at, table_rows, table_text
from app.core.exchange.community_file import read_table
from app.core.messages import sentence, text
from app.core.result_file.canonical import file_bytes, sealed, without_durations
from app.core.result_file.record import Epoch, Result
from tests.conftest import ROOT
from tests.core.result_file.results import LINES, WORDS, finite, golden
from tests.saying import Saying, said
from tests.sure import sure

replace = msgspec.structs.replace


def changed(value: float = 2.0, *, memory_bytes: int = 1, **changes: Any) -> Result:
    """Return a result of a machine that its memory tells apart."""
    base = without_durations(golden()[2])
    parts: dict[str, Any] = {
        "machine": replace(base.machine, memory_bytes=memory_bytes),
        "statistics": replace(base.statistics, value=value, low=None, high=None, epochs_done=1, basis=None),
        "epochs": None,
        "steps": None,
    }
    for name, value_ in changes.items():
        where = next((part for part in ("spec", "machine", "statistics") if name in fields(base, part)), None)
        if where is None or name == "epochs":
            parts[name] = value_
        else:
            parts[where] = replace(parts.get(where, getattr(base, where)), **{name: value_})
    return sealed(replace(base, **parts))


def fields(result: Result, part: str) -> tuple[str, ...]:
    return tuple(getattr(result, part).__struct_fields__)


def looked_at(folder: Path, *results: Result) -> tuple[list[Any], list[str | None]]:
    for number, result in enumerate(results):
        (folder / f"{number:03}.json").write_bytes(file_bytes([result]))
    entries, refused = look_at([folder])
    assert refused == []
    return table_rows(entries), [None if each.refusal is None else text(each.refusal) for each in entries]


def test_a_row_has_the_median_and_the_range_of_its_machines(tmp_path: Path) -> None:
    rows, refusals = looked_at(
        tmp_path,
        changed(2.0, memory_bytes=1),
        changed(2.2, memory_bytes=1, seed=1),
        changed(3.0, memory_bytes=2),
        changed(4.0, memory_bytes=3),
        changed(9.0, batch_size=64),
        changed(5.0, cpu_name="Intel Core i7-1165G7"),
        changed(5.5, threads=1),
    )
    assert refusals == [None] * 7
    row = next(row for row in rows if (row.device, row.batch_size, row.settings) == ("EPYC", 128, ""))
    assert (row.machines, row.results, row.median, row.low, row.high) == (3, 4, 3.0, pytest.approx(2.1), 4.0)
    assert {(each.device, each.batch_size, each.settings) for each in rows} == {
        ("EPYC", 128, ""),
        ("EPYC", 64, ""),
        ("i7-1165G7", 128, ""),
        ("EPYC", 128, "threads=1"),
    }


def test_cards_at_other_power_limits_have_rows_of_their_own(tmp_path: Path) -> None:
    card = {"device_name": "RTX 3090", "environment": replace(golden()[2].environment, device="gpu:0")}
    default = {"power_default_w": 370.0, **card}
    rows, refusals = looked_at(
        tmp_path,
        changed(2.0, memory_bytes=1, power_limit_w=370.0, **default),
        changed(2.2, memory_bytes=2, power_limit_w=365.0, **default),
        changed(3.0, memory_bytes=3, power_limit_w=230.0, **default),
        changed(2.1, memory_bytes=4, **card),
    )
    assert refusals == [None] * 4
    limits = {(row.power_limit_w, row.power_default_w): row.results for row in rows}
    assert limits == {(367.5, 370.0): 2, (230.0, 370.0): 1, (None, None): 1}
    summaries = [row.summary for row in read_table(table_text(rows).encode())]
    assert {(row.power_limit_w, row.power_default_w) for row in summaries} == set(limits)
    named = [community_remarks(row) for row in read_table(table_text(rows).encode())]
    at = sentence("power.at_limit_of", limit_w=230.0, default_w=370.0)
    assert [at in remarks for remarks in named].count(True) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"verdict": {"level": "invalid", "reasons": ("demo", "drift")}},
            said("table.invalid", reasons="demo, drift"),
        ),
        ({"verdict": None}, said("table.no_verdict")),
        ({"workload": "demo"}, said("table.no_workload", workload="demo")),
        ({"workload": "mine"}, said("table.no_workload", workload="mine")),
        ({"workload_version": 99}, said("table.other_version", version="99")),
        ({"cpu_name": None}, said("table.no_device")),
        ({"cpu_name": "\u3000"}, said("table.hidden_characters")),
        ({"settings": "x" * 300, "threads": 1}, said("table.no_row", problem="settings: ")),
        (
            {"epochs": (Epoch(duration_s=2.0, train_s=2.0, validation_s=1.0),)},
            said("table.epoch_too_short", duration_s="2", number="1"),
        ),
    ],
)
def test_what_does_not_count_is_left_out(tmp_path: Path, changes: dict[str, Any], words: Saying) -> None:
    if isinstance(changes.get("verdict"), dict):
        changes = {"verdict": replace(sure(golden()[2].verdict), **changes["verdict"])}
    rows, (refusal,) = looked_at(tmp_path, changed(**changes))
    assert rows == []
    assert words.is_in(refusal or "")


def test_an_unknown_kind_of_device_is_left_out_as_it_would_spoil_the_whole_table(tmp_path: Path) -> None:
    strange = replace(golden()[2].environment, device="npu:0")
    rows, refusals = looked_at(tmp_path, changed(environment=strange, device_name="NPU"), changed(memory_bytes=2))
    assert said("table.no_row", problem="kind: ").is_in(sure(refusals[0]))
    assert len(read_table(table_text(rows).encode())) == 1


@settings(max_examples=40)
@given(
    st.builds(
        dict,
        cpu_name=LINES,
        settings=st.none() | LINES | st.just("x" * 300),
        variant=st.none() | LINES,
        threads=st.none() | st.integers(1, 2**31 - 1),
        batch_size=st.integers(1, 2**31 - 1),
        precision=WORDS,
        value=finite(5e-324, 1e24),
    )
)
def test_a_table_of_any_result_that_is_taken_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("table")
    rows, (refusal,) = looked_at(folder, changed(**changes))
    assert bool(rows) == (refusal is None)
    if rows:
        assert len(read_table(table_text(rows).encode())) == 1


@pytest.mark.long
def test_a_table_that_nobody_could_read_is_not_made(tmp_path: Path) -> None:
    ((row,), _) = looked_at(tmp_path, changed())
    with pytest.raises(UsageError, match=said("table.too_large", count="20,001").pattern):
        table_text([row] * 20_001)
    with pytest.raises(UsageError, match=said("table.too_large", limit_bytes="5 MB").pattern):
        table_text([dataclasses.replace(row, codes=row.codes * 10_000)] * 40)


def test_steps_that_take_longer_than_their_epoch_are_implausible(tmp_path: Path) -> None:
    whole = golden()[2]
    _, (honest,) = looked_at(tmp_path, whole)
    short = tuple(
        replace(epoch, duration_s=epoch.duration_s / 2, train_s=0.1, validation_s=None)
        for epoch in sure(whole.epochs)
    )
    numbers = replace(whole.statistics, value=whole.statistics.value / 2, low=None, high=None)
    _, (refusal,) = looked_at(tmp_path, sealed(replace(whole, epochs=short, statistics=numbers)))
    assert honest is None
    assert said("table.steps_too_long", number="1").is_in(refusal or "")


def test_what_is_far_from_all_others_is_implausible_and_the_same_twice_counts_once(tmp_path: Path) -> None:
    usual = [changed(2.0 + number / 10, memory_bytes=number) for number in range(1, 5)]
    rows, refusals = looked_at(tmp_path, *usual, changed(0.5, memory_bytes=9), usual[0])
    assert rows[0].machines == 4
    assert refusals[:4] == [None] * 4
    assert said("table.far_from_others", count="4", ratio="4.5").is_in(refusals[4] or "")
    assert said("table.twice").is_in(refusals[5] or "")


def test_two_machines_are_too_few_to_call_one_of_them_implausible(tmp_path: Path) -> None:
    _, refusals = looked_at(tmp_path, changed(2.0, memory_bytes=1), changed(0.5, memory_bytes=2))
    assert refusals == [None, None]


def test_cautions_are_counted_and_the_file_is_the_same_for_the_same_results(tmp_path: Path) -> None:
    verdict = sure(golden()[2].verdict)
    rows, _ = looked_at(tmp_path, changed(2.0), changed(2.1, seed=3, verdict=replace(verdict, level="caution")))
    assert (rows[0].results, rows[0].cautions) == (2, 1)
    plain = json.loads(table_text(rows))
    assert (plain["format"], plain["rows"][0]["device"]) == ("epochmark-table", "EPYC")
    assert table_text(list(rows)) == table_text(rows)


def test_files_that_are_no_results_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    entries, (refused,) = look_at([tmp_path])
    assert entries == []
    assert said("exchange.refused").is_in(str(refused.error))


def test_the_workflow_reads_only_and_runs_nothing_of_a_pull_request() -> None:
    workflow = (ROOT / "resources" / "community" / "check-results.yml").read_text()
    assert "contents: read" in workflow
    assert "pull_request_target" not in workflow
    assert "secrets." not in workflow
    assert "table check --" in workflow
