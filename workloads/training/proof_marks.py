"""Traces that training leaves in a network: the proof that it was real."""

from typing import Any

from workloads.protocol import events
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec


class Marks:
    """Remembers the state of a compiled network before training."""

    def __init__(self, model: Any) -> None:
        self._steps = _updates(model)
        self._weights = _weights(model)

    def report(self, model: Any, spec: RunSpec, reporter: Reporter) -> None:
        """Report how often the optimizer updated the weights, and how far those of the output layer moved.

        `updates_done` must equal `updates_asked`, the number of timed steps; with float16, which skips gradients
        that overflow, there is no such number. `weights_changed` is the length of the change divided by that of
        the original weights; a learning rate of zero gives 0.
        """
        import numpy as np

        if spec.precision != "mixed_float16":
            reporter.send(events.Metric(key="updates_done", value=float(_updates(model) - self._steps)))
            reporter.send(events.Metric(key="updates_asked", value=float(reporter.steps_done)))
        if self._weights is not None:
            change = np.linalg.norm(_weights(model) - self._weights)
            changed = float(change / max(float(np.linalg.norm(self._weights)), 1e-30))
            reporter.send(events.Metric(key="weights_changed", value=changed))


def _updates(model: Any) -> int:
    return int(model.optimizer.iterations)


def _weights(model: Any) -> Any:
    """Return the output layer's weights: the network's last matrix."""
    import numpy as np

    for variable in reversed(model.trainable_variables):
        if len(variable.shape) > 1:
            return np.array(variable, dtype=np.float64)
    return None
