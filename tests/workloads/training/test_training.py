"""The standard network with real TensorFlow in real workers, a few steps at a time."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253 - for the arrays of a data set
import psutil
import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.conftest import CommandLine
from tests.core.runs.running import start_run
from tests.saying import said
from tests.sure import sure
from tests.systems import IN_WINE
from workloads import CATALOGUE
from workloads.datasets import cifar10
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.workload import Workload

pytestmark = pytest.mark.engine
WORKLOAD = CATALOGUE["cifar10_keras_cnn"]


def stream_of(epochmark: CommandLine, *options: str, **environment: str) -> list[dict[str, Any]]:
    done = epochmark("run", "cifar10_keras_cnn", "--device", "cpu", "--json", *options, **environment)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(stream: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in stream if event["type"] == kind]


def without_stamp(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("seq", "t_s")}


@pytest.mark.long
def test_nothing_of_the_surroundings_changes_a_run(epochmark: CommandLine, tmp_path: Path) -> None:
    """One run in clean surroundings and one in hostile ones do, and say, the same."""
    options = ("--epochs", "2", "--steps", "5", "--data", "synthetic")
    clean = stream_of(epochmark, *options)
    junk = tmp_path / "junk"
    junk.mkdir()
    for name in ("keras", "tensorflow", "numpy", "sitecustomize"):
        (junk / f"{name}.py").write_text("raise RuntimeError('junk was imported')")
    hostile_home = tmp_path / "user"
    (hostile_home / ".keras").mkdir(parents=True)
    settings = {"floatx": "float16", "image_data_format": "channels_first", "backend": "torch", "epsilon": 1}
    (hostile_home / ".keras" / "keras.json").write_text(json.dumps(settings))
    hostile = stream_of(
        epochmark,
        *options,
        HOME=str(hostile_home),
        KERAS_HOME=str(hostile_home / ".keras"),
        KERAS_BACKEND="jax",
        KERAS_MAX_EPOCHS="1",
        KERAS_MAX_STEPS_PER_EPOCH="1",
        PYTHONPATH=str(junk),
        PYTHONSTARTUP=str(junk / "keras.py"),
        LC_ALL="C",
        LANG="de_DE.ISO-8859-1",
        PYTHONIOENCODING="latin-1",
        TF_ENABLE_ONEDNN_OPTS="0",
        OMP_NUM_THREADS="1",
        XLA_FLAGS="--no_such_flag",
    )
    for kind in ("environment", "dataset", "model"):
        assert list(map(without_stamp, of(hostile, kind))) == list(map(without_stamp, of(clean, kind)))
    for stream in (clean, hostile):
        assert [epoch["steps"] for epoch in of(stream, "epoch")] == [5, 5]
        assert sum(len(block["durations_s"]) for block in of(stream, "steps")) == 10
        assert stream[-1]["type"] == "end"
    for name in ("loss", "val_loss"):
        assert of(hostile, "epoch")[1][name] == pytest.approx(of(clean, "epoch")[1][name], rel=0.02)


@pytest.mark.long
def test_a_short_run_reports_what_the_study_measures(epochmark: CommandLine, tmp_path: Path) -> None:
    stream = stream_of(epochmark, "--epochs", "1", "--steps", "120", "--data", "auto")
    counts = {"parameters_count": 1_337_002, "flops_per_example": 236_330_496}
    assert without_stamp(of(stream, "model")[0]) == {"type": "model"} | counts
    dataset = of(stream, "dataset")[0]
    assert (dataset["source"], dataset["samples"], dataset["validation_samples"]) == ("synthetic", 50_000, 1_000)
    phases = [phase["name"] for phase in of(stream, "phase")]
    assert phases == ["import", "data", "build", "measure", "evaluate", "finish"]
    epoch = of(stream, "epoch")[0]
    steps_s = [step_s for block in of(stream, "steps") for step_s in block["durations_s"]]
    assert epoch["train_s"] == pytest.approx(sum(steps_s))
    assert epoch["train_s"] + epoch["validation_s"] <= epoch["duration_s"] <= epoch["train_s"] * 1.5
    # Far above the 10 % of chance: the twin can be learnt, and what ran was training.
    assert epoch["val_accuracy"] > 0.5
    metrics = {metric["key"]: metric["value"] for metric in of(stream, "metric")}
    assert metrics["test_accuracy"] > 0.5
    assert metrics["evaluate_s"] > 0
    assert metrics["predict_s"] > 0
    # The peak never falls, and of 120 steps the 50th came first. No worker may need more than two gigabytes; wine
    # reads all of TensorFlow's library into memory, where other systems read the parts that are used.
    library_bytes = 0.8e9 if IN_WINE else 0
    assert 0.5e9 < metrics["settled_memory_bytes"] <= metrics["peak_memory_bytes"]
    assert 0.8e9 < metrics["peak_memory_bytes"] - library_bytes <= 2.0e9
    assert of(stream, "result") == [], "a short run has no epoch time"
    shown = epochmark("results", "show", "1").stdout
    assert said("note.short_run", steps_per_epoch="500", steps="120").is_in(shown)
    assert "× the" not in shown


def run_to_end(paths: Paths, machine: Machine, workload: Workload = WORKLOAD, **asked: Any) -> Run:
    session = start_run(Runner(paths, machine), workload.default_spec(**asked))
    assert session.wait(150)
    return in_database(paths.database, load_run, session.run_id)


@pytest.mark.long
def test_installed_data_is_used_and_settings_become_true(paths: Paths, machine: Machine) -> None:
    paths.datasets.mkdir(parents=True)
    arrays: dict[str, Any] = {"checksum": np.array("ab" * 32)}
    for part, count in (("train", 50_000), ("test", 10_000)):
        # Labels cycle through the classes, pixels are noise: enough to see that the file is read.
        arrays[f"x_{part}"] = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), np.uint8)
        arrays[f"y_{part}"] = (np.arange(count, dtype=np.uint8) % 10)[:, None]
    np.savez(cifar10.SOURCE.stored_in(paths.datasets), allow_pickle=False, **arrays)
    settings = {"threads": 1, "jit": True, "precision": "mixed_bfloat16"}
    # A small network of the same data: on one thread, the standard one takes long to compile and to predict.
    small = CATALOGUE["alexnet_r"]
    run = run_to_end(paths, machine, workload=small, epochs=1, steps=2, batch_size=100, device="cpu", **settings)
    assert run.summary.status == "completed", run.summary.error_message
    assert run.summary.data_source == "real"
    assert sure(run.dataset).checksum == "ab" * 32
    assert run.environment is not None
    asked = {"precision": "mixed_bfloat16", "jit": True, "intra_op_threads": 1, "device": "cpu"}
    assert {name: getattr(run.environment, name) for name in asked} == asked


# Takes its time, as only TensorFlow itself says which devices it has.
def test_a_missing_gpu_is_reported_and_nothing_falls_back(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    summary = run_to_end(paths, machine, device="gpu:7").summary
    assert (summary.status, summary.error_code) == ("failed", "device_unavailable")
    assert "gpu:7" in (summary.error_message or "")


def test_missing_and_damaged_data_are_reported_with_the_command_that_fetches_it(
    paths: Paths, machine: Machine
) -> None:
    missing = run_to_end(paths, machine, data="real")
    assert "data fetch cifar10" in (missing.summary.error_message or "")
    assert missing.environment is None, "no engine was loaded"
    paths.datasets.mkdir(parents=True)
    cifar10.SOURCE.stored_in(paths.datasets).write_bytes(b"PK damaged")
    damaged = run_to_end(paths, machine, device="cpu")
    refusal = said("data.damaged", dataset="cifar10", command="data fetch cifar10")
    assert refusal.is_in(damaged.summary.error_message or "")
    for run in (missing, damaged):
        assert (run.summary.status, run.summary.error_code) == ("failed", "data_missing")


@pytest.mark.long
def test_training_answers_a_request_to_cancel(paths: Paths, machine: Machine) -> None:
    training = threading.Event()
    pids = []

    def listener(event: events.Event) -> None:
        if isinstance(event, events.Hello):
            pids.append(event.pid)
        if isinstance(event, events.Steps) and event.first_index > 3:
            training.set()

    # Ended by force only long after the test has given up.
    runner = Runner(paths, machine, RunLimits(cancel_s=90.0))
    session = start_run(runner, WORKLOAD.default_spec(device="cpu", data="synthetic"), listener)
    assert training.wait(120)
    session.cancel()
    assert session.wait(60)
    assert not psutil.pid_exists(pids[0])
    run = in_database(paths.database, load_run, session.run_id)
    assert run.summary.status == "cancelled"
    assert run.steps
