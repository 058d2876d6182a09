"""JAX, for CPUs on all systems and for NVIDIA GPUs on Linux."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from workloads.engines.computers import LOST_S, Decisions, Store
from workloads.engines.device_trial import DeviceTrial
from workloads.engines.engine import Started, copy_of
from workloads.engines.info import JAX
from workloads.engines.keras_feed import Batch, Batches, KerasFeed, part_of
from workloads.engines.peers import OWN_ADDRESS, host, not_connected, rank
from workloads.protocol.spec import RunSpec

_FUSED_CAPABILITY = 8.0


class Jax(KerasFeed):
    """Keras on JAX. XLA compiles each step."""

    info = JAX
    _devices: Sequence[Any] = ()  # on this computer
    _all_devices: Sequence[Any] = ()
    _machines = 1
    _decisions: Decisions | None = None

    def start(self, spec: RunSpec) -> Started:
        import jax

        if spec.devices_here > 1:
            jax.config.update("jax_num_cpu_devices", spec.devices_here)  # before JAX looks for devices
        self._machines = spec.machine_count
        if self._machines > 1:
            _join(jax, self._machines)
            self._decisions = Decisions(self.store())
        device, self._devices, self._all_devices = _choose_devices(jax, spec)
        jax.config.update("jax_default_device", self._devices[0])
        if (tf32 := spec.settings.get("tf32")) is not None:
            jax.config.update("jax_default_matmul_precision", "tensorfloat32" if tf32 else "float32")
        self._seed = spec.seed
        on_cpu = device == "cpu"
        return Started(
            version=str(jax.__version__),
            device=device,
            device_name=None if on_cpu else str(self._devices[0].device_kind),
            # The default on GPUs that support it. Keras doesn't request another precision.
            tf32=None if on_cpu else jax.config.jax_default_matmul_precision in (None, "tensorfloat32"),
            threads=spec.threads or 0,
        )

    def trial(self) -> DeviceTrial:
        from workloads.engines.jax_trial import JaxTrial

        return JaxTrial()

    def is_out_of_memory(self, error: BaseException) -> bool:
        is_of_jax = any(kind.__name__ in ("JaxRuntimeError", "XlaRuntimeError") for kind in type(error).__mro__)
        return is_of_jax and "RESOURCE_EXHAUSTED" in str(error)

    def scope(self) -> AbstractContextManager[Any]:
        """Set the distribution for the whole process, because `fit` needs it too."""
        if self._all_devices[1:]:
            import keras

            names = [f"{device.platform}:{device.id}" for device in self._all_devices]
            keras.distribution.set_distribution(keras.distribution.DataParallel(devices=names))
        return super().scope()

    def device_scopes(self) -> list[AbstractContextManager[Any]]:
        import jax

        return [jax.default_device(device) for device in self._devices]

    def devices_used(self, model: Any) -> int:
        return len(model.trainable_variables[0].value.sharding.device_set)

    def part(self, batches: Batches) -> Batches:
        if self._machines == 1:
            return batches
        own = partial(part_of, rank=rank(), count=self._machines)
        return replace(
            batches,
            make=lambda: map(own, batches.make()),
            others=lambda: [own(batch) for batch in batches.others()],
        )

    def agreed(self, decision: bool) -> bool:
        return decision if self._decisions is None else self._decisions.agreed(decision)

    def predict(self, model: Any, x: Any, **arguments: Any) -> Any:
        if self._machines > 1:
            import keras

            weights = model.get_weights()
            keras.distribution.set_distribution(None)
            model = copy_of(model, weights)
        return super().predict(model, x, **arguments)

    def store(self) -> Store:
        return _Store()

    def leave(self) -> None:
        if self._machines > 1:
            import jax

            jax.distributed.shutdown()  # waits for all, because the others fail if rank 0 has ended

    def step_watch(self, model: Any, spec: RunSpec) -> "StepWatch":
        return StepWatch(model)

    def gpus(self) -> int:
        return sum(device.platform != "cpu" for device in self._devices)

    def gpu_memory_peak_bytes(self) -> int | None:
        """Return the peak memory allocated by JAX on a GPU, in bytes; None on the CPU or if unknown."""
        if not self.gpus():
            return None
        peaks = ((device.memory_stats() or {}).get("peak_bytes_in_use") for device in self._devices)
        return max((int(peak) for peak in peaks if peak is not None), default=None)

    def warm_up(self, model: Any, trained: Sequence[Batch], validated: Sequence[Batch]) -> None:
        """Compile the steps for additional batch shapes, using a copy of the model's state."""
        import jax

        def state(**parts: bool) -> Any:
            kinds = ("trainable_variables", "non_trainable_variables", "metrics_variables")
            variables = model._get_jax_state(**dict.fromkeys(kinds, True), **parts)
            return jax.tree.map(jax.numpy.copy, variables)  # each step donates its inputs

        model.get_metrics_result()  # runs uncompiled at the end of an epoch
        for batch in map(_placed, trained):
            jax.block_until_ready(model.train_function(state(optimizer_variables=True), iter([batch])))
        if validated:
            model.make_test_function()
        for batch in map(_placed, validated):
            jax.block_until_ready(model.test_function(state(), iter([batch])))

    def predict_batch(self, model: Any, x: Any) -> Any:
        import numpy as np

        return np.asarray(model.predict_on_batch(x))

    def has_fused_attention(self, *, drops: bool) -> bool:
        """Require Ampere or newer, as cuDNN's kernel does."""
        capabilities = (getattr(device, "compute_capability", None) for device in self._devices)
        return self.gpus() > 0 and all(float(each or 0) >= _FUSED_CAPABILITY for each in capabilities)

    def fused_attention(
        self, queries: Any, keys: Any, values: Any, *, is_causal: bool, dropout: float = 0.0
    ) -> Any:
        import jax

        return jax.nn.dot_product_attention(queries, keys, values, is_causal=is_causal, implementation="cudnn")

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        """Return a function that multiplies two matrices and blocks until the result is ready."""
        import jax

        left_key, right_key = jax.random.split(jax.random.key(1))
        left = jax.random.normal(left_key, (rows, inner)).astype(dtype)
        right = jax.random.normal(right_key, (columns, inner) if transposed else (inner, columns)).astype(dtype)

        @jax.jit  # type: ignore[untyped-decorator]
        def multiply(left: Any, right: Any) -> Any:
            return left @ (right.T if transposed else right)

        # Return the whole product, because XLA would compute only the part that is used.
        return lambda: multiply(left, right).block_until_ready()

    def attention_step(
        self, mix: Callable[..., Any], shape: tuple[int, int, int, int], dtype: str, *, is_backward: bool
    ) -> Callable[[], object]:
        import jax

        *parts, slopes = (jax.random.normal(key, shape, dtype) for key in jax.random.split(jax.random.key(1), 4))

        @jax.jit  # type: ignore[untyped-decorator]
        def compute(parts: Any, slopes: Any) -> Any:
            if not is_backward:
                return mix(*parts)
            mixed, gradients = jax.vjp(mix, *parts)
            return mixed, gradients(slopes)

        return lambda: jax.block_until_ready(compute(parts, slopes))

    def add_step(self, size_bytes: int) -> Callable[[], object]:
        """Return a function that adds one array to another in place, without allocating memory."""
        import jax

        totals = [jax.numpy.zeros(size_bytes // 4)]
        other = jax.numpy.ones(size_bytes // 4)
        add = jax.jit(lambda total, other: total + other, donate_argnums=0)

        def call() -> object:
            totals[0] = add(totals[0], other).block_until_ready()
            return totals[0]

        return call

    def all_reduce_step(self, size_bytes: int) -> Callable[[], float]:
        import jax

        count, devices = len(self._devices), list(self._all_devices)
        ones = jax.pmap(lambda number: jax.numpy.ones(size_bytes // 4) * number, devices=devices)(
            jax.numpy.ones(count)
        )
        add = jax.pmap(lambda numbers: jax.lax.psum(numbers, "devices"), axis_name="devices", devices=devices)
        # The arrays of other computers can't be read here.
        return lambda: float(add(ones).block_until_ready().addressable_shards[count - 1].data[0, -1])

    def transfer_steps(self, size_bytes: int) -> tuple[Callable[[], object], Callable[[], object]]:
        import jax
        import numpy as np

        numbers, computer = np.ones(size_bytes // 4, np.float32), jax.devices("cpu")[0]
        there = jax.device_put(numbers, self._devices[0]).block_until_ready()
        return (
            lambda: jax.device_put(numbers, self._devices[0]).block_until_ready(),
            lambda: jax.device_put(there, computer).block_until_ready(),
        )


ENGINE = Jax()


class _Store:
    """The key-value store of jax.distributed."""

    def __init__(self) -> None:
        from jax._src.distributed import global_state

        client = global_state.client
        self.put, self.drop = client.key_value_set, client.key_value_delete
        self._get = client.blocking_key_value_get

    def wait_for(self, key: str, timeout_s: float) -> str:
        return str(self._get(key, round(1000 * timeout_s)))


def _join(jax: Any, machines: int) -> None:
    """Connect to the processes on the run's other computers. Raises WorkloadError."""
    _use_own_address()
    try:
        jax.distributed.initialize(
            host(),
            machines,
            rank(),
            coordinator_bind_address=host(),
            cluster_detection_method="deactivate",
            heartbeat_timeout_seconds=round(LOST_S),
        )
    except RuntimeError as error:
        raise not_connected(error) from error


def _use_own_address() -> None:
    """Make CPUs exchange data through this computer's address on the way to rank 0."""
    # By default, JAX uses the address that the computer's name resolves to. On Debian, for example, this is a
    # loopback address, which other computers can't reach.
    from jax._src.lib import _jax

    usual = _jax.make_gloo_tcp_collectives
    _jax.make_gloo_tcp_collectives = partial(usual, hostname=os.environ[OWN_ADDRESS])


def _choose_devices(jax: Any, spec: RunSpec) -> tuple[str, list[Any], list[Any]]:
    """Return the first device's name in specs, the JAX devices of this computer, and those of all computers."""
    gpus = [] if spec.device == "cpu" else gpus_of(jax)
    indices = ENGINE.gpu_indices(spec, len(gpus))
    if indices is None:
        return (
            "cpu",
            jax.local_devices(backend="cpu")[: spec.devices_here],
            jax.devices("cpu")[: spec.device_count],
        )
    # The same ones on each computer.
    there = [
        [device for device in jax.devices("gpu") if device.process_index == process][index]
        for process in range(spec.machine_count)
        for index in indices
    ]
    return f"gpu:{indices[0]}", [gpus[index] for index in indices], there


def gpus_of(jax: Any) -> list[Any]:
    """Return the GPUs supported by this build."""
    try:
        return list(jax.local_devices(backend="gpu"))
    except RuntimeError:  # CPU-only build, or no driver
        return []


def _placed(batch: Batch) -> Batch:
    """Return a batch as `fit` passes it to the step: divided among the devices, if there are several."""
    import jax
    import keras

    distribution = keras.distribution.distribution()
    if distribution is None:
        return batch

    def placed(x: Any) -> Any:
        return jax.make_array_from_process_local_data(distribution.get_data_layout(x.shape).backend_layout, x)

    x, y = jax.tree.map(placed, batch)
    return x, y


class StepWatch:
    """Counts the examples of each training step within the step itself, where the optimizer updates the weights.

    Args:
        model: A compiled model that `fit` hasn't built yet.
    """

    def __init__(self, model: Any) -> None:
        self._predicted = 0
        self._optimizer = optimizer = model.optimizer
        self._examples = optimizer.add_variable((), dtype="int32", name="examples")
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, optimizer.stateless_apply = optimizer.stateless_apply, self._count

    def examples(self) -> int:
        return int(self._examples.value)

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        import jax

        predictions = jax.tree.leaves(named["y_pred"] if "y_pred" in named else arguments[2])
        self._predicted = min(int(array.shape[0]) for array in predictions)
        return self._compute_loss(*arguments, **named)

    def _count(self, optimizer_variables: Any, *arguments: Any, **named: Any) -> Any:
        """Update the weights, and count the predicted examples. Called while a step is being traced."""
        weights, variables = self._apply(optimizer_variables, *arguments, **named)
        variables = [
            value + self._predicted if variable is self._examples else value
            for variable, value in zip(self._optimizer.variables, variables, strict=True)
        ]
        return weights, variables
