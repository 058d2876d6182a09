"""Queries NVIDIA's management library for the state of the driver and the GPUs."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.core.hardware.gpu.nvidia import NvmlLimits, NvmlSource
from app.core.hardware.gpu.nvml_trial import asked_first, nvml_library, trial_arguments
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

NvmlState: TypeAlias = Literal[
    "ok",
    "library_not_found",
    "driver_not_loaded",
    "version_mismatch",
    "gpu_lost",
    "blocked",
    "no_answer",
    "crashes",
    "error",
]
_STATES: tuple[tuple[str, NvmlState], ...] = (
    ("LibraryNotFound", "library_not_found"),
    ("DriverNotLoaded", "driver_not_loaded"),
    ("LibRmVersionMismatch", "version_mismatch"),
    ("GpuIsLost", "gpu_lost"),
    ("OperatingSystem", "blocked"),
)


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """A GPU as listed by NVIDIA's driver. Values that the driver doesn't report are None."""

    name: str
    capability: str | None = None  # compute capability, such as "8.9"
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None  # used by all running programs


@dataclass(frozen=True, slots=True)
class Nvml:
    """The response from NVIDIA's management library."""

    state: NvmlState
    text: str = ""  # the library's error message if it was found but doesn't work
    driver: str | None = None
    gpus: tuple[NvidiaGpu, ...] = ()


NO_NVML = Nvml("library_not_found")


def ask_nvml() -> Nvml:
    """Query NVIDIA's library.

    Errors are returned as a state. A library that crashes or hangs isn't loaded into this process.
    """
    library = nvml_library()
    with asked_first(None if library is None else trial_arguments(library), NvmlLimits().start_s) as outcome:
        if outcome != "answers":
            return Nvml("no_answer" if outcome == "hangs" else "crashes")
        return _ask()


def _ask() -> Nvml:
    try:
        import pynvml
    except ImportError:
        return NO_NVML
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        kinds = [kind for name, kind in _STATES if isinstance(error, getattr(pynvml, f"NVMLError_{name}"))]
        return Nvml(kinds[0] if kinds else "error", " ".join(str(error).split())[:200])
    source = NvmlSource(pynvml, {})
    try:
        gpus, telemetry = source.gpus(), source.telemetry()
    finally:
        source.close()
    silent = all(gpu.memory_bytes is None and gpu.compute_capability is None for gpu in gpus)
    return Nvml(
        "gpu_lost" if gpus and silent else "ok",
        driver=next((gpu.driver for gpu in gpus), None),
        gpus=tuple(map(_card, gpus, telemetry)),
    )


def _card(gpu: Gpu, telemetry: GpuTelemetry) -> NvidiaGpu:
    used_bytes = None if telemetry.memory_used_bytes is None else int(telemetry.memory_used_bytes)
    return NvidiaGpu(gpu.name, gpu.compute_capability, gpu.memory_bytes, used_bytes)
