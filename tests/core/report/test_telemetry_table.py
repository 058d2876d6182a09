"""All readings of a run as a table."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import sentence
from app.core.records import Run
from app.core.report.telemetry_table import telemetry_rows
from app.core.verdict.judged_run import JudgedRun
from tests.telemetry import telemetry_of
from workloads.protocol import events


def with_telemetry(run: Run, *looks: dict[str, Any]) -> Run:
    return replace(
        run,
        telemetry=tuple(
            events.TelemetryEvent(t_s=float(at), telemetry=telemetry_of(each)) for at, each in enumerate(looks)
        ),
    )


def test_each_value_has_its_lowest_median_and_highest(stored_run: Run) -> None:
    run = with_telemetry(
        stored_run,
        {"cpu_pct": 10.0, "disk_read_bytes_per_s": 1e6, "core_pct": [5.0, 90.0], "cpu_power_w": None},
        {"cpu_pct": 96.0, "disk_read_bytes_per_s": 3e6, "core_pct": [7.0, 100.0], "cpu_power_w": None},
        {"cpu_pct": 50.0, "disk_read_bytes_per_s": 2e6, "core_pct": [9.0, 80.0], "cpu_power_w": None},
    )
    assert telemetry_rows(JudgedRun(run)) == [
        (sentence("telemetry.cpu_pct"), "10 %", "50 %", "96 %"),
        (sentence("telemetry.disk_read_bytes_per_s"), "1.0 MB/s", "2.0 MB/s", "3.0 MB/s"),
        (sentence("telemetry.busiest_core"), "80 %", "90 %", "100 %"),
        (sentence("telemetry.idlest_core"), "5 %", "7 %", "9 %"),
    ]


def test_telemetry_of_several_gpus_is_kept_apart(stored_run: Run) -> None:
    hot = {"index": 1, "fan_pct": 80.0, "memory_used_bytes": 4 * 2**30, "throttle_reasons": ["thermal"]}
    cool = hot | {"fan_pct": 40.0, "throttle_reasons": []}
    run = with_telemetry(stored_run, {"gpus": [hot]}, {"gpus": [cool]})
    assert telemetry_rows(JudgedRun(run)) == [
        (sentence("telemetry.gpu_memory_used_bytes", gpu="1"), "4.0 GB", "4.0 GB", "4.0 GB"),
        (sentence("telemetry.gpu_fan_pct", gpu="1"), "40 %", "60 %", "80 %"),
        (
            sentence("telemetry.gpu_held_down", gpu=1, reason="thermal"),
            "",
            sentence("telemetry.share_of_time", share_pct=50.0),
            "",
        ),
    ]


def test_without_telemetry_there_is_no_table(stored_run: Run) -> None:
    assert telemetry_rows(JudgedRun(stored_run)) == []


anything = st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers() | st.none())


@given(st.dictionaries(st.sampled_from(("cpu_pct", "core_pct", "fan_pct", "memory_used_bytes")), anything))
def test_any_telemetry_record_is_accepted(stored_run: Run, look: dict[str, Any]) -> None:
    assert all(len(row) == 4 for row in telemetry_rows(JudgedRun(with_telemetry(stored_run, look))))
