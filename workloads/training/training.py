"""Workloads that train a Keras network with a single `model.fit`, as in the studies, timed by a callback."""

import math
import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

from workloads.datasets import DATASETS
from workloads.datasets.source import DamagedDataError
from workloads.engines.computers import compare
from workloads.engines.registry import ENGINES, engine_named
from workloads.engines.setup import check_gpu, report_memory, start_engine
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.feed import Feed
from workloads.training.flops import training_flops
from workloads.training.proof_marks import TrainingEvidence, least_examples, report_distinct, report_steps
from workloads.training.quick import EPOCHS_LIMIT, Quick
from workloads.training.stopwatch import stopwatch
from workloads.training.trainer import Trainer
from workloads.workload import BYTES_PER_PARAMETER, MemoryNeed, Workload

SUSTAINED_S = 600.0
Counted = Literal["parameters", "steps", "devices", "predictions"]


class Training(Workload):
    """A network and its data. Subclasses implement `build`, `compile_options` and `load`."""

    trains = True
    divides_batches = True
    counts_steps = True
    steps_alike = True
    predicted_examples: int = 0  # number of test examples to predict after training, as in the study
    # Parameter count without layers used only in training; None if there are no such layers.
    inference_parameters_count: int | None = None

    def build(self, spec: RunSpec) -> Any:
        """Return the uncompiled Keras model."""
        raise NotImplementedError

    def build_for_inference(self, spec: RunSpec) -> Any:
        """Return the model for inference, without layers that are used only in training."""
        return self.build(spec)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return the arguments of `model.compile`: optimizer, loss, metrics."""
        raise NotImplementedError

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the real data from a stored file; if `file` is None, the synthetic twin.

        Raises:
            DamagedDataError: The stored file can't be used.
        """
        raise NotImplementedError

    def memory_need_of(self, spec: RunSpec) -> MemoryNeed | None:
        """Return the memory requirement of a spec's network, derived from the default network's.

        The requirement is scaled by the numbers of weights and activations.
        """
        need, default = self.memory_need(spec.engine), self.default_spec()
        results, default_results = self.results(spec), self.results(default)
        if need is None or results is None or default_results is None:
            return need
        more = (self.expected_parameters(spec) or 0) - (self.expected_parameters(default) or 0)
        base_bytes = max(0, need.base_bytes + BYTES_PER_PARAMETER * more)
        return MemoryNeed(base_bytes, round(need.per_example_bytes * results / default_results))

    def results(self, spec: RunSpec) -> float | None:
        """Return the approximate number of stored activations per example; None if parameters don't affect it."""
        return None

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain why the network requires a GPU with this engine; None if it doesn't."""
        return ENGINES[spec.engine].gpu_need(spec)

    def operations(self, spec: RunSpec, model: Any) -> int | None:
        """Return the operations of a training step per example; None if they can't be counted."""
        declared = self.operations_for(self.variant(spec))
        return training_flops(model) if declared is None else declared

    def callbacks(self, spec: RunSpec) -> list[Any]:
        """Return the network's own Keras callbacks, for example to set learning rates or reset states."""
        return []

    def proof_steps(self, spec: RunSpec) -> int | None:
        """Return the number of steps after which the loss must be in the expected band; None if unknown."""
        return self.proof.steps if self.proof is not None and self.is_default_network(spec) else None

    def run(self, job: Job, reporter: Reporter) -> None:
        """Load the data, build the network, and train, measure and evaluate it."""
        spec = job.spec
        trainer = prepare(self, job, reporter)
        engine, model = trainer.engine, trainer.model
        with engine.scope():
            options = self.compile_options(spec)
        engine.compile(model, spec, **options)
        training_evidence = TrainingEvidence(model)
        if spec.measure_s is not None:
            Quick(self, spec, trainer, reporter).probe()
        elif spec.preset == "quick":
            quick = Quick(self, spec, trainer, reporter)
            quick.check_time(self.operations(spec, model))
            quick.measure(self.proof_steps(spec))
        else:
            _measure_epochs(self, spec, trainer, reporter)
        devices = engine.devices_used(model)
        if not engine.leads:
            return
        _check_count("devices", devices, spec.device_count)
        training_evidence.report(model, spec, reporter)
        steps = reporter.steps_done
        if spec.preset != "quick":
            _evaluate(self, trainer, reporter)
        report_steps(trainer.examples, steps, self._least_examples(spec, trainer.feed, steps), reporter)
        if trainer.to_validate:
            reporter.send(events.Metric(key="validation_done", value=float(trainer.validated)))
            reporter.send(events.Metric(key="validation_asked", value=float(trainer.to_validate)))
        report_distinct(trainer.feed.distinct(), self.different_examples(spec, trainer.feed), reporter)
        report_memory(engine, reporter)
        engine.leave()
        reporter.phase("finish")

    def different_examples(self, spec: RunSpec, feed: Feed) -> int:
        """Return the number of distinct training examples, as in the study."""
        return self.samples_per_epoch or feed.samples

    def _least_examples(self, spec: RunSpec, feed: Feed, steps: int) -> int:
        whole = self.steps_per_epoch(spec)
        # With a single repeated batch, there are no incomplete batches.
        examples = feed.samples if feed.samples > (whole - 1) * spec.batch_size else 0
        return least_examples(steps, spec.batch_size, examples, whole, is_stream=feed.y is None)


def prepare(workload: Training, job: Job, reporter: Reporter) -> Trainer:
    """Load the data, start the engine and build the network, reporting each phase. The model isn't compiled."""
    # Check for data before starting the engine, so that missing data is reported immediately.
    file = real_file(workload, job)
    reporter.phase("import")
    engine = start_engine(job.spec, reporter)
    check_gpu(engine, workload.gpu_need(job.spec))
    reporter.engine_ready_s = time.perf_counter()
    reporter.phase("data")
    feed = _load(workload, file, job.spec)
    reporter.send(
        events.Dataset(
            name=workload.dataset or "generated",
            source=feed.source,
            checksum=feed.checksum,
            samples=feed.samples,
            validation_samples=feed.validation_samples,
            shape=feed.shape,
        )
    )
    compare("data", {"data": f"{feed.source}, {feed.samples}, {feed.checksum}"})
    reporter.phase("build")
    model = build(workload, job.spec, reporter)
    return Trainer(engine, model, feed, job.spec.batch_size, partial(workload.callbacks, job.spec))


def build(workload: Training, spec: RunSpec, reporter: Reporter) -> Any:
    """Build the network, count its parameters and report it."""
    with engine_named(spec.engine).scope():
        model = workload.build(spec)
    _check_count("parameters", model.count_params(), workload.expected_parameters(spec))
    operations = workload.operations(spec, model)
    reporter.send(events.Model(parameters_count=model.count_params(), flops_per_example=operations))
    return model


def real_file(workload: Workload, job: Job) -> Path | None:
    """Return the stored file of the real data, or None to use the synthetic twin."""
    name = workload.dataset
    if name is None:
        if job.spec.data == "real":
            raise WorkloadError("data_missing", message("data.none_real", workload=workload.id))
        return None
    source, folder = DATASETS[name].SOURCE, Path(os.fsdecode(job.datasets_folder))
    if job.spec.data != "synthetic" and source.is_stored_in(folder):
        return source.stored_in(folder)
    if job.spec.data == "real":
        said = message("data.not_installed", dataset=name, command=_getting(name))
        raise WorkloadError("data_missing", said)
    return None


def _getting(name: str) -> str:
    """Return the command that installs a data set, either by downloading it or from the user's files."""
    return f"data fetch {name}" if DATASETS[name].SOURCE.fetchable else f"data import {name} FOLDER"


def _load(workload: Training, file: Path | None, spec: RunSpec) -> Feed:
    try:
        return workload.load(file, spec)
    except DamagedDataError as error:
        name = str(workload.dataset)
        said = message("data.damaged", dataset=name, command=_getting(name))
        raise WorkloadError("data_missing", said) from error


def _measure_epochs(workload: Training, spec: RunSpec, trainer: Trainer, reporter: Reporter) -> None:
    whole = workload.steps_per_epoch(spec)
    steps = spec.steps or whole
    band = workload.loss_band if steps == whole and workload.is_default_network(spec) else None
    epochs, end_s = spec.epochs, math.inf
    if spec.preset == "sustained":
        duration_s = spec.duration_s or SUSTAINED_S
        reporter.phase("measure", budget_s=duration_s)
        reporter.epoch_steps = whole  # the last epoch may be cut
        epochs, end_s = EPOCHS_LIMIT, time.perf_counter() + duration_s
    else:
        reporter.phase("measure", epochs=epochs, total_steps=steps * epochs)
    watch = stopwatch(
        reporter,
        is_over=lambda: end_s < math.inf and trainer.engine.agreed(time.perf_counter() > end_s),
        proof_steps=workload.proof_steps(spec),
        loss_band=band,
        batches_per_step=workload.batches_per_step(spec),
    )
    feed = trainer.feed if steps == whole else trainer.feed.cut(steps * spec.batch_size)
    trainer.fit(
        feed,
        watch,
        epochs=epochs,
        # Arrays have a known length, but batches may not, and some studies drop the incomplete last batch.
        steps_per_epoch=None if feed.y is not None else steps * workload.batches_per_step(spec),
    )
    if spec.preset == "standard" and trainer.engine.leads:
        _check_count("steps", reporter.steps_done, steps * epochs)


def _evaluate(workload: Training, trainer: Trainer, reporter: Reporter) -> None:
    if trainer.feed.test is None:
        return
    engine, model = trainer.engine, trainer.model
    reporter.phase("evaluate")
    watch = stopwatch(reporter)
    x_test, y_test = trainer.feed.test
    start_s = time.perf_counter()
    logs = engine.evaluate(model, x_test, y_test, batch_size=trainer.batch_size, callbacks=[watch], verbose=0)
    evaluated_s = time.perf_counter()
    metrics = {
        "evaluate_s": evaluated_s - start_s,
        "test_loss": logs["loss"],
        "test_accuracy": logs.get("accuracy"),
    }
    if workload.predicted_examples:
        x = x_test[: workload.predicted_examples]
        predictions = engine.predict(model, x, callbacks=[watch], verbose=0)
        metrics["predict_s"] = time.perf_counter() - evaluated_s
        _check_count("predictions", len(predictions), len(x))
    for key, value in metrics.items():
        if value is not None:
            reporter.send(events.Metric(key=key, value=float(value)))


def count_differs(what: Counted, done: int, asked: int) -> Message:
    """Return the error message for a count that differs from the expected count."""
    return message(f"training.other_{what}", done=done, asked=asked)


def _check_count(what: Counted, done: int, asked: int | None) -> None:
    if asked is not None and done != asked:
        raise WorkloadError("internal", count_differs(what, done, asked))
