"""How long the first step of an epoch waits with TensorFlow's tuning of input pipelines, and without it.

    python -m tests.tools.pipelines [EPOCHS]

A network of one layer on 50,000 arrays of CIFAR-10's size, each way in a process of its own, by turns.
"""

import json
import statistics
import subprocess
import sys
import time
from typing import Any

WAYS = ("tuned", "untuned", "untuned", "tuned")


def main(epochs: int = 20) -> None:
    """Print the first steps of all epochs after the first, both ways."""
    found: dict[str, list[float]] = {"tuned": [], "untuned": []}
    for way in WAYS:
        script = [sys.executable, "-m", "tests.tools.pipelines", str(epochs), way]
        done = subprocess.run(script, capture_output=True, text=True, check=True)
        found[way] += json.loads(done.stdout.splitlines()[-1])
    for way, starts_s in found.items():
        waited = sum(1 for start_s in starts_s if start_s > 0.3)
        print(
            f"{way}: {waited} of {len(starts_s)} epochs began with a wait; first step median "
            f"{statistics.median(starts_s):.3f} s, longest {max(starts_s):.2f} s"
        )


def train(epochs: int, way: str) -> None:
    import keras
    import numpy as np

    from workloads.engines.tensorflow import ENGINE, leave_untuned

    if way == "untuned":
        leave_untuned()
    starts_s: list[float] = []

    class Clock(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin_s = time.perf_counter()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 0:
                starts_s.append(time.perf_counter() - self.begin_s)

    x, y = np.full((50_000, 32, 32, 3), 0.5, np.float32), np.zeros((50_000, 1), np.int64)
    layers = [keras.layers.Input((32, 32, 3)), keras.layers.Flatten(), keras.layers.Dense(10, "softmax")]
    model = keras.Sequential(layers)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(ENGINE.shared(x), y, batch_size=100, epochs=epochs, callbacks=[Clock()], verbose=0)
    print(json.dumps(starts_s[1:]))


if __name__ == "__main__":
    if sys.argv[2:]:
        train(int(sys.argv[1]), sys.argv[2])
    else:
        main(*map(int, sys.argv[1:]))
