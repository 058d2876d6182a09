"""A made-up NVIDIA driver for tests."""

import importlib
import os
import threading
from collections.abc import Sequence
from functools import partial
from types import ModuleType, SimpleNamespace

# The real library, for its error classes: the app may import it inside functions only.
PYNVML = importlib.import_module("pynvml")
# Processes that this computer certainly has, and one that it has not.
OWN, OTHER, NOWHERE = os.getpid(), os.getppid(), 2**22 + 1


def held(pid: int, size_bytes: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=size_bytes)


def used(pid: int, share_pct: int) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, smUtil=share_pct)


class FakeDriver:
    """NVML as its users see it: each value is given, or is the error to raise, and can change at any time."""

    def __init__(self, count: int) -> None:
        values: dict[str, Sequence[object]] = {
            "HandleByIndex": [0, 1][:count],
            "Name": ["NVIDIA GeForce RTX 4090", b"NVIDIA GeForce GTX 1080"][:count],
            "MemoryInfo": [SimpleNamespace(total=24 * 2**30, used=2**30)] * count,
            "CudaComputeCapability": [(8, 9), (6, 1)][:count],
            "UtilizationRates": [SimpleNamespace(gpu=97, memory=40)] * count,
            "Temperature": [65] * count,
            "PowerUsage": [312_500] * count,
            "Clock": [2520] * count,
            "MemoryClock": [10_501] * count,
            "FanSpeed": [45] * count,
            "TotalEnergyConsumption": [90_000_000, PYNVML.NVMLError_NotSupported()][
                :count
            ],  # cards before Volta have no counter
            "Architecture": [PYNVML.NVML_DEVICE_ARCH_ADA, PYNVML.NVML_DEVICE_ARCH_PASCAL][:count],
            "EnforcedPowerLimit": [350_000, 180_000][:count],
            "PowerManagementDefaultLimit": [450_000, 180_000][:count],
            "PowerManagementLimitConstraints": [(150_000, 600_000), (90_000, 216_000)][:count],
            "MaxPcieLinkGeneration": [4, 3][:count],
            "MaxPcieLinkWidth": [16] * count,
            "DisplayActive": [1, 0][:count],
            "DisplayMode": [1, 0][:count],
            "CurrentClocksEventReasons": [0x1] * count,
            "CurrentClocksThrottleReasons": [0x1] * count,
            "ComputeRunningProcesses": [[held(OWN, 2**30)]] * count,
            "GraphicsRunningProcesses": [[]] * count,
            "ProcessUtilization": [[used(OWN, 90)]] * count,
        }
        self.values = {key: list(given) for key, given in values.items()}
        self.start_error: Exception | None = None
        self.hanging: threading.Event | None = None  # until it is set, what hangs does not end
        self.hanging_at = "start"  # or a value's name
        self.running = 0
        self.starts = 0

    def lose(self, index: int, name: str) -> None:
        for values in self.values.values():
            values[index] = getattr(PYNVML, name)()

    def give(self, key: str, index: int, *_: object, **__: object) -> object:
        self.hang(key)
        value = self.values[key][index]
        if isinstance(value, Exception):
            raise value
        return value

    def hang(self, at: str) -> None:
        if self.hanging is not None and self.hanging_at == at:
            self.hanging.wait(60)

    def start(self) -> None:
        self.starts += 1
        self.hang("start")
        if self.start_error is not None:
            raise self.start_error
        self.running += 1

    def stop(self) -> None:
        self.running -= 1

    def module(self) -> ModuleType:
        module = ModuleType("pynvml")
        vars(module).update({name: value for name, value in vars(PYNVML).items() if name.startswith("NVML")})
        vars(module).update(
            nvmlInit=self.start,
            nvmlShutdown=self.stop,
            nvmlSystemGetDriverVersion=lambda: "580.65.06",
            nvmlDeviceGetCount=lambda: len(self.values["HandleByIndex"]),
            nvmlDeviceGetClockInfo=lambda handle, kind: self.give(
                {PYNVML.NVML_CLOCK_SM: "Clock", PYNVML.NVML_CLOCK_MEM: "MemoryClock"}[kind], handle
            ),
        )
        vars(module).update({f"nvmlDeviceGet{key}": partial(self.give, key) for key in self.values})
        return module
