"""Evidence that training really happened, based on the changes it makes to a network."""

import operator
import zlib
from typing import Any

from workloads.protocol import events
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec


class TrainingEvidence:
    """Compares a network before and after training. Create this object before training."""

    def __init__(self, model: Any) -> None:
        self._steps = _updates(model)
        self._weights = _weights(model)
        self._frozen = _frozen(model)

    def report(self, model: Any, spec: RunSpec, reporter: Reporter) -> None:
        """Report the number of weight updates by the optimizer, the change in the last layer, and frozen weights.

        `updates_done` must equal `updates_asked`, the number of timed steps. Both metrics are omitted for float16,
        because updates whose gradients overflow are skipped. `weights_changed` is the norm of the change divided
        by the norm of the original weights; it is 0 for a learning rate of zero. `frozen_kept`, the number of
        frozen matrices that didn't change, must equal `frozen_asked`, the number of all; without any, both are
        omitted.
        """
        import numpy as np

        if spec.precision != "mixed_float16":
            reporter.send(events.Metric(key="updates_done", value=float(_updates(model) - self._steps)))
            reporter.send(events.Metric(key="updates_asked", value=float(reporter.steps_done)))
        if self._weights is not None:
            change = np.linalg.norm(_weights(model) - self._weights)
            changed = float(change / max(float(np.linalg.norm(self._weights)), 1e-30))
            reporter.send(events.Metric(key="weights_changed", value=changed))
        if self._frozen:
            kept = sum(map(operator.eq, self._frozen, _frozen(model)))
            reporter.send(events.Metric(key="frozen_kept", value=float(kept)))
            reporter.send(events.Metric(key="frozen_asked", value=float(len(self._frozen))))


def report_steps(examples_done: int | None, steps: int, examples_asked: int, reporter: Reporter) -> None:
    """Report the examples used in the timed steps as counted by the engine, and their expected number.

    `examples_done` must not be less than `examples_asked`. `steps_counted` is the number of steps whose examples
    were counted; 0 means none.
    """
    reporter.send(events.Metric(key="steps_counted", value=0.0 if examples_done is None else float(steps)))
    if examples_done is not None:
        reporter.send(events.Metric(key="examples_done", value=float(examples_done)))
        reporter.send(events.Metric(key="examples_asked", value=float(examples_asked)))


def report_distinct(distinct: int | None, declared: int, reporter: Reporter) -> None:
    if distinct is not None:
        reporter.send(events.Metric(key="examples_distinct", value=float(distinct)))
        reporter.send(events.Metric(key="examples_declared", value=float(declared)))


def least_examples(
    steps: int, batch_size: int, examples: int, steps_per_pass: int, *, is_stream: bool = False
) -> int:
    """Return the minimum number of examples that this many training steps use.

    Args:
        examples: Examples per pass; 0 if there are no passes because one batch is repeated.
        steps_per_pass: Steps per pass.
        is_stream: Whether the incomplete batch may be anywhere in a pass, not only at its end.
    """
    missing = max(0, steps_per_pass * batch_size - examples) if examples else 0
    return max(0, steps * batch_size - (steps // steps_per_pass + is_stream) * missing)


def _updates(model: Any) -> int:
    import numpy as np

    return int(np.array(model.optimizer.iterations))  # on several devices, it is a mirrored variable


def _weights(model: Any) -> Any:
    """Return the trained matrices of the network's last layer as one row; None if there are none."""
    import numpy as np

    matrices = [variable for variable in model.trainable_variables if len(variable.shape) > 1]
    if not matrices:
        return None
    layers = [getattr(matrix, "path", "").rpartition("/")[0] for matrix in matrices]
    last = [matrix for matrix, layer in zip(matrices, layers, strict=True) if layer == layers[-1]]
    return np.concatenate([np.array(matrix, dtype=np.float64).ravel() for matrix in last])


def _frozen(model: Any) -> list[int]:
    """Return a checksum of every sixteenth row of each matrix that isn't trained."""
    matrices = [variable for variable in model.non_trainable_variables if len(variable.shape) > 1]
    if not matrices:
        return []
    from keras import ops

    return [zlib.crc32(ops.convert_to_numpy(matrix[::16]).tobytes()) for matrix in matrices]
