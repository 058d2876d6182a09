"""Workloads that train a Keras network: one `model.fit` as the studies call it, timed by a callback inside it."""

import math
import os
import time
from pathlib import Path
from typing import Any

from workloads.datasets import DATASETS
from workloads.datasets.source import MissingDataError
from workloads.engines import device
from workloads.engines.pipelines import leave_untuned
from workloads.protocol import events
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.feed import Feed, shared
from workloads.training.flops import TRAINING_PASSES, forward_flops
from workloads.training.loss_bands import PROOFS
from workloads.training.proof_marks import Marks
from workloads.training.quick import EPOCHS_LIMIT, Quick
from workloads.training.stopwatch import stopwatch
from workloads.workload import Proof, Workload, WorkloadError

SUSTAINED_S = 600.0


class Training(Workload):
    """A network and its data; subclasses fill `build`, `compile_options` and `load`.

    Attributes:
        predicted_examples: Test examples that are predicted after the training, as the study did.
        inference_parameters_count: Where the network sheds layers that only training needs; else None.
    """

    predicted_examples: int = 0
    inference_parameters_count: int | None = None

    def build(self, spec: RunSpec) -> Any:
        """Return the uncompiled Keras model."""
        raise NotImplementedError

    def build_for_inference(self, spec: RunSpec) -> Any:
        """Return the model as it predicts: without what only training needs."""
        return self.build(spec)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return what `model.compile` is given: optimizer, loss, metrics."""
        raise NotImplementedError

    def load(self, folder: Path | None, spec: RunSpec) -> Feed:
        """Return the data: the real one from the folder that is given, the synthetic twin for None.

        Raises:
            MissingDataError: An installed file cannot be used.
        """
        raise NotImplementedError

    def callbacks(self, spec: RunSpec) -> list[Any]:
        """Return further Keras callbacks that the network needs (learning rates, states to be forgotten)."""
        return []

    @property
    def proof(self) -> Proof | None:
        """What the losses of its first steps must be; None if that was not found out."""
        return PROOFS.get(self.id)

    def proof_steps(self, spec: RunSpec) -> int | None:
        """Return after how many steps the loss must be in its band; None where no band is known."""
        usual = spec.batch_size == self.batch_size and not self.variant(spec)
        return self.proof.steps if self.proof is not None and usual else None

    def run(self, job: Job, reporter: Reporter) -> None:
        """Train: import, data, build, measure, evaluate."""
        spec = job.spec
        model, feed = prepare(self, job, reporter)
        model.compile(jit_compile=spec.jit, **self.compile_options(spec))
        marks = Marks(model)
        if spec.measure_s is not None:
            Quick(self, spec, model, feed, reporter).probe()
        elif spec.preset == "quick":
            Quick(self, spec, model, feed, reporter).measure()
        else:
            _measure_epochs(self, spec, model, feed, reporter)
        marks.report(model, spec, reporter)
        if spec.preset != "quick":
            _evaluate(self, spec, model, feed, reporter)
        device.report_memory(reporter)
        reporter.phase("finish")


def prepare(workload: Training, job: Job, reporter: Reporter) -> tuple[Any, Feed]:
    """Set the engine up, load the data and build the network, telling of each; return model and data."""
    # Before the engine: missing data must not take ten seconds to say.
    folder = _real_folder(workload, job, reporter)
    reporter.phase("import")
    device.prepare(job.spec, reporter)
    leave_untuned()
    reporter.engine_ready_s = time.perf_counter()
    reporter.phase("data")
    feed = _load(workload, folder, job.spec)
    reporter.send(
        events.Dataset(
            name=feed.name or workload.dataset or "generated",
            source=feed.source,
            checksum=feed.checksum,
            samples=feed.samples,
            validation_samples=feed.validation_samples,
            shape=feed.shape,
        )
    )
    reporter.phase("build")
    return build(workload, job.spec, reporter), feed


def build(workload: Training, spec: RunSpec, reporter: Reporter) -> Any:
    """Build the network, count it and tell of it."""
    model = workload.build(spec)
    _check_count("parameters", model.count_params(), workload.expected_parameters(spec))
    forward = forward_flops(model)
    operations = None if forward is None else TRAINING_PASSES * forward
    reporter.send(events.Model(parameters_count=model.count_params(), flops_per_example=operations))
    return model


def _real_folder(workload: Workload, job: Job, reporter: Reporter) -> Path | None:
    """Return where the real data is, or None for the synthetic twin."""
    name = workload.dataset
    if name is None:
        if job.spec.data == "real":
            raise WorkloadError(
                "data_missing",
                f"{workload.id} has no real data: it trains on generated examples, as its study did. "
                "Choose --data synthetic.",
            )
        return None
    folder = Path(os.fsdecode(job.datasets_folder)) / name
    if job.spec.data != "synthetic" and DATASETS[name].is_installed(folder):
        return folder
    if job.spec.data == "auto" and _is_there(folder):
        text = f"The installed {name} data is incomplete: the synthetic twin is used. `{_getting(name)}` mends it."
        reporter.send(events.Warn(code="data_incomplete", message=text))
    if job.spec.data == "real":
        raise WorkloadError(
            "data_missing",
            f"The real {name} data is not installed; get it with `{_getting(name)}`, "
            "or train on the synthetic twin with --data synthetic.",
        )
    return None


def _getting(name: str) -> str:
    """Return the command that installs a data set, also where only its user has it."""
    return f"data fetch {name}" if DATASETS[name].SOURCE.fetchable else f"data import {name} FOLDER"


def _is_there(folder: Path) -> bool:
    try:
        return folder.exists()
    except OSError:  # a drive that fails, a folder of somebody else's
        return False


def _load(workload: Training, folder: Path | None, spec: RunSpec) -> Feed:
    try:
        return workload.load(folder, spec)
    except MissingDataError as error:
        name = workload.dataset
        raise WorkloadError(
            "data_missing", f"{error}; remove it with `data remove {name}`, then use `{_getting(str(name))}`."
        ) from error


def _measure_epochs(workload: Training, spec: RunSpec, model: Any, feed: Feed, reporter: Reporter) -> None:
    whole = workload.steps_per_epoch(spec)
    steps = spec.steps or whole
    band = workload.loss_band if steps == whole and not workload.variant(spec) else None
    epochs, end_s = spec.epochs, math.inf
    if spec.preset == "sustained":
        duration_s = spec.duration_s or SUSTAINED_S
        reporter.phase("measure", budget_s=duration_s)
        reporter.epoch_steps = whole  # the last one is cut
        epochs, end_s = EPOCHS_LIMIT, time.perf_counter() + duration_s
    else:
        reporter.phase("measure", epochs=epochs, total_steps=steps * epochs)
    watch = stopwatch(
        reporter,
        is_over=lambda: time.perf_counter() > end_s,
        proof_steps=workload.proof_steps(spec),
        loss_band=band,
    )
    if steps < whole:
        feed = feed.cut(steps * spec.batch_size)
    model.fit(
        **feed.fit_arguments(spec.batch_size),
        epochs=epochs,
        # Arrays know where they end; batches may not, and a study may leave the last, smaller one out.
        steps_per_epoch=None if feed.y is not None else steps,
        callbacks=[*workload.callbacks(spec), watch],
        verbose=0,
    )
    if spec.preset == "standard":
        _check_count("training steps", reporter.steps_done, steps * epochs)


def _evaluate(workload: Training, spec: RunSpec, model: Any, feed: Feed, reporter: Reporter) -> None:
    if feed.test is None:
        return
    reporter.phase("evaluate")
    watch = stopwatch(reporter)
    x_test, y_test = feed.test
    start_s = time.perf_counter()
    logs = model.evaluate(
        shared(x_test), y_test, batch_size=spec.batch_size, callbacks=[watch], verbose=0, return_dict=True
    )
    evaluated_s = time.perf_counter()
    metrics = {
        "evaluate_s": evaluated_s - start_s,
        "test_loss": logs["loss"],
        "test_accuracy": logs.get("accuracy"),
    }
    if workload.predicted_examples:
        model.predict(x_test[: workload.predicted_examples], callbacks=[watch], verbose=0)
        metrics["predict_s"] = time.perf_counter() - evaluated_s
    for key, value in metrics.items():
        if value is not None:
            reporter.send(events.Metric(key=key, value=float(value)))


def _check_count(what: str, done: int, asked: int | None) -> None:
    if asked is not None and done != asked:
        raise WorkloadError("internal", f"{done} {what} were counted where {asked} were asked for.")
