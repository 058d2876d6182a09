"""Sets the engine up as the run asks, before the first operation, and says what it became."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads.protocol.events import Environment, Metric
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec
from workloads.workload import WorkloadError

# What engines and their libraries read, by how it begins; they read far more than is written anywhere.
_READ_BY_ENGINES = (
    *("TF_", "KERAS_", "XLA_", "OMP_", "GOMP_", "MKL_", "KMP_", "DNNL_", "ONEDNN_"),
    *("OPENBLAS_", "CUBLAS_", "CUDNN_", "NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING", "CUDA_FORCE_PTX_JIT"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "MALLOC_"),
)
_VARIABLES_TOLD = 50


def prepare(spec: RunSpec, reporter: Reporter) -> None:
    """Import the engine, choose device, precision, threads and seed, and report the environment.

    Raises:
        WorkloadError: engine_missing or device_unavailable, with the sentence to show.
    """
    variables = foreign_variables(os.environ, spec)  # before the engine sets some of its own
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
            cpu_quota=cpu_quota(),
            variables=variables,
        )
    )


def engine_variables(engine: str) -> dict[str, str]:
    """Return the variables that are set for every process with an engine, whatever it does."""
    return {
        "KERAS_BACKEND": engine,
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as NVML counts, so that gpu:1 is the same card everywhere
    }


def run_variables(spec: RunSpec) -> dict[str, str]:
    """Return the variables that are set for a run."""
    ours = engine_variables(spec.engine)
    if spec.device == "cpu":
        ours["CUDA_VISIBLE_DEVICES"] = "-1"
    if spec.onednn is not None:
        ours["TF_ENABLE_ONEDNN_OPTS"] = "1" if spec.onednn else "0"
    if spec.threads is not None:
        ours |= {"OMP_NUM_THREADS": str(spec.threads), "TF_NUM_INTRAOP_THREADS": str(spec.threads)}
    return ours


def foreign_variables(environment: Mapping[str, str], spec: RunSpec) -> tuple[str, ...]:
    """Name the variables that change what an engine does and that Epochmark did not set for this run."""
    ours = run_variables(spec)
    # Where Keras keeps its settings depends on the app's folders, and what it reads there is set anew.
    found = (
        name.encode("ascii", errors="replace").decode()[:100]
        for name, value in environment.items()
        if name.upper().startswith(_READ_BY_ENGINES) and name != "KERAS_HOME" and ours.get(name) != value
    )
    return tuple(sorted(found)[:_VARIABLES_TOLD])


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the processors' worth of time that Linux gives this process's groups; None without a limit.

    Args:
        root: Where the proc and sys folders are found.
    """
    quotas = [quota for folder in _cgroup_folders(root) if (quota := _quota_of(folder)) is not None]
    return min(quotas, default=None)


def _cgroup_folders(root: Path) -> list[Path]:
    """Return the folders that may limit this process: those of its groups, and all above them."""
    folders = []
    for line in _read_text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        names = controllers.split(",")
        if number == "0" and not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif "cpu" in names:
            tops = [root / "sys/fs/cgroup" / name for name in (controllers, "cpu")]
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", ".", "..")]
        folders += [top.joinpath(*parts[:count]) for top in tops for count in range(len(parts) + 1)]
    return folders


def _quota_of(folder: Path) -> float | None:
    """Read one group's limit: "200000 100000" in version 2, two files in version 1."""
    told = _read_text(folder / "cpu.max").split()
    if not told:
        told = [_read_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    try:
        quota_us, period_us = (float(word) for word in told)
    except ValueError:  # "max": no limit
        return None
    return quota_us / period_us if 0 < quota_us < 1e12 and 0 < period_us < 1e12 else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:4_096]
    except (OSError, ValueError):  # ValueError: a zero byte in a group's name
        return ""


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
