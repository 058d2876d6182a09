"""Input pipelines go without TensorFlow's autotuning, whose thread makes the end of an epoch wait at random."""

import pytest

from tests.child import told_by

pytestmark = [pytest.mark.engine, pytest.mark.long]

CODE = """
from workloads.engines.cpp_runtime import find_cpp_runtime
find_cpp_runtime()
import keras
import numpy as np
import tensorflow as tf
from workloads.engines.tensorflow import ENGINE, leave_untuned

seen = []
usual = tf.data.Dataset.__iter__
def iterate(dataset):
    seen.append(dataset.options().autotune.enabled)
    return usual(dataset)
tf.data.Dataset.__iter__ = iterate
leave_untuned()
leave_untuned()

class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return x[:4], y[:4]

x, y = np.zeros((8, 3), np.float32), np.zeros((8, 1), np.float32)
model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=4, epochs=2, validation_data=(x, y), verbose=0)
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(4), epochs=2, verbose=0)
model.fit(Batches(), epochs=2, verbose=0)
model.evaluate(x, y, verbose=0)
assert len(seen) >= 7, seen
assert all(enabled is False for enabled in seen), seen
errors = tf.errors.ResourceExhaustedError(None, None, ""), ValueError()
assert [ENGINE.is_out_of_memory(error) for error in errors] == [True, False]
"""


def test_no_data_that_fit_reads_is_tuned_and_a_full_memory_is_recognised() -> None:
    told_by("-c", CODE)
