"""A network ready to train: compiled, on its engine, with its data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloads.engines.engine import Engine
from workloads.training.feed import Feed


@dataclass(frozen=True, slots=True)
class Trainer:
    """What trains, and on what.

    Attributes:
        callbacks: Returns the network's own Keras callbacks, new for each training.
    """

    engine: Engine
    model: Any
    feed: Feed
    batch_size: int
    callbacks: Callable[[], list[Any]]

    def fit(self, feed: Feed, watch: Any, **asked: Any) -> None:
        """Train on all or part of the data, timed by `watch`; `asked` holds more arguments of `model.fit`."""
        data, callbacks = feed.fit_arguments(self.engine, self.batch_size), [*self.callbacks(), watch]
        self.engine.fit(self.model, **data, callbacks=callbacks, verbose=0, **asked)
