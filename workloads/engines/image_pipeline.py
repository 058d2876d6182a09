"""Images for the storage test and the flower networks, decoded by a pool of threads with Pillow and NumPy."""

import math
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workloads.engines import image_ops
from workloads.engines.cpu_allowance import cpu_quota, visible_cpus
from workloads.engines.prefetcher import Prefetcher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As in study 002: size of the shuffle buffer, and maximum random variations.
SHUFFLED = 2_048
CONTRAST, ROTATION = 0.8, 0.1

_Item = TypeVar("_Item")
Example = tuple["NDArray[Any]", int]
Batch = tuple["NDArray[Any]", "NDArray[Any]"]
Batches = Generator[Batch, None, None]


class Source(Protocol):
    """Labelled images."""

    def examples(self) -> Iterator[Example]:
        """Yield all examples in order."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Square JPEGs of one size in memory. Each is used for many examples."""

    size: int  # pixels per side
    classes: int  # number of classes
    jpegs: tuple[bytes, ...]
    which: "NDArray[np.int64]"  # index into `jpegs` for each example
    labels: "NDArray[np.int32]"  # label of each example


@dataclass(frozen=True, slots=True)
class PictureBatches:
    """Batches of images (float32, from 0 to 1) and one-hot labels (float32), prepared during training."""

    make: Callable[[], Batches]  # returns a new iterator of batches
    count: int | None  # number of batches per pass; None if endless
    others: Callable[[], Iterable[Batch]]  # returns one batch for each additional length
    shapes: tuple[tuple[int, ...], tuple[int, ...]]  # shapes of one image and of its label


def varied(examples: Examples, batch_size: int, seed: int) -> PictureBatches:
    """Return an endless stream of batches of randomly varied images, reshuffled for each pass."""
    return PictureBatches(
        lambda: _in_batches(_varied(examples, seed), batch_size, examples.classes), None, tuple, _shapes(examples)
    )


def in_order(examples: Examples, batch_size: int) -> PictureBatches:
    """Return batches of unmodified images, in order, for one pass."""
    return PictureBatches(
        lambda: _in_batches(_plain(examples), batch_size, examples.classes),
        -(-len(examples.which) // batch_size),
        lambda: _rest(examples, batch_size),
        _shapes(examples),
    )


class Reader:
    """Reads JPEG files in a thread pool, until the end of the `with` statement."""

    def __init__(self) -> None:
        self._readers: weakref.WeakSet[Batches] = weakref.WeakSet()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *error: object) -> None:
        for reader in list(self._readers):
            reader.close()

    def files(self, paths: Sequence[Path], labels: Sequence[int], side_px: int) -> Source:
        calls = [partial(_loaded, path, label, side_px) for path, label in zip(paths, labels, strict=True)]
        return _Made(calls)

    def cached(self, source: Source) -> Source:
        """Return images that are kept in memory after the first full pass."""
        return _Cached(source)

    def batches(self, source: Source, batch_size: int, *, whole: bool = False) -> "_Batches":
        """Return prefetched batches of images. `whole` drops an incomplete last batch."""
        return _Batches(source, batch_size, whole, self._readers)


class _Made:
    """Images created by calls in a thread pool."""

    def __init__(self, calls: Sequence[Callable[[], Example]]) -> None:
        self._calls = calls

    def examples(self) -> Iterator[Example]:
        return made(self._calls, usable_cpus())


class _Cached:
    """Images that are kept in memory after the first full pass."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: list[Example] | None = None

    def examples(self) -> Iterator[Example]:
        if self._kept is not None:
            yield from self._kept
            return
        kept = []
        for example in self._source.examples():
            kept.append(example)
            yield example
        self._kept = kept


class _Batches:
    """Batches of images, prefetched by a thread until no more are needed."""

    def __init__(self, source: Source, batch_size: int, whole: bool, readers: "weakref.WeakSet[Batches]") -> None:
        self._source, self._batch_size, self._whole, self._readers = source, batch_size, whole, readers

    def __iter__(self) -> Batches:
        is_over = Event()
        reader = iter(Prefetcher(lambda: self._made(is_over), stop=is_over.set))
        self._readers.add(reader)
        return reader

    def _made(self, is_over: Event) -> Iterator[Batch]:
        import numpy as np

        images, labels = [], []
        for image, label in self._source.examples():
            if is_over.is_set():
                return
            images.append(image)
            labels.append(label)
            if len(images) == self._batch_size:
                yield np.stack(images), np.array(labels, np.int32)
                images, labels = [], []
        if images and not self._whole:
            yield np.stack(images), np.array(labels, np.int32)


def shuffled(items: Iterable[_Item], window: int, random: "np.random.Generator") -> Iterator[_Item]:
    """Yield items in random order, each drawn from a buffer of `window` items, as in tf.data."""
    waiting: list[_Item] = []
    for item in items:
        if len(waiting) < window:
            waiting.append(item)
            continue
        place = int(random.integers(window))
        drawn, waiting[place] = waiting[place], item
        yield drawn
    for place in random.permutation(len(waiting)).tolist():
        yield waiting[place]


def _loaded(path: Path, label: int, side_px: int) -> Example:
    return image_ops.resized(image_ops.decoded(path.read_bytes()), side_px), label


def _varied(examples: Examples, seed: int) -> Iterator[Callable[[], Example]]:
    """Yield calls endlessly. Each call decodes and augments an image."""
    import numpy as np

    order, change = (np.random.default_rng([seed, part]) for part in range(2))

    def vary(jpeg: bytes, label: int, variation: image_ops.Variation) -> Example:
        return image_ops.varied(jpeg, examples.size, variation), label

    while True:
        for jpeg, label in shuffled(_jpegs(examples), SHUFFLED, order):
            variation = image_ops.Variation(
                is_flipped=change.random() <= 0.5,
                # Keras only increases the contrast, although its documentation says that it also reduces it.
                contrast=change.uniform(1, 1 + CONTRAST),
                angle=change.uniform(-ROTATION, ROTATION) * 2 * math.pi,
            )
            yield partial(vary, jpeg, label, variation)


def _plain(examples: Examples) -> Iterator[Callable[[], Example]]:
    def decode(jpeg: bytes, label: int) -> Example:
        return image_ops.floats(jpeg, examples.size), label

    return (partial(decode, *example) for example in _jpegs(examples))


def _jpegs(examples: Examples) -> Iterator[tuple[bytes, int]]:
    for which, label in zip(examples.which.tolist(), examples.labels.tolist(), strict=True):
        yield examples.jpegs[which], label


def _shapes(examples: Examples) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (examples.size, examples.size, 3), (examples.classes,)


def _in_batches(calls: Iterable[Callable[[], Example]], batch_size: int, classes: int) -> Batches:
    """Yield batches of images, created in a thread pool, with one-hot labels."""
    import numpy as np

    rows = np.eye(classes, dtype=np.float32)
    examples = made(calls, usable_cpus())
    while batch := list(islice(examples, batch_size)):
        images, labels = zip(*batch, strict=True)
        yield np.stack(images), rows[list(labels)]


def _rest(examples: Examples, batch_size: int) -> list[Batch]:
    """Return a list with one dummy batch of the last batch's length; [] if all batches have the same length."""
    import numpy as np

    rest = len(examples.which) % batch_size
    if not rest or len(examples.which) < batch_size:
        return []
    images = np.zeros((rest, examples.size, examples.size, 3), np.float32)
    return [(images, np.zeros((rest, examples.classes), np.float32))]


def usable_cpus() -> int:
    """Return the number of threads that can compute in parallel in this process."""
    return max(1, math.ceil(min(visible_cpus() or 1, cpu_quota() or math.inf)))


def made(calls: Iterable[Callable[[], _Item]], threads: int) -> Iterator[_Item]:
    """Yield the results of calls in order, working ahead by up to two calls per thread.

    Args:
        calls: Calls, consumed one at a time in the caller's thread.
        threads: Number of calls to run in parallel.
    """
    waiting: deque[Future[_Item]] = deque()
    with ThreadPoolExecutor(threads, "pictures") as pool:
        try:
            for call in calls:
                waiting.append(pool.submit(call))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
