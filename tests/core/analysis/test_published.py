"""The published measurements: complete, unchanged, with their sources, the seven of study 004 first."""

import csv
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis import published as reference
from app.core.analysis.bars import bars, one_each, ranked_count, several_count, shortlist
from app.core.analysis.conversion import converted
from app.core.analysis.published import (
    PublishedRow,
    comparable_rows,
    disagreement,
    reference_rows,
    says_precision,
    short_name,
)
from app.core.messages import sentence
from app.core.paths import RESOURCES
from app.core.records import RunSummary
from tests.conftest import ROOT
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE

FOLDER = RESOURCES / "reference"

TODAY = ("reference_2026.csv", "reference_2026b.csv")


def raw_rows(*names: str) -> list[dict[str, str]]:
    rows = []
    for name in names:
        with (FOLDER / name).open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def rows_of(name: str) -> list[PublishedRow]:
    return reference.read_rows(FOLDER / name)


def test_all_rows_are_there_and_say_what_the_file_says() -> None:
    raw = raw_rows("reference_hardware.csv", *TODAY)
    assert len(reference_rows()) == len(raw)
    assert set(raw[-1]) == set(PublishedRow.__dataclass_fields__)
    assert set(raw[0]) == set(raw[-1]) - {"engine", "compiled", "variant"}
    for row, cells in zip(reference_rows(), raw, strict=True):
        for name, cell in cells.items():
            value = getattr(row, name)
            if value is None:
                assert cell == ""
            elif name == "compiled":
                assert cell == ("yes" if value else "no")
            elif isinstance(value, str):
                assert value == cell
            else:
                assert value == float(cell)


def test_every_row_has_its_own_id_a_finite_value_and_a_known_kind() -> None:
    rows = reference_rows()
    assert len({row.id for row in rows}) == len(rows)
    assert all(math.isfinite(row.value) and row.value > 0 for row in rows)
    assert {row.match for row in rows} == {"exact", "close", "context", "claim"}
    assert {row.metric for row in rows} == {*RANGES, "s_per_minibatch", "ratio", "price"}


# From the slowest to the fastest of them; a misplaced point shows.
RANGES = {
    "flop_per_s": (1e11, 2e15),
    "tokens_per_s": (100, 600_000),
    "images_per_s": (1, 60_000),
    "sequences_per_s": (1, 2_000),
    "ms_per_step": (10, 1_000),
    "s_per_epoch": (0.1, 5_000),
    "total_s": (0.1, 5_000),
}


def test_every_row_of_today_says_what_it_is_of() -> None:
    for row in rows_of(TODAY[0]):
        low, high = RANGES[row.metric]
        assert low <= row.value <= high
        assert row.hardware_kind in ("cpu", "gpu")
        assert row.device
        assert 2_020 <= sure(row.year) <= 2_026
        assert row.batch_size is None or 1 <= row.batch_size <= 4_096
        assert row.engine in ("torch", "tensorflow", "mlx")
        assert (row.compiled is True) == ("torch.compile" in row.software)
        assert row.precision_words.partition(",")[0] in (
            *("float32", "float16 autocast", "bfloat16 autocast", "bfloat16", "bfloat16 or float16"),
        )
        # Its network is ours where it is compared, and where not, no run is shown beside it.
        assert (row.workload in CATALOGUE) == (row.match in ("exact", "close") or row.workload == "nanogpt_char")
        assert row.match != "exact" or CATALOGUE[row.workload].metric == row.metric


def test_bars_of_today_say_engine_precision_and_whether_it_was_compiled() -> None:
    chosen = {bar.name: bar for bar in bars("gpt_mini", None)}
    assert {bar.row and bar.row.batch_size for bar in chosen.values()} == {16}, "a run's own batch"
    assert len(bars("gpt_mini", None)) == len(chosen) == 6
    assert chosen["RTX 4090"].remarks == ("2023", "float16 autocast", "PyTorch 2.x", "compiled")
    assert chosen["Tesla P100"].remarks == ("2023", "float16 autocast", "PyTorch 2.x", "eager")
    tf32 = next(bar for bar in bars("resnet50_224", None) if bar.row and "TF32 on" in bar.row.software)
    assert "float32, TF32" in tf32.remarks
    assert said("share.batch").is_in(tf32.remarks)


def test_a_card_published_often_has_first_what_tells_its_bars_apart() -> None:
    drawn = bars("resnet50_224_inference", None)
    first = [(bar.name, *bar.remarks[: bar.apart]) for bar in drawn]
    assert len(set(first)) == len(first)
    assert ("RTX 5090", "compiled") in first
    assert ("RTX PRO 6000 Max-Q", "bfloat16 autocast", "compiled") in first
    assert ("RTX 3090", "NHWC", "PyTorch 2.4.0") in first
    assert ("Core i7-12700H",) in first
    batch = sentence("share.batch", batch_size=512)
    remarks = next(bar.remarks for bar in drawn if bar.name == "RTX 4090" and batch in bar.remarks)
    assert sorted(set(remarks) - {batch}) == ["2024", "NHWC", "PyTorch 2.4.0", "eager", "float16 autocast"]


def test_the_sources_file_names_every_source_with_its_number_of_rows() -> None:
    lines = (FOLDER / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    for source, count in Counter(row.source for row in reference_rows()).items():
        assert any(line.startswith(f"| {count} |") and source in line for line in lines), source


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
    told = disagreement(slow)
    # 238 million operations for each of 50,000 images, in 320 s and in 36 s.
    figures = {"slow_gflop_per_s": "37", "fast_gflop_per_s": "328", "times": "8.9", "cores_times": "2"}
    assert said("compare.table_disagrees", slow="i5-8250U", fast="i7-9700K", **figures).is_all_of(told)
    assert disagreement(fast) == told
    assert [row.id for row in reference_rows() if disagreement(row)] == [slow.id, fast.id]
    # From the rows, not from the names: another value gives another figure, and none where cores explain it.
    for value, figure in ((80.0, ""), (3 * 2 * 36.0, ""), (250.0, "47 GFLOP/s")):
        rows = (replace(slow, value=value), fast)
        monkeypatch.setattr("app.core.analysis.published.reference_rows", lambda rows=rows: rows)
        assert figure in disagreement(rows[0])
        assert bool(figure) == bool(disagreement(rows[0]))


PUBLISHED = [name for name in CATALOGUE if comparable_rows(name)]
PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")
LIMITS = st.integers(4, 40)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(PUBLISHED))
    rows = comparable_rows(name)
    usual = CATALOGUE[name].batch_size
    metric = CATALOGUE[name].metric
    values = sorted(value[0] for row in rows if (value := converted(row, metric)) is not None)
    between = st.floats(math.log(values[0] / 3), math.log(values[-1] * 3)).map(math.exp)
    return {
        "workload": name,
        "metric": metric,
        "precision": draw(st.sampled_from(PRECISIONS)),
        "batch_size": draw(st.sampled_from(sorted({usual, *(row.batch_size or usual for row in rows)}))),
        "value": draw(st.sampled_from(values) | between),
    }


@given(changed=changes(), limit=LIMITS)
def test_a_device_has_one_bar_and_one_place(changed: dict[str, Any], limit: int, summary: RunSummary) -> None:
    run = replace(summary, **changed)
    everything = bars(run.workload, run)
    each, drawn = one_each(everything), shortlist(everything, limit)
    names = [bar.row.short_name for bar in each if bar.row is not None]
    assert len(set(names)) == len(names)
    assert [bar for bar in each if bar in drawn] == drawn
    assert shortlist(drawn, limit) == drawn


@given(changed=changes())
def test_only_like_is_ranked_with_like(changed: dict[str, Any], summary: RunSummary) -> None:
    run = replace(summary, **changed)
    everything = bars(run.workload, run)
    if (ranked := ranked_count(everything)) is not None:
        flags = [bar.is_like for bar in everything]
        assert flags == sorted(flags, reverse=True), "what is unlike stands below"
        assert flags.index(False) == ranked
    for bar in everything:
        if bar.row is None or not says_precision(run.workload):
            assert bar.is_like
            continue
        is_half = bar.row.precision not in ("", "fp32")
        if is_half == (run.precision == "float32"):
            assert not bar.is_like


@pytest.mark.parametrize(
    ("hardware", "software", "precision", "uses_tf32"),
    [
        ("NVIDIA GeForce RTX 3090", "TensorFlow 2.4.1, CUDA 11.1, tf_cnn_benchmarks", "fp32", True),
        ("NVIDIA A100 40GB PCIe", "TensorFlow 1.15.4, CUDA 11.1, tf_cnn_benchmarks", "fp32", True),
        ("NVIDIA H100", "TensorFlow 2.16, CUDA 12.3", "fp32", True),
        ("NVIDIA GeForce RTX 3090", "TensorFlow 2.4.1, CUDA 11.1, tf_cnn_benchmarks", "amp_fp16", False),
        ("NVIDIA GeForce RTX 2080 Ti", "TensorFlow 2.4.1, CUDA 11.1", "fp32", False),
        ("NVIDIA Tesla T4", "TensorFlow 2.4.1, CUDA 11.1", "fp32", False),
        ("NVIDIA GeForce GTX 1080 Ti", "TensorFlow 2.4.1, CUDA 11.1", "fp32", False),
        ("NVIDIA A100", "TensorFlow 2.2.0, CUDA 10.0", "fp32", False),
        ("NVIDIA A100", "PyTorch 2.1, CUDA 12.1", "fp32", False),  # PyTorch doesn't use it in matrix products
    ],
)
def test_the_precision_says_where_tf32_was_used(
    hardware: str, software: str, precision: str, uses_tf32: bool
) -> None:
    row = next(row for row in reference_rows() if row.id == "lam-rtx-3090-resnet-50-fp32")
    assert row.precision_words == "float32, TF32"
    changed = replace(row, hardware=hardware, software=software, precision=precision)
    assert changed.precision_words.endswith("TF32") == uses_tf32


def test_the_documents_say_how_many_rows_are_compared() -> None:
    compared = sum(len(comparable_rows(workload)) for workload in CATALOGUE)
    words = f"{len(reference_rows()):,} measurements, {compared:,} of which a run can be compared with"
    for page in ("README.md", "docs/measurement.md", "resources/reference/SOURCES.md"):
        assert words in " ".join((ROOT / page).read_text(encoding="utf-8").split()), page
