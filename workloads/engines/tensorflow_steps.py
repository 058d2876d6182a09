"""Watches Keras' training steps inside TensorFlow's graphs: what they train on, and with what operations."""

import logging
from collections import Counter
from typing import Any

from workloads.engines.engine import StepEvidence
from workloads.engines.tensorflow_graph import UncountableError, matrix_operations

# Each traced form of the step counts by itself. Keras traces the first one twice, then one for the other size of a
# last batch; any others share the last count.
_FORMS = 8
# The analysis uses parts of TensorFlow that aren't documented: it must not cost a run if they change.
_UNFORESEEN = (AttributeError, ImportError, LookupError, TypeError, ValueError)
_log = logging.getLogger(__name__)


class StepWatch:
    """Counts the examples of each training step, and remembers the graphs that were traced for it.

    The step itself does the counting, wherever the optimizer updates the weights: one addition of a whole number.

    Args:
        model: A compiled model.
        jit: Whether XLA compiles the step; it needs the count on the step's device.
    """

    def __init__(self, model: Any, *, jit: bool) -> None:
        import tensorflow as tf

        self._tf = tf
        self._model = model
        self._forms: list[Any] = []
        self._predicted: Any = None
        self._place = None if jit else "CPU:0"
        with tf.device(self._place):
            self._examples = [tf.Variable(0, trainable=False, dtype=tf.int64) for _ in range(_FORMS)]
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> tuple[int, ...]:
        """Return how many examples each form of the step has counted so far."""
        return tuple(int(count.numpy()) for count in self._examples)

    def evidence(self, examples: tuple[int, ...], batch_size: int) -> StepEvidence:
        """Return what steps with these examples have done; the graphs are analysed now, in up to a second."""
        operations: Counter[str] | None = Counter()
        weights = self._model.trainable_variables
        for graph, seen in zip(self._forms, examples, strict=False):
            if not seen or operations is None:
                continue
            try:
                counted = matrix_operations(graph, weights, batch_size)
            except (UncountableError, *_UNFORESEEN, self._tf.errors.OpError):
                _log.info("The operations of a training step can't be counted.", exc_info=True)
                operations = None
            else:
                operations.update({name: count * seen for name, count in counted.items()})
        total = sum(examples)
        if self._is_rewritten():
            operations = None if operations is None else Counter({"rewritten": operations.total()})
        each = None if operations is None or not total else operations.total() / (batch_size * total)
        return StepEvidence(examples=total, operations_per_example=each, operations=operations)

    def _is_rewritten(self) -> bool:
        """Return whether TensorFlow was told to compute in another precision than the graph says."""
        options = self._tf.config.optimizer.get_experimental_options()
        return any(is_on for name, is_on in options.items() if name.startswith("auto_mixed_precision"))

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and remember what the network predicted."""
        self._predicted = named["y_pred"] if "y_pred" in named else arguments[2]
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the examples behind the predictions: runs when a step is traced."""
        tf = self._tf
        form = min(len(self._forms), _FORMS - 1)
        if not tf.executing_eagerly():
            self._forms.append(tf.compat.v1.get_default_graph())
        if self._predicted is not None:
            # A GPU knows the shapes of its tensors in the computer's memory, where the addition is made.
            shapes = [tf.shape(part, out_type=tf.int64) for part in tf.nest.flatten(self._predicted)]
            with tf.device(self._place):
                sizes = [shape[0] for shape in shapes]
                self._examples[form].assign_add(tf.reduce_min(sizes) if sizes[1:] else sizes[0])
        return self._apply(gradients, *arguments, **named)
