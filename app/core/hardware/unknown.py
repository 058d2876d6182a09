"""Explains why a property of the computer is unknown, depending on the operating system."""

from app.core.hardware.telemetry.energy_counters import UDEV_RULE
from app.core.messages import Message, message
from workloads.protocol.machine import Gpu, Machine

# Message codes by property, then by prefix of the system's name; "" stands for all other systems.
_REASONS: dict[str, dict[str, str]] = {
    "base_clock": {"Linux": "unknown.driver", "macOS": "unknown.clock_macos"},
    "boost_clock": {
        "Linux": "unknown.driver",
        "Windows": "unknown.boost_clock_windows",
        "macOS": "unknown.clock_macos",
    },
    "memory_speed": {"Linux": "unknown.memory_speed_linux", "macOS": "unknown.memory_speed_macos"},
    "bios": {"macOS": "unknown.bios_macos"},
    "power_source": {"": "unknown.power_source"},
    "power_plan": {"Linux": "unknown.power_plan_linux", "macOS": "unknown.power_plan_macos"},
    "cpu_temperature": {
        "Linux": "unknown.driver",
        "Windows": "unknown.cpu_power_windows",
        "macOS": "unknown.cpu_temperature_macos",
    },
    "cpu_power": {
        "Linux": "unknown.cpu_power_linux",
        "Windows": "unknown.cpu_power_windows",
        "macOS": "unknown.cpu_power_macos",
    },
}
_HIDDEN_BY_HOSTS = ("base_clock", "boost_clock", "memory_speed", "cpu_temperature", "cpu_power", "power_plan")


def reason(part: str, machine: Machine, *, is_forbidden: bool = False) -> Message:
    """Explain why a property of app.core.hardware.part_texts is "n/a".

    `is_forbidden` means that the CPU has an energy counter that the user has no permission to read.
    """
    if part == "cpu_power" and is_forbidden:
        return message("unknown.cpu_power_forbidden", rule=UDEV_RULE)
    if machine.virtual_machine and part in _HIDDEN_BY_HOSTS:
        return message("unknown.virtual")
    reasons = _REASONS.get(part, {})
    matching = (code for system, code in reasons.items() if system and machine.os_name.startswith(system))
    return message(next(matching, reasons.get("", "unknown.not_reported")))


def instruction_sets_note(machine: Machine) -> Message | None:
    """Return a note that lists the only instruction sets the system reports; None if it reports all of them."""
    if not machine.os_name.startswith("Windows"):
        return None
    is_arm = machine.architecture == "arm64"
    return message("unknown.other_instruction_sets_arm" if is_arm else "unknown.other_instruction_sets")


def gpu_reason(gpu: Gpu, what: str = "") -> Message:
    """Explain why a property of a GPU is "n/a"; "" stands for its memory."""
    if gpu.shares_memory and what in ("power_limit", "link"):
        return message("unknown.gpu_in_cpu")
    if gpu.vendor == "nvidia" and gpu.source == "sysfs":
        return message("unknown.gpu_without_driver")
    return message("unknown.driver_or_asleep" if gpu.source in ("procfs", "sysfs") else "unknown.driver")
