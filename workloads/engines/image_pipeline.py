"""Pictures for the storage test and the flower networks: creating, packing and feeding them.

`Pictures` is the interface, and implements it with Pillow and NumPy for engines without their own pipeline.
"""

import math
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workloads.datasets import tfrecords
from workloads.datasets.flower_photos import Examples
from workloads.engines import image_ops
from workloads.engines.cpu_allowance import cpu_quota, visible_cpus
from workloads.engines.prefetcher import Prefetcher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As in study 002: size of the shuffle buffer, and maximum random changes.
SHUFFLED = 2_048
CONTRAST, ROTATION = 0.8, 0.1
# Records read ahead from each file, if several are read at once.
_RECORDS_AHEAD = 4

_Item = TypeVar("_Item")
Example = tuple["NDArray[Any]", int]
Batch = tuple["NDArray[Any]", "NDArray[Any]"]
Reader = Generator[Batch, None, None]
Feed = Callable[[Callable[[], Iterator[Batch]], int | None, Callable[[], Iterable[Batch]]], Any]


class Writer(Protocol):
    """Writes a record file."""

    def write(self, record: bytes) -> object:
        """Add a record."""


class Source(Protocol):
    """Pictures with their labels."""

    def examples(self) -> Iterator[Example]:
        """Yield all of them, in order."""


class Pictures:
    """Picture operations of an engine.

    Args:
        feed: Returns batches for the engine's `fit`. Its arguments are a function that returns a new iterator of
            them, the number of batches (None if endless), and a function that returns a batch of each other
            length.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()

    # Single pictures

    def encoded(self, image: "NDArray[np.uint8]", quality: int) -> bytes:
        """Return pixels as a JPEG."""
        return image_ops.encoded(image, quality)

    def enlarged(self, values: "NDArray[np.float32]", width: int, height: int) -> "NDArray[np.float32]":
        """Return (height, width, 3) numbers in a larger size, by bicubic interpolation."""
        return image_ops.enlarged(values, width, height)

    def fitted(self, jpeg: bytes, side_px: int, quality: int) -> bytes:
        """Return the middle of a picture as a square JPEG, scaled with smoothing so that the shorter side fits.

        Raises:
            OSError: It isn't a JPEG, or is damaged.
        """
        return image_ops.fitted(jpeg, side_px, quality)

    # Files

    def record_writer(self, path: Path) -> AbstractContextManager[Writer]:
        """Return a writer for a record file."""
        return tfrecords.RecordWriter(path)

    def record(self, features: Mapping[str, tfrecords.Value]) -> bytes:
        """Return an example in the form of a record."""
        return tfrecords.example(features)

    @contextmanager
    def working_in(self, folder: Path) -> Iterator[None]:
        """Turn the engine's errors about a folder's files into OSError, and end reading from them afterwards."""
        try:
            yield
        finally:
            for reader in list(self._readers):
                reader.close()

    # Feeding, with labels, in order

    def from_files(self, paths: Sequence[Path], labels: Sequence[int], side_px: int) -> Any:
        """Return JPEGs as pixels, each picture resized to a square."""
        calls = [partial(_loaded, path, label, side_px) for path, label in zip(paths, labels, strict=True)]
        return _Made(lambda: calls)

    def from_records(self, paths: Sequence[Path], packed_px: int, side_px: int) -> Any:
        """Do the same for records with "image" (a square's pixels) and "label", alternating between files."""
        return _Made(lambda: _unpacking(paths, packed_px, side_px))

    def cached(self, data: Any) -> Any:
        """Return pictures that stay in memory after the first whole pass."""
        return _Cached(data)

    def batches(self, data: Any, batch_size: int, *, whole: bool = False) -> Any:
        """Return prefetched batches of pictures. `whole` drops a smaller last batch."""
        return _Batches(data, batch_size, whole, self._readers)

    def array(self, images: Any) -> "NDArray[Any]":
        """Return a batch's pictures as an array."""
        return images  # type: ignore[no-any-return]

    def varied(self, examples: Examples, batch_size: int, seed: int) -> Any:
        """Return endless batches for `fit`, in a new order each pass, with each photo changed at random."""
        return self._feed(lambda: _in_batches(_varied(examples, seed), batch_size, examples.classes), None, tuple)

    def in_order(self, examples: Examples, batch_size: int) -> Any:
        """Return batches for `fit` once, in order and unchanged."""
        return self._feed(
            lambda: _in_batches(_plain(examples), batch_size, examples.classes),
            -(-examples.count // batch_size),
            lambda: _rest(examples, batch_size),
        )


class _Made:
    """Pictures created by calls in a pool of threads."""

    def __init__(self, calls: Callable[[], Iterable[Callable[[], Example]]]) -> None:
        self._calls = calls

    def examples(self) -> Iterator[Example]:
        return made(self._calls(), usable_cpus())


class _Cached:
    """Pictures that stay in memory after the first whole pass."""

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
    """Batches of pictures that a thread prefetches until they are no longer needed."""

    def __init__(
        self,
        source: Source,
        batch_size: int,
        whole: bool,
        readers: "weakref.WeakSet[Reader]",
    ) -> None:
        self._source, self._batch_size, self._whole, self._readers = source, batch_size, whole, readers

    def __iter__(self) -> Iterator[Batch]:
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


def _unpacking(paths: Sequence[Path], packed_px: int, side_px: int) -> Iterator[Callable[[], Example]]:
    def unpack(image: bytes, label: int) -> Example:
        return image_ops.unpacked(image, packed_px, side_px), label

    # One thread per file, because a drive may be faster with several requests at once.
    files = deque(
        iter(Prefetcher(partial(tfrecords.read_examples, path, "image"), _RECORDS_AHEAD)) for path in paths
    )
    while files:
        record = next(files[0], None)
        if record is None:
            files.popleft()
            continue
        files.rotate(-1)
        yield partial(unpack, *record)


def _varied(examples: Examples, seed: int) -> Iterator[Callable[[], Example]]:
    """Yield endless calls, each of which decodes and changes a photo."""
    import math

    import numpy as np

    order, change = (np.random.default_rng([seed, part]) for part in range(2))

    def vary(jpeg: bytes, label: int, variation: image_ops.Variation) -> Example:
        return image_ops.varied(jpeg, examples.size, variation), label

    while True:
        for jpeg, label in shuffled(_jpegs(examples), SHUFFLED, order):
            variation = image_ops.Variation(
                is_flipped=change.random() <= 0.5,
                # Keras only increases contrast, although according to its documentation, it also reduces it.
                contrast=change.uniform(1, 1 + CONTRAST),
                angle=change.uniform(-ROTATION, ROTATION) * 2 * math.pi,
            )
            yield partial(vary, jpeg, label, variation)


def _plain(examples: Examples) -> Iterator[Callable[[], Example]]:
    def decode(jpeg: bytes, label: int) -> Example:
        return image_ops.floats(jpeg, examples.size), label

    return (partial(decode, *example) for example in _jpegs(examples))


def _jpegs(examples: Examples) -> Iterator[tuple[bytes, int]]:
    if examples.which is not None and examples.labels is not None:
        for which, label in zip(examples.which.tolist(), examples.labels.tolist(), strict=True):
            yield examples.jpegs[which], label
    for path in examples.shards:
        yield from tfrecords.read_examples(path, "jpeg")


def _in_batches(calls: Iterable[Callable[[], Example]], batch_size: int, classes: int) -> Iterator[Batch]:
    """Yield batches of photos created in a pool, with one-hot labels."""
    import numpy as np

    rows = np.eye(classes, dtype=np.float32)
    examples = made(calls, usable_cpus())
    while batch := list(islice(examples, batch_size)):
        images, labels = zip(*batch, strict=True)
        yield np.stack(images), rows[list(labels)]


def _rest(examples: Examples, batch_size: int) -> list[Batch]:
    """Return an empty batch of the last batch's length in a list; [] if all batches have the same length."""
    import numpy as np

    rest = examples.count % batch_size
    if not rest or examples.count < batch_size:
        return []
    images = np.zeros((rest, examples.size, examples.size, 3), np.float32)
    return [(images, np.zeros((rest, examples.classes), np.float32))]


def usable_cpus() -> int:
    """Return how many threads can compute at the same time in this process."""
    return max(1, math.ceil(min(visible_cpus() or 1, cpu_quota() or math.inf)))


def made(calls: Iterable[Callable[[], _Item]], threads: int) -> Iterator[_Item]:
    """Yield the results of calls in order. Two calls per thread are processed ahead.

    Args:
        calls: Calls, read one by one in the caller's thread.
        threads: Number of calls that run at once.
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
