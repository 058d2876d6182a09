"""Watches Keras's training steps in TensorFlow's graphs, to count the examples used."""

from collections.abc import Callable
from typing import Any


class StepWatch:
    """Counts the examples of each training step within the step itself, where the optimizer updates the weights.

    Args:
        model: A compiled model.
        jit: Whether XLA compiles the step. If so, the counter must be on the step's device.
        total: Returns the sum of a number over all computers.
    """

    def __init__(self, model: Any, *, jit: bool, total: Callable[[int], int] = int) -> None:
        import tensorflow as tf

        self._tf = tf
        self._total = total
        self._predicted: Any = None
        self._place = None if jit else "CPU:0"
        with tf.device(self._place):
            self._examples = tf.Variable(0, trainable=False, dtype=tf.int64)
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> int:
        return self._total(int(self._examples.numpy()))

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the network's predictions."""
        self._predicted = named["y_pred"] if "y_pred" in named else arguments[2]
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        tf = self._tf
        if self._predicted is not None:
            # The shapes of GPU tensors are in the computer's memory, where the addition takes place.
            shapes = [tf.shape(part, out_type=tf.int64) for part in tf.nest.flatten(self._predicted)]
            with tf.device(self._place):
                sizes = [shape[0] for shape in shapes]
                self._examples.assign_add(tf.reduce_min(sizes) if sizes[1:] else sizes[0])
        return self._apply(gradients, *arguments, **named)


def copies_of(weight: Any) -> tuple[Any, ...]:
    """Return a Keras variable's copies on all devices, as TensorFlow variables."""
    copies: tuple[Any, ...] = getattr(weight.value, "values", (weight.value,))
    return copies
