"""How long each synthetic twin takes to make: seconds and processor seconds, and both for 100 MB.

python -m tests.benchmarks.twins [REPEATS]
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from workloads.datasets import cifar10, fashion_mnist, flower_twin, imdb, mnist, nietzsche, ptb

TWINS: dict[str, Callable[[], Any]] = {
    "cifar10": lambda: cifar10.load(None),
    "mnist": lambda: mnist.load(None),
    "fashion_mnist": lambda: fashion_mnist.load(None),
    "imdb": lambda: imdb.load(None),
    "imdb with bigrams": lambda: imdb.with_bigrams(imdb.load(None)),
    "nietzsche": lambda: nietzsche.load(None),
    "ptb": lambda: ptb.load(None),
    "flowers": lambda: flower_twin.load(331),
}


def main(repeats: int = 3) -> None:
    print("| twin | MB | seconds | CPU seconds | seconds for 100 MB |")
    print("|---|---|---|---|---|")
    for name, make in TWINS.items():
        taken, size_bytes = [], 0
        for _ in range(repeats):
            start = time.perf_counter(), time.process_time()
            made = make()
            taken.append((time.perf_counter() - start[0], time.process_time() - start[1]))
            size_bytes = sum(_sizes(made))
        wall_s, cpu_s = min(taken)
        per_100_mb = f"{1e8 * wall_s / size_bytes:.2f}" if size_bytes > 5e6 else "(too small)"
        print(f"| {name} | {size_bytes / 1e6:.1f} | {wall_s:.2f} | {cpu_s:.2f} | {per_100_mb} |", flush=True)


def _sizes(value: Any) -> Iterator[int]:
    if hasattr(value, "nbytes"):
        yield value.nbytes
    elif isinstance(value, bytes | str):
        yield len(value)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _sizes(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _sizes(getattr(value, field.name))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
