"""Base class of DLBench's networks, and the solver they share with study 001."""

from typing import Any

from workloads.training.training import Training
from workloads.workload import HeadlineKey


class DlBench(Training):
    """A network from study 003, measured in seconds per mini-batch."""

    study = "003"
    source = "DLBench, arXiv 1608.07249, 2017 (study 003)"
    metric: HeadlineKey = "seconds_per_batch_s"


def gradient_descent(
    rate: Any, momentum: float = 0.0, *, categorical: bool = False, weight_decay: float | None = None
) -> dict[str, Any]:
    """Return the arguments of `compile` for gradient descent with a cross-entropy loss on logits.

    Args:
        weight_decay: Weight decay per step, multiplied by the learning rate.
    """
    from keras import losses, optimizers

    kind = losses.CategoricalCrossentropy if categorical else losses.SparseCategoricalCrossentropy
    optimizer = optimizers.SGD(rate, momentum=momentum, weight_decay=weight_decay)
    return {"optimizer": optimizer, "loss": kind(from_logits=True)}
