"""TensorFlow, for CPUs on all systems and for NVIDIA GPUs on Linux."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from workloads.datasets.source import is_aligned
from workloads.engines.computers import Decisions, Store
from workloads.engines.device_trial import DeviceTrial
from workloads.engines.engine import Engine, Started, copy_of
from workloads.engines.image_pipeline import PictureBatches
from workloads.engines.info import TENSORFLOW
from workloads.engines.tensorflow_machines import ClusterStore, alike, connected, prepare, total
from workloads.protocol.spec import RunSpec


class TensorFlow(Engine):
    """Keras on TensorFlow."""

    info = TENSORFLOW
    _devices: Sequence[str] = ()
    _strategy: Any = None
    _machines = 1
    _decisions: Decisions | None = None

    def start(self, spec: RunSpec) -> Started:
        import tensorflow as tf

        if spec.threads is not None:
            tf.config.threading.set_intra_op_parallelism_threads(spec.threads)
        device, device_name, self._devices = _choose_devices(tf, spec)
        leave_untuned()
        self._machines = spec.machine_count
        if self._machines > 1:
            self._strategy, self._decisions = connected(tf, self._devices), Decisions(self.store())
        if (tf32 := spec.settings.get("tf32")) is not None:
            tf.config.experimental.enable_tensor_float_32_execution(bool(tf32))
        on_cpu = device == "cpu"
        return Started(
            version=str(tf.__version__),
            device=device,
            device_name=device_name,
            tf32=None if on_cpu else bool(tf.config.experimental.tensor_float_32_execution_enabled()),
            onednn=os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0" if on_cpu else None,
            threads=int(tf.config.threading.get_intra_op_parallelism_threads()),
        )

    def trial(self) -> DeviceTrial:
        from workloads.engines.tensorflow_trial import TensorFlowTrial

        return TensorFlowTrial()

    def is_out_of_memory(self, error: BaseException) -> bool:
        # Compare by name, to avoid importing TensorFlow.
        return any(kind.__name__ == "ResourceExhaustedError" for kind in type(error).__mro__)

    def scope(self) -> AbstractContextManager[Any]:
        if not self._is_shared:
            return super().scope()
        import tensorflow as tf

        self._strategy = self._strategy or tf.distribute.MirroredStrategy(self._devices)
        scope: AbstractContextManager[Any] = self._strategy.scope()
        return scope

    def device_scopes(self) -> list[AbstractContextManager[Any]]:
        import tensorflow as tf

        return [tf.device(device) for device in self._devices]

    def devices_used(self, model: Any) -> int:
        if self._machines == 1:
            weight = model.trainable_variables[0].value
            return len(getattr(weight, "values", (weight,)))
        return alike(self._strategy, model.trainable_variables)

    def store(self) -> Store:
        return ClusterStore()

    def agreed(self, decision: bool) -> bool:
        return decision if self._decisions is None else self._decisions.agreed(decision)

    def predict(self, model: Any, x: Any, **arguments: Any) -> Any:
        if self._machines > 1:  # its own strategy would return only a part of the predictions
            model = copy_of(model, model.get_weights())
        return super().predict(model, x, **arguments)

    def fit(self, model: Any, **arguments: Any) -> None:
        if self._machines > 1:
            prepare(self._strategy, model)
        super().fit(model, **arguments)

    def step_watch(self, model: Any, spec: RunSpec) -> "StepWatch":
        if self._machines == 1:
            return StepWatch(model, jit=spec.jit)
        return StepWatch(model, jit=spec.jit, total=partial(total, self._strategy))

    @property
    def _is_shared(self) -> bool:
        return len(self._devices) > 1 or self._machines > 1

    def gpus(self) -> int:
        import tensorflow as tf

        return len(tf.config.get_visible_devices("GPU"))

    def gpu_memory_peak_bytes(self) -> int | None:
        """Return the peak memory allocated by TensorFlow on a GPU, in bytes; None on the CPU."""
        import tensorflow as tf

        peaks = (tf.config.experimental.get_memory_info(f"GPU:{gpu}")["peak"] for gpu in range(self.gpus()))
        return max(map(int, peaks), default=None)

    def shared(self, array: Any) -> Any:
        """Return a float32 array as a tensor that shares its memory. Anything else is returned unchanged.

        Without this, `fit` would copy the array twice during conversion.
        """
        import numpy as np
        import tensorflow as tf

        if not isinstance(array, np.ndarray) or array.dtype != np.float32 or not is_aligned(array):
            return array
        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())

    def one_hot(self, numbers: Any, classes: int) -> Any:
        import tensorflow as tf

        # MirroredStrategy can't divide batches of bool.
        kind, on, off = (tf.uint8, 1, 0) if self._is_shared else (tf.bool, True, False)
        with tf.device("CPU:0"):
            return tf.one_hot(numbers, classes, dtype=kind, on_value=on, off_value=off)

    def constant(self, x: Any, y: Any) -> Any:
        import tensorflow as tf

        with tf.device("CPU:0"):
            return self.with_rows(tf.data.Dataset.from_tensors((x, y)).repeat(), x)

    def in_order(self, x: Any, y: Any, batch_size: int) -> Any:
        """Return batches in order, cached in memory and prefetched."""
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((self.shared(x), y))
        return rows.batch(batch_size).cache().prefetch(tf.data.AUTOTUNE)

    def shuffled(self, x: Any, y: Any, batch_size: int, seed: int) -> Any:
        """Return an endless stream of prefetched batches, reshuffled for each pass."""
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((self.shared(x), y)).cache()
        batches = rows.shuffle(len(x), seed=seed).batch(batch_size).repeat().prefetch(tf.data.AUTOTUNE)
        return self.with_rows(batches, x)

    def pieces(self, x: Any, y: Any) -> Any:
        """Return a prefetched stream that repeats arrays forever. Each row of an array is a batch."""
        import tensorflow as tf

        batches = tf.data.Dataset.from_tensor_slices((x, y)).repeat().prefetch(tf.data.AUTOTUNE)
        return self.with_rows(batches, x.reshape(-1, *x.shape[2:]))

    def with_rows(self, stream: Any, rows: Any) -> Any:
        stream.rows = rows
        return stream

    def generated(
        self,
        make: Callable[[], Iterator[tuple[Any, Any]]],
        others: Callable[[], Iterable[tuple[Any, Any]]] = tuple,
    ) -> Any:
        """Return prefetched batches of sequences, generated in Python. Batch size and sequence length may vary."""
        import tensorflow as tf

        kind = tf.TensorSpec((None, None), "int32")
        return tf.data.Dataset.from_generator(make, output_signature=(kind, kind)).prefetch(tf.data.AUTOTUNE)

    def pictures(self, batches: PictureBatches) -> Any:
        import tensorflow as tf

        kinds = tuple(tf.TensorSpec((None, *shape), tf.float32) for shape in batches.shapes)
        data = tf.data.Dataset.from_generator(batches.make, output_signature=kinds)
        count = tf.data.INFINITE_CARDINALITY if batches.count is None else batches.count
        return data.apply(tf.data.experimental.assert_cardinality(count)).prefetch(tf.data.AUTOTUNE)

    def response_normalisation(self, x: Any) -> Any:
        import tensorflow as tf

        # Caffe divides its alpha of 1e-4 by the five channels. TensorFlow doesn't.
        return tf.nn.local_response_normalization(x, depth_radius=2, bias=1, alpha=1e-4 / 5, beta=0.75)

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        """Return a function that multiplies two matrices and blocks until the result is ready."""
        import tensorflow as tf

        left = tf.random.stateless_normal((rows, inner), (1, 2), dtype=tf.float32)
        right = tf.random.stateless_normal((columns, inner) if transposed else (inner, columns), (3, 4))
        left, right = tf.cast(left, dtype), tf.cast(right, dtype)

        @tf.function  # type: ignore[untyped-decorator]
        def multiply(left: Any, right: Any) -> Any:
            return tf.matmul(left, right, transpose_b=transposed)[0, 0]

        # Reading one value blocks until the whole product is computed.
        return lambda: multiply(left, right).numpy()

    def attention_step(
        self, mix: Callable[..., Any], shape: tuple[int, int, int, int], dtype: str, *, is_backward: bool
    ) -> Callable[[], object]:
        import tensorflow as tf

        *parts, slopes = (tf.cast(tf.random.stateless_normal(shape, (1, part)), dtype) for part in range(4))

        @tf.function  # type: ignore[untyped-decorator]
        def compute(parts: Any, slopes: Any) -> Any:
            if not is_backward:
                return tf.cast(mix(*parts)[0, 0, 0, 0], "float32")
            with tf.GradientTape() as tape:
                tape.watch(parts)
                mixed = mix(*parts)
            gradients = tape.gradient(mixed, parts, slopes)
            return [tf.cast(gradient[0, 0, 0, 0], "float32") for gradient in gradients]

        return lambda: tf.nest.map_structure(lambda value: value.numpy(), compute(parts, slopes))

    def add_step(self, size_bytes: int) -> Callable[[], object]:
        """Return a function that adds one array to another in place, without allocating memory."""
        import tensorflow as tf

        total = tf.Variable(tf.zeros(size_bytes // 4))
        other = tf.ones(size_bytes // 4)

        @tf.function  # type: ignore[untyped-decorator]
        def add() -> Any:
            total.assign_add(other)
            return total[0]

        return lambda: add().numpy()

    def all_reduce_step(self, size_bytes: int) -> Callable[[], float]:
        import tensorflow as tf

        with self.scope():
            ones = tf.Variable(tf.ones(size_bytes // 4), trainable=False)
        strategy = self._strategy

        def add() -> Any:
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, ones.read_value())[-1]

        run = tf.function(lambda: strategy.experimental_local_results(strategy.run(add)))
        return lambda: float(min(number.numpy() for number in run()))

    def transfer_steps(self, size_bytes: int) -> tuple[Callable[[], object], Callable[[], object]]:
        import numpy as np
        import tensorflow as tf

        with tf.device("CPU:0"):
            here = tf.constant(np.ones(size_bytes // 4, np.float32))
        with tf.device("GPU:0"):
            there = tf.identity(here)

        def copied(array: Any, place: str) -> float:
            # Reading one value blocks until the copy is done. Nothing is cached, so a second read isn't faster.
            with tf.device(place):
                return float(tf.identity(array)[-1].numpy())

        return lambda: copied(here, "GPU:0"), lambda: copied(there, "CPU:0")


ENGINE = TensorFlow()


def leave_untuned() -> None:
    """Disable tf.data's autotuning for all data read by `fit`, for the lifetime of this process.

    At the end of each epoch, Keras discards its iterator. With TensorFlow 2.21, this may block for up to a minute,
    until the tuner wakes up again. In a test, four of ten 47 s epochs took 29 to 38 s longer. For data in memory,
    the tuner only sets the number of threads that slice arrays into batches. Disabling the tuner for such data
    made no measurable difference.
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
    # On several computers, each one's part is cut from the batches, not from the files.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA

    def get(adapter: Any) -> Any:
        return get_tf_dataset(adapter).with_options(options)

    get.is_untuned = True  # type: ignore[attr-defined] # marks the function for the next call
    return get


def _choose_devices(tf: Any, spec: RunSpec) -> tuple[str, str | None, list[str]]:
    """Return the first device's name in specs and its product name, and the names of all devices in TensorFlow."""
    gpus = tf.config.list_physical_devices("GPU")
    indices = ENGINE.gpu_indices(spec, len(gpus))
    if indices is None:
        tf.config.set_visible_devices([], "GPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(spec.devices_here)]
        if parts[1:]:
            tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
        return "cpu", None, [f"CPU:{number}" for number in range(len(parts))]
    chosen = [gpus[index] for index in indices]
    tf.config.set_visible_devices(chosen, "GPU")
    for gpu in chosen:
        # Otherwise TensorFlow allocates all GPU memory. That affects other programs and the telemetry.
        tf.config.experimental.set_memory_growth(gpu, True)
    details = tf.config.experimental.get_device_details(chosen[0])
    return f"gpu:{indices[0]}", details.get("device_name"), [f"GPU:{number}" for number in range(len(chosen))]


class StepWatch:
    """Counts the examples of each training step within the step itself, where the optimizer updates the weights.

    Args:
        jit: Whether XLA compiles the step. If so, the counter must be on the step's device.
        total: Returns the sum of a number over all computers.
    """

    def __init__(self, model: Any, *, jit: bool, total: Callable[[int], int] = int) -> None:
        import tensorflow as tf

        self._tf = tf
        self._total = total
        self._predicted: Any = None
        self._place = None if jit else "CPU:0"
        with tf.device(self._place):
            self._examples = tf.Variable(0, trainable=False, dtype=tf.int64)
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> int:
        return self._total(int(self._examples.numpy()))

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        self._predicted = named["y_pred"] if "y_pred" in named else arguments[2]
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        tf = self._tf
        if self._predicted is not None:
            # The shapes of GPU tensors are in the computer's memory, where the addition takes place.
            shapes = [tf.shape(part, out_type=tf.int64) for part in tf.nest.flatten(self._predicted)]
            with tf.device(self._place):
                sizes = [shape[0] for shape in shapes]
                self._examples.assign_add(tf.reduce_min(sizes) if sizes[1:] else sizes[0])
        return self._apply(gradients, *arguments, **named)
