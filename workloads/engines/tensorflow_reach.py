"""What of a TensorFlow graph, and of the functions that it calls, some of its results depend on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Operations that call functions, by how they do it.
CALL = {
    "calls": ("PartitionedCall", "StatefulPartitionedCall"),
    "branches": ("If", "StatelessIf"),
    "loops": ("While", "StatelessWhile"),
}
_BRANCHES = ("then_branch", "else_branch")
_WRITES = ("Assign", "Resource")
_READS = ("ResourceGather",)


class UncountableError(Exception):
    """The graph doesn't say how much is computed."""


@dataclass(slots=True)
class Goal:
    """What is wanted of an operation or a function.

    Attributes:
        results: Places of results.
        variables: Places among its inputs of variables whose new values are wanted.
    """

    results: set[int] = field(default_factory=set)
    variables: set[int] = field(default_factory=set)

    @property
    def key(self) -> tuple[frozenset[int], frozenset[int]]:
        """The same, as a key."""
        return frozenset(self.results), frozenset(self.variables)

    def branches(self) -> Iterator[tuple[str, "Goal"]]:
        """Yield the branches of a condition, which is the first input, and what is wanted of them."""
        for name in _BRANCHES:
            yield name, Goal(self.results, {place - 1 for place in self.variables})


@dataclass(slots=True)
class Body:
    """A function: its graph, and the tensors that it takes and returns."""

    graph: Any
    inputs: list[Any]
    results: list[Any]


@dataclass(slots=True)
class Reached:
    """What a goal depends on.

    Attributes:
        operations: Each with what is wanted of it.
        inputs: Places of the function's inputs.
    """

    operations: dict[Any, Goal] = field(default_factory=dict)
    inputs: set[int] = field(default_factory=set)


class Reach:
    """Finds what goals depend on; subclasses load the functions."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[Any, str], Body] = {}
        self._reached: dict[tuple[int, Any], Reached] = {}
        self._writers: dict[int, dict[int, list[tuple[Any, int]]]] = {}

    def load(self, operation: Any, attribute: str, inputs: Iterable[Any]) -> Body:
        """Return a function that an operation calls with these inputs."""
        raise NotImplementedError

    def called(self, operation: Any, attribute: str) -> Body:
        """Return a function that an operation calls."""
        if (operation, attribute) not in self._bodies:
            inputs = operation.inputs[1:] if attribute in _BRANCHES else operation.inputs
            self._bodies[operation, attribute] = self.load(operation, attribute, inputs)
        return self._bodies[operation, attribute]

    def behind(self, body: Body, goal: Goal) -> Reached:
        """Return what a goal depends on, within a function."""
        key = (id(body), goal.key)
        if key not in self._reached:
            self._reached[key] = self._walk(body, goal)
        return self._reached[key]

    def _walk(self, body: Body, goal: Goal) -> Reached:
        reached = Reached()
        places = {tensor.name: place for place, tensor in enumerate(body.inputs)}
        waiting = [body.results[place] for place in goal.results]
        waiting += self._want_writers(body, goal.variables, reached)
        seen: set[str] = set()
        while waiting:
            tensor = waiting.pop()
            if tensor.name in seen:
                continue
            seen.add(tensor.name)
            place = places.get(tensor.name)
            if place is None:
                waiting += self._want(tensor.op, Goal({tensor.value_index}), reached)
                continue
            reached.inputs.add(place)
            if tensor.dtype.name == "resource":  # its value is what was written before
                waiting += self._want_writers(body, {place}, reached)
        return reached

    def _want_writers(self, body: Body, variables: Iterable[int], reached: Reached) -> list[Any]:
        """Note that all that changes some variables is wanted; return the tensors that it needs."""
        writers = self._writers_in(body)
        changes = [each for variable in variables for each in writers.get(variable, ())]
        return [
            tensor
            for operation, place in changes
            for tensor in self._want(operation, Goal(variables={place}), reached)
        ]

    def _want(self, operation: Any, more: Goal, reached: Reached) -> list[Any]:
        """Note what is wanted of an operation; return the tensors that it needs for that."""
        goal = reached.operations.get(operation)
        if goal is not None and more.results <= goal.results and more.variables <= goal.variables:
            return []
        goal = reached.operations.setdefault(operation, Goal())
        goal.results |= more.results
        goal.variables |= more.variables
        return [operation.inputs[place] for place in self._needed(operation, goal)]

    def _needed(self, operation: Any, goal: Goal) -> Iterable[int]:
        """Return the places of the inputs that a goal of an operation needs."""
        if operation.type in CALL["calls"]:
            return self.behind(self.called(operation, "f"), goal).inputs
        if operation.type in CALL["branches"]:
            branches = [self.behind(self.called(operation, name), inner) for name, inner in goal.branches()]
            return {0, *(place + 1 for branch in branches for place in branch.inputs)}
        if operation.type in CALL["loops"]:
            inner = self.round_trip(operation, goal)
            return inner.results | self.behind(self.called(operation, "body"), inner).inputs
        return range(len(operation.inputs))

    def round_trip(self, loop: Any, goal: Goal) -> Goal:
        """Return what is wanted of a loop's body, if what it returns is what it is given next."""
        body, condition = self.called(loop, "body"), self.called(loop, "cond")
        decides = self.behind(condition, Goal(set(range(len(condition.results)))))
        inner = Goal(goal.results | decides.inputs, goal.variables)
        while not (more := self.behind(body, inner).inputs) <= inner.results:
            inner = Goal(inner.results | more, inner.variables)
        return inner

    def _writers_in(self, body: Body) -> dict[int, list[tuple[Any, int]]]:
        """Return what changes a function's variables: by their places, operations and which of their inputs."""
        if id(body) not in self._writers:
            places = {tensor.name: place for place, tensor in enumerate(body.inputs)}
            writers: dict[int, list[tuple[Any, int]]] = {}
            for operation in body.graph.get_operations():
                for index in self._written(operation):
                    place = places.get(_origin(operation.inputs[index]).name)
                    if place is not None:
                        writers.setdefault(place, []).append((operation, index))
            self._writers[id(body)] = writers
        return self._writers[id(body)]

    def _written(self, operation: Any) -> set[int]:
        """Return which of an operation's inputs are variables that it changes."""
        variables = {index for index, each in enumerate(operation.inputs) if each.dtype.name == "resource"}
        if not variables:
            return set()
        if operation.type in CALL["calls"]:
            return set(self._writers_in(self.called(operation, "f")))
        if operation.type in CALL["branches"]:
            branches = [self._writers_in(self.called(operation, name)) for name in _BRANCHES]
            return {place + 1 for branch in branches for place in branch}
        if operation.type in CALL["loops"]:
            return set(self._writers_in(self.called(operation, "body")))
        is_writer = operation.type.startswith(_WRITES) and not operation.type.startswith(_READS)
        return variables if is_writer else set()


def _origin(tensor: Any) -> Any:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor
