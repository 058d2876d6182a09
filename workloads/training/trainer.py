"""A network ready to train: compiled, on its engine, with its data."""

from dataclasses import dataclass
from typing import Any

from workloads.engines.engine import Engine
from workloads.training.feed import Feed


@dataclass(frozen=True, slots=True)
class Trainer:
    """What trains, and on what."""

    engine: Engine
    model: Any
    feed: Feed
    batch_size: int

    def fit(self, feed: Feed, **asked: Any) -> None:
        """Train on all or part of the data; `asked` holds further arguments of `model.fit`."""
        self.engine.fit(self.model, **feed.fit_arguments(self.engine, self.batch_size), verbose=0, **asked)
