"""Reading ahead: batches in order, bounded, with errors passed on, and no thread that outlives its iterator."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from workloads.engines.prefetcher import Prefetcher

PATIENCE_S = 30.0


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "reading ahead"]


class Source:
    """Numbers, and what happens to the iterator that makes them."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count
        self.made: list[int] = []
        self.makers: set[str] = set()
        self.closed = 0
        self.reached = threading.Condition()

    def __call__(self) -> Iterator[int]:
        number = 0
        try:
            while number != self.count:
                with self.reached:
                    self.made.append(number)
                    self.makers.add(threading.current_thread().name)
                    self.reached.notify_all()
                yield number
                number += 1
        finally:
            self.closed += 1

    def wait_for(self, count: int) -> None:
        with self.reached:
            assert self.reached.wait_for(lambda: len(self.made) >= count, PATIENCE_S)


def test_batches_arrive_in_order_from_another_thread_and_again_in_each_pass() -> None:
    source = Source(100)
    batches = Prefetcher(source, 3)
    assert threads() == []
    for _ in range(2):
        assert list(batches) == list(range(100))
    assert source.makers == {"reading ahead"}
    assert (source.closed, threads()) == (2, [])


def test_no_more_is_made_ahead_than_asked_for() -> None:
    source = Source()
    numbers = iter(Prefetcher(source, 4))
    for taken in range(1, 20):
        next(numbers)
        source.wait_for(taken + 4)
        assert len(source.made) == taken + 4
    numbers.close()


@pytest.mark.parametrize("how", ["close", "drop", "break"])
def test_the_thread_ends_with_its_iterator(how: str) -> None:
    source = Source()
    if how == "break":
        for number in Prefetcher(source, 2):
            if number == 5:
                break
    else:
        numbers = iter(Prefetcher(source, 2))
        next(numbers)
        assert threads() == ["reading ahead"]
        if how == "close":
            numbers.close()
        else:
            del numbers
            gc.collect()
    assert (source.closed, threads()) == (1, [])


def test_an_error_is_raised_after_the_batches_before_it() -> None:
    def make() -> Iterator[int]:
        yield 1
        yield 2
        raise OSError(5, "the drive is gone")

    numbers = iter(Prefetcher(make, 10))
    assert [next(numbers), next(numbers)] == [1, 2]
    with pytest.raises(OSError, match="the drive is gone"):
        next(numbers)
    assert next(numbers, None) is None
    assert threads() == []


def test_a_used_batch_is_not_kept() -> None:
    class Batch:
        pass

    released = threading.Event()

    def make() -> Iterator[Batch]:
        yield Batch()
        assert released.wait(PATIENCE_S)
        yield Batch()

    batches = iter(Prefetcher(make, 2))
    first = next(batches)
    weakref.finalize(first, released.set)
    del first
    next(batches)
