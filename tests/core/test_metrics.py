"""Numbers for people: units, digits, and n/a where there is no number."""

from collections.abc import Callable
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formats import (
    format_file_size,
    format_gpu_memory,
    format_installed_memory,
    format_memory,
    format_rate,
    format_seconds,
)
from app.core.messages import format_time_left
from app.core.metrics import METRICS, format_metric, metric_label
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
    counts = ("_asked", "_done", "_batches", "_declared", "_distinct", "_counted", "_kept")
    ends |= {"": ("loss", "_per_s", "_memory_bytes", "_reserved_bytes", *counts)}  # or a unit that fits
    ends |= {"°C": ("_c",)}
    ends |= {"TFLOP/s": ("flop_per_s",), "GB/s": ("bytes_per_s",)}
    ends |= {"MB/s": ("bytes_per_s",), "images/s": ("images_per_s",), "tokens/s": ("tokens_per_s",)}
    assert [key for key, metric in METRICS.items() if not key.endswith(ends[metric.unit])] == []
    assert [key for key in METRICS if metric_label(key).startswith("metric.")] == []


def test_the_headline_of_a_stored_run_is_in_the_registry() -> None:
    stored = {field.name for field in fields(RunSummary)}
    assert {"seconds_per_epoch_s", "first_epoch_s", "spread_pct", "step_median_s"} <= stored & set(METRICS)


WRITTEN: dict[Callable[[float | None], str], dict[float | None, str]] = {
    # Three telling digits.
    format_seconds: {
        382.0: "382",
        66.34: "66.3",
        4.123: "4.12",
        0.5: "0.500",
        0.02134: "0.0213",
        0.0: "0.0000",
        99.96: "100",
        9.996: "10.0",
        0.9996: "1.00",
        None: "n/a",
    },
    # As precise as it is known.
    format_time_left: {
        None: "",
        0.0: "about 1 s",
        42.4: "about 42 s",
        60.0: "about 1 min 0 s",
        287.0: "about 4 min 50 s",
        3_599.0: "about 1 h 0 min",
        7_500.0: "about 2 h 5 min",
    },
    # Decimal.
    format_file_size: {
        None: "n/a",
        0: "0 B",
        999: "999 B",
        1_000: "1 kB",
        170_052_171: "170 MB",
        15_600_000_000: "15.6 GB",
        999_600_000: "1.0 GB",
        2e12: "2.0 TB",
        5e15: "5000.0 TB",
    },
    format_rate: {
        None: "n/a",
        0: "0.0",
        0.00482: "0.0048",
        0.01472: "0.015",
        0.274: "0.27",
        0.996: "1.0",
        2.78: "2.8",
        1234.56: "1,234.6",
    },
    # Binary.
    format_memory: {
        None: "n/a",
        0: "0 B",
        1_023: "1023 B",
        1_024: "1 kB",
        900 * 2**20: "900 MB",
        2**30 - 1: "1.0 GB",
        1_610_000_000: "1.5 GB",
        24 * 2**30: "24.0 GB",
        3 * 2**39: "1.5 TB",
    },
}


@pytest.mark.parametrize(
    ("write", "number", "text"), [(write, *case) for write, cases in WRITTEN.items() for case in cases.items()]
)
def test_numbers_are_written_as_people_read_them(
    write: Callable[[float | None], str], number: float | None, text: str
) -> None:
    assert write(number) == text


@pytest.mark.parametrize(
    ("memory_gib", "text"),
    [
        (23.6, "24 GB"),
        (31.2, "32 GB"),
        (62.6, "64 GB"),
        (125.6, "128 GB"),
        (15.5, "16 GB"),
        (7.7, "8 GB"),
        (188.0, "192 GB"),
        (24.0, "24 GB"),
        (18.0, "18 GB"),
        (1_007.5, "1 TB"),
        (1_511.0, "1.5 TB"),
        (3.8, "3.8 GB"),  # 5 % below 4
        (7.4, "7.4 GB"),
        (0.5, "512 MB"),
    ],
)
def test_a_computers_memory_is_what_was_installed(memory_gib: float, text: str) -> None:
    assert format_installed_memory(int(memory_gib * 2**30)) == text


@given(st.integers(min_value=2**30, max_value=2**42))
def test_the_memory_shown_is_never_less_and_hardly_more_than_there_is(memory_bytes: int) -> None:
    number, unit = format_installed_memory(memory_bytes).split()
    shown_bytes = float(number) * {"GB": 2**30, "TB": 2**40}[unit]
    assert 0.95 * memory_bytes <= shown_bytes <= 1.05 * memory_bytes


@pytest.mark.parametrize(
    ("memory_mib", "text"),
    [
        (81_559, "80 GB"),
        (11_178, "11 GB"),
        (24_564, "24 GB"),
        (6_144, "6 GB"),
        (143_771, "140 GB"),
        (3_900, "3.8 GB"),
        (512, "512 MB"),
        (0, "0 B"),
    ],
)
def test_a_gpus_memory_is_what_is_printed_on_its_box(memory_mib: int, text: str) -> None:
    assert format_gpu_memory(memory_mib * 2**20) == text
