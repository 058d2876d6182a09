"""Watches Keras's training steps in TensorFlow's graphs, to count the examples and operations used."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from workloads.engines.engine import StepEvidence
from workloads.engines.tensorflow_graph import UncountableError, matrix_operations

# Each traced form of the step has its own counter. Keras traces the first form twice, then a form for an
# incomplete last batch. Any further forms share the last counter.
_FORMS = 8
# The analysis uses undocumented parts of TensorFlow. If they change, the run must still succeed.
_UNFORESEEN = (AttributeError, ImportError, LookupError, TypeError, ValueError)
_log = logging.getLogger(__name__)


class StepWatch:
    """Counts the examples of each training step, and records the graphs traced for it.

    The step itself does the counting, with one integer addition where the optimizer updates the weights.

    Args:
        model: A compiled model.
        jit: Whether XLA compiles the step. If so, the counter must be on the step's device.
        machines: Number of computers that train the model.
        total: Returns the sums of numbers over all computers.
    """

    def __init__(
        self,
        model: Any,
        *,
        jit: bool,
        machines: int = 1,
        total: Callable[[tuple[int, ...]], tuple[int, ...]] = tuple,
    ) -> None:
        import tensorflow as tf

        self._tf = tf
        self._model = model
        self._machines, self._total = machines, total
        self._forms: list[Any] = []
        self._predicted: Any = None
        self._place = None if jit else "CPU:0"
        with tf.device(self._place):
            self._examples = [tf.Variable(0, trainable=False, dtype=tf.int64) for _ in range(_FORMS)]
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> tuple[int, ...]:
        """Return the number of examples counted so far, for each compiled form of the step."""
        return self._total(tuple(int(count.numpy()) for count in self._examples))

    def evidence(self, examples: tuple[int, ...], batch_size: int) -> StepEvidence:
        """Return the work done by steps that processed these examples. The analysis takes up to a second."""
        operations: Counter[str] | None = Counter()
        # On several devices, each one has copies of the weights, and a part of the batch.
        copies = [copies_of(weight) for weight in self._model.trainable_variables]
        weights = [copy for each in copies for copy in each]
        part = batch_size // (self._machines * max(map(len, copies), default=1))
        for graph, seen in zip(self._forms, examples, strict=False):
            if not seen or operations is None:
                continue
            try:
                counted = matrix_operations(graph, weights, part)
            except (UncountableError, *_UNFORESEEN, self._tf.errors.OpError):
                _log.info("The operations of a training step can't be counted.", exc_info=True)
                operations = None
            else:
                # The graph contains only this computer's part of a batch.
                times = self._machines * seen
                operations.update({name: times * count for name, count in counted.items()})
        total = sum(examples)
        if self._is_rewritten():
            operations = None if operations is None else Counter({"rewritten": operations.total()})
        each = None if operations is None or not total else operations.total() / (batch_size * total)
        return StepEvidence(examples=total, operations_per_example=each, operations=operations)

    def _is_rewritten(self) -> bool:
        """Return whether TensorFlow is configured to change the graph's precision."""
        options = self._tf.config.optimizer.get_experimental_options()
        return any(is_on for name, is_on in options.items() if name.startswith("auto_mixed_precision"))

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the network's predictions."""
        self._predicted = named["y_pred"] if "y_pred" in named else arguments[2]
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        tf = self._tf
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        # On several devices, each one's part of the step is traced in the same graph.
        if graph is not None and not (self._forms and self._forms[-1] is graph):
            self._forms.append(graph)
        form = max(0, min(len(self._forms), _FORMS) - 1)
        if self._predicted is not None:
            # The shapes of GPU tensors are in the computer's memory, where the addition takes place.
            shapes = [tf.shape(part, out_type=tf.int64) for part in tf.nest.flatten(self._predicted)]
            with tf.device(self._place):
                sizes = [shape[0] for shape in shapes]
                self._examples[form].assign_add(tf.reduce_min(sizes) if sizes[1:] else sizes[0])
        return self._apply(gradients, *arguments, **named)


def copies_of(weight: Any) -> tuple[Any, ...]:
    """Return a Keras variable's copies on all devices, as TensorFlow variables."""
    copies: tuple[Any, ...] = getattr(weight.value, "values", (weight.value,))
    return copies
