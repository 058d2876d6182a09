"""Watches Keras's training steps in PyTorch, to count the examples and operations used."""

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workloads.engines.engine import StepEvidence

# Operations that PyTorch's own counter doesn't support.
_OPAQUE = ("_cudnn_rnn", "mkldnn_rnn_layer", "_thnn_fused_lstm_cell", "lstm_mps")


class StepWatch:
    """Counts the examples of all training steps, and the operations of a few unpredictable ones.

    Counting slows a step with small operations by about 10 %. Therefore, operations are counted only in the first
    step and in a negligible number of others. After the nth step has been counted, the next one is chosen at
    random from the following n steps.

    Args:
        model: A compiled model whose steps aren't compiled by torch.compile.
    """

    def __init__(self, model: Any) -> None:
        self._examples = 0
        self._model = model
        self._predicted = 0
        self._steps = 0
        self._next = 1
        self._random = random.SystemRandom()  # independent of the run's seed
        self._counts: list[Counter[str] | None] = []
        self._usual_step, model.train_step = model.train_step, self._step
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> tuple[int]:
        """Return the number of examples counted so far."""
        return (self._examples,)

    def evidence(self, examples: tuple[int, ...], batch_size: int) -> StepEvidence:
        """Return the work done by steps that processed these examples, based on the smallest operation count."""
        counts = [each for each in self._counts if each is not None]
        if not counts or None in self._counts:
            return StepEvidence(examples=sum(examples))
        least = min(counts, key=Counter.total)
        shares: Counter[str] = sum(counts, Counter())
        return StepEvidence(
            examples=sum(examples),
            operations_per_example=least.total(),
            operations=shares,
            steps_counted=len(counts),
        )

    def _step(self, data: Any) -> Any:
        """Run a training step, and count its operations if it is selected."""
        self._steps += 1
        if self._steps < self._next:
            return self._usual_step(data)
        self._next = self._steps + 1 + self._random.randrange(self._steps)
        counter = _counter()
        with counter:
            result = self._usual_step(data)
        given = _length(data[0])
        total = counter.total(weight.value for weight in self._model.trainable_variables)
        each = Counter({name: round(count / given) for name, count in total.items()})
        self._counts.append(None if counter.is_opaque else each)
        return result

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the number of examples that the network predicted."""
        if self._model.training:
            # Don't keep the predictions. They would occupy memory until the next step.
            self._predicted = _length(named["y_pred"] if "y_pred" in named else arguments[2])
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples."""
        self._examples += self._predicted
        return self._apply(gradients, *arguments, **named)


def _length(tensors: Any) -> int:
    """Return the number of examples in one or more tensors."""
    return min(map(len, tensors)) if isinstance(tensors, list | tuple) else len(tensors)


@dataclass(slots=True)
class _Call:
    """A call to an operation: its operation count, its number type, and the calls that it depends on."""

    count: int
    kind: str
    origins: list["_Call"]


def _behind(calls: Iterable[_Call]) -> Counter[str]:
    """Return the operation count of these calls and all their dependencies, by number type."""
    total: Counter[str] = Counter()
    waiting, seen = list(calls), set()
    while waiting:
        call = waiting.pop()
        if id(call) not in seen:
            seen.add(id(call))
            waiting += call.origins
            total[call.kind] += call.count
    return +total


def _counter() -> Any:
    """Return a context manager that counts the operations of PyTorch's products and convolutions.

    The context manager records the dependencies of each call. The `total` method includes only operations behind
    the new values of the given tensors.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class OperationCounter(TorchDispatchMode):  # type: ignore[misc] # torch isn't installed where this is checked
        def __init__(self) -> None:
            super().__init__()
            self.is_opaque = False
            self._last: dict[int, _Call] = {}  # the last call that wrote to a memory address

        def total(self, tensors: Iterable[Any]) -> Counter[str]:
            places = [_place(each) for each in tensors]
            return _behind(self._last[place] for place in places if place in self._last)

        def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            given = [each for each in tree_leaves((args, named)) if isinstance(each, torch.Tensor)]
            before = [self._last[place] for place in map(_place, given) if place in self._last]
            result = call(*args, **named)
            count, kind = _count_of(call._overloadpacket, args, named, result)
            done = _Call(count, kind, before)
            results = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
            for place in map(_place, [*results, *_written(call, args, named)]):
                if place:  # 0 for an empty tensor
                    self._last[place] = done
            self.is_opaque = self.is_opaque or str(call._overloadpacket).removeprefix("aten.") in _OPAQUE
            return result

    return OperationCounter()


def _place(tensor: Any) -> int:
    """Return the address of a tensor's memory. Views share it."""
    return int(tensor.untyped_storage().data_ptr())


def _written(call: Any, args: Any, named: Any) -> list[Any]:
    """Return the arguments that a call modifies."""
    tensors: list[Any] = []
    for place, argument in enumerate(call._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else named.get(argument.name)
            tensors += value if isinstance(value, list | tuple) else [value]
    return [each for each in tensors if each is not None]


def _count_of(operation: Any, args: Any, named: Any, result: Any) -> tuple[int, str]:
    """Return the number of operations in a call and their number type."""
    import torch
    from torch.utils.flop_counter import flop_registry

    if operation not in flop_registry:
        return 0, ""
    count = _of_gradients(args) if operation is torch.ops.aten.convolution_backward else None
    if count is None:
        count = flop_registry[operation](*args, **named, out_val=result)
    # The last argument is a weight or a gradient. The first argument of `addmm` is the addend.
    return int(count), str(args[1].dtype).removeprefix("torch.")


def _of_gradients(arguments: Any) -> int | None:
    """Return the number of operations for a convolution's gradients; None for a transposed convolution.

    Each of the two gradients costs as much as the convolution. PyTorch's own count is too high for grouped
    convolutions.
    """
    slopes, _, weights, *_, is_transposed, _, _, wanted = arguments
    if is_transposed:
        return None
    return int(2 * slopes.numel() * math.prod(weights.shape[1:]) * sum(wanted[:2]))
