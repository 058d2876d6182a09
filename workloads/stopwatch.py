"""The Keras callback that hands the progress of fit, evaluate and predict to the reporter."""

import math
from typing import Any

from workloads import events
from workloads.reporter import Reporter
from workloads.workload import WorkloadError


def stopwatch(
    reporter: Reporter,
    *,
    budget_s: float = math.inf,
    steps_at_least: int = 0,
    loss_band: tuple[float, float] | None = None,
) -> Any:
    """Return the callback.

    Args:
        reporter: Gets every call.
        budget_s: Seconds after which an epoch is cut short.
        steps_at_least: Steps that it gets even so.
        loss_band: Outside of which the loss of the first epoch is warned of; None for no band.
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
                accuracy=logs.get("accuracy"),
                val_loss=logs.get("val_loss"),
                val_accuracy=logs.get("val_accuracy"),
            )
            if epoch == 0 and loss_band and not loss_band[0] <= logs["loss"] <= loss_band[1]:
                text = (
                    f"The loss of the first epoch, {logs['loss']:.4g}, is outside of what is expected "
                    f"({loss_band[0]:g} to {loss_band[1]:g}): the network may not have been trained as it should."
                )
                reporter.send(events.Warn(code="loss_out_of_band", message=text))

    return Stopwatch()
