"""The standard network as a plain script would train it: NumPy arrays, `fit`, and a clock around each epoch.

Prints each epoch's seconds and its processor seconds as JSON. `harness` compares it with a run under Epochmark.
"""

import json
import sys
import time
from typing import Any

from workloads.cifar10 import build_keras_cnn
from workloads.datasets import cifar10


def main(epochs: int, steps: int) -> None:
    """Train on the synthetic twin and print the epochs' durations."""
    import keras

    class Clock(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
        epochs_s: list[tuple[float, float]] = []  # noqa: RUF012 - one instance

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin_s = time.perf_counter(), time.process_time()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            end_s = time.perf_counter(), time.process_time()
            self.epochs_s.append((end_s[0] - self.begin_s[0], end_s[1] - self.begin_s[1]))

    keras.utils.set_random_seed(0)
    arrays = cifar10.load(None)
    model = build_keras_cnn()
    model.compile(
        optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False
    )
    clock = Clock()
    model.fit(
        arrays.x_train,
        arrays.y_train,
        batch_size=100,
        epochs=epochs,
        steps_per_epoch=steps,
        validation_data=(arrays.x_test[:1000], arrays.y_test[:1000]),
        callbacks=[clock],
        verbose=0,
    )
    print(json.dumps(clock.epochs_s))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
