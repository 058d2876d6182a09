"""The Keras callback that reports the progress of `fit`, `evaluate` and `predict`."""

import math
from collections.abc import Callable
from typing import Any

from workloads.engines.setup import peak_bytes
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message
from workloads.protocol.reporter import Reporter

# By then, an engine has allocated everything that a step needs. Later growth depends on the number of steps.
SETTLED_STEPS = 50


def stopwatch(
    reporter: Reporter,
    *,
    is_over: Callable[[], bool] = lambda: False,
    proof_steps: int | None = None,
    loss_band: tuple[float, float] | None = None,
    batches_per_step: int = 1,
) -> Any:
    """Return the callback that times training.

    Args:
        reporter: Receives the progress of epochs, steps and validation.
        is_over: Called after each training step. Returns whether to stop training.
        proof_steps: Number of steps in the first epoch after which the mean loss is reported; None to skip this.
        loss_band: Expected range of the first epoch's loss. Any other loss triggers a warning. None for no range.
        batches_per_step: Number of batches that Keras trains with before it updates the weights.
    """
    from keras.callbacks import Callback

    class Stopwatch(Callback):  # type: ignore[misc] # Keras ships no types
        passes = 0  # through the validation or test data, if their examples are counted
        validated = 0  # examples in these passes

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch
            reporter.epoch_begin(epoch)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            loss = logs["loss"]
            if not math.isfinite(loss):
                said = message("training.diverged", loss=str(loss), step=batch // batches_per_step + 1)
                raise WorkloadError("non_finite_loss", said)
            if (batch + 1) % batches_per_step:
                return
            reporter.step_end(loss)
            if self.epoch == 0:
                _report_mark((batch + 1) // batches_per_step, proof_steps, loss, reporter)
            self.model.stop_training |= is_over()

        def on_test_begin(self, logs: Any = None) -> None:
            _wait(self.model)
            reporter.validation_begin()

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            reporter.validation_batch_end()

        def on_test_end(self, logs: Any = None) -> None:
            reporter.validation_end()
            passes, examples = _pass_of_loss(self.model)
            self.passes += passes
            self.validated += examples

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            _wait(self.model)
            loss = logs["loss"]
            reporter.epoch_end(
                loss=loss,
                accuracy=logs.get("accuracy"),
                val_loss=logs.get("val_loss"),
                val_accuracy=logs.get("val_accuracy"),
            )
            _check_loss(loss, loss_band if epoch == 0 else None, reporter)

        def finish(self) -> None:
            """Report the work that followed the last epoch. Call this after `fit`."""
            reporter.training_end()

    return Stopwatch()


def _check_loss(loss: float, band: tuple[float, float] | None, reporter: Reporter) -> None:
    low, high = band or (loss, loss)
    if not low <= loss <= high:
        said = message("warning.loss_out_of_band", loss=loss, low=low, high=high)
        reporter.send(events.Warn(code="loss_out_of_band", said=said))


def _pass_of_loss(model: Any) -> tuple[int, int]:
    """Return (1, the number of examples in the mean loss of the pass that just ended); zeros if it's unknown."""
    import numpy as np

    tracker = getattr(model, "_loss_tracker", None)
    return (0, 0) if tracker is None else (1, round(float(np.array(tracker.count))))


def _wait(model: Any) -> None:
    """Wait until the device has finished all steps, by reading the smallest weight."""
    import numpy as np

    if model.trainable_variables:
        np.array(min(model.trainable_variables, key=lambda variable: math.prod(variable.shape)))


def _report_mark(steps: int, proof_steps: int | None, loss: float, reporter: Reporter) -> None:
    """Report the values that are due after this many steps of the first epoch."""
    if steps == proof_steps:
        reporter.send(events.Metric(key="proof_loss", value=loss))
    if steps == SETTLED_STEPS and (peak := peak_bytes()) is not None:
        reporter.send(events.Metric(key="settled_memory_bytes", value=float(peak)))
