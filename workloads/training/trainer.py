"""A compiled network with its engine and data, ready for training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloads.engines.engine import Engine
from workloads.training.feed import Feed


@dataclass(slots=True)
class Trainer:
    """A compiled network, its engine and its data."""

    engine: Engine
    model: Any
    feed: Feed
    batch_size: int
    callbacks: Callable[[], list[Any]]  # returns new instances of the network's own Keras callbacks
    # Number of examples in timed epochs. Added up by `fit`; None if the engine doesn't count them.
    examples: int | None = None
    validated: int = 0  # number of examples in all validation passes, as counted by the engine
    to_validate: int = 0  # number of examples that these passes have

    def fit(self, feed: Feed, watch: Any, **asked: Any) -> None:
        """Train on all or part of the data, timed by `watch`. `asked` contains arguments for `model.fit`."""
        data, callbacks = feed.fit_arguments(self.engine, self.batch_size), self.callbacks()
        if self.engine.leads and self.engine.examples_seen(self.model) is not None:
            # Enclose the watch so that the counters aren't timed. Training outside of epochs isn't counted.
            callbacks += [_counter(self, begins=True), watch, _counter(self, begins=False)]
        elif self.engine.leads:
            callbacks.append(watch)
        self.engine.fit(self.model, **data, callbacks=callbacks, verbose=0, **asked)
        if self.engine.leads:
            watch.finish()
            batches = asked.get("validation_steps")
            each = feed.validation_samples if batches is None else batches * self.batch_size
            self.validated += watch.validated
            self.to_validate += watch.passes * min(each, feed.validation_samples)


def _counter(trainer: Trainer, *, begins: bool) -> Any:
    """Return a callback that subtracts the example count at the start of each epoch or adds it at the end."""
    from keras.callbacks import Callback

    def count(sign: int) -> None:
        seen = trainer.engine.examples_seen(trainer.model) or 0
        trainer.examples = (trainer.examples or 0) + sign * seen

    class ExampleCounter(Callback):  # type: ignore[misc] # Keras ships no types
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if begins:
                count(-1)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if not begins:
                count(1)

    return ExampleCounter()
