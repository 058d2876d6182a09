"""Identifies the engine that a log line is about, and provides the engine's names for fixes."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

# The path of an installed package is stronger evidence than a name in a sentence.
_PACKAGES = re.compile(r"(?:site|dist)-packages[/\\](tensorflow|keras|torch|jaxlib|jax)\b")
# JAX used to be built from TensorFlow's source as "org_tensorflow", and both contain XLA at different paths.
_NAMES: dict[str, re.Pattern[str]] = {
    "jax": re.compile(
        r"\bjax(?:lib)?\b|\bjax_\w|\bJAX\b|\bJAX_[A-Z]|\bXLA_PYTHON_|\bPJRT plugin\b|\bmodule:? '?jit_\w"
        r"|external/org_tensorflow|external/xla/xla"
    ),
    "torch": re.compile(
        r"\btorch(?:vision|audio|run)?\b|\btorch[._/\\]\w|[Pp]y[Tt]orch|\bc10\b|\baten::|\bTORCH_\w|\bDataLoader\b"
        r"|\bDefaultCPUAllocator\b|\bProcessGroupNCCL\b"
    ),
    "tensorflow": re.compile(r"(?<!org_)\b[Tt]ensor[Ff]low\b|\btensorflow/|\blocal_xla\b|\btf\.\w|\bTF_[A-Z]"),
}


@dataclass(frozen=True, slots=True)
class Words:
    """An engine's names in the texts of fixes. The table's {placeholders} are named after these fields."""

    engine: str
    package: str
    cuda_package: str
    repair: str
    growth: str


WORDS = {
    "tensorflow": Words(
        engine="TensorFlow",
        package="tensorflow",
        cuda_package="'tensorflow[and-cuda]'",
        repair="python3 start.py --repair",
        growth="TF_FORCE_GPU_ALLOW_GROWTH=true",
    ),
    "torch": Words(
        engine="PyTorch",
        package="torch",
        cuda_package="torch",
        repair="python3 start.py engine install torch",
        growth="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ),
    "jax": Words(
        engine="JAX",
        package="jax",
        cuda_package="'jax[cuda13]'",
        repair="python3 start.py engine install jax",
        growth="XLA_PYTHON_CLIENT_PREALLOCATE=false",
    ),
}
TRACKERS = {
    "tensorflow": "https://github.com/tensorflow/tensorflow/issues",
    "torch": "https://github.com/pytorch/pytorch/issues",
    "jax": "https://github.com/jax-ml/jax/issues",
}


class Mentions:
    """Finds the engines named in the lines of a log."""

    def __init__(self, lines: Sequence[str]) -> None:
        named = [(index, engine) for index, line in enumerate(lines) if (engine := named_in(line)) is not None]
        self._indexes = [index for index, _ in named]
        self._engines = [engine for _, engine in named]

    def nearest(self, index: int) -> str | None:
        """Return the engine named closest to a line (in a tie, the one named before it); None if none is named."""
        after = bisect_left(self._indexes, index)
        places = [place for place in (after - 1, after) if 0 <= place < len(self._indexes)]
        place = min(places, key=lambda each: abs(self._indexes[each] - index), default=None)
        return None if place is None else self._engines[place]


def named_in(line: str) -> str | None:
    """Return the engine named in a line; None if there is none."""
    packages = _PACKAGES.findall(line)
    if packages and packages[-1] != "keras":
        return "jax" if packages[-1] == "jaxlib" else str(packages[-1])
    counts = {engine: len(pattern.findall(line)) for engine, pattern in _NAMES.items()}
    engine = max(counts, key=lambda each: counts[each])
    return engine if counts[engine] else None
