"""The reporter against a clock of our own: what is timed, what is sent when, and what a cancel leaves."""

import io
import os
from itertools import pairwise
from typing import Any

import pytest

from workloads.protocol import events
from workloads.protocol.reporter import Cancelled, Emitter, Reporter, beat


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


class Bench:
    """A reporter, its clock, and what it has sent."""

    def __init__(self) -> None:
        self.clock = Clock()
        self._stream = io.BytesIO()
        self.reporter = Reporter(Emitter(self._stream, self.clock), self.clock)

    def wait(self, duration_s: float) -> None:
        self.clock.now_s += duration_s

    def step(self, duration_s: float, loss: float | None = None) -> float:
        self.wait(duration_s)
        return self.reporter.step_end(loss)

    def sent(self, kind: type[Any] = events.Event) -> list[Any]:
        found = [events.decode(line) for line in self._stream.getvalue().splitlines()]
        return [event for event in found if isinstance(event, kind)]

    def steps_s(self) -> list[float]:
        return [duration_s for block in self.sent(events.Steps) for duration_s in block.durations_s]


@pytest.fixture
def bench() -> Bench:
    found = Bench()
    found.reporter.phase("measure", epochs=2, total_steps=20)
    return found


def test_events_are_stamped_from_the_start_and_slow_steps_sent_at_once(bench: Bench) -> None:
    bench.reporter.epoch_begin(0)
    bench.step(3.0, loss=2.0)
    first, block = bench.sent()
    assert (first.seq, first.t_s, block.seq, block.t_s) == (0, 0.0, 1, 3.0)
    assert (block.phase, block.epoch, block.first_index) == ("measure", 0, 0)
    assert (block.durations_s, block.loss) == ((3.0,), 2.0)


def test_a_step_lasts_from_the_end_of_the_one_before(bench: Bench) -> None:
    bench.reporter.epoch_begin(0)
    assert bench.step(0.5) == pytest.approx(0.5)
    assert bench.step(0.25) == pytest.approx(0.75)
    bench.reporter.epoch_end()
    assert bench.steps_s() == pytest.approx([0.5, 0.25])
    assert bench.reporter.steps_done == 2


def test_fast_steps_come_in_blocks_of_at_most_ten_a_second(bench: Bench) -> None:
    bench.reporter.epoch_begin(0)
    for number in range(1_000):
        bench.step(0.001, loss=float(number))
    blocks = bench.sent(events.Steps)
    assert 9 <= len(blocks) <= 10
    assert all(later.t_s - earlier.t_s >= 0.0999 for earlier, later in pairwise(blocks))
    bench.reporter.epoch_end()
    blocks = bench.sent(events.Steps)
    assert len(bench.steps_s()) == 1_000
    assert [block.first_index for block in blocks] == [
        sum(len(block.durations_s) for block in blocks[:place]) for place in range(len(blocks))
    ]
    assert blocks[0].loss == len(blocks[0].durations_s) - 1


def test_an_epoch_is_reported_in_parts(bench: Bench) -> None:
    bench.wait(5.0)
    bench.reporter.epoch_begin(1)
    for _ in range(4):
        bench.step(0.5)
    bench.wait(0.125)
    bench.reporter.validation_begin()
    bench.wait(1.0)
    bench.reporter.validation_end()
    bench.wait(0.25)
    bench.reporter.epoch_end(loss=1.5, accuracy=0.5, val_loss=1.25, val_accuracy=0.75)
    (epoch,) = bench.sent(events.Epoch)
    assert (epoch.index, epoch.steps) == (1, 4)
    assert (epoch.duration_s, epoch.train_s, epoch.validation_s) == (3.375, 2.0, 1.0)
    assert (epoch.loss, epoch.accuracy, epoch.val_loss, epoch.val_accuracy) == (1.5, 0.5, 1.25, 0.75)


def test_a_second_epoch_knows_nothing_of_the_first(bench: Bench) -> None:
    for index in range(2):
        bench.reporter.epoch_begin(index)
        bench.step(0.5)
        if index == 0:
            bench.reporter.validation_begin()
            bench.wait(1.0)
            bench.reporter.validation_end()
        bench.reporter.epoch_end()
        bench.wait(10.0)
    first, second = bench.sent(events.Epoch)
    assert (first.validation_s, second.validation_s) == (1.0, None)
    assert (first.steps, second.steps) == (1, 1)
    assert second.duration_s == 0.5
    assert [block.first_index for block in bench.sent(events.Steps)] == [0, 0]


def test_the_warm_up_sends_its_steps_as_such_and_no_epoch() -> None:
    bench = Bench()
    bench.reporter.phase("warmup", epochs=1, total_steps=2)
    bench.reporter.epoch_begin(0)
    bench.step(0.5)
    bench.reporter.epoch_end(loss=1.0)
    assert [block.phase for block in bench.sent(events.Steps)] == ["warmup"]
    assert bench.sent(events.Epoch) == bench.sent(events.Metric) == []


def test_a_cut_epoch_is_never_sent_as_one(bench: Bench) -> None:
    bench.reporter.epoch_steps = 2
    for steps in (1, 2):
        bench.reporter.epoch_begin(0)
        for _ in range(steps):
            bench.step(0.5)
        bench.reporter.epoch_end(loss=1.5, accuracy=0.5)
    assert [epoch.steps for epoch in bench.sent(events.Epoch)] == [2]
    assert {event.key: event.value for event in bench.sent(events.Metric)} == {"loss": 1.5, "accuracy": 0.5}


def test_a_short_epoch_sends_its_parts(bench: Bench) -> None:
    bench.reporter.time_parts()
    for index in range(2):
        bench.reporter.epoch_begin(index)
        bench.step(0.5)
        bench.wait(0.25)  # before the validation and after it: the rest
        bench.reporter.validation_begin()
        for batch_s in (0.125, 0.0625):
            bench.wait(batch_s)
            bench.reporter.validation_batch_end()
        bench.reporter.validation_end()
        bench.reporter.epoch_end(loss=1.5)
    told = [(block.phase, block.epoch, block.durations_s) for block in bench.sent(events.Steps)]
    assert told == [
        ("start", 0, (0.5,)),
        ("validate", 0, (0.125, 0.0625)),
        ("start", 1, (0.5,)),
        ("validate", 1, (0.125, 0.0625)),
    ]
    assert [(event.key, event.value) for event in bench.sent(events.Metric)] == [("epoch_rest_s", 0.25)] * 2
    assert bench.sent(events.Epoch) == []


def test_a_cancel_reports_what_was_measured_then_stops(bench: Bench) -> None:
    bench.reporter.epoch_begin(0)
    bench.step(0.01)
    bench.step(0.01)
    assert bench.sent(events.Steps) == []
    bench.reporter.cancel_requested.set()
    with pytest.raises(Cancelled):
        bench.step(0.01, loss=1.0)
    assert bench.steps_s() == pytest.approx([0.01] * 3)
    with pytest.raises(Cancelled):
        bench.reporter.check_cancel()
    with pytest.raises(Cancelled):
        bench.reporter.phase("evaluate")
    assert [event.name for event in bench.sent(events.Phase)] == ["measure"]


def test_a_reader_that_is_gone_is_noticed() -> None:
    closed = io.BytesIO()
    emitter = Emitter(closed)
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        emitter.send(events.Log(message="hello?"))


def test_a_process_reports_that_it_is_alive_until_nobody_reads() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb") as kept:
        beat(Emitter(kept), every_s=0.001)
        assert [events.decode(stream.readline()).__class__ for _ in range(3)] == [events.Alive] * 3
        stream.close()
