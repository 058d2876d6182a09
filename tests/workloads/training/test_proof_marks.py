"""What training says of itself besides its times: different examples, and what wasn't counted."""

import io

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from workloads.engines.registry import engine_named
from workloads.protocol import events
from workloads.protocol.reporter import Emitter, Reporter
from workloads.training.feed import Feed
from workloads.training.proof_marks import report_distinct, report_steps

X = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
Y = np.arange(6)


def feed(x: object, y: object = None) -> Feed:
    return Feed(x=x, y=y, samples=6, shape=(2, 2), source="synthetic")


def test_the_same_examples_again_count_once() -> None:
    assert feed(X, Y).distinct() == 6
    assert feed(X[[0, 1, 0, 1, 0, 1]], Y).distinct() == 2
    assert feed(X[:, :, ::-1], Y).distinct() == 6  # not in one piece


@pytest.mark.parametrize("engine", ["torch", "jax"])
def test_streams_know_the_examples_that_they_are_made_from(engine: str) -> None:
    maker = engine_named(engine)
    assert feed(maker.shuffled(X[[0, 0, 1, 1, 2, 2]], Y, 2, 0)).distinct() == 3
    assert feed(maker.constant(X, Y)).distinct() == 6
    assert feed(maker.pieces(X.reshape(3, 2, 4), X.reshape(3, 2, 4))).distinct() == 6
    assert feed(maker.generated(lambda: iter([]))).distinct() is None


@pytest.mark.parametrize(("examples", "counted"), [(None, 0.0), (640, 40.0)])
def test_a_run_says_in_how_many_steps_it_counted(examples: int | None, counted: float) -> None:
    stream = io.BytesIO()
    reporter = Reporter(Emitter(stream))
    report_steps(examples, 40, 640, reporter)
    report_distinct(None, 6, reporter)
    lines = [events.decode(line) for line in stream.getvalue().splitlines()]
    metrics = {event.key: event.value for event in lines if isinstance(event, events.Metric)}
    assert metrics["steps_counted"] == counted
    assert ("examples_done" in metrics) is (examples is not None)
    assert "examples_distinct" not in metrics
