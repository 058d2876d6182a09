"""What the machine can do, and predictions, by real TensorFlow in real workers."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.child import told_by
from tests.core.runs.running import start_run
from tests.core.verdict.test_training_proof import stored
from tests.saying import said
from tests.workloads.engines.engine_probe import spec_to_measure
from workloads import CATALOGUE
from workloads.engines.engine import Engine
from workloads.protocol import events
from workloads.protocol.machine import Gpu
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import Job
from workloads.system.limits import LARGEST_BYTES, LARGEST_SIZE, Matmul, fits_largest

pytestmark = pytest.mark.engine
LARGEST = "matmul_8192_flop_per_s"
SMALL = {f"matmul_{kind}_flop_per_s" for kind in (64, 128, 256, "study_003", "study_003_transposed")}


def run(
    paths: Paths, workload: str, device: str = "cpu", gpus: tuple[Gpu, ...] = (), **asked: Any
) -> tuple[Run, list[events.Event]]:
    told: list[events.Event] = []
    spec = CATALOGUE[workload].default_spec(device=device, **asked)
    session = start_run(Runner(paths, replace(detect_machine(), gpus=gpus)), spec, told.append)
    assert session.wait(150)
    return in_database(paths.database, load_run, session.run_id), told


def rates_of(limit: Run) -> dict[str, float | None]:
    assert limit.summary.status == "completed", limit.summary.error_message
    return {key: value for key, value in limit.metrics.items() if key.endswith("flop_per_s")}


def test_matrix_products_and_the_memory_are_measured(paths: Paths, tmp_path: Path) -> None:
    asked = "tensorflow", "all", str(tmp_path), "matmul", "memory_bandwidth"
    for answer in map(json.loads, told_by("-m", "tests.workloads.engines.engine_probe", *asked).splitlines()):
        spec = spec_to_measure("tensorflow", answer["id"], "")
        limit = in_database(paths.database, stored, spec, answer["events"])
        assert 1e9 < (limit.summary.value or 0) < (1e15 if answer["id"] == "matmul" else 1e13)
        if answer["id"] == "matmul":
            rates = rates_of(limit)
            assert limit.summary.value == rates.pop("flop_per_s") == max(value or 0 for value in rates.values())
            assert rates.keys() - {LARGEST} == SMALL


@pytest.mark.long
def test_training_is_a_share_of_the_measured_matrix_products(paths: Paths) -> None:
    limit, told = run(paths, "matmul")
    rates = rates_of(limit)
    # Any computer of today multiplies faster than 1 GFLOP/s, and no processor faster than 1 PFLOP/s.
    assert all(value is not None and 1e9 < value < 1e15 for value in rates.values())
    assert limit.summary.value == rates.pop("flop_per_s") == max(value or 0 for value in rates.values())
    summary = limit.summary
    low, high, value = summary.value_low, summary.value_high, summary.value
    if low is None or high is None or value is None:  # calls that depend on each other tell too little
        assert (low, high, summary.confidence_pct) == (None, None, None)
    else:
        assert low <= value <= high
        assert summary.confidence_pct == 95
    steps = [event for event in told if isinstance(event, events.Steps)]
    assert {block.epoch for block in steps} - {5} == {0, 1, 2, 3, 4}
    trained, _ = run(paths, "mnist_mlp", epochs=2, steps=20)
    assert trained.peak is not None
    share_pct = trained.peak.share_pct
    assert share_pct is not None
    # The network's own products are smaller: what they reach lies below the peak, but is no nothing.
    assert 0.5 < share_pct < 110
    assert (trained.metrics["peak_memory_bytes"] or 0) > 10**8


@pytest.mark.skipif(os.name == "nt", reason="no GPU works with TensorFlow there, so that none is asked for")
def test_a_graphics_processor_that_the_engine_does_not_see_is_missed_at_once(paths: Paths) -> None:
    limit, _ = run(paths, "host_to_device", "auto", (Gpu("GTX 1060", "nvidia"),))
    assert (limit.summary.status, limit.summary.error_code) == ("failed", "device_unavailable")
    assert said("limits.no_gpu").is_in(str(limit.summary.error_message))


# Takes its time: TensorFlow is loaded, and the network compiled for each batch that is measured.
@pytest.mark.parametrize("preset", ["quick", pytest.param("standard", marks=pytest.mark.long)])
def test_predictions_have_a_rate_and_latencies(paths: Paths, preset: str) -> None:
    asked: dict[str, Any] = {"duration_s": 4.0} if preset == "quick" else {"steps": 3}
    done, told = run(paths, "alexnet_r_inference", preset=preset, batch_size=32, **asked)
    summary = done.summary
    assert summary.status == "completed", summary.error_message
    assert summary.metric == "images_per_s"
    assert summary.step_median_s is not None
    steps_s = [
        step_s
        for block in done.steps
        if block.phase == "measure" and (preset == "quick" or block.epoch > 0)
        for step_s in block.durations_s
    ]
    counted = steps_s[1:] if preset == "quick" else steps_s
    assert summary.value is not None
    assert 32 / max(counted) <= summary.value <= 32 / min(counted)
    assert summary.basis == ("estimate" if preset == "quick" else "later_epochs")
    assert len(done.epochs) == (0 if preset == "quick" else 3)
    latencies = {key: value or 0 for key, value in done.metrics.items() if key.startswith("latency")}
    assert set(latencies) == {f"latency_{size}_{kind}_s" for size in (1, 16) for kind in ("median", "p95")}
    for size in (1, 16):
        assert 0 < latencies[f"latency_{size}_median_s"] <= latencies[f"latency_{size}_p95_s"]
    (model,) = [event for event in told if isinstance(event, events.Model)]
    assert model.parameters_count == 85_098
    # Forward only, three convolutions and a dense layer: a training step counts three times as much.
    products = (32 * 32 * 25 * 3 * 32, 15 * 15 * 25 * 32 * 32, 7 * 7 * 25 * 32 * 64, 576 * 10)
    assert model.flops_per_example == 2 * sum(products)
    assert "few_samples_s" not in done.metrics


@pytest.mark.parametrize(
    ("workload", "asked", "code"),
    [
        ("alexnet_r_inference", {"data": "real"}, "inference.no_real_data"),
        ("matmul", {"data": "real"}, "limits.no_data"),
        ("matmul", {"jit": True}, "limits.without_setting"),
        ("matmul", {"batch_size": 64}, "limits.without_setting"),
        ("memory_bandwidth", {"precision": "mixed_float16"}, "limits.without_setting"),
        ("memory_bandwidth", {"epochs": 7}, "limits.without_setting"),
    ],
)
def test_what_would_change_nothing_is_refused(
    paths: Paths, workload: str, asked: dict[str, Any], code: str
) -> None:
    with pytest.raises(UsageError) as found:
        run(paths, workload, **asked)
    refusal = found.value.message
    assert isinstance(refusal, Message)
    assert refusal.code == code
    if code == "limits.without_setting":
        assert refusal.arguments["setting"] == message(f"setting.{next(iter(asked))}")


class OutOfSpaceError(Exception):
    pass


class Instant(Engine):
    """Multiplies at once, except for the largest matrices, which raise an error."""

    name = "instant"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, OutOfSpaceError)

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        assert (dtype, transposed) in (("float16", False), ("float16", inner != columns))
        if rows == LARGEST_SIZE and self.error is not None:
            raise self.error
        return lambda: None


def measured(error: Exception | None) -> list[str]:
    stream = BytesIO()
    spec = CATALOGUE["matmul"].default_spec(device="gpu:0", precision="mixed_float16")
    Matmul().measure(
        Job(spec=spec, datasets_folder=b"/nowhere"), Instant(error), Reporter(Emitter(stream)), "float16"
    )
    told = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    return [event["key"] for event in told if event["type"] == "metric"]


def test_the_largest_product_is_measured_last() -> None:
    rates = [key for key in measured(None) if key.startswith("matmul_")]
    assert rates[-1] == LARGEST
    assert len(rates) == 6


def test_without_memory_for_the_largest_product_the_others_count() -> None:
    keys = measured(OutOfSpaceError())
    assert LARGEST not in keys
    assert "flop_per_s" in keys


@pytest.mark.parametrize(
    ("flop_per_s", "available_bytes", "fits"),
    [
        (6e10, None, False),  # two slow cores: 18 s for each of seven calls
        (1.9e12, None, False),
        (2e12, None, True),
        (2e12, LARGEST_BYTES + 1, True),
        (2e12, LARGEST_BYTES, False),
        (math.inf, 0, False),
    ],
)
def test_slow_or_small_computers_leave_it_out(flop_per_s: float, available_bytes: int | None, fits: bool) -> None:
    assert fits_largest(flop_per_s, available_bytes) == fits
