"""What it costs a training step to count its examples.

    python -m tests.tools.counting [PAIRS] [WORKLOAD] [BATCH_SIZE] [SEED]

Two equal networks in one process, one of which counts, take blocks of steps by turns A B B A: without Keras' loop
around them, whose own cost would hide it.
"""

import statistics
import sys
import time
from typing import Any

from workloads import CATALOGUE
from workloads.engines.engine import Engine
from workloads.engines.registry import engine_named
from workloads.training.training import Training

BLOCK_STEPS = 10
WARMUP_BLOCKS = 3


def main(pairs: int = 200, workload_id: str = "mnist_mlp", batch_size: int = 128, seed: int = 0) -> None:
    """Print the ratio of counting to plain blocks; an odd seed builds the counting network first."""
    workload = CATALOGUE[workload_id]
    assert isinstance(workload, Training)
    spec = workload.default_spec(batch_size=batch_size, data="synthetic", device="cpu")
    engine = engine_named(spec.engine)
    engine.start(spec)
    feed = workload.load(None, spec)
    arguments = feed.fit_arguments(engine, batch_size)
    batches = engine.shuffled(arguments["x"], arguments["y"], batch_size, 0)
    steps = {}
    for kind in ("counting", "plain") if seed % 2 else ("plain", "counting"):
        model = workload.build(spec)
        compile_with = engine.compile if kind == "counting" else Engine().compile
        compile_with(model, spec, **workload.compile_options(spec))
        model.make_train_function()
        steps[kind] = (model.train_function, iter(batches))
    for step in steps.values():
        for _ in range(WARMUP_BLOCKS):
            _block_s(*step)
    ratios, plain_s = [], []
    for number in range(pairs):
        order = ("counting", "plain") if number % 2 else ("plain", "counting")
        taken_s = {kind: _block_s(*steps[kind]) for kind in order}
        ratios.append(taken_s["counting"] / taken_s["plain"])
        plain_s.append(taken_s["plain"])
    error = 1.253 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median, for normal noise
    print(f"{pairs} pairs of {BLOCK_STEPS} steps: median ratio {statistics.median(ratios):.4f} ± {error:.4f}")
    print(f"a plain step takes {1e3 * statistics.median(plain_s) / BLOCK_STEPS:.3f} ms")


def _block_s(train: Any, batches: Any) -> float:
    start_s = time.perf_counter()
    for _ in range(BLOCK_STEPS):
        logs = train(batches)
    float(logs["loss"])
    return time.perf_counter() - start_s


if __name__ == "__main__":
    main(*(int(each) if each.isdigit() else each for each in sys.argv[1:]))  # type: ignore[arg-type] # in order
