"""Counts the matrix operations of a training step in the graph traced by TensorFlow.

Only operations that the required results depend on are counted, including those in called functions.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Operations that call functions, grouped by the kind of call.
CALL = {
    "calls": ("PartitionedCall", "StatefulPartitionedCall"),
    "branches": ("If", "StatelessIf"),
    "loops": ("While", "StatelessWhile"),
}
_BRANCHES = ("then_branch", "else_branch")
_WRITES = ("Assign", "Resource")
_READS = ("ResourceGather",)


class UncountableError(Exception):
    """The graph doesn't determine the amount of computation."""


@dataclass(slots=True)
class Goal:
    """The results and variables required from an operation or a function.

    Attributes:
        results: Indices of the required results.
        variables: Indices of the inputs that are variables whose new values are required.
    """

    results: set[int] = field(default_factory=set)
    variables: set[int] = field(default_factory=set)

    @property
    def key(self) -> tuple[frozenset[int], frozenset[int]]:
        """The goal as a hashable key."""
        return frozenset(self.results), frozenset(self.variables)

    def branches(self) -> Iterator[tuple[str, "Goal"]]:
        """Yield the name and goal of each branch of a conditional, whose first input is the condition."""
        for name in _BRANCHES:
            yield name, Goal(self.results, {place - 1 for place in self.variables})


@dataclass(slots=True)
class Body:
    """A function: its graph, and its input and result tensors."""

    graph: Any
    inputs: list[Any]
    results: list[Any]


@dataclass(slots=True)
class Reached:
    """Everything that a goal depends on.

    Attributes:
        operations: The operations with their goals.
        inputs: Indices of the function's inputs.
    """

    operations: dict[Any, Goal] = field(default_factory=dict)
    inputs: set[int] = field(default_factory=set)


class Reach:
    """Finds the dependencies of goals. Subclasses load the called functions."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[Any, str], Body] = {}
        self._reached: dict[tuple[int, Any], Reached] = {}
        self._writers: dict[int, dict[int, list[tuple[Any, int]]]] = {}

    def load(self, operation: Any, attribute: str, inputs: Iterable[Any]) -> Body:
        """Load a function that an operation calls with these inputs."""
        raise NotImplementedError

    def called(self, operation: Any, attribute: str) -> Body:
        """Return a function called by an operation, loading it on first use."""
        if (operation, attribute) not in self._bodies:
            inputs = operation.inputs[1:] if attribute in _BRANCHES else operation.inputs
            self._bodies[operation, attribute] = self.load(operation, attribute, inputs)
        return self._bodies[operation, attribute]

    def behind(self, body: Body, goal: Goal) -> Reached:
        """Return everything that a goal depends on within a function."""
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
            if tensor.dtype.name == "resource":  # its value was written by earlier operations
                waiting += self._want_writers(body, {place}, reached)
        return reached

    def _want_writers(self, body: Body, variables: Iterable[int], reached: Reached) -> list[Any]:
        """Add all operations that change these variables to the goals, and return the tensors they need."""
        writers = self._writers_in(body)
        changes = [each for variable in variables for each in writers.get(variable, ())]
        return [
            tensor
            for operation, place in changes
            for tensor in self._want(operation, Goal(variables={place}), reached)
        ]

    def _want(self, operation: Any, more: Goal, reached: Reached) -> list[Any]:
        """Extend the goal of an operation, and return the tensors it needs."""
        goal = reached.operations.get(operation)
        if goal is not None and more.results <= goal.results and more.variables <= goal.variables:
            return []
        goal = reached.operations.setdefault(operation, Goal())
        goal.results |= more.results
        goal.variables |= more.variables
        return [operation.inputs[place] for place in self._needed(operation, goal)]

    def _needed(self, operation: Any, goal: Goal) -> Iterable[int]:
        """Return the indices of the inputs that an operation needs for a goal."""
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
        """Return the goal of a loop's body, whose results are the inputs of the next iteration."""
        body, condition = self.called(loop, "body"), self.called(loop, "cond")
        decides = self.behind(condition, Goal(set(range(len(condition.results)))))
        inner = Goal(goal.results | decides.inputs, goal.variables)
        while not (more := self.behind(body, inner).inputs) <= inner.results:
            inner = Goal(inner.results | more, inner.variables)
        return inner

    def _writers_in(self, body: Body) -> dict[int, list[tuple[Any, int]]]:
        """Return the operations that change each variable of a function, with the index of the changed input."""
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
        """Return the indices of the input variables that an operation changes."""
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


_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
# Operations whose amount of computation can't be derived from the graph.
_OPAQUE = ("CudnnRNN", "Einsum", "Conv3D", "XlaLaunch", "SparseTensorDenseMatMul")


def matrix_operations(graph: Any, variables: Iterable[Any], batch_size: int) -> Counter[str]:
    """Return the number of operations behind the new values of variables, by number type.

    Counts matrix products and convolutions, forward and backward, like `workloads.training.flops`. Operations that
    the new values don't depend on are excluded, because TensorFlow removes them.

    Args:
        graph: Graph of a traced function that updates the variables.
        variables: The weights.
        batch_size: Size of the batches passed to the function.

    Raises:
        UncountableError: A size depends on more than the batch size, or an operation hides its computation.
    """
    import tensorflow as tf

    definition = graph.as_graph_def()
    count = _Count(tf, definition.library)
    inputs = {tensor.name: (tensor, _sized(tensor.shape, batch_size)) for tensor in graph.inputs}
    handles = [variable.handle for variable in variables]
    weights = {
        place
        for place, tensor in enumerate(graph.inputs)
        for outside, inside in graph.captures
        if inside is tensor and any(outside is handle for handle in handles)
    }
    return count.within(count.body(definition, inputs, []), Goal(set(), weights))


def _sized(shape: Any, batch_size: int) -> Any:
    """Return an input's shape with the batch size filled in if the graph was traced for any batch size."""
    if shape.rank in (None, 0) or shape[0] is not None:
        return shape
    return [batch_size, *shape.as_list()[1:]]


class _Count(Reach):
    """Counts the operations in a graph and in the functions it calls."""

    def __init__(self, tf: Any, library: Any) -> None:
        super().__init__()
        self._tf = tf
        self._library = library
        self._functions = {function.signature.name: function for function in library.function}

    def body(self, definition: Any, inputs: dict[str, tuple[Any, Any]], names: list[str]) -> Body:
        """Import a graph so that TensorFlow infers all sizes from the inputs.

        Args:
            definition: The graph. This function adds the inferred sizes of the loops' results to it.
            inputs: Input tensors and their shapes, by name.
            names: Names of the results.
        """
        nodes = {node.name: node for node in definition.node}
        settled: set[str] = set()
        while True:
            graph = self._tf.Graph()
            with graph.as_default():
                given = {name: self._placeholder(*each) for name, each in inputs.items()}
                tensors = self._tf.import_graph_def(definition, input_map=given, return_elements=names, name="")
            loops = (operation for operation in graph.get_operations() if operation.type in CALL["loops"])
            loop = next((each for each in loops if each.name not in settled and not _is_sized(each)), None)
            if loop is None:
                return Body(graph, list(given.values()), tensors or [])
            settled.add(loop.name)
            shapes = nodes[loop.name].attr["output_shapes"].list.shape
            for shape, result in zip(shapes, self.called(loop, "body").results, strict=True):
                shape.CopyFrom(result.shape.as_proto())
            for stack in (each for each in graph.get_operations() if each.type == "TensorListStack"):
                if stack.inputs[0].op is loop and (item := self._item(stack.inputs[0])) is not None:
                    _write_constant(self._tf, definition, nodes[stack.name], item[0])

    def _placeholder(self, tensor: Any, shape: Any) -> Any:
        from tensorflow.core.framework import full_type_pb2
        from tensorflow.python.ops import handle_data_util

        empty = self._tf.compat.v1.placeholder(tensor.dtype, shape)
        handle_data_util.copy_handle_data(tensor, empty)  # the shapes of variables
        if (item := self._item(tensor)) is not None:
            data = handle_data_util.create_handle_data(*item)
            data.shape_and_type[0].type.type_id = full_type_pb2.TFT_ARRAY
            handle_data_util.set_handle_data(empty, data)
        return empty

    def _item(self, tensor: Any) -> tuple[Any, Any] | None:
        """Return the shape and type of a tensor list's elements, as far as known; None if it isn't a list."""
        operation = tensor.op
        if operation.type == "TensorListFromTensor":
            return operation.inputs[0].shape[1:], operation.inputs[0].dtype
        if operation.type in CALL["loops"] and tensor.dtype == self._tf.variant:
            last = self.called(operation, "body").results[tensor.value_index].op
            while last.type == "Identity":
                last = last.inputs[0].op
            if last.type == "TensorListSetItem":
                return last.inputs[-1].shape, last.inputs[-1].dtype
        return None

    def load(self, operation: Any, attribute: str, inputs: Iterable[Any]) -> Body:
        """Load a function called by an operation, using the sizes of its inputs."""
        from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

        function = self._functions[operation.get_attr(attribute).name]
        definition, flat_names = function_def_to_graph_def(function)
        definition.library.CopyFrom(self._library)
        results = [flat_names[function.ret[each.name]] for each in function.signature.output_arg]
        names = [each.name + ":0" for each in function.signature.input_arg]
        given = {name: (tensor, tensor.shape) for name, tensor in zip(names, inputs, strict=True)}
        return self.body(definition, given, results)

    def within(self, body: Body, goal: Goal) -> Counter[str]:
        """Return the number of operations that a goal depends on, by number type."""
        total: Counter[str] = Counter()
        for operation, each in self.behind(body, goal).operations.items():
            total.update(self._of(body.graph, operation, each))
        return total

    def _of(self, graph: Any, operation: Any, goal: Goal) -> Counter[str]:
        kind = operation.type
        if kind.startswith(_OPAQUE):
            raise UncountableError(kind)
        if kind in CALL["loops"]:
            return self._of_loop(graph, operation, goal)
        if kind in CALL["branches"]:
            branches = [self.within(self.called(operation, name), inner) for name, inner in goal.branches()]
            return min(branches, key=Counter.total)
        if kind in CALL["calls"]:
            return self.within(self.called(operation, "f"), goal)
        count = _operations(operation)
        return Counter({operation.inputs[-1].dtype.name: count}) if count else Counter()

    def _of_loop(self, graph: Any, loop: Any, goal: Goal) -> Counter[str]:
        """Return the number of operations in a loop, or in the reversed loop that computes its gradients."""
        _, limit, *others = loop.inputs
        if others and others[0].op.type in CALL["loops"]:
            # A gradient loop has unknown sizes, because it reads from lists. Each of its products is a gradient of
            # a product in the forward loop.
            forward = others[0].op
            whole = Goal(set(range(len(forward.outputs))), set())
            share = self._products(loop, goal) / max(1, self._products(forward, whole))
            counted = self._of_loop(graph, forward, whole)
            return Counter({name: round(share * count) for name, count in counted.items()})
        once = self.within(self.called(loop, "body"), self.round_trip(loop, goal))
        trips = self._trips(graph, limit) if once else 0
        return Counter({name: trips * count for name, count in once.items()})

    def _products(self, loop: Any, goal: Goal) -> int:
        reached = self.behind(self.called(loop, "body"), self.round_trip(loop, goal))
        return sum(each.type in _PRODUCTS for each in reached.operations)

    def _trips(self, graph: Any, limit: Any) -> int:
        """Return the number of iterations of a loop. Keras sets it when the loop starts."""
        try:
            with self._tf.compat.v1.Session(graph=graph) as session:
                trips = int(session.run(limit))
        except self._tf.errors.OpError as error:
            raise UncountableError(limit.name) from error
        if trips < 0:
            raise UncountableError(limit.name)
        return trips


def _is_sized(loop: Any) -> bool:
    return all(each.shape.is_fully_defined() for each in loop.outputs if each.dtype.name != "variant")


def _write_constant(tf: Any, definition: Any, node: Any, shape: Any) -> None:
    """Replace a node's second input with a constant that contains a shape."""
    name = node.name + "/sizes"
    if shape.is_fully_defined() and node.input[1] != name:
        value = tf.make_tensor_proto(shape.as_list(), tf.int32)
        constant = definition.node.add(name=name, op="Const")
        constant.attr["dtype"].type = tf.int32.as_datatype_enum
        constant.attr["value"].tensor.CopyFrom(value)
        node.input[1] = name


def _operations(operation: Any) -> int:
    """Count a multiplication and an addition per weight of a product or convolution; 0 for other operations."""
    kind = operation.type
    if kind in _PRODUCTS:
        first, second = operation.inputs
        transposed = operation.get_attr("transpose_a" if kind == "MatMul" else "adj_x")
        turned = operation.get_attr("transpose_b" if kind == "MatMul" else "adj_y")
        # In a loop, only one of the two sizes may be known.
        inner = (first.shape[-2 if transposed else -1], second.shape[-1 if turned else -2])
        outer = [*first.shape.as_list()[:-2], first.shape[-1 if transposed else -2]]
        return 2 * _size([*outer, second.shape[-2 if turned else -1]]) * _size([inner[0] or inner[1]])
    filters = _filters(operation)
    if filters is None:
        return 0
    images = operation.inputs[2] if "Backprop" in kind else operation.outputs[0]
    window = filters.shape.as_list()[: 2 if "Depthwise" in kind else 3]
    return 2 * _size(images.shape.as_list()) * _size(window)


def _filters(operation: Any) -> Any:
    """Return the filters of a convolution, or their gradient; None for other operations."""
    kind = operation.type
    if kind in ("Conv2D", "DepthwiseConv2dNative") or kind.endswith("BackpropInput"):
        return operation.inputs[1] if "Conv2" in kind or "Conv2d" in kind else None
    return operation.outputs[0] if kind.endswith("BackpropFilter") else None


def _size(sizes: list[int | None]) -> int:
    if None in sizes:
        raise UncountableError("a size is open")
    return math.prod(size for size in sizes if size is not None)
