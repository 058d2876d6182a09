"""The doctor's throw-away process: reports what TensorFlow sees, or makes one device do real work.

    python -m workloads.trial list            build and devices
    python -m workloads.trial device gpu:0    a matrix product, a convolution and a step compiled by XLA

Each answer is a line of JSON on the original stdout, written as soon as it is known, so that a killed process
shows how far it got. A closed stdin means that the parent is gone, and ends it.
"""

import faulthandler
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

EXIT_FAILED, EXIT_USAGE, EXIT_ORPHANED = 1, 2, 3
# TensorFloat-32 keeps ten bits of the fraction; a wrong kernel is off by far more.
TOLERANCE = 0.02
_MAX_TEXT_CHARS = 4_000
Tell = Callable[..., None]


def list_devices(tell: Tell) -> None:
    """Report what is installed and which devices TensorFlow lists."""
    tf = _import_engine(tell)
    build = tf.sysconfig.get_build_info()
    tell(
        "build",
        tensorflow=str(tf.__version__),
        keras=str(tf.keras.__version__),
        cuda=bool(build.get("is_cuda_build")),
        rocm=bool(build.get("is_rocm_build")),
        cuda_version=_text_or_none(build.get("cuda_version")),
        cudnn_version=_text_or_none(build.get("cudnn_version")),
        capabilities=[str(one) for one in build.get("cuda_compute_capabilities") or ()],
    )
    devices = [{"id": "cpu", "name": None, "capability": None}]
    for index, device in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(device)
        capability = details.get("compute_capability")
        devices.append(
            {
                "id": f"gpu:{index}",
                "name": details.get("device_name"),
                "capability": f"{capability[0]}.{capability[1]}" if capability else None,
            }
        )
    tell("devices", devices=devices)


def try_device(device: str, tell: Tell) -> bool:
    """Let a device compute, and report for each step whether its result is right; return whether all are."""
    tf = _import_engine(tell)
    kind, _, index = device.partition(":")
    name = f"/{kind.upper()}:{index or 0}"
    # An operation that can't run on the device must fail, not silently run elsewhere.
    tf.config.set_soft_device_placement(False)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    steps: dict[str, Callable[[Any], tuple[Any, Any]]] = {
        "matmul": _matmul,
        "convolution": _convolution,
        "xla": _compiled,
    }
    good = True
    for step, compute in steps.items():
        start_s = time.perf_counter()
        error = None
        try:
            with tf.device(name):
                error = judge(*compute(tf), name)
        except (tf.errors.OpError, RuntimeError, ValueError, TypeError) as raised:
            error = f"{type(raised).__name__}: {raised}"[:_MAX_TEXT_CHARS]
        tell("step", name=step, error=error, duration_s=time.perf_counter() - start_s)
        good = good and error is None
    return good


def start(arguments: list[str]) -> NoReturn:
    """Run as the trial's process."""
    faulthandler.enable()
    stream = _take_stdout()
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def tell(kind: str, **values: object) -> None:
        stream.write(json.dumps({"type": kind, **values}).encode() + b"\n")
        stream.flush()

    try:
        code = answer(arguments, tell)
        tell("end", good=code == 0)
    except BrokenPipeError:
        code = EXIT_ORPHANED
    sys.stderr.flush()
    # Engines take seconds to shut down, and some crash; all answers have been written by now.
    os._exit(code)


def answer(arguments: list[str], tell: Tell) -> int:
    """Do what the arguments ask for; return the exit code."""
    if arguments == ["list"]:
        list_devices(tell)
        return 0
    if len(arguments) == 2 and arguments[0] == "device":
        return 0 if try_device(arguments[1], tell) else EXIT_FAILED
    print("workloads.trial: say `list`, or `device cpu` and the like.", file=sys.stderr)  # noqa: T201
    return EXIT_USAGE


def _import_engine(tell: Tell) -> Any:
    start_s = time.perf_counter()
    try:
        import tensorflow as tf
    except BaseException as error:
        tell("import", error=f"{type(error).__name__}: {error}"[:_MAX_TEXT_CHARS], duration_s=None)
        raise
    tell("import", error=None, duration_s=time.perf_counter() - start_s)
    return tf


def judge(result: Any, expected: Any, device: str) -> str | None:
    """Describe what is wrong with a result; None if nothing is."""
    import numpy as np

    if not str(result.device).endswith(device.removeprefix("/")):
        return f"The result was computed on {str(result.device)[-40:]}."
    values = result.numpy()
    off = float(np.max(np.abs(values - expected))) / float(np.max(np.abs(expected)))
    # NaN isn't below the tolerance either.
    return None if off <= TOLERANCE else f"The result is wrong: off by {100 * off:.3g} % of the largest value."


def _matmul(tf: Any) -> tuple[Any, Any]:
    left, right = _numbers(64, 128), _numbers(128, 32)
    # The following multiplication uses TensorFlow's own kernel, not a library's.
    return tf.multiply(tf.matmul(left, right), tf.constant(0.5)), 0.5 * (left @ right)


def _convolution(tf: Any) -> tuple[Any, Any]:
    import numpy as np

    images, kernels = _numbers(4, 12, 12, 8), _numbers(3, 3, 8, 16)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    expected = np.maximum(np.einsum("nyxcij,ijco->nyxo", windows, kernels), 0)
    return tf.nn.relu(tf.nn.conv2d(images, kernels, strides=1, padding="VALID")), expected


def _compiled(tf: Any) -> tuple[Any, Any]:
    import numpy as np

    inputs, weights = _numbers(32, 64), _numbers(64, 16) / 8

    def step(values: Any, kernel: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            # tanh comes from CUDA's libdevice, which may be missing.
            loss = tf.reduce_sum(tf.tanh(tf.matmul(values, kernel)))
        return tape.gradient(loss, kernel)

    slopes = 1 - np.tanh(inputs @ weights) ** 2
    return tf.function(step, jit_compile=True)(tf.constant(inputs), tf.constant(weights)), inputs.T @ slopes


def _numbers(*shape: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _take_stdout() -> BinaryIO:
    """Keep fd 1 for answers only: anything that a library prints from now on goes to stderr."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stream


def _end_with_parent() -> None:
    while os.read(0, 4_096):
        pass
    os._exit(EXIT_ORPHANED)


if __name__ == "__main__":
    start(sys.argv[1:])
