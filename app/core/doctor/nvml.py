"""What NVIDIA's management library says: whether the driver runs, and which cards it lists."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

_Value = TypeVar("_Value")
_MAX_MEMORY_BYTES = 2**50
NvmlState: TypeAlias = Literal[
    "ok", "library_not_found", "driver_not_loaded", "version_mismatch", "gpu_lost", "blocked", "no_answer", "error"
]


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One card as NVIDIA's driver lists it, in its order. None means that the driver does not say."""

    name: str
    capability: str | None = None  # compute capability: "8.9"
    memory_bytes: int | None = None
    held_bytes: int | None = None  # of its memory, what programs hold now


@dataclass(frozen=True, slots=True)
class Nvml:
    """What NVIDIA's management library answers."""

    state: NvmlState
    text: str = ""  # its own words where it is neither there nor missing
    driver: str | None = None
    gpus: tuple[NvidiaGpu, ...] = ()


NO_NVML = Nvml("library_not_found")


def ask_nvml() -> Nvml:
    """Ask NVIDIA's library once; its errors become a state."""
    try:
        import pynvml
    except ImportError:
        return NO_NVML
    states: tuple[tuple[str, NvmlState], ...] = (
        ("LibraryNotFound", "library_not_found"),
        ("DriverNotLoaded", "driver_not_loaded"),
        ("LibRmVersionMismatch", "version_mismatch"),
        ("GpuIsLost", "gpu_lost"),
        ("OperatingSystem", "blocked"),
    )
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        kinds = [kind for name, kind in states if isinstance(error, getattr(pynvml, f"NVMLError_{name}"))]
        return Nvml(kinds[0] if kinds else "error", " ".join(str(error).split())[:200])
    try:
        return _ask_cards(pynvml)
    finally:
        _ask(pynvml, pynvml.nvmlShutdown)


def _ask_cards(nvml: Any) -> Nvml:
    count = _ask(nvml, nvml.nvmlDeviceGetCount) or 0
    driver = _ask(nvml, nvml.nvmlSystemGetDriverVersion)
    cards = [_ask_card(nvml, _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)) for index in range(count)]
    lost = count and all(card is None for card in cards)
    return Nvml(
        "gpu_lost" if lost else "ok",
        driver=_text(driver),
        gpus=tuple(card or NvidiaGpu("NVIDIA GPU") for card in cards),
    )


def _ask_card(nvml: Any, handle: object) -> NvidiaGpu | None:
    if handle is None:
        return None
    capability = _ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    held = [
        _ask(nvml, ask, handle)
        for ask in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses)
    ]
    sizes = {item.pid: item.usedGpuMemory for part in held if part is not None for item in part}
    known = [size for size in sizes.values() if size is not None and 0 <= size < _MAX_MEMORY_BYTES]
    return NvidiaGpu(
        name=_text(_ask(nvml, nvml.nvmlDeviceGetName, handle)) or "NVIDIA GPU",
        capability=f"{capability[0]}.{capability[1]}" if capability else None,
        memory_bytes=int(memory.total) if memory and 0 < memory.total < _MAX_MEMORY_BYTES else None,
        held_bytes=sum(known) if len(known) == len(sizes) and any(part is not None for part in held) else None,
    )


def _ask(nvml: Any, call: Callable[..., _Value], *args: object) -> _Value | None:
    """Call NVML; None for each of its errors."""
    try:
        return call(*args)
    except (nvml.NVMLError, UnicodeDecodeError):
        return None


def _text(value: str | bytes | None) -> str | None:
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value or ""
    return " ".join(text.split())[:80] or None
