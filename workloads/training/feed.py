"""What a network is fed with: arrays in memory, or batches that are made while it trains."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from workloads.engines.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Training, validation and test data of one run.

    Attributes:
        x: Array of examples; or, where y is None, an iterable of whole batches (the engine's, or a PyDataset).
        validation: Arrays (x, y) or finite batches that each epoch ends with; None for no validation.
        test: Arrays (x, y) to evaluate once after the training; None for no evaluation.
        shuffle: Whether fit draws another order each epoch (arrays only).
        samples: Training examples that there are.
        shape: Of one example.
        checksum: SHA-256 of the bytes that the data was made from; None where nothing was.
        name: Of the data set, where it is not the workload's own.
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

    def cut(self, examples: int) -> "Feed":
        """Return the first so many examples alone, where there are arrays: each epoch is the same short one.

        Told to stop after some steps, fit would go on from there in the next epoch, and end in the middle of one.
        """
        if self.y is None:
            return self
        y = [part[:examples] for part in self.y] if isinstance(self.y, list) else self.y[:examples]
        return replace(self, x=self.x[:examples], y=y)

    def validation_batches(self, batch_size: int) -> int:
        """Return of how many batches the validation pass consists; 0 where there is none."""
        return 0 if self.validation is None else -(-self.validation_samples // batch_size)

    def fit_arguments(self, engine: Engine, batch_size: int) -> dict[str, Any]:
        """Return what fit is told about the data."""
        arguments = {"x": engine.shared(self.x), "validation_data": self.validation}
        if self.y is not None:
            arguments |= {"y": self.y, "batch_size": batch_size, "shuffle": self.shuffle}
        return arguments
