"""Feeds for images in memory, and for a single generated batch that is repeated."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.source import Arrays
from workloads.engines.registry import engine_named
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.training import Training

if TYPE_CHECKING:
    from numpy.typing import NDArray


def one_hot(labels: "NDArray[Any]", classes: int = 10) -> "NDArray[Any]":
    """Return labels as one-hot rows."""
    import numpy as np

    rows = np.zeros((labels.size, classes), np.float32)
    rows[np.arange(labels.size), labels.ravel()] = 1
    return rows


def image_feed(
    arrays: Arrays, shape: tuple[int, ...], *, categorical: bool = False, validated: bool = False
) -> Feed:
    """Return a feed of images in a network's input shape.

    Args:
        validated: Whether to use all test images for validation after each epoch.
    """
    labels = one_hot if categorical else (lambda y: y)
    validation = (arrays.x_test.reshape(-1, *shape), labels(arrays.y_test)) if validated else None
    return Feed(
        x=arrays.x_train.reshape(-1, *shape),
        y=labels(arrays.y_train),
        validation=validation,
        samples=len(arrays.x_train),
        validation_samples=len(arrays.x_test) if validated else 0,
        shape=shape,
        source=arrays.source,
        checksum=arrays.checksum,
    )


class ConstantBatch(Training):
    """Trains on a single generated batch, copied from the computer's memory in every step.

    Instead of epochs, there are 10 rounds of 100 batches.
    """

    epoch_text = message("epoch_text.rounds", batches=100)
    epochs = 10
    steps = 100
    samples_per_epoch = 0
    input_shape: tuple[int, ...]  # shape of one example
    classes: int = 1_000  # number of classes
    deviation: float = 1.0  # standard deviation of the normally distributed inputs

    def targets(self, labels: "NDArray[Any]", spec: RunSpec) -> Any:
        """Convert the labels to the form that the network's loss requires."""
        return labels

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return a feed that repeats the batch forever."""
        import numpy as np

        x, y = self.examples(np.random.default_rng(spec.seed), spec)
        batches = engine_named(spec.engine).constant(x, y)
        return Feed(x=batches, samples=spec.batch_size, shape=x.shape[1:], source="synthetic")

    def different_examples(self, spec: RunSpec, feed: Feed) -> int:
        """Return the number of examples in the batch, even if the study's epochs consist of distinct examples."""
        return spec.batch_size

    def examples(self, random: Any, spec: RunSpec) -> tuple["NDArray[Any]", Any]:
        """Generate the inputs and targets of the batch with a random number generator."""
        import numpy as np

        shape = (spec.batch_size, *self.input_shape)
        x = random.standard_normal(math.prod(shape), np.float32).reshape(shape)
        x *= np.float32(self.deviation)
        labels = random.integers(self.classes, size=spec.batch_size, dtype=np.int32)
        return x, self.targets(labels, spec)
