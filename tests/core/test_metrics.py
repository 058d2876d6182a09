"""Numbers for people: units, digits, and n/a where there is no number."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.metrics import METRICS, format_bytes, format_metric, format_seconds, format_time_left
from app.core.records import RunSummary


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("seconds_per_epoch_s", 66.34, "66.3 s"),
        ("step_median_s", 0.1312, "131.2 ms"),
        ("accuracy", 0.7312, "73.1 %"),
        ("loss", 0.0, "0.0000"),
        ("something_new", 1.5, "1.5000"),
        ("loss", None, "n/a"),
        ("something_new", None, "n/a"),
    ],
)
def test_a_number_is_written_as_the_registry_says(key: str, value: float | None, text: str) -> None:
    assert format_metric(key, value) == text


def test_keys_name_their_unit_and_labels_are_there() -> None:
    ends = {"s": ("_s",), "ms": ("_s",), "%": ("_pct", "accuracy", "_changed"), "words": ("_words",)}
    ends |= {"": ("loss", "_per_s", "_asked", "_done", "_batches")}  # counts, and what has no unit
    ends |= {"MFLOP": ("operations_per_example",)}
    ends |= {"GB": ("_bytes",), "TFLOP/s": ("flop_per_s",), "GB/s": ("bytes_per_s",)}
    ends |= {"MB/s": ("bytes_per_s",), "images/s": ("images_per_s",)}
    assert [key for key, metric in METRICS.items() if not key.endswith(ends[metric.unit])] == []
    assert all(metric.label for metric in METRICS.values())


def test_the_headline_of_a_stored_run_is_in_the_registry() -> None:
    stored = {field.name for field in fields(RunSummary)}
    assert {"seconds_per_epoch_s", "first_epoch_s", "spread_pct", "step_median_s"} <= stored & set(METRICS)


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (382.0, "382"),
        (66.34, "66.3"),
        (4.123, "4.12"),
        (0.5, "0.500"),
        (0.02134, "0.0213"),
        (0.0, "0.0000"),
        (99.96, "100"),
        (9.996, "10.0"),
        (0.9996, "1.00"),
        (None, "n/a"),
    ],
)
def test_seconds_have_three_telling_digits(duration_s: float | None, text: str) -> None:
    assert format_seconds(duration_s) == text


@given(st.floats(0.001, 1e6))
def test_written_seconds_are_near_the_measured_ones(duration_s: float) -> None:
    assert float(format_seconds(duration_s).replace(",", "")) == pytest.approx(duration_s, rel=0.0051, abs=0.00005)


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (None, ""),
        (0.0, "about 1 s"),
        (42.4, "about 42 s"),
        (60.0, "about 1 min 0 s"),
        (287.0, "about 4 min 50 s"),
        (3_599.0, "about 1 h 0 min"),
        (7_500.0, "about 2 h 5 min"),
    ],
)
def test_time_left_is_as_precise_as_it_is_known(duration_s: float | None, text: str) -> None:
    assert format_time_left(duration_s) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "n/a"),
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (170_052_171, "170 MB"),
        (15_600_000_000, "15.6 GB"),
    ],
)
def test_sizes_are_decimal(size_bytes: float | None, text: str) -> None:
    assert format_bytes(size_bytes) == text
