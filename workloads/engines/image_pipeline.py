"""Images for the storage test and the flower networks: creating, packing and feeding them.

`Pictures` defines the interface. The default implementation, for engines without a pipeline, uses Pillow and
NumPy.
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

# As in study 002: size of the shuffle buffer, and maximum random variations.
SHUFFLED = 2_048
CONTRAST, ROTATION = 0.8, 0.1
# Number of records to prefetch from each file if several files are read at once.
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
    """Labelled images."""

    def examples(self) -> Iterator[Example]:
        """Yield all examples in order."""


class Pictures:
    """An engine's image operations.

    Args:
        feed: Returns batches for the engine's `fit`. Called with a function that returns a new iterator of
            batches, the number of batches (None if endless), and a function that returns one batch for each
            additional length.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()

    # Single images

    def encoded(self, image: "NDArray[np.uint8]", quality: int) -> bytes:
        """Encode pixels as a JPEG."""
        return image_ops.encoded(image, quality)

    def enlarged(self, values: "NDArray[np.float32]", width: int, height: int) -> "NDArray[np.float32]":
        """Enlarge an array of shape (height, width, 3) by bicubic interpolation."""
        return image_ops.enlarged(values, width, height)

    def fitted(self, jpeg: bytes, side_px: int, quality: int) -> bytes:
        """Return the centre of an image as a square JPEG, scaled with antialiasing so that the shorter side fits.

        Raises:
            OSError: The data isn't a JPEG, or is damaged.
        """
        return image_ops.fitted(jpeg, side_px, quality)

    # Files

    def record_writer(self, path: Path) -> AbstractContextManager[Writer]:
        """Return a writer for a record file."""
        return tfrecords.RecordWriter(path)

    def record(self, features: Mapping[str, tfrecords.Value]) -> bytes:
        """Return a serialised example."""
        return tfrecords.example(features)

    @contextmanager
    def working_in(self, folder: Path) -> Iterator[None]:
        """Convert the engine's errors about files in a folder to OSError, and stop reading the files at exit."""
        try:
            yield
        finally:
            for reader in list(self._readers):
                reader.close()

    # Feeding images and labels in order

    def from_files(self, paths: Sequence[Path], labels: Sequence[int], side_px: int) -> Any:
        """Return JPEGs as pixels, each resized to a square."""
        calls = [partial(_loaded, path, label, side_px) for path, label in zip(paths, labels, strict=True)]
        return _Made(lambda: calls)

    def from_records(self, paths: Sequence[Path], packed_px: int, side_px: int) -> Any:
        """Return the images of records ("image" and "label"), resized to squares and alternating between files."""
        return _Made(lambda: _unpacking(paths, packed_px, side_px))

    def cached(self, data: Any) -> Any:
        """Return images that are kept in memory after the first full pass."""
        return _Cached(data)

    def batches(self, data: Any, batch_size: int, *, whole: bool = False) -> Any:
        """Return prefetched batches of images. `whole` drops an incomplete last batch."""
        return _Batches(data, batch_size, whole, self._readers)

    def array(self, images: Any) -> "NDArray[Any]":
        """Return the images of a batch as an array."""
        return images  # type: ignore[no-any-return]

    def varied(self, examples: Examples, batch_size: int, seed: int) -> Any:
        """Return an endless stream of batches for `fit`, with randomly varied photos, reshuffled for each pass."""
        return self._feed(lambda: _in_batches(_varied(examples, seed), batch_size, examples.classes), None, tuple)

    def in_order(self, examples: Examples, batch_size: int) -> Any:
        """Return batches of unmodified photos for `fit`, in order, for one pass."""
        return self._feed(
            lambda: _in_batches(_plain(examples), batch_size, examples.classes),
            -(-examples.count // batch_size),
            lambda: _rest(examples, batch_size),
        )


class _Made:
    """Images created by calls in a thread pool."""

    def __init__(self, calls: Callable[[], Iterable[Callable[[], Example]]]) -> None:
        self._calls = calls

    def examples(self) -> Iterator[Example]:
        return made(self._calls(), usable_cpus())


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

    # One thread per file, because some drives are faster with several concurrent requests.
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
    """Yield calls endlessly. Each call decodes and augments a photo."""
    import math

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
    if examples.which is not None and examples.labels is not None:
        for which, label in zip(examples.which.tolist(), examples.labels.tolist(), strict=True):
            yield examples.jpegs[which], label
    for path in examples.shards:
        yield from tfrecords.read_examples(path, "jpeg")


def _in_batches(calls: Iterable[Callable[[], Example]], batch_size: int, classes: int) -> Iterator[Batch]:
    """Yield batches of photos, created in a thread pool, with one-hot labels."""
    import numpy as np

    rows = np.eye(classes, dtype=np.float32)
    examples = made(calls, usable_cpus())
    while batch := list(islice(examples, batch_size)):
        images, labels = zip(*batch, strict=True)
        yield np.stack(images), rows[list(labels)]


def _rest(examples: Examples, batch_size: int) -> list[Batch]:
    """Return a list with one dummy batch of the last batch's length; [] if all batches have the same length."""
    import numpy as np

    rest = examples.count % batch_size
    if not rest or examples.count < batch_size:
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
