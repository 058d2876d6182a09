"""Feeds batches to Keras from a prefetching thread, as tf.data does, for engines without tf.data."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workloads.engines.engine import Engine
from workloads.engines.image_pipeline import PictureBatches
from workloads.engines.prefetcher import Prefetcher

# Enough to absorb uneven preparation times. A larger value would only use more memory.
DEPTH = 4
_USUAL_SIZE = 32  # Keras's default batch size, also for arrays
Batch = tuple[Any, Any]
Make = Callable[[], Iterator[Batch]]


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches that a thread prefetches."""

    make: Make  # returns a new iterator of batches
    count: int | None = None  # number of batches per pass; None if endless
    # Returns one batch of each form that differs from the first batch in length or shape.
    others: Callable[[], Iterable[Batch]] = tuple
    rows: Any = None  # the underlying examples; None if they aren't an array


class KerasFeed(Engine):
    """An engine whose `fit` receives data from a prefetching thread."""

    _seed = 0

    def native(self, batch: Batch) -> Batch:
        """Convert a batch to the engine's own types. Called in the prefetching thread."""
        return batch

    def part(self, batches: Batches) -> Batches:
        """Return this process's part of the batches for `fit` and `evaluate`.

        If one process leads, it alone calls `evaluate`, with all of the data.
        """
        return batches

    def warm_up(self, model: Any, trained: Sequence[Batch], validated: Sequence[Batch]) -> None:
        """Compile the steps for batches of these forms. Called before the first step. Must not change the model.

        Args:
            model: The model, ready for training.
            trained: One batch of each form used for training, except the form of the first step.
            validated: One batch of each form used for validation.
        """

    def fit(self, model: Any, **arguments: Any) -> None:
        """Train like `model.fit`, but with prefetched batches."""
        size = arguments.pop("batch_size", None)
        x, y = arguments.pop("x"), arguments.pop("y", None)
        train = self.part(self._batches(x, y, size, is_shuffled=arguments.pop("shuffle", False)))
        validation = arguments.pop("validation_data", None)
        checked = None if validation is None else self._validation(validation, size)
        steps = (arguments.get("steps_per_epoch"), arguments.get("validation_steps"))
        callbacks = [_warm_up(self, train, checked, steps), *arguments.pop("callbacks", ())]
        model.fit(
            self._adapter(train),
            validation_data=None if checked is None else self._adapter(checked),
            callbacks=callbacks,
            **arguments,
        )

    def evaluate(self, model: Any, x: Any, y: Any, **arguments: Any) -> dict[str, float]:
        batches = self._batches(x, y, arguments.pop("batch_size"))
        data = self._adapter(batches if self.info.has_process_per_device else self.part(batches))
        logs: dict[str, float] = model.evaluate(data, return_dict=True, **arguments)
        return logs

    def constant(self, x: Any, y: Any) -> Batches:
        return Batches(lambda: itertools.repeat((x, y)), rows=x)

    def with_rows(self, stream: Batches, rows: Any) -> Batches:
        return replace(stream, rows=rows)

    def in_order(self, x: Any, y: Any, batch_size: int) -> Batches:
        return self._batches(x, y, batch_size)

    def generated(self, make: Make, others: Callable[[], Iterable[Batch]] = tuple) -> Batches:
        return Batches(make, others=others)

    def pictures(self, batches: PictureBatches) -> Batches:
        return Batches(batches.make, batches.count, batches.others)

    def _batches(self, x: Any, y: Any, size: int | None, *, is_shuffled: bool = False) -> Batches:
        """Return the batches of any data that `fit` accepts."""
        from keras.utils import PyDataset

        if isinstance(x, Batches):
            return x
        if isinstance(x, PyDataset):
            return Batches(lambda: (x[index] for index in itertools.count()))
        size = size or _USUAL_SIZE
        rest = len(x) % size
        return Batches(
            lambda: _pass(x, y, size, self._order(len(x)) if is_shuffled else None),
            count=-(-len(x) // size),
            others=lambda: [(x[:rest], _rows(y, slice(rest)))] if rest and len(x) > size else [],
        )

    def _validation(self, data: Any, size: int | None) -> Batches:
        batches = data if isinstance(data, Batches) else self._batches(data[0], data[1], size)
        return self.part(batches)

    def _order(self, count: int) -> Any:
        """Return a random permutation of range(count), different for each pass of a run."""
        import numpy as np

        self._seed += 1
        return np.random.default_rng(self._seed).permutation(count)

    def _adapter(self, batches: Batches) -> Any:
        """Wrap batches in a Keras data adapter. `fit` passes it on unchanged."""
        from keras.src.trainers.data_adapters.data_adapter import DataAdapter

        native = self.native

        class Adapter(DataAdapter):  # type: ignore[misc] # Keras ships no types
            num_batches = batches.count
            batch_size = None

            def get_numpy_iterator(self) -> Any:
                return Prefetcher(lambda: map(native, batches.make()), DEPTH)

            get_jax_iterator = get_torch_dataloader = get_numpy_iterator

        return Adapter()


def _warm_up(engine: KerasFeed, train: Batches, checked: Batches | None, steps: tuple[Any, Any]) -> Any:
    """Return a callback that compiles in advance the steps that would otherwise be compiled during training."""
    from keras.callbacks import Callback

    class WarmUp(Callback):  # type: ignore[misc] # Keras ships no types
        def on_train_begin(self, logs: Any = None) -> None:
            trained = [] if steps[0] == 1 else [engine.native(batch) for batch in train.others()]
            validated: list[Batch] = []
            if checked is not None:
                validated = [engine.native(next(checked.make()))]
                # The incomplete last batch occurs only in full passes.
                if steps[1] in (None, checked.count):
                    validated += [engine.native(batch) for batch in checked.others()]
            engine.warm_up(self.model, trained, validated)

    return WarmUp()


def _pass(x: Any, y: Any, size: int, order: Any) -> Iterator[Batch]:
    """Yield the batches of one pass over arrays in the given order; None keeps the arrays' own order."""
    for first in range(0, len(x), size):
        rows = slice(first, first + size)
        rows = rows if order is None else order[rows]
        yield x[rows], _rows(y, rows)


def part_of(batch: Batch, rank: int, count: int) -> Batch:
    """Return one of several equal parts of a batch."""
    x, y = batch
    size = len(x) // count
    rows = slice(rank * size, (rank + 1) * size)
    return x[rows], _rows(y, rows)


def _rows(y: Any, rows: Any) -> Any:
    return [part[rows] for part in y] if isinstance(y, list | tuple) else y[rows]
