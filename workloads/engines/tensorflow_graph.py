"""Counts the matrix operations of a training step in the graph that TensorFlow traced."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
_LOOPS = ("While", "StatelessWhile")
_BRANCHES = ("If", "StatelessIf")
_BRANCH_NAMES = ("then_branch", "else_branch")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
# Of these, the graph doesn't show how much they compute.
_OPAQUE = ("CudnnRNN", "Einsum", "Conv3D", "XlaLaunch", "SparseTensorDenseMatMul")


class UncountableError(Exception):
    """The graph doesn't say how much is computed."""


def matrix_operations(graph: Any, results: Iterable[Any], batch_size: int) -> Counter[str]:
    """Return the operations behind some results of a traced function, by the type of their numbers.

    Counts matrix products and convolutions as `workloads.training.flops` does, forward and backward, but only
    those that the results depend on: TensorFlow leaves out all others.

    Args:
        graph: The function's graph.
        results: Tensors in it: the gradients.
        batch_size: Size of the batch that the function is given.

    Raises:
        UncountableError: Sizes depend on more than the batch, or an operation hides what it computes.
    """
    import tensorflow as tf

    definition = graph.as_graph_def()
    shapes = [_sized(tensor.shape, batch_size) for tensor in graph.inputs]
    names = [tensor.name for tensor in results if tensor is not None]
    count = _Count(tf, definition.library)
    inputs = {tensor.name: (tensor, shape) for tensor, shape in zip(graph.inputs, shapes, strict=True)}
    return count.behind(*count.imported(definition, inputs, names))


def _sized(shape: Any, batch_size: int) -> Any:
    """Return the shape of an input with the batch's size: traced for any batch, its first size is open."""
    if shape.rank in (None, 0) or shape[0] is not None:
        return shape
    return [batch_size, *shape.as_list()[1:]]


class _Count:
    """Counts in a graph and in the functions that it calls."""

    def __init__(self, tf: Any, library: Any) -> None:
        self._tf = tf
        self._library = library
        self._bodies: dict[Any, list[Any]] = {}
        self._functions = {function.signature.name: function for function in library.function}

    def imported(
        self, definition: Any, inputs: dict[str, tuple[Any, Any]], names: list[str]
    ) -> tuple[Any, list[Any]]:
        """Return a graph in which TensorFlow has worked out all sizes from those of its inputs, and tensors of it.

        Args:
            definition: The graph; sizes of its loops' results are written into it.
            inputs: By name, what is given, and its shape.
            names: Of the tensors.
        """
        nodes = {node.name: node for node in definition.node}
        settled: set[str] = set()
        while True:
            graph = self._tf.Graph()
            with graph.as_default():
                given = {name: self._placeholder(*each) for name, each in inputs.items()}
                tensors = self._tf.import_graph_def(definition, input_map=given, return_elements=names, name="")
            loops = (operation for operation in graph.get_operations() if operation.type in _LOOPS)
            loop = next((each for each in loops if each.name not in settled and not _is_sized(each)), None)
            if loop is None:
                return graph, tensors
            settled.add(loop.name)
            shapes = nodes[loop.name].attr["output_shapes"].list.shape
            for shape, result in zip(shapes, self._body(loop), strict=True):
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
        """Return shape and type of what is in a list, which doesn't always know them; None if it isn't one."""
        operation = tensor.op
        if operation.type == "TensorListFromTensor":
            return operation.inputs[0].shape[1:], operation.inputs[0].dtype
        if operation.type in _LOOPS and tensor.dtype == self._tf.variant:
            last = self._body(operation)[tensor.value_index].op
            while last.type == "Identity":
                last = last.inputs[0].op
            if last.type == "TensorListSetItem":
                return last.inputs[-1].shape, last.inputs[-1].dtype
        return None

    def _body(self, loop: Any) -> list[Any]:
        """Return the results of a loop's function."""
        if loop not in self._bodies:
            self._bodies[loop] = self._called(loop, "body", loop.inputs)[1]
        return self._bodies[loop]

    def behind(self, graph: Any, tensors: Iterable[Any]) -> Counter[str]:
        """Return the operations that these tensors depend on."""
        total: Counter[str] = Counter()
        for operation, outputs in _behind(tensors).items():
            total.update(self._of(graph, operation, outputs))
        return total

    def _of(self, graph: Any, operation: Any, outputs: set[int]) -> Counter[str]:
        kind = operation.type
        if kind.startswith(_OPAQUE):
            raise UncountableError(kind)
        if kind in _LOOPS:
            return self._of_loop(graph, operation)
        if kind in _BRANCHES:
            branches = [self._inside(operation, name, operation.inputs[1:]) for name in _BRANCH_NAMES]
            return min(branches, key=Counter.total)
        if kind in _CALLS:
            return self._inside(operation, "f", operation.inputs, outputs)
        count = _operations(operation)
        return Counter({operation.inputs[-1].dtype.name: count}) if count else Counter()

    def _inside(
        self, operation: Any, attribute: str, inputs: Iterable[Any], outputs: set[int] | None = None
    ) -> Counter[str]:
        """Return the operations of a function that an operation calls, behind all or some of its outputs."""
        graph, results = self._called(operation, attribute, inputs)
        used = [each for index, each in enumerate(results) if outputs is None or index in outputs]
        return self.behind(graph, used)

    def _called(self, operation: Any, attribute: str, inputs: Iterable[Any]) -> tuple[Any, list[Any]]:
        """Return the graph and the results of a function that an operation calls."""
        from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

        function = self._functions[operation.get_attr(attribute).name]
        definition, flat_names = function_def_to_graph_def(function)
        definition.library.CopyFrom(self._library)
        results = [flat_names[function.ret[each.name]] for each in function.signature.output_arg]
        names = [each.name + ":0" for each in function.signature.input_arg]
        given = {name: (tensor, tensor.shape) for name, tensor in zip(names, inputs, strict=True)}
        return self.imported(definition, given, results)

    def _of_loop(self, graph: Any, loop: Any) -> Counter[str]:
        """Return the operations of a loop, or of the loop that goes back through it for the gradients."""
        _, limit, *others = loop.inputs
        if others and others[0].op.type in _LOOPS:
            # Its sizes are open, as they come from lists; each product is a gradient of one of the other loop's.
            forward = others[0].op
            share = self._products(loop) / max(1, self._products(forward))
            return Counter({name: round(share * count) for name, count in self._of_loop(graph, forward).items()})
        results = self._body(loop)
        once = self.behind(results[0].graph, results)
        trips = self._trips(graph, limit) if once else 0
        return Counter({name: trips * count for name, count in once.items()})

    def _products(self, loop: Any) -> int:
        return sum(each.type in _PRODUCTS for each in _behind(self._body(loop)))

    def _trips(self, graph: Any, limit: Any) -> int:
        """Return how often a loop runs: Keras states it when the loop begins."""
        try:
            with self._tf.compat.v1.Session(graph=graph) as session:
                trips = int(session.run(limit))
        except self._tf.errors.OpError as error:
            raise UncountableError(limit.name) from error
        if trips < 0:
            raise UncountableError(limit.name)
        return trips


def _behind(tensors: Iterable[Any]) -> dict[Any, set[int]]:
    """Return the operations that tensors depend on, each with the results that are used."""
    used: dict[Any, set[int]] = {}
    waiting = list(tensors)
    while waiting:
        tensor = waiting.pop()
        if tensor.op not in used:
            waiting.extend(tensor.op.inputs)
        used.setdefault(tensor.op, set()).add(tensor.value_index)
    return used


def _is_sized(loop: Any) -> bool:
    return all(each.shape.is_fully_defined() for each in loop.outputs if each.dtype.name != "variant")


def _write_constant(tf: Any, definition: Any, node: Any, shape: Any) -> None:
    """Have a node's second input be a constant: the sizes of a shape."""
    name = node.name + "/sizes"
    if shape.is_fully_defined() and node.input[1] != name:
        value = tf.make_tensor_proto(shape.as_list(), tf.int32)
        constant = definition.node.add(name=name, op="Const")
        constant.attr["dtype"].type = tf.int32.as_datatype_enum
        constant.attr["value"].tensor.CopyFrom(value)
        node.input[1] = name


def _operations(operation: Any) -> int:
    """Return a multiplication and an addition for each weight of a product or convolution; 0 for anything else."""
    kind = operation.type
    if kind in _PRODUCTS:
        first, second = operation.inputs
        transposed = operation.get_attr("transpose_a" if kind == "MatMul" else "adj_x")
        turned = operation.get_attr("transpose_b" if kind == "MatMul" else "adj_y")
        # In a loop, only one of the two may be sure of its size.
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
    """Return the filters of a convolution, or their gradients; None if it is none."""
    kind = operation.type
    if kind in ("Conv2D", "DepthwiseConv2dNative") or kind.endswith("BackpropInput"):
        return operation.inputs[1] if "Conv2" in kind or "Conv2d" in kind else None
    return operation.outputs[0] if kind.endswith("BackpropFilter") else None


def _size(sizes: list[int | None]) -> int:
    if None in sizes:
        raise UncountableError("a size is open")
    return math.prod(size for size in sizes if size is not None)
