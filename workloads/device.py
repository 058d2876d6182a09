"""Sets the engine up as the run asks, before the first operation, and says what it became."""

import os
import sys
from typing import Any

from workloads.events import Environment, Metric
from workloads.reporter import Reporter
from workloads.spec import RunSpec
from workloads.workload import WorkloadError


def prepare(spec: RunSpec, reporter: Reporter) -> None:
    """Import the engine, choose device, precision, threads and seed, and report the environment.

    Raises:
        WorkloadError: engine_missing or device_unavailable, with the sentence to show.
    """
    keras, tf = _import_engine()
    if spec.threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(spec.threads)
    device, device_name = _choose_device(tf, spec.device)
    # A user's keras.json must not decide what is measured.
    keras.config.set_floatx("float32")
    keras.config.set_image_data_format("channels_last")
    keras.mixed_precision.set_dtype_policy(spec.precision)
    keras.utils.set_random_seed(spec.seed)
    reporter.send(
        Environment(
            engine="tensorflow",
            engine_version=str(tf.__version__),
            keras_version=str(keras.__version__),
            device=device,
            device_name=device_name,
            precision=str(keras.mixed_precision.dtype_policy().name),
            jit=spec.jit,
            tf32=bool(tf.config.experimental.tensor_float_32_execution_enabled()) if device != "cpu" else None,
            onednn=os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0" if device == "cpu" else None,
            intra_op_threads=int(tf.config.threading.get_intra_op_parallelism_threads()),
            visible_cpus=_visible_cpus(),
        )
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether the error means that memory, of the computer or of the device, ran out."""
    if isinstance(error, MemoryError):
        return True
    # Known by name, so that asking does not import an engine.
    return any(kind.__name__ == "ResourceExhaustedError" for kind in type(error).__mro__)


def _import_engine() -> tuple[Any, Any]:
    try:
        import keras
        import tensorflow as tf
    except ImportError as error:
        raise WorkloadError("engine_missing", f"TensorFlow and Keras cannot be imported ({error}).") from error
    if keras.backend.backend() != "tensorflow":
        raise WorkloadError(
            "engine_missing",
            f"Keras started with the {keras.backend.backend()} backend instead of TensorFlow.",
        )
    return keras, tf


def _choose_device(tf: Any, asked: str) -> tuple[str, str | None]:
    gpus = tf.config.list_physical_devices("GPU")
    if asked == "cpu" or (asked == "auto" and not gpus):
        tf.config.set_visible_devices([], "GPU")
        return "cpu", None
    index = 0 if asked == "auto" else int(asked.removeprefix("gpu:"))
    if index >= len(gpus):
        seen = ", ".join(f"gpu:{number}" for number in range(len(gpus))) or "no GPU"
        raise WorkloadError(
            "device_unavailable", f"TensorFlow cannot use {asked}: it sees {seen} on this computer."
        )
    tf.config.set_visible_devices([gpus[index]], "GPU")
    # Otherwise TensorFlow takes all of the card's memory, and other programs and readings suffer.
    tf.config.experimental.set_memory_growth(gpus[index], True)
    details = tf.config.experimental.get_device_details(gpus[index])
    return f"gpu:{index}", details.get("device_name")


def _visible_cpus() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def report_memory(reporter: Reporter) -> None:
    """Tell the most memory that this process, and its graphics processor, have used so far; nothing if unknown."""
    import tensorflow as tf

    if (peak_bytes := _peak_bytes()) is not None:
        reporter.send(Metric(key="peak_memory_bytes", value=float(peak_bytes)))
    if tf.config.get_visible_devices("GPU"):
        peak_gpu_bytes = tf.config.experimental.get_memory_info("GPU:0")["peak"]
        reporter.send(Metric(key="peak_gpu_memory_bytes", value=float(peak_gpu_bytes)))


def _peak_bytes() -> int | None:
    if sys.platform == "win32":
        try:
            import psutil  # a worker may run under a Python without it
        except ImportError:
            return None
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
