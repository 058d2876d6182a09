"""Starts a run's engine before the first operation and reports the resolved settings."""

import math
import os
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workloads.engines.computers import meet
from workloads.engines.cpu_allowance import cpu_quota, visible_cpus
from workloads.engines.device_trial import numbers
from workloads.engines.engine import Engine
from workloads.engines.info import TF32_NEEDS_GPU
from workloads.engines.registry import ENGINES, engine_named
from workloads.protocol.errors import WorkloadError
from workloads.protocol.events import Environment, Metric
from workloads.protocol.messages import Message, message
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec

# Prefixes of environment variables read by Keras and by the engines' libraries. Most are undocumented.
_READ_BY_LIBRARIES = (
    *("KERAS_", "OMP_", "GOMP_", "MKL_", "KMP_", "DNNL_", "ONEDNN_"),
    *("OPENBLAS_", "CUBLAS_", "CUDNN_", "NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING", "CUDA_FORCE_PTX_JIT"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "MALLOC_"),
)
_VARIABLES_TOLD = 50


def start_engine(spec: RunSpec, reporter: Reporter) -> Engine:
    """Import the engine, set the device, precision, threads and seed, and report the environment.

    Raises:
        WorkloadError: engine_missing or device_unavailable.
    """
    engine = engine_named(spec.engine)
    variables = foreign_variables(os.environ, spec)  # read before the engine sets its own
    try:
        started = engine.start(spec)
    except (WorkloadError, MemoryError):
        raise
    except Exception as error:
        if engine.info.backend in sys.modules and not isinstance(error, ImportError):
            raise  # the import itself succeeded
        raise _not_imported(engine, error) from error
    meet(engine.store, started.version)
    if spec.settings.get("tf32") is not None and started.tf32 is None:
        raise WorkloadError("device_unavailable", TF32_NEEDS_GPU)
    try:
        import keras  # after the engine, because some engines choose Keras's device
    except MemoryError:
        raise
    except Exception as error:
        raise _not_imported(engine, error) from error
    if (backend := keras.backend.backend()) != engine.info.backend:
        said = message("engine.other_backend", engine=engine.info.title, backend=backend)
        raise WorkloadError("engine_missing", said)
    # Ignore the user's keras.json. It must not affect the measurement.
    keras.config.set_floatx("float32")
    keras.config.set_image_data_format("channels_last")
    keras.mixed_precision.set_dtype_policy(spec.precision)
    keras.utils.set_random_seed(spec.seed)
    reporter.send(
        Environment(
            engine=engine.info.name,
            engine_version=started.version,
            keras_version=str(keras.__version__),
            device=started.device,
            device_name=started.device_name,
            precision=str(keras.mixed_precision.dtype_policy().name),
            jit=spec.jit,
            tf32=started.tf32,
            onednn=started.onednn,
            intra_op_threads=started.threads,
            visible_cpus=visible_cpus(),
            cpu_quota=cpu_quota(),
            variables=variables,
            device_flop_per_s=device_speeds(engine, spec),
        )
    )
    return engine


def is_gone(engine: Engine) -> bool:
    modules = [sys.modules.get(name) for name in ("keras", engine.info.backend)]
    files = [getattr(module, "__file__", None) for module in modules]
    return not all(os.path.exists(file) for file in files if file is not None)


def _not_imported(engine: Engine, error: Exception) -> WorkloadError:
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return WorkloadError("engine_missing", message("engine.not_imported", engine=engine.info.title, reason=reason))


def check_gpu(engine: Engine, need: Message | None) -> None:
    """Raise WorkloadError if a GPU is needed but none is available."""
    if need is not None and not engine.gpus():
        raise WorkloadError("device_unavailable", need)


def foreign_variables(environment: Mapping[str, str], spec: RunSpec) -> tuple[str, ...]:
    """Return the variables that affect an engine and weren't set by Epochmark for this run."""
    engine = ENGINES[spec.engine]
    ours, reads = engine.run_variables(spec), _READ_BY_LIBRARIES + engine.reads
    # KERAS_HOME is set by the app, and the app writes its contents.
    foreign = (
        name.encode("ascii", errors="replace").decode()[:100]
        for name, value in environment.items()
        if name.upper().startswith(reads) and name != "KERAS_HOME" and ours.get(name) != value
    )
    return tuple(sorted(foreign)[:_VARIABLES_TOLD])


def report_memory(engine: Engine, reporter: Reporter) -> None:
    """Report the peak memory use of this process and its GPU so far, where known."""
    if (process_bytes := peak_bytes()) is not None:
        reporter.send(Metric(key="peak_memory_bytes", value=float(process_bytes)))
    if (peak_gpu_bytes := engine.gpu_memory_peak_bytes()) is not None:
        reporter.send(Metric(key="peak_gpu_memory_bytes", value=float(peak_gpu_bytes)))
    if (reserved_bytes := engine.gpu_memory_reserved_bytes()) is not None:
        reporter.send(Metric(key="peak_gpu_reserved_bytes", value=float(reserved_bytes)))


def peak_bytes() -> int | None:
    """Return this process's peak memory use so far, in bytes; None if unknown."""
    if sys.platform == "win32":
        try:
            import psutil  # may be missing from a worker's Python
        except ImportError:
            return None
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# Even a fast GPU computes longer than it takes to start a product. In a quarter of a second, its clock rises.
_GPU_SIZE, _GPU_S = 3_072, 0.25
_CPU_SIZE, _CPU_S = 256, 0.0
_PRODUCTS = 2
_CALLS_AT_LEAST = 3


def device_speeds(engine: Engine, spec: RunSpec) -> tuple[float, ...] | None:
    """Return the speed of each device in FLOP/s, at the run's precision.

    Args:
        engine: The started engine. If it has a process per device, all of them must call this function.

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


def cpu_speed() -> float:
    """Return the speed of matrix products on the CPU in FLOP/s, at the run's precision; NaN if unknown."""
    return _speed(nullcontext(), 4 * _CPU_SIZE, 0.2)


def _speed(scope: AbstractContextManager[Any], size: int, duration_s: float) -> float:
    """Return the best speed of one device in FLOP/s; NaN if the measurement fails."""
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
