"""Measures how fast each device of a run multiplies matrices, before the run.

Utilisation doesn't show which device is slowest, because devices that wait for it look busy too.
"""

import math
import time
from contextlib import AbstractContextManager
from typing import Any

from workloads.engines.device_trial import numbers
from workloads.engines.engine import Engine
from workloads.protocol.spec import RunSpec

# Even a fast GPU computes longer than it takes to start a product. In a quarter of a second, its clock rises.
_GPU_SIZE, _GPU_S = 3_072, 0.25
_CPU_SIZE, _CPU_S = 256, 0.0
_PRODUCTS = 2
_CALLS_AT_LEAST = 3


def device_speeds(engine: Engine, spec: RunSpec) -> tuple[float, ...] | None:
    """Return the speed of each device in FLOP/s, at the run's precision.

    Args:
        engine: The started engine. If it has a process per device, all of them must call this function.
        spec: Spec of the run.

    Returns:
        Speeds in the order of the devices; None with a single device or several computers, or if a measurement
        failed.
    """
    if spec.device_count == 1 or spec.machine_count > 1:
        return None
    size, duration_s = (_GPU_SIZE, _GPU_S) if engine.gpus() else (_CPU_SIZE, _CPU_S)
    own = [_speed(scope, size, duration_s) for scope in engine.device_scopes()]
    speeds = engine.of_all_devices(own)
    return tuple(speeds) if all(map(math.isfinite, speeds)) else None


def _speed(scope: AbstractContextManager[Any], size: int, duration_s: float) -> float:
    """Return the best speed of one device in FLOP/s; NaN if the measurement fails.

    Args:
        scope: Context in which the device computes.
        size: Rows and columns of the matrices.
        duration_s: Minimum duration of the measurement.
    """
    try:
        with scope:
            best_s = _best_s(size, duration_s)
        return _PRODUCTS * 2 * size**3 / best_s
    except Exception:  # noqa: BLE001 - the run needs the device, but not its speed
        return math.nan


def _best_s(size: int, duration_s: float) -> float:
    import keras

    dtype = keras.mixed_precision.dtype_policy().compute_dtype
    # The products of such numbers are neither too large nor too small for float16.
    matrix = keras.ops.cast(keras.ops.convert_to_tensor(numbers(size, size) / math.sqrt(size)), dtype)

    def call() -> None:
        product = matrix
        for _ in range(_PRODUCTS):
            product = keras.ops.matmul(product, matrix)
        # Reading one value waits for the device. TensorFlow can't convert bfloat16 to NumPy.
        keras.ops.convert_to_numpy(keras.ops.cast(product[0, 0], "float32"))

    call()
    durations_s: list[float] = []
    while len(durations_s) < _CALLS_AT_LEAST or sum(durations_s) < duration_s:
        start_s = time.perf_counter()
        call()
        durations_s.append(time.perf_counter() - start_s)
    return min(durations_s)
