"""Reads NVIDIA's GPUs through NVML, or through nvidia-smi if NVML is unavailable.

Values that the driver doesn't report are None. Depending on the card, drivers refuse individual values, return a
value with all bits set for "not available", or lose whole GPUs.
"""

import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import psutil

from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu.linux import Card
from app.core.hardware.gpu.nvidia_smi import GputilSource, open_gputil
from app.core.hardware.gpu.nvml_trial import asked_first, nvml_library, trial_arguments
from app.core.hardware.gpu.pci_ids import DeviceNames
from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, EnergyMeter, clean_text, scaled, whole, within
from app.core.hardware.system_files import read_text
from app.core.messages import sentence
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

_Value = TypeVar("_Value")

_logger = logging.getLogger(__name__)

# Exceptions caused by a broken or wrong library, in addition to NVML's own.
_BROKEN = (OSError, AttributeError, ValueError, TypeError, LookupError)
# Bits of NVML's clocks event reasons, from nvml.h, with names for users. Other reasons (idle, clocks set by the
# user, waiting for another GPU) don't slow down a busy GPU.
_THROTTLE_REASONS = {"power cap": 0x4, "hardware slowdown": 0x8, "thermal": 0x20 | 0x40, "power brake": 0x80}
_MAX_REASONS = 2**32
# Minimum share of the time limit for starting NVML, however long the trial took.
_START_SHARE = 0.2
# Values range from 1.0 to 12.1 today. Broken drivers report 0.0 or arbitrary values.
_MAX_CAPABILITY = 40
# Telemetry is read once a second.
_USE_WINDOW_S = 1.0
_MAX_ENERGY_MJ = 2**62

# Set permanently after NVML has hung or crashed, because it would do so again.
HUNG = threading.Event()
# Values reported by NVML in this process, by root folder.
_known: dict[Path, tuple[Gpu, ...]] = {}


@dataclass(frozen=True, slots=True)
class NvmlLimits:
    """Time limits in seconds, after which NVML counts as hung."""

    start_s: float = 2.5
    list_s: float = 3.0  # for starting and listing together
    list_share_s: float = 0.5  # minimum for listing, however long starting took


class NvidiaGpus:
    """NVIDIA's GPUs in NVML's order, for use from one thread. Nothing is loaded before the first call.

    `cards` are NVIDIA's on Linux. NVML isn't started while all of them are asleep.
    """

    def __init__(
        self, root: Path = Path("/"), cards: tuple[Card, ...] = (), limits: NvmlLimits = NvmlLimits()
    ) -> None:
        self._root = root
        self._limits = limits
        self._cards = cards
        self._driven = tuple(card for card in cards if card.driver == "nvidia")
        self._opened = False
        self._source: NvmlSource | GputilSource | None = None
        self._meters: dict[int, EnergyMeter] = {}

    def gpus(self) -> tuple[Gpu, ...]:
        """List the GPUs that NVIDIA's driver reports. Wakes sleeping GPUs unless all of them are asleep."""
        if self._all_asleep():
            return _known.get(self._root) or tuple(_sleeping_gpu(self._root, card) for card in self._driven)
        started_s = time.monotonic()
        self._open()
        if not isinstance(self._source, NvmlSource):
            return () if self._source is None else self._source.gpus()
        left_s = max(self._limits.list_share_s, self._limits.list_s - (time.monotonic() - started_s))
        try:
            gpus = call_in_thread(self._source.gpus, "nvml").result(left_s)
        except TimeoutError:
            _give_up("hardware.nvml_not_responding")
            self._source = None  # not closed, because that would hang too
            return ()
        if gpus:
            _known[self._root] = gpus
        return gpus

    def telemetry(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
        if self._all_asleep():  # even starting NVML would wake them
            return tuple(GpuTelemetry(index) for index in range(len(self._driven)))
        self._open()
        if self._source is None:
            return ()
        return self._source.telemetry(tuple(card.asleep() for card in self._driven), own_pids)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._opened, self._source = False, None

    def _all_asleep(self) -> bool:
        return bool(self._cards) and all(card.asleep() for card in self._cards)

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            self._source = _open_source(self._meters, self._limits.start_s)


class NvmlSource:
    """An initialised pynvml with a handle for each GPU; the handle is None if the driver refuses it."""

    def __init__(self, nvml: ModuleType, meters: dict[int, EnergyMeter]) -> None:
        self._nvml = nvml
        self._meters = meters
        count = self._ask(nvml.nvmlDeviceGetCount) or 0
        self._handles = tuple(self._ask(nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count))

    def gpus(self) -> tuple[Gpu, ...]:
        driver = self._ask(self._nvml.nvmlSystemGetDriverVersion)
        return tuple(self._gpu(handle, clean_text(driver)) for handle in self._handles)

    def telemetry(
        self, asleep: tuple[bool, ...] = (), own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        # NVML orders GPUs by PCI address, as `asleep` does. If the counts differ, NVML hides some GPUs.
        skipped = asleep if len(asleep) == len(self._handles) else (False,) * len(self._handles)
        return tuple(
            GpuTelemetry(index) if skipped[index] or handle is None else self._card(index, handle, own_pids)
            for index, handle in enumerate(self._handles)
        )

    def close(self) -> None:
        self._ask(self._nvml.nvmlShutdown)

    def _gpu(self, handle: object, driver: str | None) -> Gpu:
        if handle is None:
            return Gpu(name="NVIDIA GPU", vendor="nvidia", driver=driver)
        nvml, ask = self._nvml, self._ask
        memory_bytes, shares = self._memory(handle)
        least_mw, most_mw = ask(nvml.nvmlDeviceGetPowerManagementLimitConstraints, handle) or (None, None)
        return Gpu(
            name=clean_text(ask(nvml.nvmlDeviceGetName, handle)) or "NVIDIA GPU",
            vendor="nvidia",
            memory_bytes=memory_bytes,
            driver=driver,
            compute_capability=capability_text(ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)),
            architecture=self._architecture(handle),
            power_limit_w=_watts(ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
            power_default_w=_watts(ask(nvml.nvmlDeviceGetPowerManagementDefaultLimit, handle)),
            power_min_w=_watts(least_mw),
            power_max_w=_watts(most_mw),
            # Maximum of card and slot: the current link is slower while the card idles.
            pcie_generation=whole(ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle), 1, 9),
            pcie_lanes=whole(ask(nvml.nvmlDeviceGetMaxPcieLinkWidth, handle), 1, 32),
            shares_memory=shares,
            drives_display=self._drives_display(handle),
        )

    def _memory(self, handle: object) -> tuple[int | None, bool | None]:
        """Return the memory that a GPU can use, in bytes, and whether it is the computer's. None means unknown."""
        nvml = self._nvml
        try:
            own_bytes = whole(nvml.nvmlDeviceGetMemoryInfo(handle).total, 1, MAX_MEMORY_BYTES)
        except nvml.NVMLError_NotSupported:  # chips without memory of their own, such as GB10 and Jetson
            return int(psutil.virtual_memory().total), True
        except nvml.NVMLError:
            return None, None
        return own_bytes, None if own_bytes is None else False

    def _architecture(self, handle: object) -> str | None:
        number = self._ask(self._nvml.nvmlDeviceGetArchitecture, handle)
        start = "NVML_DEVICE_ARCH_"
        names = {
            value: name.removeprefix(start)
            for name, value in vars(self._nvml).items()
            if name.startswith(start) and not name.endswith("_UNKNOWN")
        }
        return names[number].capitalize() if number in names else None

    def _drives_display(self, handle: object) -> bool | None:
        calls = (self._nvml.nvmlDeviceGetDisplayActive, self._nvml.nvmlDeviceGetDisplayMode)
        states = [state for call in calls if (state := self._ask(call, handle)) in (0, 1)]
        return any(states) if states else None

    def _card(self, index: int, handle: object, own_pids: Collection[int] | None) -> GpuTelemetry:
        nvml, ask = self._nvml, self._ask
        use = ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        fan_pct = ask(nvml.nvmlDeviceGetFanSpeed, handle)
        return GpuTelemetry(
            index=index,
            utilization_pct=within(use and use.gpu, 0, 100),
            memory_used_bytes=whole(memory and memory.used, 1, MAX_MEMORY_BYTES),
            temperature_c=within(ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU), 1, 150),
            power_w=_watts(ask(nvml.nvmlDeviceGetPowerUsage, handle)),
            power_limit_w=_watts(ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
            clock_mhz=within(ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM), 1, 10_000),
            throttle_reasons=self._throttle_reasons(handle),
            other_memory_bytes=None if own_pids is None else self._other_memory_bytes(handle, own_pids),
            memory_utilization_pct=within(use and use.memory, 0, 100),
            memory_clock_mhz=within(ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM), 1, 100_000),
            # Percentage of the fan's rated speed, which some fans exceed.
            fan_pct=within(None if fan_pct is None or fan_pct > 200 else min(fan_pct, 100), 0, 100),
            energy_j=self._energy_j(index, handle),
            other_utilization_pct=None if own_pids is None else self._other_utilization_pct(handle, own_pids),
        )

    def _energy_j(self, index: int, handle: object) -> float | None:
        energy_mj = self._ask(self._nvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        counter_j = scaled(within(energy_mj, 0, _MAX_ENERGY_MJ), 1000)
        return self._meters.setdefault(index, EnergyMeter()).add(counter_j, time.monotonic())

    def _throttle_reasons(self, handle: object) -> tuple[str, ...] | None:
        bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksEventReasons, handle)
        if bits is None:  # drivers before 535 only support the old name
            bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        return throttle_words(bits)

    def _other_memory_bytes(self, handle: object, own_pids: Collection[int]) -> int | None:
        computing = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        drawing = self._ask(self._nvml.nvmlDeviceGetGraphicsRunningProcesses, handle)
        if computing is None and drawing is None:
            return None
        held = [(process.pid, process.usedGpuMemory) for process in (*(computing or ()), *(drawing or ()))]
        return other_memory_bytes(held, own_pids)

    def _other_utilization_pct(self, handle: object, own_pids: Collection[int]) -> float | None:
        since_us = int((time.time() - _USE_WINDOW_S) * 1e6)
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(handle, since_us)
        except self._nvml.NVMLError_NotFound:  # no process used the GPU in that time
            return 0.0
        except (self._nvml.NVMLError, UnicodeDecodeError):
            return None
        return other_utilization_pct(((sample.pid, sample.smUtil) for sample in samples), own_pids)

    def _ask(self, call: Callable[..., _Value], *args: object) -> _Value | None:
        """Call NVML; return None for its errors (not supported, GPU lost …) and for undecodable text."""
        # Drivers before 510 lack functions with the same name but another version.
        try:
            return call(*args)
        except (self._nvml.NVMLError, self._nvml.NVMLLibraryMismatchError, UnicodeDecodeError):
            return None


def _watts(value_mw: object) -> float | None:
    return scaled(within(value_mw, 1, 10_000_000), 1000)


def capability_text(capability: object) -> str | None:
    """Format a compute capability, such as "8.9"; None if it is invalid."""
    if not isinstance(capability, tuple | list) or len(capability) != 2:
        return None
    major, minor = whole(capability[0], 1, _MAX_CAPABILITY), whole(capability[1], 0, 9)
    return None if major is None or minor is None else f"{major}.{minor}"


def throttle_words(bits: int | None) -> tuple[str, ...] | None:
    """Return the names of NVML's clock event reasons; None if unknown, empty if nothing limits the clocks."""
    if bits is None or not 0 <= bits < _MAX_REASONS:
        return None
    return tuple(word for word, mask in _THROTTLE_REASONS.items() if bits & mask)


def other_memory_bytes(
    held: Iterable[tuple[int, int | None]],
    own_pids: Collection[int],
    is_here: Callable[[int], bool] = psutil.pid_exists,
) -> int | None:
    """Return the GPU memory, in bytes, used by other processes; None if unknown.

    A process that both computes and renders is listed twice. In a container, IDs may belong to another system.
    """
    others: dict[int, int] = {}
    for pid, size_bytes in held:
        if pid in own_pids:
            continue
        used_bytes = whole(size_bytes, 0, MAX_MEMORY_BYTES)
        if used_bytes is None or not is_here(pid):
            return None
        others[pid] = max(used_bytes, others.get(pid, 0))
    return sum(others.values())


def other_utilization_pct(samples: Iterable[tuple[int, int]], own_pids: Collection[int]) -> float | None:
    """Return the percentage of time in which other processes use the GPU; None if unknown.

    A process that was sampled repeatedly has several samples.
    """
    shares_pct: dict[int, list[float]] = {}
    for pid, used_pct in samples:
        if pid in own_pids or pid == 0:  # 0 marks an empty slot in the driver's buffer
            continue
        share_pct = within(used_pct, 0, 100)
        # In a container, IDs may belong to processes of another system.
        if share_pct is None or not psutil.pid_exists(pid):
            return None
        shares_pct.setdefault(pid, []).append(share_pct)
    return min(100.0, sum(sum(each) / len(each) for each in shares_pct.values()))


def driver_version_from(text: str) -> str | None:
    match = re.search(r"^NVRM version:.*?Module\b.*?\s(\d+(\.\d+)+)\s", text + "\n", re.MULTILINE)
    return clean_text(match[1]) if match else None


def model_from(text: str) -> str | None:
    """Parse the model name from /proc/driver/nvidia/gpus/*/information, ignoring the UUID."""
    match = re.search(r"^Model:[ \t]*(.*)$", text, re.MULTILINE)
    name = clean_text(match[1]) if match else None
    return None if name is None or name.lower() == "unknown" else name


def _sleeping_gpu(root: Path, card: Card) -> Gpu:
    """Describe a sleeping GPU with the values that its driver reports without waking it."""
    folder = root / "proc/driver/nvidia"
    name = model_from(read_text(folder / "gpus" / card.folder.name / "information"))
    driver = driver_version_from(read_text(folder / "version"))
    name = name or DeviceNames(root).name(card.vendor_id, card.device_id)
    return Gpu(name=name, vendor="nvidia", driver=driver, source="procfs")


def _open_source(meters: dict[int, EnergyMeter], limit_s: float) -> NvmlSource | GputilSource | None:
    if HUNG.is_set():
        return None
    library = nvml_library()
    # Importing pynvml takes 10 MB of memory, and most computers don't have the library.
    if library is None and sys.platform.startswith("linux") and "pynvml" not in sys.modules:
        return open_gputil()
    started_s = time.monotonic()
    with asked_first(None if library is None else trial_arguments(library), limit_s) as outcome:
        if outcome != "answers":
            _give_up("hardware.nvml_not_responding" if outcome == "hangs" else "hardware.nvml_crashes")
            return None
        left_s = max(_START_SHARE * limit_s, limit_s - (time.monotonic() - started_s))
        return _open_nvml(meters, left_s)


def _open_nvml(meters: dict[int, EnergyMeter], limit_s: float) -> NvmlSource | GputilSource | None:
    try:
        import pynvml
    except ImportError:
        return open_gputil()

    def start() -> NvmlSource:
        pynvml.nvmlInit()
        return NvmlSource(pynvml, meters)

    try:
        return call_in_thread(start, "nvml").result(limit_s)  # a broken driver may hang
    except TimeoutError:
        _give_up("hardware.nvml_not_responding")
        return None
    except pynvml.NVMLError_LibraryNotFound:
        return open_gputil()
    except pynvml.NVMLError as error:  # the driver is broken, so nvidia-smi would fail as well
        _logger.info("NVML does not start: %s", error)
        return None
    except _BROKEN as error:
        _logger.warning("%s", sentence("hardware.nvml_broken", reason=repr(error)))
        return None


def _give_up(code: str) -> None:
    HUNG.set()
    _logger.warning("%s", sentence(code))
