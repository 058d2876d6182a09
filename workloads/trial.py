"""A disposable process that lists an engine's devices, or tests one with real computations, for the doctor.

    python -m workloads.trial tensorflow list            build and devices
    python -m workloads.trial tensorflow device gpu:0    a matrix product, a convolution and gradients

Each answer is one line of JSON on the original stdout. Answers are written immediately, so that they are available
even if the process is killed. If stdin is closed, the parent process has exited, and this process exits too.
"""

import faulthandler
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.device_trial import DeviceTrial
from workloads.engines.registry import ENGINES, engine_named
from workloads.protocol.streams import EXIT_ORPHANED, end_as_orphan, read_lines, take_stdin, take_stdout

EXIT_FAILED, EXIT_USAGE = 1, 2
# TensorFloat-32 has a ten-bit fraction. The errors of faulty kernels are far larger.
TOLERANCE = 0.02
_MAX_TEXT_CHARS = 4_000
Tell = Callable[..., None]


def list_devices(engine: str, send: Tell) -> None:
    """Report the installed version and the devices that the engine lists."""
    trial = _imported(engine, send)
    import keras

    send("build", keras=str(keras.__version__), **trial.build())
    send("devices", devices=[{"id": "cpu", "name": None, "capability": None}, *trial.gpus()])


def try_device(engine: str, device: str, send: Tell) -> bool:
    """Run each test on a device, report whether its result is correct, and return whether all results are."""
    trial = _imported(engine, send)
    good = True
    for step, work in trial.steps(device).items():
        start_s = time.perf_counter()
        try:
            error = judge(*work())
        except trial.errors as raised:
            error = f"{type(raised).__name__}: {raised}"[:_MAX_TEXT_CHARS]
        send("step", name=step, error=error, duration_s=time.perf_counter() - start_s)
        good = good and error is None
    return good


def start(arguments: list[str]) -> NoReturn:
    """Run as the trial process and exit."""
    faulthandler.enable()
    find_cpp_runtime()
    stream = take_stdout()
    threading.Thread(target=_end_with_parent, args=(take_stdin(),), daemon=True).start()

    def send(kind: str, **values: object) -> None:
        stream.write(json.dumps({"type": kind, **values}).encode() + b"\n")
        stream.flush()

    try:
        code = answer(arguments, send)
        send("end", good=code == 0)
    except BrokenPipeError:
        code = EXIT_ORPHANED
    sys.stderr.flush()
    # Skip the engine's shutdown. It takes seconds and sometimes crashes, and all answers have been written by now.
    os._exit(code)


def answer(arguments: list[str], send: Tell) -> int:
    """Execute a command, and return the exit code."""
    match arguments:
        case [engine, "list"] if engine in ENGINES:
            list_devices(engine, send)
            return 0
        case [engine, "device", device] if engine in ENGINES:
            return 0 if try_device(engine, device, send) else EXIT_FAILED
    print("workloads.trial: say `tensorflow list`, or `tensorflow device cpu` and the like.", file=sys.stderr)  # noqa: T201
    return EXIT_USAGE


def judge(values: Any, expected: Any) -> str | None:
    """Describe how far off a result is; None if it is correct."""
    import numpy as np

    off = float(np.max(np.abs(values - expected))) / float(np.max(np.abs(expected)))
    # Also reject NaN, which isn't below the tolerance.
    return None if off <= TOLERANCE else f"The result is wrong: off by {100 * off:.3g} % of the largest value."


def _imported(engine: str, send: Tell) -> DeviceTrial:
    start_s = time.perf_counter()
    try:
        trial = engine_named(engine).trial()
    except BaseException as error:
        send("import", error=f"{type(error).__name__}: {error}"[:_MAX_TEXT_CHARS], duration_s=None)
        raise
    send("import", error=None, duration_s=time.perf_counter() - start_s)
    return trial


def _end_with_parent(requests: int) -> None:
    for _ in read_lines(requests):
        pass
    end_as_orphan()


if __name__ == "__main__":
    start(sys.argv[1:])
