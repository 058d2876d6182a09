"""Why a part of a machine is not known: one sentence for each, by the system that the machine runs."""

from app.core.hardware.telemetry.energy_counters import UDEV_RULE
from app.core.records import Gpu, Machine

_VIRTUAL = "A virtual machine shows what its host gives it, and the host does not give this."
# By the name of the part, then by how the system's name begins; "" for every other.
_REASONS: dict[str, dict[str, str]] = {
    "base clock": {
        "Linux": "Of Linux' drivers only intel_pstate, acpi-cpufreq and acpi_cppc tell it.",
        "macOS": "Apple does not tell the clocks of its own processors.",
    },
    "boost clock": {
        "Linux": "This kernel has no cpufreq driver for the processor, or one that hides it (acpi-cpufreq).",
        "Windows": "Windows tells the base clock only.",
        "macOS": "Apple does not tell the clocks of its own processors.",
    },
    "caches": {"Linux": "This kernel does not list the caches."},
    "instruction sets": {"": "The system does not list them."},
    "memory speed": {
        "Linux": "Only the administrator may read the firmware's table, and udev has kept nothing of it.",
        "macOS": "macOS has it in a slow report only: see System Information, Memory.",
        "Windows": "The firmware's table does not have it.",
    },
    "disk": {"": "The system does not say which device the folder lies on."},
    "virtual machine": {"": "Neither the processor nor the firmware tells."},
    "machine id": {
        "Linux": "There is no /etc/machine-id, as is usual in containers.",
        "": "The system does not give one out.",
    },
    "power source": {"": "There is no battery, so that there is nothing to tell."},
    "power plan": {
        "Linux": "This kernel has no cpufreq policies, so that no plan slows the processor down.",
        "macOS": "This Mac has no low power mode, or pmset does not tell of it.",
        "": "The system does not tell.",
    },
    "temperature sensor": {
        "Linux": "No driver of a sensor inside the processor is loaded.",
        "Windows": "Windows gives the processor's temperature to kernel drivers only; Epochmark brings none.",
        "macOS": "macOS tells temperatures to the administrator only.",
    },
    "processor power": {
        "Linux": "The processor has no counter of its energy (RAPL), or the kernel does not show it.",
        "Windows": "Windows gives the processor's power to kernel drivers only; Epochmark brings none.",
        "macOS": "macOS tells the power to the administrator only (powermetrics).",
    },
}
# By what told of the GPU.
_GPU_REASONS = {
    "gputil": "nvidia-smi does not tell; NVIDIA's library (NVML) would, and could not be loaded.",
    "procfs": "It has slept since Epochmark started, and asking its driver would wake it.",
    "registry": "Windows' registry does not have it.",
    "sysfs": "Its driver does not tell, or it has slept since Epochmark started.",
}
_OF_VIRTUAL = ("base clock", "boost clock", "memory speed", "temperature sensor", "processor power", "power plan")
FORBIDDEN_POWER = (
    "Linux lets only the administrator read the energy counters (RAPL) since version 5.10, because"
    " they tell too much of what other programs do (CVE-2020-8694). To allow it for everybody all the same,"
    f" put this line into /etc/udev/rules.d/60-rapl.rules and restart: {UDEV_RULE}"
)


def reason(part: str, machine: Machine, *, is_forbidden: bool = False) -> str:
    """Say why a part is "n/a".

    Args:
        part: Its name, as app.core.hardware.part_texts calls it.
        machine: What is known.
        is_forbidden: Of the processor's power: whether there is a counter that may not be read.
    """
    if part == "processor power" and is_forbidden:
        return FORBIDDEN_POWER
    if machine.virtual_machine and part in _OF_VIRTUAL:
        return _VIRTUAL
    told = _REASONS.get(part, {})
    found = (text for system, text in told.items() if system and machine.os_name.startswith(system))
    return next(found, told.get("", "The system does not tell."))


def instruction_sets_note(machine: Machine) -> str:
    """Say which instruction sets would not be told though they were there; "" where all are."""
    if not machine.os_name.startswith("Windows"):
        return ""
    return f"Windows tells of {'NEON' if machine.architecture == 'arm64' else 'AVX2 and AVX-512'} only."


def gpu_reason(gpu: Gpu, what: str = "") -> str:
    """Say why a value of a GPU is "n/a".

    Args:
        gpu: What is known.
        what: The value, as app.core.hardware.part_texts calls it.
    """
    if gpu.shares_memory and what in ("power limit", "link"):
        return "It is a part of the processor, and has none of its own."
    if gpu.vendor == "nvidia" and gpu.source == "sysfs":
        return "NVIDIA's driver is missing or does not work; the doctor says more."
    return _GPU_REASONS.get(gpu.source, "Its driver does not tell.")
