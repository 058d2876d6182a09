"""The published measurements: complete, unchanged, with their sources, the seven of study 004 first."""

import csv
import math
from dataclasses import replace

import pytest

from app.core.analysis import published as reference
from app.core.analysis.published import PublishedRow, comparable_rows, reference_rows, short_name
from app.core.paths import RESOURCES

FOLDER = RESOURCES / "reference"


def raw_rows() -> list[dict[str, str]]:
    with (FOLDER / "reference_hardware.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_rows_are_there_and_say_what_the_file_says() -> None:
    raw = raw_rows()
    assert len(reference_rows()) == len(raw) == 762
    assert set(raw[0]) == set(PublishedRow.__dataclass_fields__)
    for row, texts in zip(reference_rows(), raw, strict=True):
        for name, text in texts.items():
            value = getattr(row, name)
            if value is None:
                assert text == ""
            elif isinstance(value, str):
                assert value == text
            else:
                assert value == float(text)


def test_every_row_has_its_own_id_a_finite_value_and_a_known_kind() -> None:
    rows = reference_rows()
    assert len({row.id for row in rows}) == len(rows)
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert {row.match for row in rows} == {"exact", "close", "context", "claim"}
    assert {row.metric for row in rows} == {
        "s_per_epoch",
        "s_per_minibatch",
        "images_per_s",
        "total_s",
        "ratio",
        "price",
    }


def test_every_row_says_where_it_comes_from() -> None:
    assert [row.id for row in reference_rows() if not (row.source and row.source_ref and row.derivation)] == []


def test_the_sources_file_names_every_source_with_its_number_of_rows() -> None:
    lines = (FOLDER / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    counts: dict[str, int] = {}
    for row in reference_rows():
        counts[row.source] = counts.get(row.source, 0) + 1
    missing = [
        source
        for source, count in counts.items()
        if not any(line.startswith(f"| {count} |") and source in line for line in lines)
    ]
    assert missing == []


def test_the_seven_of_study_004_come_first_with_their_values() -> None:
    seven = comparable_rows("cifar10_keras_cnn")[:7]
    assert all(row.id.startswith("s004-") for row in seven)
    assert sorted(row.value for row in seven) == [4, 9, 16, 36, 36, 320, 382]
    assert {row.short_name: row.value for row in seven} == {
        "GTX 1080 Ti": 4,
        "GTX 1060": 9,
        "Colab GPU": 16,
        "i7-9700K": 36,
        "MX150": 36,
        "i5-8250U": 320,
        "Colab TPU": 382,
    }


@pytest.mark.parametrize("workload", sorted({row.workload for row in reference_rows()}))
def test_only_exact_and_close_rows_are_compared(workload: str) -> None:
    found = comparable_rows(workload)
    assert all(row.workload == workload for row in found)
    assert [row.match for row in found] == sorted((row.match for row in found), key="exact close".index)


def test_exact_rows_come_before_close_ones_and_study_004_before_both(monkeypatch: pytest.MonkeyPatch) -> None:
    known = comparable_rows("cifar10_keras_cnn")[0]
    changes = [
        {"id": "a", "match": "close"},
        {"id": "b"},
        {"id": "c", "match": "context"},
        {"id": "d", "metric": "images_per_s"},
        {"id": "s004-x", "match": "close"},
        {"id": "s004-y"},
    ]
    rows = tuple(replace(known, **change) for change in changes)  # type: ignore[arg-type]
    monkeypatch.setattr(reference, "reference_rows", lambda: rows)
    assert [row.id for row in comparable_rows("cifar10_keras_cnn")] == ["s004-y", "s004-x", "b", "d", "a"]


def test_an_unknown_workload_has_no_rows() -> None:
    assert comparable_rows("unknown") == []


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA GeForce GTX 1080 Ti", "GTX 1080 Ti"),
        ("NVIDIA Tesla K80", "Tesla K80"),
        ("Intel Core i5-8250U", "i5-8250U"),
        ("Intel Xeon Skylake (16 vCPU, GCE)", "Xeon Skylake"),
        ("Apple M1", "M1"),
        ("Something else", "Something else"),
        ("", ""),
    ],
)
def test_short_names_leave_the_maker_out(device: str, name: str) -> None:
    assert short_name(device) == name
