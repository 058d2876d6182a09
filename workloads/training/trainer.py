"""A network that is ready to train: compiled, on its engine, with its data."""

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
        """Train on all or a part of the data; `asked` is what `model.fit` is told beside it."""
        self.engine.fit(self.model, **feed.fit_arguments(self.engine, self.batch_size), verbose=0, **asked)
