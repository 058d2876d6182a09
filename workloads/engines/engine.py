"""The interface of an engine, the software that trains. Nothing here imports one: app and worker share it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What an engine became when it was started for a run; None where it does not tell, or has no such thing.

    Attributes:
        device: "cpu", "gpu:0" and so on.
        device_name: None on the CPU, whose name is the machine's.
        threads: Inside one operation; 0 where the engine chooses.
    """

    version: str
    device: str
    device_name: str | None = None
    tf32: bool | None = None
    onednn: bool | None = None
    threads: int | None = None


class Engine:
    """Runs Keras networks with one of Keras' backends; a subclass says how, and may replace any step.

    The first group of methods is asked by the app as well, where the engine may not be installed: they import
    nothing of it. All others belong to the worker, after `start`.

    Attributes:
        name: As runs ask for it, and as results keep it.
        title: As its makers write it.
        backend: Keras' name for it.
        vendors: Whose graphics cards it uses, with the right driver on the right system.
        reads: How the names of environment variables begin that change what it does.
        settings: The run settings that not every engine has, and that this one knows.
    """

    name: str
    title: str
    backend: str
    vendors: frozenset[str] = frozenset()
    reads: tuple[str, ...] = ()
    settings: frozenset[str] = frozenset()

    # Asked by the app as well

    def variables(self) -> dict[str, str]:
        """Return the environment variables that are set for every process with this engine."""
        return {"KERAS_BACKEND": self.backend}

    def run_variables(self, spec: RunSpec) -> dict[str, str]:
        """Return the environment variables that are set for a run."""
        return self.variables()

    def may_use(self, vendor: str, os_name: str) -> bool:
        """Say whether the engine can use graphics cards of a vendor ("nvidia", "amd" …) on a system."""
        return vendor in self.vendors

    def refusal(self, spec: RunSpec) -> Message | None:
        """Say before a run what the engine cannot do of what is asked; None if it can do all of it."""
        for name, usual in (("jit", False), ("onednn", None)):
            if name not in self.settings and getattr(spec, name) != usual:
                return Message("engine.without_setting", {"engine": self.title, "setting": name})
        return None

    # In the worker

    def start(self, spec: RunSpec) -> Started:
        """Import the engine and set device and threads, before the first operation.

        Raises:
            ImportError: It is not installed, or does not load.
            WorkloadError: device_unavailable.
        """
        raise NotImplementedError

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether an error means that the device's memory ran out; the computer's is told by MemoryError."""
        return False

    def gpu_memory_peak_bytes(self) -> int | None:
        """Return the most memory of its graphics card that the run has used; None on the CPU or if unknown."""
        return None

    def gpus(self) -> int:
        """Return how many graphics cards the run can use."""
        return 0

    # Networks

    def compile(self, model: Any, spec: RunSpec, **options: Any) -> None:
        """Compile a Keras model; `options` are those of `model.compile`."""
        model.compile(jit_compile=spec.jit, **options)

    def fit(self, model: Any, **arguments: Any) -> None:
        """Train as `model.fit` does; a step has ended when its callback is called, on whatever device."""
        model.fit(**arguments)

    def evaluate(self, model: Any, x: Any, y: Any, **arguments: Any) -> dict[str, float]:
        """Evaluate as `model.evaluate` does; return losses and metrics by name."""
        logs: dict[str, float] = model.evaluate(self.shared(x), y, return_dict=True, **arguments)
        return logs

    def predict(self, model: Any, x: Any, **arguments: Any) -> None:
        """Predict as `model.predict` does."""
        model.predict(x, **arguments)

    def predict_batch(self, model: Any, x: Any) -> Any:
        """Predict one batch and return the result as an array: the device is done by then."""
        return model.predict_on_batch(x)

    # Data

    def shared(self, array: Any) -> Any:
        """Return an array as the engine takes it, in the same memory where that is possible."""
        return array

    def one_hot(self, numbers: Any, classes: int) -> Any:
        """Return numbers as rows of false with one true, in the computer's memory, one byte each."""
        import numpy as np

        return np.eye(classes, dtype=bool)[numbers]

    def constant(self, x: Any, y: Any) -> Any:
        """Return one batch again and again, from the computer's memory."""
        return self.generated(lambda: _again(x, y))

    def in_order(self, x: Any, y: Any, batch_size: int) -> Any:
        """Return batches of arrays in their order, once."""
        return _Batches(x, y, batch_size)

    def shuffled(self, x: Any, y: Any, batch_size: int, seed: int) -> Any:
        """Return batches of arrays without end, each pass in another order."""
        return self.generated(lambda: _shuffled(x, y, batch_size, seed))

    def pieces(self, x: Any, y: Any) -> Any:
        """Return the rows of arrays that are batches already, again and again."""
        return self.generated(lambda: _rows(x, y))

    def generated(self, make: Callable[[], Iterator[tuple[Any, Any]]], rank: int = 2, dtype: str = "int32") -> Any:
        """Return batches that are made while the network trains, without end.

        Args:
            make: Returns a new iterator of batches.
            rank: Of inputs and targets.
            dtype: Of both.
        """
        return make()

    # Operations

    def response_normalisation(self, x: Any) -> Any:
        """Divide each channel by the strength of the five around it, as Caffe does."""
        from keras import ops

        squares = ops.pad(x * x, ((0, 0), (0, 0), (0, 0), (2, 2)))
        channels = x.shape[-1]
        strength = sum(squares[..., first : first + channels] for first in range(5))
        return x / (1 + 1e-4 / 5 * strength) ** 0.75

    def product(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        """Return a call that multiplies two matrices, (rows, inner) by (inner, columns), and waits for the result.

        The second matrix may be stored transposed; `dtype` is that of the numbers.
        """
        raise NotImplementedError

    def addition(self, size_bytes: int) -> Callable[[], object]:
        """Return a call that adds an array of float32 to another one in place, and waits for it."""
        raise NotImplementedError

    def copies(self, size_bytes: int) -> tuple[Callable[[], object], Callable[[], object]]:
        """Return calls that copy float32 numbers to the graphics card and back, each waiting for its end."""
        raise NotImplementedError


class _Batches:
    """Batches of arrays in their order, as often as they are asked for."""

    def __init__(self, x: Any, y: Any, batch_size: int) -> None:
        self._x, self._y, self._batch_size = x, y, batch_size

    def __len__(self) -> int:
        return math.ceil(len(self._x) / self._batch_size)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for first in range(0, len(self._x), self._batch_size):
            rows = slice(first, first + self._batch_size)
            yield self._x[rows], self._y[rows]


def _again(x: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    while True:
        yield x, y


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
