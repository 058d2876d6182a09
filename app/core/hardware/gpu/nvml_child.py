"""Child process that tests NVIDIA's library; see nvml_trial.

    python -I -S nvml_child.py libnvidia-ml.so.1 FOLDER ...  # the folders with the modules

The process asks everything that the app asks, reports that it survived, and runs until its input is closed,
because some drivers take seconds to start a card, and stop it again when it isn't in use.
"""

import ctypes
import os
import sys

DONE = b"asked"


def ask(library: str) -> None:
    """Load the library, and ask for all components and telemetry."""
    import pynvml

    from app.core.hardware.gpu.nvidia import NvmlSource

    pynvml.nvmlLib = ctypes.CDLL(library)
    if start := getattr(pynvml.nvmlLib, "nvmlInit_v2", None):  # which engines call
        start()
    pynvml.nvmlInit()
    source = NvmlSource(pynvml, {})
    source.gpus()
    source.telemetry(own_pids=())


if __name__ == "__main__":
    sys.path[:] = sys.argv[2:]
    try:
        ask(sys.argv[1])
    finally:  # the app detects errors as well; only a crash or hang matters
        os.write(1, b"\n" + DONE + b"\n")
        os.read(0, 1)
        os._exit(0)  # skips the library's exit handlers, whose errors don't matter
