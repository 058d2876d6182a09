"""A workload's network as a plain script would train it: arrays or batches, `fit`, and a clock around each epoch.

Prints each epoch's seconds and its processor seconds as JSON. `harness` compares it with a run under Epochmark.
Its data goes without autotuning as there (see `workloads.engines.tensorflow`): random waits of seconds would hide
all else.
"""

import json
import sys
import time
from typing import Any

from workloads import CATALOGUE
from workloads.engines.tensorflow import leave_untuned
from workloads.training.training import Training


def main(workload_id: str, epochs: int, steps: int) -> None:
    import keras

    class Clock(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
        epochs_s: list[tuple[float, float]] = []  # noqa: RUF012 - one instance

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin_s = time.perf_counter(), time.process_time()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            end_s = time.perf_counter(), time.process_time()
            self.epochs_s.append((end_s[0] - self.begin_s[0], end_s[1] - self.begin_s[1]))

    workload = CATALOGUE[workload_id]
    assert isinstance(workload, Training)
    spec = workload.default_spec(epochs=epochs, steps=steps)
    keras.utils.set_random_seed(0)
    leave_untuned()
    feed = workload.load(None, spec).cut(steps * spec.batch_size)
    model = workload.build(spec)
    model.compile(jit_compile=False, **workload.compile_options(spec))
    clock = Clock()
    arrays = {} if feed.y is None else {"y": feed.y, "batch_size": spec.batch_size}
    model.fit(
        feed.x,
        **arrays,
        epochs=epochs,
        steps_per_epoch=steps if feed.y is None else None,
        validation_data=feed.validation,
        callbacks=[*workload.callbacks(spec), clock],
        verbose=0,
    )
    print(json.dumps(clock.epochs_s))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
