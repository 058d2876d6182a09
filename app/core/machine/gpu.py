"""NVIDIA GPUs: which there are, and how they are doing. NVML first; GPUtil (nvidia-smi) where it is missing.

A value that the driver does not give is None: drivers refuse single values on many cards, answer with all
ones for "not available", and lose whole GPUs. Other vendors are not read.
"""

import ctypes
import logging
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import psutil

from app.core.model import Gpu, GpuReading

_Value = TypeVar("_Value")

_logger = logging.getLogger(__name__)

_MIB_BYTES = 2**20
_MAX_MEMORY_BYTES = 2**50
_GPUTIL_LIMIT_S = 2.5
# Bits of NVML's clocks event reasons, from nvml.h, by what they mean to people. Idling, clocks that the user chose
# and waiting for another GPU hold no GPU back that has work to do.
_THROTTLE_REASONS = {
    "power cap": 0x4,
    "hardware slowdown": 0x8,
    "thermal": 0x20 | 0x40,
    "power brake": 0x80,
}
_MAX_REASONS = 2**32
_KILL_LIMIT_S = 0.3

# Set for good when nvidia-smi hung: it would hang again, so nobody in this process waits for it twice.
_NVIDIA_SMI_HUNG = threading.Event()


def list_gpus() -> tuple[Gpu, ...]:
    """List the NVIDIA GPUs in the driver's order; empty when there are none or no driver answers.

    Takes milliseconds, up to 3 s where only a hanging nvidia-smi is left to ask. Wakes sleeping GPUs.
    """
    source = _open_source()
    if source is None:
        return ()
    try:
        return source.gpus()
    finally:
        source.close()


class GpuReader:
    """Read all GPUs repeatedly, from one thread. Nothing is loaded before the first read.

    Args:
        root: Where Linux's sys folder is found.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._opened = False
        self._source: _NvmlSource | _GputilSource | None = None
        self._power_files: tuple[Path, ...] = ()

    def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuReading, ...]:
        """Look at each GPU once, in the order of `list_gpus`. Sleeping and lost GPUs give None throughout.

        Args:
            own_pids: The run's own processes, whose memory is not others'; None if they are not known.
        """
        self._power_files = self._power_files or _power_files(self._root)
        asleep = tuple(_read_text(path) == "suspended" for path in self._power_files)
        if asleep and all(asleep):  # even starting NVML would wake them
            return tuple(GpuReading(index) for index in range(len(asleep)))
        if not self._opened:
            self._opened = True
            self._source = _open_source()
        return () if self._source is None else self._source.readings(asleep, own_pids)

    def close(self) -> None:
        """Let go of the driver. A later read opens it again."""
        if self._source is not None:
            self._source.close()
        self._opened, self._source, self._power_files = False, None, ()


def throttle_words(bits: int | None) -> tuple[str, ...] | None:
    """Say what NVML's clocks event reasons mean; None for unknown, empty where nothing holds the clock down."""
    if bits is None or not 0 <= bits < _MAX_REASONS:
        return None
    return tuple(word for word, mask in _THROTTLE_REASONS.items() if bits & mask)


def other_memory_bytes(
    held: Iterable[tuple[int, int | None]],
    own_pids: Collection[int],
    is_here: Callable[[int], bool] = psutil.pid_exists,
) -> int | None:
    """Sum up what other processes hold of a GPU's memory; None where that cannot be told.

    Args:
        held: Processes and their memory; one that computes and draws comes twice.
        own_pids: The run's own processes.
        is_here: Tells processes of this system; a container may be told numbers that mean others in it.
    """
    others: dict[int, int] = {}
    for pid, size_bytes in held:
        if pid in own_pids:
            continue
        known = _whole(size_bytes, 0, _MAX_MEMORY_BYTES)
        if known is None or not is_here(pid):
            return None
        others[pid] = max(known, others.get(pid, 0))
    return sum(others.values())


class _NvmlSource:
    """An initialised pynvml, with a handle for each GPU (None: the driver does not give it out)."""

    def __init__(self, nvml: ModuleType) -> None:
        self._nvml = nvml
        count = self._ask(nvml.nvmlDeviceGetCount) or 0
        self._handles = tuple(self._ask(nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count))

    def gpus(self) -> tuple[Gpu, ...]:
        driver = self._ask(self._nvml.nvmlSystemGetDriverVersion)
        return tuple(self._gpu(handle, _text(driver)) for handle in self._handles)

    def readings(
        self, asleep: tuple[bool, ...], own_pids: Collection[int] | None = None
    ) -> tuple[GpuReading, ...]:
        # NVML counts in the order of PCI addresses, as we do; with another number of GPUs it hides some.
        known = asleep if len(asleep) == len(self._handles) else (False,) * len(self._handles)
        return tuple(
            GpuReading(index) if known[index] or handle is None else self._reading(index, handle, own_pids)
            for index, handle in enumerate(self._handles)
        )

    def close(self) -> None:
        self._ask(self._nvml.nvmlShutdown)

    def _gpu(self, handle: object, driver: str | None) -> Gpu:
        if handle is None:
            return Gpu(name="NVIDIA GPU", vendor="nvidia", driver=driver)
        memory = self._ask(self._nvml.nvmlDeviceGetMemoryInfo, handle)
        capability = self._ask(self._nvml.nvmlDeviceGetCudaComputeCapability, handle)
        return Gpu(
            name=_text(self._ask(self._nvml.nvmlDeviceGetName, handle)) or "NVIDIA GPU",
            vendor="nvidia",
            memory_bytes=_whole(memory and memory.total, 1, _MAX_MEMORY_BYTES),
            driver=driver,
            compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        )

    def _reading(self, index: int, handle: object, own_pids: Collection[int] | None) -> GpuReading:
        nvml, ask = self._nvml, self._ask
        use = ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        power_mw = ask(nvml.nvmlDeviceGetPowerUsage, handle)
        return GpuReading(
            index=index,
            utilization_pct=_within(use and use.gpu, 0, 100),
            memory_used_bytes=_whole(memory and memory.used, 0, _MAX_MEMORY_BYTES),
            temperature_c=_within(ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU), 1, 150),
            power_w=_within(power_mw and power_mw / 1000, 0.001, 10_000),
            clock_mhz=_within(ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM), 1, 10_000),
            throttle_reasons=self._throttle_reasons(handle),
            other_memory_bytes=None if own_pids is None else self._other_memory_bytes(handle, own_pids),
        )

    def _throttle_reasons(self, handle: object) -> tuple[str, ...] | None:
        bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksEventReasons, handle)
        if bits is None:  # drivers before 535 know it by its old name only
            bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        return throttle_words(bits)

    def _other_memory_bytes(self, handle: object, own_pids: Collection[int]) -> int | None:
        computing = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        drawing = self._ask(self._nvml.nvmlDeviceGetGraphicsRunningProcesses, handle)
        if computing is None and drawing is None:
            return None
        held = [(process.pid, process.usedGpuMemory) for process in (*(computing or ()), *(drawing or ()))]
        return other_memory_bytes(held, own_pids)

    def _ask(self, call: Callable[..., _Value], *args: object) -> _Value | None:
        """Call NVML; None for each of its errors (not supported, GPU lost …) and for text that is none."""
        try:
            return call(*args)
        except (self._nvml.NVMLError, UnicodeDecodeError):
            return None


class _GputilSource:
    """Ask nvidia-smi anew each time, through GPUtil."""

    def __init__(self, gputil: ModuleType) -> None:
        self._gputil = gputil

    def gpus(self) -> tuple[Gpu, ...]:
        return tuple(
            Gpu(
                name=_text(gpu.name) or "NVIDIA GPU",
                vendor="nvidia",
                memory_bytes=_whole(gpu.memoryTotal * _MIB_BYTES, 1, _MAX_MEMORY_BYTES),
                driver=_text(gpu.driver),
                source="gputil",
            )
            for gpu in _ask_gputil(self._gputil)
        )

    def readings(self, asleep: tuple[bool, ...], _own_pids: object = None) -> tuple[GpuReading, ...]:
        if any(asleep):  # nvidia-smi would wake them
            return tuple(GpuReading(index) for index in range(len(asleep)))
        return tuple(
            GpuReading(
                index=index,
                utilization_pct=_within(gpu.load * 100, 0, 100),
                memory_used_bytes=_whole(gpu.memoryUsed * _MIB_BYTES, 0, _MAX_MEMORY_BYTES),
                temperature_c=_within(gpu.temperature, 1, 150),
            )
            for index, gpu in enumerate(_ask_gputil(self._gputil))
        )

    def close(self) -> None:
        """Hold nothing: each question starts nvidia-smi anew."""


def _open_source() -> _NvmlSource | _GputilSource | None:
    if not _may_have_nvml():
        return _open_gputil()
    try:
        import pynvml
    except ImportError:
        return _open_gputil()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return _open_gputil()
    except pynvml.NVMLError as error:  # the driver is there and broken: nvidia-smi would only say the same
        _logger.info("NVML does not start: %s", error)
        return None
    return _NvmlSource(pynvml)


def _may_have_nvml() -> bool:
    """Say whether to try NVML: its import costs 10 MB, and most computers lack the library."""
    if not sys.platform.startswith("linux") or "pynvml" in sys.modules:
        return True
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def _open_gputil() -> _GputilSource | None:
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # distutils is deprecated
            import GPUtil
    except ImportError:
        return None
    return _GputilSource(GPUtil)


def _ask_gputil(gputil: ModuleType) -> list[Any]:
    """Ask nvidia-smi in a thread of its own, because it may hang; empty when it fails or takes too long."""
    if _NVIDIA_SMI_HUNG.is_set():
        return []
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.extend(gputil.getGPUs())
        except (ValueError, ZeroDivisionError, LookupError, OSError) as error:  # what it makes of odd output
            _logger.info("nvidia-smi gave no usable answer: %s", error)

    others = {process.pid for process in _nvidia_smi_children()}
    thread = threading.Thread(target=ask, name="gputil", daemon=True)
    thread.start()
    thread.join(_GPUTIL_LIMIT_S)
    if not thread.is_alive():
        return answer
    _NVIDIA_SMI_HUNG.set()
    _logger.warning("nvidia-smi hangs; GPUs are not read any more")
    _kill_trees([process for process in _nvidia_smi_children() if process.pid not in others])
    thread.join(_KILL_LIMIT_S)  # so that the killed process is reaped, if it dies at all
    return []


def _nvidia_smi_children() -> list[Any]:
    found = []
    try:
        children = psutil.Process().children()
    except (psutil.Error, OSError):
        return []
    for child in children:
        try:
            if child.name().lower().startswith("nvidia-smi"):
                found.append(child)
        except (psutil.Error, OSError):
            continue  # ended meanwhile
    return found


def _kill_trees(processes: list[Any]) -> None:
    for process in processes:
        try:
            tree = [*process.children(recursive=True), process]
        except (psutil.Error, OSError):
            tree = [process]
        for member in tree:
            try:
                member.kill()
            except (psutil.Error, OSError):
                continue  # ended meanwhile


def _power_files(root: Path) -> tuple[Path, ...]:
    """Find the power state of each NVIDIA GPU in the order of PCI addresses; empty but on Linux."""
    devices = sorted(root.glob("sys/bus/pci/devices/*"))
    return tuple(
        device / "power/runtime_status"
        for device in devices
        if _read_text(device / "vendor") == "0x10de" and _read_text(device / "class").startswith("0x03")
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _text(value: str | bytes | None) -> str | None:
    """Give a driver's text as str (old pynvml gives bytes); None for nvidia-smi's "[N/A]" and the like."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value or ""
    text = " ".join(text.split())
    return None if not text or text.startswith("[") else text


def _within(value: float | None, low: float, high: float) -> float | None:
    """Give the value if it can be true; None for NaN, for all ones and for a zero that no running GPU has."""
    return float(value) if value is not None and low <= value <= high else None


def _whole(value: float | None, low: int, high: int) -> int | None:
    found = _within(value, low, high)
    return None if found is None or value is None else int(value)
