"""Watches Keras's training steps in the programs that JAX traces, to count the examples used."""

from typing import Any


class StepWatch:
    """Counts the examples of each training step within the step itself, where the optimizer updates the weights.

    Args:
        model: A compiled model that `fit` hasn't built yet.
    """

    def __init__(self, model: Any) -> None:
        self._predicted = 0
        self._optimizer = optimizer = model.optimizer
        self._examples = optimizer.add_variable((), dtype="int32", name="examples")
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, optimizer.stateless_apply = optimizer.stateless_apply, self._count

    def examples(self) -> int:
        return int(self._examples.value)

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the number of examples that the network predicted."""
        self._predicted = _length(named["y_pred"] if "y_pred" in named else arguments[2])
        return self._compute_loss(*arguments, **named)

    def _count(self, optimizer_variables: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        weights, variables = self._apply(optimizer_variables, *arguments, **named)
        variables = [
            value + self._predicted if variable is self._examples else value
            for variable, value in zip(self._optimizer.variables, variables, strict=True)
        ]
        return weights, variables


def _length(arrays: Any) -> int:
    """Return the number of examples in one or more arrays."""
    import jax

    return min(int(array.shape[0]) for array in jax.tree.leaves(arrays))
