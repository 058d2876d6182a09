"""Workloads that skip work, in real workers with real TensorFlow: each is found out by what its record holds."""

import sys

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from app.core.verdict.training_proof import proof_lines
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

pytestmark = pytest.mark.engine

START = """
from workloads import CATALOGUE
from workloads.training import training
from workloads.__main__ import start
mlp = CATALOGUE["mnist_mlp"]
"""
CHEATS = {
    "zero_rate": """
usual = mlp.compile_options
def options(spec):
    import keras
    return usual(spec) | {"optimizer": keras.optimizers.SGD(0.0)}
mlp.compile_options = options
""",
    "wrong_labels": """
from dataclasses import replace
usual = mlp.load
def load(folder, spec):
    import numpy as np
    feed = usual(folder, spec)
    return replace(feed, y=np.random.default_rng(1).permutation(feed.y))
mlp.load = load
""",
    "cached_results": """
usual = mlp.build
def build(spec):
    model = usual(spec)
    make = model.make_train_function
    def cached(force=False):
        make(force)
        step, done = model.train_function, []
        def function(iterator):
            if len(done) < 50:
                done.append(step(iterator))
            return done[-1]
        model.train_function = function
    model.make_train_function = cached
    return model
mlp.build = build
""",
    "fewer_steps": """
usual = training.stopwatch
def stopwatch(reporter, **options):
    watch = usual(reporter, **options)
    told = watch.on_train_batch_end
    def on_train_batch_end(batch, logs=None):
        told(batch, logs)
        watch.model.stop_training = batch + 1 >= 110
    watch.on_train_batch_end = on_train_batch_end
    return watch
training.stopwatch = stopwatch
training._check_count = lambda *_: None
""",
}
CODES = {
    "zero_rate": {"weights_unchanged", "loss_out_of_band"},
    "wrong_labels": {"loss_out_of_band"},
    "cached_results": {"updates_missing"},
    "fewer_steps": {"steps_missing"},
}


def run_of(paths: Paths, machine: Machine, cheat: str, seed: int = 0) -> Run:
    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        code = START + cheat + "\nstart()"
        environment = worker_command(spec, paths).environment
        return WorkerCommand((sys.executable, "-c", code), environment)

    spec = CATALOGUE["mnist_mlp"].default_spec(epochs=1, steps=120, device="cpu", data="synthetic", seed=seed)
    session = Runner(paths, machine, command=command).start(spec)
    assert session.wait(150)
    with Database(paths.database) as database:
        return load_run(database, session.run_id)


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_workload_that_cheats_is_found_out(cheat: str, paths: Paths, machine: Machine) -> None:
    run = run_of(paths, machine, CHEATS[cheat])
    verdict = judge(run)
    assert verdict.level == "invalid", run.summary.error_message
    assert CODES[cheat] <= {reason.code for reason in verdict.reasons if reason.level == "invalid"}
    assert run.summary.verdict == "invalid"
    assert CODES[cheat] <= set((run.summary.reasons or "").split())


@pytest.mark.parametrize("seed", [0, 7])
def test_honest_training_is_proved(seed: int, paths: Paths, machine: Machine) -> None:
    run = run_of(paths, machine, "", seed)
    assert "invalid" not in {reason.level for reason in judge(run).reasons}
    proof = dict(proof_lines(run))
    assert "expected 1.78–2.09 after 100" in proof["Loss"]
    assert proof["Weight updates"] == "120, one for each step"
    assert run.metrics["weights_changed"]
