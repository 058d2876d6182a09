"""What training leaves behind in a network: the proof that it was no pretence."""

from typing import Any

from workloads.protocol import events
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec


class Marks:
    """Remembers what a compiled network was like before the training."""

    def __init__(self, model: Any) -> None:
        self._steps = _updates(model)
        self._weights = _weights(model)

    def report(self, model: Any, spec: RunSpec, reporter: Reporter) -> None:
        """Tell how often the optimizer changed the weights, and how far those of the output layer went.

        `updates_done` must be as many as `updates_asked`, the steps that were timed; with float16, whose too
        large gradients are left out, there is no such number. `weights_changed` is the length of the change over
        that of the weights before it; a learning rate of zero leaves 0.
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
    """Return the output layer's weights: the last matrix of the network."""
    import numpy as np

    for variable in reversed(model.trainable_variables):
        if len(variable.shape) > 1:
            return np.array(variable, dtype=np.float64)
    return None
