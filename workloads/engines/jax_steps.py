"""Watches Keras's training steps in the programs that JAX traces, to count the examples and operations used."""

import logging
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from workloads.engines.engine import StepEvidence

# Each traced form of the step has its own counter. Any further forms share the last counter.
_FORMS = 8
_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_OPAQUE = ("while", "custom_call", "rnn", "rnn_fwd", "rnn_bwd", "ffi_call", "pallas_call")
# The analysis uses undocumented parts of JAX. If they change, the run must still succeed.
_UNFORESEEN = (AttributeError, ImportError, LookupError, TypeError, ValueError)
_log = logging.getLogger(__name__)


class UncountableError(Exception):
    """A program's operations can't be counted. The argument names the operation responsible."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A training step traced and compiled for batches of one shape.

    Attributes:
        program: The part of the program on which the new weights depend.
        given: Number of examples passed to the step.
        counted: Number of examples counted by the step.
    """

    program: Any
    given: int
    counted: int


class StepWatch:
    """Counts the examples of each training step within the step itself, where the optimizer updates the weights.

    Args:
        model: A compiled model that `fit` hasn't built yet.
    """

    def __init__(self, model: Any) -> None:
        self._forms: list[_Form] = []
        self._predicted = 0
        self._counted = 0
        self._optimizer = optimizer = model.optimizer
        self._counts = [
            optimizer.add_variable((), dtype="int32", name=f"examples_{form}") for form in range(_FORMS)
        ]
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, optimizer.stateless_apply = optimizer.stateless_apply, self._count
        self._usual_step, model.train_step = model.train_step, self._step

    def examples(self) -> tuple[int, ...]:
        """Return the number of examples counted so far, for each compiled form of the step."""
        return tuple(int(count.value) for count in self._counts)

    def evidence(self, examples: tuple[int, ...], batch_size: int) -> StepEvidence:
        """Return the work done by steps that processed these examples, by analysing the steps' programs."""
        operations: Counter[str] | None = Counter()
        given = 0.0
        for form, seen in zip(self._forms, examples, strict=False):
            if not seen or operations is None:
                continue
            steps = seen / form.counted
            given += steps * form.given
            try:
                counted = matrix_operations(form.program)
            except (UncountableError, *_UNFORESEEN):
                _log.info("The operations of a training step can't be counted.", exc_info=True)
                operations = None
            else:
                operations.update({name: round(steps * count) for name, count in counted.items()})
        per_example = None if operations is None or not given else operations.total() / given
        return StepEvidence(examples=sum(examples), operations_per_example=per_example, operations=operations)

    def _step(self, state: Any, data: Any) -> Any:
        """Run a training step. While it is being traced, record the program that will be compiled."""
        import jax

        numbers, _ = jax.tree.flatten((state, data))
        if not any(isinstance(each, jax.core.Tracer) for each in numbers):
            return self._usual_step(state, data)
        self._counted = 0
        program, shapes = jax.make_jaxpr(self._usual_step, return_shape=True)(state, data)
        self._note(program.jaxpr, shapes, _length(data))
        results = jax.core.eval_jaxpr(program.jaxpr, program.consts, *numbers)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    def _note(self, program: Any, shapes: Any, given: int) -> None:
        """Record a form of the step if it counts examples."""
        if not self._counted:
            return
        try:
            pruned = _behind_weights(program, shapes)
        except _UNFORESEEN:
            _log.info("The operations of a training step can't be counted.", exc_info=True)
            pruned = None
        self._forms.append(_Form(pruned, given, self._counted))

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        """Compute the loss, and record the number of examples that the network predicted."""
        self._predicted = _length(named["y_pred"] if "y_pred" in named else arguments[2])
        return self._compute_loss(*arguments, **named)

    def _count(self, optimizer_variables: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        weights, variables = self._apply(optimizer_variables, *arguments, **named)
        count = self._counts[min(len(self._forms), _FORMS - 1)]
        self._counted += self._predicted
        variables = [
            value + self._predicted if variable is count else value
            for variable, value in zip(self._optimizer.variables, variables, strict=True)
        ]
        return weights, variables


def _behind_weights(program: Any, shapes: Any) -> Any:
    """Return the part of a training step's program that its new weights depend on. XLA removes unused parts."""
    import jax
    from jax.interpreters.partial_eval import dce_jaxpr

    logs, (weights, *others) = shapes
    is_used = [
        is_weight
        for part, is_weight in ((logs, False), (weights, True), (others, False))
        for _ in jax.tree.leaves(part)
    ]
    return dce_jaxpr(program, is_used)[0]


def matrix_operations(program: Any) -> Counter[str]:
    """Count the operations of products and convolutions in a traced program by number type, including additions.

    Raises:
        UncountableError: The program contains a loop of unknown length or an operation whose contents are unknown.
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
    """Count a multiplication and an addition for each pair of a convolution weight and an actual input.

    The gradient of a strided convolution convolves numbers interleaved with zeros. The zeros aren't counted.
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


def _length(arrays: Any) -> int:
    """Return the number of examples in one or more arrays."""
    import jax

    return min(int(array.shape[0]) for array in jax.tree.leaves(arrays))
