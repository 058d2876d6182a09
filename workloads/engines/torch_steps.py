"""Watches Keras's training steps in PyTorch, to count the examples used."""

from typing import Any


class StepWatch:
    """Counts the examples of all training steps.

    Args:
        model: A compiled model whose steps aren't compiled by torch.compile.
    """

    def __init__(self, model: Any) -> None:
        self._examples = 0
        self._model = model
        self._predicted = 0
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> int:
        return self._examples

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the number of examples that the network predicted."""
        if self._model.training:
            # Don't keep the predictions. They would occupy memory until the next step.
            self._predicted = _length(named["y_pred"] if "y_pred" in named else arguments[2])
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        self._examples += self._predicted
        return self._apply(gradients, *arguments, **named)


def _length(tensors: Any) -> int:
    """Return the number of examples in one or more tensors."""
    return min(map(len, tensors)) if isinstance(tensors, list | tuple) else len(tensors)
