"""Watches Keras' training steps under PyTorch: what they train on, and with what operations."""

import math
from collections import Counter
from typing import Any

from workloads.engines.engine import StepEvidence

# Operations that PyTorch's own counter doesn't know.
_OPAQUE = ("_cudnn_rnn", "mkldnn_rnn_layer", "_thnn_fused_lstm_cell", "lstm_mps")


class StepWatch:
    """Counts the examples of each training step wherever the optimizer updates the weights.

    Args:
        model: A compiled model, whose steps torch.compile doesn't compile.
    """

    def __init__(self, model: Any) -> None:
        self.examples = 0
        self._model = model
        self._batch: tuple[Any, Any] | None = None
        self._predicted = 0
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def evidence(self, examples: int) -> StepEvidence:
        """Return what steps with these examples have done; one more step is made now, to count its operations."""
        given = 0 if self._batch is None else len(self._batch[0])  # before that step, which may cut its own
        counted = self._operations()
        operations = None
        if counted is not None:
            each = examples / given
            operations = Counter({name: round(each * count) for name, count in counted.items()})
        total = None if operations is None or not examples else operations.total() / examples
        return StepEvidence(examples=examples, operations_per_example=total, operations=operations)

    def _operations(self) -> Counter[str] | None:
        """Return the operations of a step by type of number; None if they can't be counted."""
        if self._batch is None:
            return None
        counter = _counter()
        self._model.train()
        with counter:
            self._model.train_step(self._batch)
        self._model.eval()
        return None if counter.is_opaque else counter.total

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and remember the batch and for how many examples the network predicted something."""
        if self._model.training:
            given = (*arguments, *(named[name] for name in ("x", "y", "y_pred")[len(arguments) :]))
            x, y, predicted = given[:3]
            self._batch = (x, y)
            # Not the predictions themselves, which would need memory until the next step.
            several = isinstance(predicted, list | tuple)
            self._predicted = min(map(len, predicted)) if several else len(predicted)
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the examples behind the predictions."""
        self.examples += self._predicted
        return self._apply(gradients, *arguments, **named)


def _counter() -> Any:
    """Return a context that counts the operations of PyTorch's calls: products and convolutions."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    backward = torch.ops.aten.convolution_backward

    class OperationCounter(TorchDispatchMode):  # type: ignore[misc] # torch isn't installed where this is checked
        def __init__(self) -> None:
            super().__init__()
            self.total: Counter[str] = Counter()
            self.is_opaque = False

        def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = call(*args, **(kwargs or {}))
            operation = call._overloadpacket
            if operation in flop_registry:
                # The last tensor is a weight or a gradient; the first of `addmm` is what is added.
                kind = str(args[1].dtype).removeprefix("torch.")
                count = _of_gradients(args) if operation is backward else None
                if count is None:
                    count = flop_registry[operation](*args, **(kwargs or {}), out_val=result)
                self.total[kind] += int(count)
            self.is_opaque = self.is_opaque or str(operation).removeprefix("aten.") in _OPAQUE
            return result

    return OperationCounter()


def _of_gradients(arguments: Any) -> int | None:
    """Return the operations of a convolution's gradients; None for a transposed one.

    Each of the two costs as much as the convolution. PyTorch's own count is too high for groups of channels.
    """
    slopes, _, weights, *_, is_transposed, _, _, wanted = arguments
    if is_transposed:
        return None
    return int(2 * slopes.numel() * math.prod(weights.shape[1:]) * sum(wanted[:2]))
