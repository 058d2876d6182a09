"""A network's input: arrays in memory, or batches created during training."""

import zlib
from dataclasses import dataclass, replace
from typing import Any, Literal

from workloads.engines.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Training, validation and test data of one run.

    Attributes:
        x: Array of examples or, if y is None, an iterable of whole batches (the engine's, or a PyDataset). Its
            attribute `rows` is the array of examples the batches are made from, if there is one.
        validation: Arrays (x, y) or finite batches at the end of each epoch; None for no validation.
        test: Arrays (x, y) to evaluate once after training; None for no evaluation.
        shuffle: Whether `fit` shuffles in each epoch (arrays only).
        samples: Number of training examples.
        shape: Shape of one example.
        checksum: SHA-256 of the bytes the data was created from; None if there are none.
        name: Name of the data set, if it isn't the workload's default.
    """

    x: Any
    y: Any = None
    validation: Any = None
    test: tuple[Any, Any] | None = None
    shuffle: bool = True
    samples: int
    validation_samples: int = 0
    shape: tuple[int, ...]
    source: Literal["real", "synthetic"]
    checksum: str | None = None
    name: str | None = None

    def distinct(self) -> int | None:
        """Return the number of different training examples; None for a stream that isn't made from arrays."""
        import numpy as np

        rows = self.x if self.y is not None else getattr(self.x, "rows", None)
        if rows is None:
            return None
        array = np.ascontiguousarray(rows)
        return len({zlib.crc32(row.data) for row in array.reshape(len(array), -1).view(np.uint8)})

    def cut(self, examples: int) -> "Feed":
        """Return only the first examples, for arrays, so that every epoch is the same short one.

        If `fit` were limited by steps instead, the next epoch would continue where it stopped, and the data would
        end in the middle of an epoch.
        """
        if self.y is None:
            return self
        y = [part[:examples] for part in self.y] if isinstance(self.y, list) else self.y[:examples]
        return replace(self, x=self.x[:examples], y=y)

    def validation_batches(self, batch_size: int) -> int:
        """Return the number of batches in the validation pass; 0 if there is none."""
        return 0 if self.validation is None else -(-self.validation_samples // batch_size)

    def fit_arguments(self, engine: Engine, batch_size: int) -> dict[str, Any]:
        """Return the arguments of `fit` for the data."""
        arguments = {"x": engine.shared(self.x), "validation_data": self.validation}
        if self.y is not None:
            arguments |= {"y": self.y, "batch_size": batch_size, "shuffle": self.shuffle}
        return arguments
