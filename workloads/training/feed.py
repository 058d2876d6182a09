"""Input to a network: arrays in memory, or batches generated during training."""

import zlib
from dataclasses import dataclass, replace
from typing import Any, Literal

from workloads.engines.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Training, validation and test data of a run."""

    # Array of examples or, if y is None, an iterable of whole batches (the engine's own, or a PyDataset). The
    # optional attribute `rows` is the array of the underlying examples.
    x: Any
    y: Any = None
    # Arrays (x, y) or a finite number of batches for validation after each epoch; None for no validation.
    validation: Any = None
    test: tuple[Any, Any] | None = None  # arrays (x, y) to evaluate once after training; None for no evaluation
    shuffle: bool = True  # whether `fit` shuffles before each epoch (arrays only)
    samples: int  # number of training examples
    validation_samples: int = 0
    shape: tuple[int, ...]  # shape of one example
    source: Literal["real", "synthetic"]
    checksum: str | None = None  # SHA-256 of the source bytes; None for generated data

    def distinct(self) -> int | None:
        """Return the number of distinct training examples; None for a stream that isn't based on arrays."""
        import numpy as np

        rows = self.x if self.y is not None else getattr(self.x, "rows", None)
        if rows is None:
            return None
        array = np.ascontiguousarray(rows)
        return len({zlib.crc32(row.data) for row in array.reshape(len(array), -1).view(np.uint8)})

    def cut(self, examples: int) -> "Feed":
        """Return a feed with only the first `examples` examples, so that all epochs are short (arrays only).

        Limiting the steps of `fit` isn't enough, because the next epoch would continue where the last one stopped,
        and the data would run out in the middle of an epoch.
        """
        if self.y is None:
            return self
        y = [part[:examples] for part in self.y] if isinstance(self.y, list) else self.y[:examples]
        return replace(self, x=self.x[:examples], y=y)

    def validation_batches(self, batch_size: int) -> int:
        """Return the number of batches in the validation pass; 0 if there is no validation."""
        return 0 if self.validation is None else -(-self.validation_samples // batch_size)

    def fit_arguments(self, engine: Engine, batch_size: int) -> dict[str, Any]:
        """Return the arguments that pass the data to `fit`."""
        arguments = {"x": engine.shared(self.x), "validation_data": self.validation}
        if self.y is not None:
            arguments |= {"y": self.y, "batch_size": batch_size, "shuffle": self.shuffle}
        return arguments
