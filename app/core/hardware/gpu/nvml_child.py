"""The process in which NVIDIA's library is asked first; see nvml_trial. It starts fast: it imports only ctypes.

    python -I -S nvml_child.py libnvidia-ml.so.1

It asks for what the app asks for, says that it got through, and stays until its input is closed: some drivers take
seconds to start a card, and stop it when nobody uses it.
"""

import ctypes
import os
import sys

DONE = b"asked"
# Called with a card's handle, then with places for what they report.
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
    """Load the library and call it; its errors don't matter here, only whether the process survives them."""
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
    """Return NVML's error number, 0 for none; -1 if it has no such function."""
    call = getattr(library, function, None)
    return -1 if call is None else int(call(*arguments))


if __name__ == "__main__":
    try:
        ask(sys.argv[1])
    except OSError as error:  # not to be loaded: the app will find out, too
        os.write(1, str(error).encode())
    os.write(1, b"\n" + DONE + b"\n")
    os.read(0, 1)
    os._exit(0)  # what the library does at a process's end is nobody's concern
