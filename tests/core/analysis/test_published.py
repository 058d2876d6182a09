"""The published measurements: complete, unchanged, with their sources, the seven of study 004 first."""

import csv
import math
from dataclasses import replace

import pytest

from app.core.analysis import published as reference
from app.core.analysis.compare import bars, several_count
from app.core.analysis.published import (
    PublishedRow,
    comparable_rows,
    disagreement,
    reference_rows,
    short_name,
)
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


def test_rows_of_several_gpus_are_named_and_left_out_unless_asked_for() -> None:
    several = [row for row in comparable_rows("resnet_50") if row.has_several]
    assert {"2 × Tesla P100", "8 × Tesla K80"} <= {row.short_name for row in several}
    assert not any(row.has_several for row in comparable_rows("cifar10_keras_cnn"))
    assert not any(bar.row and bar.row.has_several for bar in bars("resnet_50", None))
    shown = [bar for bar in bars("resnet_50", None, with_several=True) if bar.row and bar.row.has_several]
    assert len(shown) == len(several) == several_count("resnet_50", None)


def test_a_table_whose_cpus_differ_more_than_their_cores_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = (
        next(row for row in reference_rows() if row.id == f"s004-intel-core-{name}")
        for name in ("i5-8250u", "i7-9700k")
    )
    said = disagreement(slow)
    # 238 million operations for each of 50,000 images, in 320 s and in 36 s.
    assert "i5-8250U 37 GFLOP/s and the i7-9700K 328, 8.9 times as much with 2 times the cores" in said
    assert disagreement(fast) == said
    assert [row.id for row in reference_rows() if disagreement(row)] == [slow.id, fast.id]
    # From the rows, not from the names: another value gives another figure, and none where cores explain it.
    for value, figure in ((80.0, ""), (3 * 2 * 36.0, ""), (250.0, "47 GFLOP/s")):
        rows = (replace(slow, value=value), fast)
        monkeypatch.setattr("app.core.analysis.published.reference_rows", lambda rows=rows: rows)
        assert figure in disagreement(rows[0])
        assert bool(figure) == bool(disagreement(rows[0]))


@pytest.mark.parametrize(
    ("stated", "cores"), [("4c/8t", 4), ("16 vCPU", 16), ("not stated", None), ("", None), ("0c/0t", None)]
)
def test_cores_as_stated(stated: str, cores: int | None) -> None:
    row = next(row for row in reference_rows() if row.hardware_kind == "cpu")
    assert replace(row, cores_or_units=stated).cores == cores
    assert replace(row, cores_or_units=stated, hardware_kind="gpu").cores is None
