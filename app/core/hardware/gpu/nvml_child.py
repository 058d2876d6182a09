"""Child process that tests NVIDIA's library; see nvml_trial. For a fast start, only ctypes is imported.

    python -I -S nvml_child.py libnvidia-ml.so.1

The process makes the same calls as the app, reports that it survived them, and runs until its input is closed,
because some drivers take seconds to start a card, and stop it again when it isn't in use.
"""

import ctypes
import os
import sys

DONE = b"asked"
# Functions called with a card's handle and pointers to their outputs.
_OF_A_CARD = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTotalEnergyConsumption",
)
_NAME_BYTES, _CARDS_AT_MOST = 96, 64


def ask(name: str) -> None:
    """Load the library and call it. Errors are ignored; only a crash or hang matters."""
    library = ctypes.CDLL(name)
    count, handle = ctypes.c_uint(0), ctypes.c_void_p()
    if _call(library, "nvmlInit_v2") or _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count)):
        return
    for index in range(min(count.value, _CARDS_AT_MOST)):
        if _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle)):
            continue
        for function in _OF_A_CARD:
            answers = [ctypes.create_string_buffer(256) for _ in range(2)]
            second = ctypes.c_uint(_NAME_BYTES) if function == "nvmlDeviceGetName" else answers[1]
            _call(library, function, handle, answers[0], second)


def _call(library: ctypes.CDLL, function: str, *arguments: object) -> int:
    """Return NVML's error number: 0 for success, -1 if the function doesn't exist."""
    call = getattr(library, function, None)
    return -1 if call is None else int(call(*arguments))


if __name__ == "__main__":
    try:
        ask(sys.argv[1])
    except OSError as error:  # can't be loaded, which the app detects as well
        os.write(1, str(error).encode())
    os.write(1, b"\n" + DONE + b"\n")
    os.read(0, 1)
    os._exit(0)  # skips the library's exit handlers, whose errors don't matter
