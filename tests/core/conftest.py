"""What tests of the core share: one stored run, in a row and whole, to be changed with dataclasses.replace."""

from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.records import Run, RunSummary
from tests.archives import make_nietzsche
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec


@pytest.fixture(scope="session")
def summary() -> RunSummary:
    return RunSummary(
        id=7,
        started_at="2026-11-20T10:00:00Z",
        finished_at="2026-11-20T10:11:03Z",
        status="completed",
        workload="cifar10_keras_cnn",
        workload_version=1,
        variant="",
        preset="standard",
        metric="seconds_per_epoch_s",
        value=66.3,
        seconds_per_epoch_s=66.3,
        basis="later_epochs",
        first_epoch_s=68.9,
        minimum_s=66.1,
        maximum_s=66.8,
        spread_pct=0.4,
        step_median_s=0.131,
        epochs=10,
        epochs_done=10,
        steps=None,
        steps_per_epoch=500,
        samples_per_epoch=50_000,
        batch_size=100,
        precision="float32",
        jit=False,
        threads=None,
        seed=0,
        data_source="real",
        engine="tensorflow",
        engine_version="2.21.0",
        device="cpu",
        device_name=None,
        cpu_name="Intel Core i7-1165G7",
        physical_cores=4,
        logical_cores=8,
        memory_bytes=16_000_000_000,
        os_name="Test OS 1",
        virtual_machine=False,
        app_version="0.1.0",
        error_code=None,
        error_said=None,
        comment=None,
    )


@pytest.fixture(scope="session")
def stored_run(summary: RunSummary) -> Run:
    return Run(
        summary=summary,
        spec=RunSpec(workload=summary.workload, batch_size=100),
        machine=Machine("Intel Core i7-1165G7", 4, 8, 16_000_000_000, "Test OS 1", "x86_64", "3.11.7", False),
        environment=events.Environment(
            engine="tensorflow",
            engine_version="2.21.0",
            keras_version="3.15.1",
            device="cpu",
            precision="float32",
            jit=False,
        ),
        dataset=events.Dataset(name="cifar10", source="real", samples=50_000),
        model=None,
        epochs=(
            events.Epoch(seq=9, t_s=80.0, index=0, duration_s=68.9, train_s=68.1),
            events.Epoch(seq=19, t_s=146.3, index=1, duration_s=66.3, train_s=65.5),
        ),
        steps=tuple(
            events.Steps(
                seq=5 + epoch,
                t_s=76.5 + 66.3 * epoch,
                phase="measure",
                epoch=epoch,
                first_index=0,
                durations_s=(0.131,) * 500,
            )
            for epoch in range(10)
        ),
        metrics={},
        warnings=(),
        telemetry=(),
    )


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("official") / "nietzsche.txt"
    path.write_bytes(make_nietzsche())
    return path


@pytest.fixture
def mine(paths: Paths) -> Paths:
    paths.datasets.mkdir()
    return paths
