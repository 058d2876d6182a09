"""Pictures: order, passes, batches, threads, errors and cancelling."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from tests.waiting import wait_until
from workloads.engines import image_ops
from workloads.engines.image_pipeline import Examples, Reader, in_order, made, shuffled, varied
from workloads.engines.keras_feed import KerasFeed

PATIENCE_S = 30.0
SIDE = 8
COUNT = 40


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    wait_until(lambda: set(threading.enumerate()) <= before)


def grey(number: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    return np.full((SIDE, SIDE, 3), 5 * number, np.uint8)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{number}.jpg" for number in range(COUNT)]
    for number, path in enumerate(paths):
        path.write_bytes(image_ops.encoded(grey(number), 95))
    return paths


@pytest.fixture
def examples() -> Examples:
    """Pictures whose label is their number's rest by five; no thread may be left after their use."""
    jpegs = tuple(image_ops.encoded(grey(number), 95) for number in range(COUNT))
    return Examples(SIDE, 5, jpegs, np.arange(COUNT), np.arange(COUNT, dtype=np.int32) % 5)


def test_files_are_read_in_order_and_in_batches(paths: list[Path]) -> None:
    reader = Reader()
    data = reader.files(paths, list(range(COUNT)), 4)
    for whole, sizes in ((False, [16, 16, 8]), (True, [16, 16])):
        batches = reader.batches(data, 16, whole=whole)
        for _ in range(2):  # each pass is the same
            seen = list(batches)
            assert [images.shape for images, _ in seen] == [(size, 4, 4, 3) for size in sizes]
            assert {(images.dtype.name, labels.dtype.name) for images, labels in seen} == {("uint8", "int32")}
            labels = [label for _, part in seen for label in part.tolist()]
            assert labels == [round(float(image.mean()) / 5) for images, _ in seen for image in images]
            assert labels == list(range(sum(sizes)))


def test_what_was_read_once_stays_in_memory(paths: list[Path]) -> None:
    reader = Reader()
    cached = reader.cached(reader.files(paths, list(range(COUNT)), 4))
    next(iter(reader.batches(cached, 8)))
    assert sum(len(labels) for _, labels in reader.batches(cached, 8)) == COUNT
    for path in paths:
        path.unlink()
    for size in (8, 16):
        seen = [label for _, labels in reader.batches(cached, size) for label in labels.tolist()]
        assert seen == list(range(COUNT))


def test_training_takes_every_photo_once_in_each_pass(examples: Examples) -> None:
    batches = varied(examples, 8, seed=3).make()
    passes = []
    for _ in range(3):
        labels = [part for _, part in islice(batches, COUNT // 8)]
        passes.append(np.concatenate(labels).argmax(axis=-1).tolist())
        assert Counter(passes[-1]) == Counter([number % 5 for number in range(COUNT)])
    assert passes[0] != passes[1] != passes[2]
    batches.close()
    again = varied(examples, 8, seed=3).make()
    assert next(again)[1].argmax(axis=-1).tolist() == passes[0][:8]
    again.close()


def test_training_changes_photos_as_keras_layers_do(examples: Examples, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[image_ops.Variation] = []
    lock = threading.Lock()

    def vary(jpeg: bytes, side_px: int, variation: image_ops.Variation) -> object:
        with lock:
            seen.append(variation)
        return np.zeros((side_px, side_px, 3), np.float32)

    monkeypatch.setattr(image_ops, "varied", vary)
    batches = varied(examples, 50, seed=0).make()
    for images, labels in islice(batches, 80):
        assert (images.shape, images.dtype.name, labels.shape, labels.dtype.name) == (
            *((50, SIDE, SIDE, 3), "float32"),
            *((50, 5), "float32"),
        )
    batches.close()
    flips, contrasts, turns = (
        np.array([getattr(variation, name) for variation in seen[:4_000]])
        for name in ("is_flipped", "contrast", "angle")
    )
    assert flips.mean() == pytest.approx(0.5, abs=0.04)
    assert (contrasts.min(), contrasts.max(), contrasts.mean()) == pytest.approx((1.0, 1.8, 1.4), abs=0.02)
    turns /= 2 * np.pi
    assert (turns.min(), turns.max(), turns.std()) == pytest.approx((-0.1, 0.1, 0.2 / 12**0.5), abs=0.002)
    assert np.abs(np.corrcoef([flips, contrasts, turns]) - np.eye(3)).max() < 0.1


def test_validation_is_in_order_unchanged_and_repeated(examples: Examples) -> None:
    batches = in_order(examples, 16)
    for _ in range(2):
        seen = list(batches.make())
        assert [len(images) for images, _ in seen] == [16, 16, 8]
        numbers = [round(float(image.mean()) * 51) for images, _ in seen for image in images]
        assert numbers == list(range(COUNT))
        labels = [label for _, part in seen for label in part.argmax(axis=-1).tolist()]
        assert labels == [number % 5 for number in range(COUNT)]


@pytest.mark.parametrize(("size", "rest"), [(16, [8]), (20, []), (40, []), (64, [])])
def test_keras_engines_know_how_many_batches_there_are(examples: Examples, size: int, rest: list[int]) -> None:
    keras = KerasFeed()
    train, validation = keras.pictures(varied(examples, size, 0)), keras.pictures(in_order(examples, size))
    assert train.count is None
    assert validation.count == len(list(validation.make()))
    others = list(validation.others())
    assert [len(images) for images, _ in others] == [len(labels) for _, labels in others] == rest
    first = next(validation.make())
    for images, labels in others:
        assert (images.shape[1:], images.dtype, labels.shape[1:], labels.dtype) == (
            *(first[0].shape[1:], first[0].dtype),
            *(first[1].shape[1:], first[1].dtype),
        )
    assert not list(train.others())


def test_shuffling_draws_from_a_window() -> None:
    order = list(shuffled(range(1_000), 50, np.random.default_rng(0)))
    assert sorted(order) == list(range(1_000))
    assert all(item < place + 50 for place, item in enumerate(order))
    assert np.mean([item - place for place, item in enumerate(order)][:900]) == pytest.approx(0, abs=8)
    assert len({tuple(shuffled(range(9), 50, np.random.default_rng(seed))) for seed in range(20)}) == 20
    assert list(shuffled([], 3, np.random.default_rng(0))) == []


def test_a_pool_keeps_the_order_and_works_on_several_at_once() -> None:
    barrier = threading.Barrier(3)

    def call(number: int) -> Callable[[], int]:
        def run() -> int:
            barrier.wait(PATIENCE_S)
            return number

        return run

    assert list(made(map(call, range(12)), threads=3)) == list(range(12))


def test_a_pool_works_ahead_only_so_far_and_drops_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    done: list[int] = []
    goes_on = threading.Event()
    shutdown = ThreadPoolExecutor.shutdown

    def stop(pool: ThreadPoolExecutor, wait: bool = True, *, cancel_futures: bool = False) -> None:
        shutdown(pool, wait=False, cancel_futures=cancel_futures)
        goes_on.set()
        shutdown(pool, wait=wait)

    def calls() -> Iterator[Callable[[], None]]:
        for number in count():
            asked.append(number)

            def run(number: int = number) -> None:
                if number:
                    assert goes_on.wait(PATIENCE_S)
                done.append(number)

            yield run

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", stop)
    results = made(calls(), threads=2)
    next(results)
    assert asked == [0, 1, 2, 3, 4]
    results.close()  # type: ignore[attr-defined] # a generator
    assert set(done) <= {0, 1, 2}
    assert asked == [0, 1, 2, 3, 4]
