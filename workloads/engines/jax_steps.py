"""Watches Keras' training steps inside the programs that JAX traces: what they train on, with what operations."""

import logging
import math
from collections import Counter
from typing import Any

from workloads.engines.engine import StepEvidence

# Each traced form of the step counts by itself; any others share the last count.
_FORMS = 8
_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_OPAQUE = ("while", "custom_call", "rnn", "rnn_fwd", "rnn_bwd", "ffi_call", "pallas_call")
# The analysis uses parts of JAX that aren't documented: it must not cost a run if they change.
_UNFORESEEN = (AttributeError, ImportError, LookupError, TypeError, ValueError)
_log = logging.getLogger(__name__)


class UncountableError(Exception):
    """A program's operations can't be counted, because of this operation."""


class StepWatch:
    """Counts the examples of each training step, inside the step, wherever the optimizer updates the weights.

    Args:
        model: A compiled model, not yet built by `fit`; without loss scaling, which may skip updates.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._forms: list[tuple[Any, Any]] = []
        self._traced: tuple[Any, Any, int] | None = None
        self._is_over = False
        optimizer = model.optimizer
        self._counts = [
            optimizer.add_variable((), dtype="int32", name=f"examples_{form}") for form in range(_FORMS)
        ]
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, optimizer.apply = optimizer.apply, self._count

    def examples(self) -> tuple[int, ...]:
        """Return how many examples each form of the step has counted so far."""
        return tuple(int(count.value) for count in self._counts)

    def evidence(self, examples: tuple[int, ...]) -> StepEvidence:
        """Return what steps with these examples have done; the programs are traced again, and analysed, now."""
        self._is_over = True
        operations: Counter[str] | None = Counter()
        for (x, y), seen in zip(self._forms, examples, strict=False):
            if not seen or operations is None:
                continue
            try:
                counted = self._operations(x, y)
            except (UncountableError, *_UNFORESEEN):
                _log.info("The operations of a training step can't be counted.", exc_info=True)
                operations = None
            else:
                each = seen / _length(x)
                operations.update({name: round(each * count) for name, count in counted.items()})
        total = sum(examples)
        per_example = None if operations is None or not total else operations.total() / total
        return StepEvidence(examples=total, operations_per_example=per_example, operations=operations)

    def _operations(self, x: Any, y: Any) -> Counter[str]:
        import jax

        kinds = ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables")
        state = self._model._get_jax_state(**dict.fromkeys(kinds, True))
        return matrix_operations(jax.make_jaxpr(self._model.train_step)(state, (x, y)).jaxpr)

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and remember the shapes of the batch and of what the network predicted."""
        import jax

        given = (*arguments, *(named[name] for name in ("x", "y", "y_pred")[len(arguments) :]))
        x, y, predicted = (jax.tree.map(_shape, part) for part in given[:3])
        self._traced = (x, y, _length(predicted))
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the examples behind the predictions: runs when a step is traced."""
        result = self._apply(gradients, *arguments, **named)
        if self._traced is not None:
            x, y, length = self._traced
            form = min(len(self._forms), _FORMS - 1)
            if not self._is_over:
                self._forms.append((x, y))
            self._counts[form].assign_add(length)
        return result


def matrix_operations(program: Any) -> Counter[str]:
    """Count a traced program's products and convolutions by type of number, an addition as one operation.

    Raises:
        UncountableError: It has a loop of unknown length, or an operation of unknown contents.
    """
    total: Counter[str] = Counter()
    for equation in program.eqns:
        name = equation.primitive.name
        if name in _OPAQUE and (name != "while" or _has_products(equation)):
            raise UncountableError(name)
        if name == "dot_general":
            left = equation.invars[0].aval
            (inner, _), _ = equation.params["dimension_numbers"]
            size = math.prod(left.shape[axis] for axis in inner) * math.prod(equation.outvars[0].aval.shape)
            total[left.dtype.name] += 2 * size
        elif name == "conv_general_dilated":
            total[equation.invars[0].aval.dtype.name] += _convolution(equation)
        elif name == "cond":
            branches = [matrix_operations(each.jaxpr) for each in equation.params["branches"]]
            total.update(min(branches, key=lambda counted: sum(counted.values())))
        else:
            times = int(equation.params["length"]) if name == "scan" else 1
            for inner_program in _inner(equation):
                counted = matrix_operations(inner_program)
                total.update({kind: times * count for kind, count in counted.items()})
    return total


def _convolution(equation: Any) -> int:
    """Return a multiplication and an addition for each weight of a convolution that meets a number.

    The gradient of strided inputs is a convolution over numbers with zeros between them, which don't count.
    """
    numbers = equation.params["dimension_numbers"]
    filters = equation.invars[1].aval.shape
    per_output = math.prod(filters[axis] for axis in (numbers.rhs_spec[1], *numbers.rhs_spec[2:]))
    outputs, spread = math.prod(equation.outvars[0].aval.shape), math.prod(equation.params["lhs_dilation"])
    return int(2 * outputs * per_output // spread)


def _inner(equation: Any) -> list[Any]:
    programs = [equation.params[name] for name in _INNER if name in equation.params]
    return [getattr(each, "jaxpr", each) for each in programs[:1]]


def _has_products(equation: Any) -> bool:
    body = equation.params["body_jaxpr"].jaxpr
    return bool(matrix_operations(body))


def _shape(array: Any) -> Any:
    import jax

    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _length(arrays: Any) -> int:
    """Return the number of examples in one or several arrays."""
    import jax

    return min(int(array.shape[0]) for array in jax.tree.leaves(arrays))
