"""Keeps TensorFlow's tuning of input pipelines out of what is timed."""

from typing import Any


def leave_untuned() -> None:
    """Have all data that `fit` reads go without tf.data's autotuning, for the life of this process.

    At the end of each epoch Keras drops its iterator, and with TensorFlow 2.21 dropping one may wait until its
    tuner next wakes up, idle for up to a minute: of ten epochs of 47 s, four took 29 to 38 s longer. What the
    tuner decides for data in memory, how many threads cut batches out of arrays, made no difference that could
    be measured.
    """
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
    from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

    for adapter in (ArrayDataAdapter, PyDatasetAdapter, TFDatasetAdapter):
        if not hasattr(adapter.get_tf_dataset, "is_untuned"):
            adapter.get_tf_dataset = _untuned(adapter.get_tf_dataset)


def _untuned(get_tf_dataset: Any) -> Any:
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False

    def get(adapter: Any) -> Any:
        return get_tf_dataset(adapter).with_options(options)

    get.is_untuned = True  # type: ignore[attr-defined] # a mark for the next call
    return get
