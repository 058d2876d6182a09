"""What the networks of DLBench have in common, and the solver that study 001 uses as well."""

from typing import Any

from workloads.training.training import Training
from workloads.workload import HeadlineKey


class DlBench(Training):
    """A network of study 003, which measures seconds per mini-batch."""

    study = "003"
    source = "DLBench, arXiv 1608.07249, 2017 (study 003)"
    metric: HeadlineKey = "seconds_per_batch_s"


def gradient_descent(
    rate: Any, momentum: float = 0.0, *, categorical: bool = False, weight_decay: float | None = None
) -> dict[str, Any]:
    """Return what `compile` is given for gradient descent on scores, which the loss makes probabilities of.

    Args:
        rate: The learning rate, or its schedule.
        momentum: What remains of the step before.
        categorical: Whether labels are rows of zeros with a one.
        weight_decay: What weights lose in each step, times the rate.
    """
    from keras import losses, optimizers

    kind = losses.CategoricalCrossentropy if categorical else losses.SparseCategoricalCrossentropy
    optimizer = optimizers.SGD(rate, momentum=momentum, weight_decay=weight_decay)
    return {"optimizer": optimizer, "loss": kind(from_logits=True)}
