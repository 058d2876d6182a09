"""Connects TensorFlow's processes on several computers, and lets Keras train with them.

In Keras 3, `fit` fails with MultiWorkerMirroredStrategy because Keras averages the first batch and the metrics
over the computers. Neither is necessary. Any batch shows the shapes, and metrics are already sums over all
computers.
"""

import json
import os
from typing import Any

from workloads.engines.computers import LOST_S
from workloads.engines.peers import WORKERS, not_connected, rank

# The others may still import their engine, which takes a minute on a slow computer.
_JOINS_WITHIN_MS = 300_000
# A computer that is done waits for the others. Otherwise, TensorFlow would abort their processes.
_LEAVES_WITHIN_MS = 60_000


def connected(tf: Any, devices: list[str]) -> Any:
    """Connect to the other computers, and return a strategy that trains on all of them.

    Args:
        tf: TensorFlow, whose devices are chosen but not yet used.
        devices: This computer's devices, as named by TensorFlow.

    Raises:
        WorkloadError: The other computers can't be reached.
    """
    from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
    from tensorflow.python.eager import context

    hosts = os.environ[WORKERS].split(",")
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": rank()}}
    )
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader="/job:worker/replica:0/task:0",
        cluster_register_timeout_in_ms=_JOINS_WITHIN_MS,
        heartbeat_timeout_in_ms=round(1_000 * LOST_S),
        shutdown_barrier_timeout_in_ms=_LEAVES_WITHIN_MS,
        coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=len(hosts))],
    )
    _use_all_parts(len(devices))
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise not_connected(error) from error
    _keep_metrics_apart(tf)
    return strategy


def prepare(strategy: Any, model: Any) -> None:
    """Let a model build itself from this computer's part of the first batch."""
    import tensorflow as tf

    def build(iterator: Any = None, data_batch: Any = None) -> None:
        for _, _, batches in iterator or ():
            data_batch = tf.nest.map_structure(
                lambda part: strategy.experimental_local_results(part)[0], next(batches)
            )
            break
        with strategy.scope():
            model._symbolic_build(data_batch=data_batch)

    model._maybe_symbolic_build = build


def total(strategy: Any, number: int) -> int:
    """Return the sum of a number over all computers. All computers must call this function."""
    import tensorflow as tf

    sums = _on_each_device(
        strategy, lambda device: device.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(number, tf.int64))
    )
    return int(sums[0].numpy()) // len(sums)  # each device has added it


def alike(strategy: Any, weights: list[Any]) -> int:
    """Return the number of devices, on all computers, that have the same weights as the first one."""
    import tensorflow as tf

    def table(device: Any) -> Any:
        sums = [tf.reduce_sum(tf.cast(weight.value, tf.float64)) for weight in weights]
        row = tf.one_hot(device.replica_id_in_sync_group, device.num_replicas_in_sync, dtype=tf.float64)
        return device.all_reduce(tf.distribute.ReduceOp.SUM, row[:, None] * tf.stack(sums))

    rows = _on_each_device(strategy, table)[0].numpy()
    return int((rows == rows[0]).all(axis=1).sum())


def _on_each_device(strategy: Any, function: Any) -> Any:
    import tensorflow as tf

    run = tf.function(lambda: strategy.run(lambda: function(tf.distribute.get_replica_context())))
    return strategy.experimental_local_results(run())


class ClusterStore:
    """The key-value store of TensorFlow's coordination service."""

    def __init__(self) -> None:
        from tensorflow.python.eager import context

        used = context.context()
        self.put, self.drop = used.set_config_key_value, used.delete_config_key_value
        self._get = used.get_config_key_value

    def wait_for(self, key: str, timeout_s: float) -> str:
        return str(self._get(key, round(1000 * timeout_s)))


def _use_all_parts(count: int) -> None:
    """Let the strategy use all parts of a divided CPU. By default, it uses only the first one."""
    from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended

    usual = CollectiveAllReduceExtended._initialize_local_devices

    def chosen(extended: Any, resolver: Any, worker: str) -> tuple[tuple[str, ...], str]:
        devices, kind = usual(extended, resolver, worker)
        if kind == "CPU":
            devices = tuple(f"{worker}/device:CPU:{number}" for number in range(count))
        return devices, kind

    CollectiveAllReduceExtended._initialize_local_devices = chosen


def _keep_metrics_apart(tf: Any) -> None:
    from keras.src.backend.tensorflow import trainer

    def first(values: Any, strategy: Any, reduction: str) -> Any:  # noqa: ARG001 - as Keras calls it
        return tf.nest.map_structure(lambda value: strategy.experimental_local_results(value)[0], values)

    trainer.reduce_per_replica = first
