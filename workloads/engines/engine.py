"""The interface of an engine in the worker."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from workloads.engines.computers import Store
from workloads.engines.device_trial import DeviceTrial
from workloads.engines.image_pipeline import PictureBatches
from workloads.engines.info import EngineInfo
from workloads.engines.prefetcher import Prefetcher
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The settings that an engine resolved when it started; None if unknown or not applicable."""

    version: str
    device: str  # "cpu", "gpu:0", etc
    device_name: str | None = None  # None for the CPU, whose name is part of the machine record
    tf32: bool | None = None
    onednn: bool | None = None
    threads: int | None = None  # threads within one operation; 0 if the engine chooses


class StepWatch(Protocol):
    """Counts the examples that a model's training steps use for weight updates."""

    def examples(self) -> int:
        """Return the number of examples counted so far."""
        ...


class Engine:
    """Runs Keras networks on one of Keras's backends. Subclasses may override every step.

    Only the worker uses engines, and calls `start` first. What the app needs to know is in `info`.
    """

    info: EngineInfo  # description of the engine
    leads: bool = True  # whether this process reports the run and decides when to stop
    _watched: tuple[Any, StepWatch] | None = None  # the last compiled model, if its steps are watched

    def start(self, spec: RunSpec) -> Started:
        """Import the engine, and set the device and the number of threads. Call this before the first operation.

        Raises:
            ImportError: The engine isn't installed or can't be loaded.
            WorkloadError: device_unavailable.
        """
        raise NotImplementedError

    def trial(self) -> DeviceTrial:
        """Import the engine in order to examine it. Import errors are propagated."""
        raise NotImplementedError

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error means that the device is out of memory.

        If the computer runs out of memory, the error is a MemoryError instead.
        """
        return False

    def gpu_memory_peak_bytes(self) -> int | None:
        """Return the run's peak GPU memory in bytes; None on the CPU or if unknown."""
        return None

    def gpu_memory_reserved_bytes(self) -> int | None:
        """Return the peak GPU memory reserved by the engine, in bytes; None on the CPU or if unknown."""
        return None

    def gpus(self) -> int:
        return 0

    def gpu_index(self, asked: str, count: int) -> int | None:
        """Return the index of the GPU to use, or None for the CPU.

        Raises WorkloadError if the GPU doesn't exist.
        """
        if asked == "cpu" or (asked == "auto" and not count):
            return None
        index = 0 if asked == "auto" else int(asked.removeprefix("gpu:"))
        if index >= count:
            seen = [f"gpu:{number}" for number in range(count)]
            code = "engine.sees_other_devices" if seen else "engine.sees_no_gpu"
            said = message(code, engine=self.info.title, device=asked, seen=seen or None)
            raise WorkloadError("device_unavailable", said)
        return index

    def gpu_indices(self, spec: RunSpec, count: int) -> Sequence[int] | None:
        """Return the indices of the GPUs to use, or None for the CPU.

        Raises WorkloadError if one of them doesn't exist.
        """
        first = self.gpu_index(spec.device, count)
        if first is None:
            return None
        indices = spec.gpus_from(first)
        if isinstance(indices, range) and indices.stop > count:
            asked = spec.devices_here
            said = message("engine.sees_fewer_devices", engine=self.info.title, asked=asked, count=count - first)
            raise WorkloadError("device_unavailable", said)
        self.gpu_index(f"gpu:{indices[-1]}", count)
        return indices

    # Networks

    def scope(self) -> AbstractContextManager[Any]:
        """Return the context in which to create a network and its optimizer, on the run's devices."""
        return nullcontext()

    def device_scopes(self) -> list[AbstractContextManager[Any]]:
        """Return a context for each of this process's devices, in which Keras's operations run on that device."""
        return [nullcontext()]

    def of_all_devices(self, numbers: list[float]) -> list[float]:
        """Return one number per device of the run, such as its speed, given those for this process's devices.

        All processes must call this method. The run must use a single computer.
        """
        return numbers

    def devices_used(self, model: Any) -> int:
        """Return the number of devices that hold the weights of a trained network."""
        return 1

    def leave(self) -> None:
        """Disconnect from the run's other processes after the work is done. May wait for them."""

    def store(self) -> Store:
        """Return the key-value store of a run on several computers, after `start`."""
        raise NotImplementedError

    def agreed(self, decision: bool) -> bool:
        """Return the decision of rank 0. All leading processes must call this method the same number of times."""
        return decision

    def compile(self, model: Any, spec: RunSpec, *, watched: bool = True, **options: Any) -> None:
        """Compile a Keras model.

        Args:
            watched: Whether to count the training steps, if the engine supports it.
            options: Passed to `model.compile`.
        """
        with self.scope():
            model.compile(jit_compile=spec.jit, **options)
        watch = self.step_watch(model, spec) if watched and "optimizer" in options else None
        self._watched = None if watch is None else (model, watch)

    def step_watch(self, model: Any, spec: RunSpec) -> StepWatch | None:
        """Return a watch for the training steps of a model that `fit` hasn't built yet; None if not supported."""
        return None

    def fit(self, model: Any, **arguments: Any) -> None:
        """Train like `model.fit`, but call a step's callbacks only after the device has finished the step."""
        model.fit(**arguments)

    def examples_seen(self, model: Any) -> int | None:
        """Return the number of examples used to train a compiled model; None if the engine doesn't count them."""
        if self._watched is None or self._watched[0] is not model:
            return None
        return self._watched[1].examples()

    def evaluate(self, model: Any, x: Any, y: Any, **arguments: Any) -> dict[str, float]:
        """Evaluate like `model.evaluate`, and return the losses and metrics by name."""
        logs: dict[str, float] = model.evaluate(self.shared(x), y, return_dict=True, **arguments)
        return logs

    def predict(self, model: Any, x: Any, **arguments: Any) -> Any:
        """Predict like `model.predict`, on one device if the network was trained on several computers."""
        return model.predict(x, **arguments)

    def predict_batch(self, model: Any, x: Any) -> Any:
        """Predict one batch and return an array. Blocks until the device has finished."""
        return model.predict_on_batch(x)

    # Data

    def shared(self, array: Any) -> Any:
        """Convert an array to the engine's own type, sharing its memory where possible."""
        return array

    def one_hot(self, numbers: Any, classes: int) -> Any:
        """Return one-hot rows of bool (one byte per value) in the computer's memory."""
        import numpy as np

        return np.eye(classes, dtype=bool)[numbers]

    def constant(self, x: Any, y: Any) -> Any:
        """Return a stream that repeats one batch forever, from the computer's memory."""
        return self.with_rows(self.generated(lambda: itertools.repeat((x, y))), x)

    def in_order(self, x: Any, y: Any, batch_size: int) -> Any:
        """Return the batches from arrays in order, for one pass."""
        return _Batches(x, y, batch_size)

    def shuffled(self, x: Any, y: Any, batch_size: int, seed: int) -> Any:
        """Return an endless stream of batches from arrays, reshuffled for each pass."""
        return self.with_rows(self.generated(lambda: _shuffled(x, y, batch_size, seed)), x)

    def pieces(self, x: Any, y: Any) -> Any:
        """Return a stream that repeats arrays forever. Each row of an array is a batch."""
        return self.with_rows(self.generated(lambda: _rows(x, y)), x.reshape(-1, *x.shape[2:]))

    def with_rows(self, stream: Any, rows: Any) -> Any:
        """Return a stream of batches with an attribute `rows`, the array of the underlying examples."""
        return stream

    def generated(
        self,
        make: Callable[[], Iterator[tuple[Any, Any]]],
        others: Callable[[], Iterable[tuple[Any, Any]]] = tuple,
    ) -> Any:
        """Return an endless stream of batches that are generated during training.

        Args:
            make: Returns a new iterator of batches.
            others: Returns one batch for each additional shape, for engines that compile a step per shape.
        """
        return make()

    def pictures(self, batches: PictureBatches) -> Any:
        """Return batches of pictures for `fit`, prepared during training."""
        return Prefetcher(batches.make)

    # Operations

    def response_normalisation(self, x: Any) -> Any:
        """Normalise each channel across five neighbouring channels (including itself), as in Caffe."""
        from keras import ops

        squares = ops.pad(x * x, ((0, 0), (0, 0), (0, 0), (2, 2)))
        channels = x.shape[-1]
        strength = sum(squares[..., first : first + channels] for first in range(5))
        return x / (1 + 1e-4 / 5 * strength) ** 0.75

    def has_fused_attention(self, *, drops: bool) -> bool:
        """Return whether the run's device has fused attention, if `info` doesn't refuse it."""
        return True

    def fused_attention(
        self, queries: Any, keys: Any, values: Any, *, is_causal: bool, dropout: float = 0.0
    ) -> Any:
        """Return softmax attention from one kernel, which never stores the weights.

        For shapes, see `workloads.networks.transformer.attend`. `dropout` may be above 0 only with PyTorch.
        """
        raise NotImplementedError

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        """Return a function that multiplies matrices of shapes (rows, inner) and (inner, columns).

        The numbers are normally distributed, because a GPU's power, and so its clock, depends on the numbers.
        The function blocks until the result is ready. `transposed` stores the second matrix transposed.
        """
        raise NotImplementedError

    def attention_step(
        self, mix: Callable[..., Any], shape: tuple[int, int, int, int], dtype: str, *, is_backward: bool
    ) -> Callable[[], object]:
        """Return a function that computes attention and blocks until the result is ready.

        Args:
            mix: Returns the attention of queries, keys and values.
            shape: Shape of each of them: batch, length, heads and width of a head.
            dtype: Type of the numbers.
            is_backward: Whether to compute the gradients as well.
        """
        raise NotImplementedError

    def add_step(self, size_bytes: int) -> Callable[[], object]:
        """Return a function that adds one float32 array to another in place and blocks until it is done."""
        raise NotImplementedError

    def all_reduce_step(self, size_bytes: int) -> Callable[[], float]:
        """Return a function that adds float32 arrays of this size, one per device.

        The function blocks until all devices have the sum, and returns how many arrays were added.
        """
        raise NotImplementedError

    def together(self, call: Callable[[], object], lead: Callable[[], object]) -> None:
        """Run `lead`, which repeats `call`. With one process per device, the other processes repeat each call."""
        lead()

    def transfer_steps(self, size_bytes: int) -> tuple[Callable[[], object], Callable[[], object]]:
        """Return functions that copy float32 numbers to the GPU and back, and block until the copy is done."""
        raise NotImplementedError


def copy_of(model: Any, weights: Any) -> Any:
    """Return a copy of a model, with these weights. The copy is distributed only if the current scope is."""
    import keras

    copy = keras.models.clone_model(model)
    copy.set_weights(weights)
    return copy


class _Batches:
    """Batches of arrays in order. Can be iterated over repeatedly."""

    def __init__(self, x: Any, y: Any, batch_size: int) -> None:
        self._x, self._y, self._batch_size = x, y, batch_size

    def __len__(self) -> int:
        return math.ceil(len(self._x) / self._batch_size)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for first in range(0, len(self._x), self._batch_size):
            rows = slice(first, first + self._batch_size)
            yield self._x[rows], self._y[rows]


def _rows(x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    while True:
        yield from zip(x, y, strict=True)


def _shuffled(x: Any, y: Any, batch_size: int, seed: int) -> Iterator[tuple[Any, Any]]:
    import numpy as np

    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(x))
        for first in range(0, len(x), batch_size):
            rows = order[first : first + batch_size]
            yield x[rows], y[rows]
