"""The measuring loop: one `model.fit` as the studies call it, timed from inside by a callback."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloads import device, events
from workloads.datasets import DATASETS
from workloads.datasets.source import Arrays, MissingDataError, is_aligned
from workloads.reporter import Reporter
from workloads.spec import Job, RunSpec
from workloads.workload import Workload, WorkloadError

# Quick: enough steps to get past tracing, kernel selection and the first allocations …
WARMUP_STEPS = 20
WARMUP_BUDGET_S = 15.0
WARMUP_STEPS_AT_LEAST = 2
# … then steps until one of the two is reached, so that most machines answer in about a minute.
QUICK_STEPS = 250
QUICK_BUDGET_S = 40.0
QUICK_STEPS_AT_LEAST = 10
PREDICTED_IMAGES = 20


def run(
    workload: Workload,
    job: Job,
    reporter: Reporter,
    *,
    build: Callable[[], Any],
    load: Callable[[Path | None], Arrays],
) -> None:
    """Train an image classifier on arrays in memory: import, data, build, measure, evaluate.

    Args:
        workload: Its counts are checked against what really happens.
        job: What was asked, and where the data sets are.
        reporter: Is told everything.
        build: Returns the uncompiled model.
        load: Returns the arrays, real ones from the folder that it is given, synthetic ones for None.
    """
    spec = job.spec
    # Before the engine: missing data must not take ten seconds to say.
    folder = _real_folder(workload, job, reporter)
    reporter.phase("import")
    device.prepare(spec, reporter)
    reporter.phase("data")
    arrays = _arrays(workload, folder, load)
    reporter.send(
        events.Dataset(
            name=str(workload.dataset),
            source=arrays.source,
            checksum=arrays.checksum,
            samples=len(arrays.x_train),
            validation_samples=workload.validation_samples,
            shape=tuple(arrays.x_train.shape[1:]),
        )
    )
    reporter.phase("build")
    model = build()
    _check_count("parameters", model.count_params(), workload.parameters_count)
    reporter.send(events.Model(parameters_count=model.count_params()))
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=spec.jit,
    )
    if spec.preset == "quick":
        _measure_quick(workload, spec, model, arrays, reporter)
    else:
        _measure_epochs(workload, spec, model, arrays, reporter)
        _evaluate(spec, model, arrays, reporter)
    reporter.phase("finish")


def _real_folder(workload: Workload, job: Job, reporter: Reporter) -> Path | None:
    """Return where the real data is, or None for the synthetic twin."""
    name = str(workload.dataset)
    folder = Path(job.datasets_folder) / name
    if job.spec.data != "synthetic" and DATASETS[name].is_installed(folder):
        return folder
    if job.spec.data == "auto" and _is_there(folder):
        text = (
            f"The installed {name} data is incomplete: the synthetic twin is used. `data fetch {name}` mends it."
        )
        reporter.send(events.Warn(code="data_incomplete", message=text))
    if job.spec.data == "real":
        raise WorkloadError(
            "data_missing",
            f"The real {name} data is not installed; get it with `data fetch {name}`, "
            "or train on the synthetic twin with --data synthetic.",
        )
    return None


def _is_there(folder: Path) -> bool:
    try:
        return folder.exists()
    except OSError:  # a drive that fails, a folder of somebody else's
        return False


def _arrays(workload: Workload, folder: Path | None, load: Callable[[Path | None], Arrays]) -> Arrays:
    try:
        return load(folder)
    except MissingDataError as error:
        name = workload.dataset
        raise WorkloadError(
            "data_missing", f"{error}; remove it with `data remove {name}` and fetch it again."
        ) from error


def _measure_epochs(workload: Workload, spec: RunSpec, model: Any, arrays: Arrays, reporter: Reporter) -> None:
    steps = spec.steps or workload.steps_per_epoch(spec)
    reporter.phase("measure", epochs=spec.epochs, total_steps=steps * spec.epochs)
    _fit(workload, spec, model, arrays, _callback(reporter), epochs=spec.epochs, steps=spec.steps)
    _check_count("training steps", reporter.steps_done, steps * spec.epochs)


def _measure_quick(workload: Workload, spec: RunSpec, model: Any, arrays: Arrays, reporter: Reporter) -> None:
    """Warm training and validation up, then time a bounded number of steps and one validation pass."""
    whole = workload.steps_per_epoch(spec)
    reporter.whole_epochs = False
    warmup = min(WARMUP_STEPS, whole)
    reporter.phase("warmup", epochs=1, total_steps=warmup, budget_s=WARMUP_BUDGET_S)
    callback = _callback(reporter, WARMUP_BUDGET_S, WARMUP_STEPS_AT_LEAST)
    _fit(workload, spec, model, arrays, callback, epochs=1, steps=warmup)
    steps = min(QUICK_STEPS, whole)
    reporter.phase("measure", epochs=1, total_steps=steps, budget_s=QUICK_BUDGET_S)
    callback = _callback(reporter, QUICK_BUDGET_S, QUICK_STEPS_AT_LEAST)
    _fit(workload, spec, model, arrays, callback, epochs=1, steps=steps)


def _fit(
    workload: Workload,
    spec: RunSpec,
    model: Any,
    arrays: Arrays,
    callback: Any,
    *,
    epochs: int,
    steps: int | None,
) -> None:
    validation = slice(0, workload.validation_samples)
    model.fit(
        _shared(arrays.x_train),
        arrays.y_train,
        batch_size=spec.batch_size,
        epochs=epochs,
        steps_per_epoch=steps,
        validation_data=(arrays.x_test[validation], arrays.y_test[validation]),
        callbacks=[callback],
        verbose=0,
    )


def _shared(array: Any) -> Any:
    """Return the array as a tensor in the same memory; fit would copy it twice on the way to its own."""
    import tensorflow as tf

    if not is_aligned(array):
        return array
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def _evaluate(spec: RunSpec, model: Any, arrays: Arrays, reporter: Reporter) -> None:
    reporter.phase("evaluate")
    callback = _callback(reporter)
    start_s = time.perf_counter()
    logs = model.evaluate(
        _shared(arrays.x_test),
        arrays.y_test,
        batch_size=spec.batch_size,
        callbacks=[callback],
        verbose=0,
        return_dict=True,
    )
    evaluated_s = time.perf_counter()
    model.predict(arrays.x_test[:PREDICTED_IMAGES], callbacks=[callback], verbose=0)
    predicted_s = time.perf_counter()
    metrics = {
        "evaluate_s": evaluated_s - start_s,
        "predict_s": predicted_s - evaluated_s,
        "test_loss": logs["loss"],
        "test_accuracy": logs["accuracy"],
    }
    for key, value in metrics.items():
        reporter.send(events.Metric(key=key, value=float(value)))


def _callback(reporter: Reporter, budget_s: float = math.inf, steps_at_least: int = 0) -> Any:
    """Return the Keras callback that hands fit's progress to the reporter.

    Args:
        reporter: Gets every call.
        budget_s: Seconds after which an epoch is cut short.
        steps_at_least: Steps that it gets even so.
    """
    from keras.callbacks import Callback

    class Stopwatch(Callback):  # type: ignore[misc] # Keras ships no types
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            reporter.epoch_begin(epoch)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            loss = logs["loss"]
            if not math.isfinite(loss):
                raise WorkloadError(
                    "non_finite_loss",
                    f"The loss became {loss} at step {batch + 1}: what ran was no training any more.",
                )
            elapsed_s = reporter.step_end(loss)
            if elapsed_s > budget_s and batch + 1 >= steps_at_least:
                self.model.stop_training = True

        def on_test_begin(self, logs: Any = None) -> None:
            reporter.validation_begin()

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            reporter.check_cancel()

        def on_test_end(self, logs: Any = None) -> None:
            reporter.validation_end()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            reporter.epoch_end(
                loss=logs["loss"],
                accuracy=logs["accuracy"],
                val_loss=logs.get("val_loss"),
                val_accuracy=logs.get("val_accuracy"),
            )

    return Stopwatch()


def _check_count(what: str, done: int, asked: int | None) -> None:
    if asked is not None and done != asked:
        raise WorkloadError("internal", f"{done} {what} were counted where {asked} were asked for.")
