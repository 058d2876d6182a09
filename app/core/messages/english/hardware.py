"""The computer: its parts, why one is unknown, drivers that hang."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "hardware.gpus_not_responding": "A GPU driver isn't responding. Continuing without it.",
    "hardware.ioreg_not_responding": "ioreg isn't responding. GPUs are no longer queried.",
    "hardware.machine_id_not_responding": "The machine ID can't be read: the system isn't responding.",
    "hardware.nvidia_smi_not_responding": "nvidia-smi isn't responding. GPUs are no longer queried.",
    "hardware.nvml_broken": "NVIDIA's library (NVML) doesn't start: {reason}",
    "hardware.nvml_crashes": (
        "NVIDIA's library (NVML) crashes, so NVIDIA GPUs aren't queried. Restart the computer; if that doesn't help,"
        " reinstall NVIDIA's driver."
    ),
    "hardware.nvml_not_responding": (
        "NVIDIA's library (NVML) isn't responding, so NVIDIA GPUs aren't queried. Restart the computer; if that doesn't"
        " help, reinstall NVIDIA's driver."
    ),
    "hardware.storage_not_responding": "A disk isn't responding. Continuing without its description.",
    "hardware.telemetry_not_responding": "Telemetry isn't responding. Continuing without it.",
    "part.base_clock": "base clock",
    "part.bios": "BIOS",
    "part.boost_clock": "boost clock",
    "part.caches": "caches",
    "part.compute_capability": "compute capability {version}",
    "part.cores": "cores",
    "part.cores_of_two_kinds": (
        "{physical} physical ({performance} performance, {efficiency} efficiency), {logical} logical"
    ),
    "part.cores_value": "{physical} physical, {logical} logical",
    "part.cpu": "CPU",
    "part.cpu_power": "CPU power",
    "part.cpu_temperature": "CPU temperature",
    "part.disk": "disk",
    "part.display_attached": "attached",
    "part.gpu": "GPU",
    "part.gpu_architecture": "{gpu} architecture",
    "part.gpu_display": "{gpu} display",
    "part.gpu_driver": "{gpu} driver",
    "part.gpu_link": "{gpu} link",
    "part.gpu_memory": "{gpu} memory",
    "part.gpu_of_several": "GPU {number}",
    "part.gpu_power_limit": "{gpu} power limit",
    "part.gpu_with_memory": "{name}, {memory_bytes:gpu_memory}",
    "part.gpu_with_shared_memory": "{name}, {memory_bytes:gpu_memory} shared with the CPU",
    "part.in_container": "{machine}, in {container}",
    "part.instruction_sets": "instruction sets",
    "part.kernel": "kernel",
    "part.l1_data": "L1 data",
    "part.machine_id": "machine ID",
    "part.memory": "memory",
    "part.memory_speed": "memory speed",
    "part.memory_speed_value": "{speed_mts:,} MT/s",
    "part.no_display": "none",
    "part.no_gpu": "none found",
    "part.no_gpu_is_fine": "No driver or bus reports a GPU. That's fine: CPUs train, too.",
    "part.no_instruction_sets": "none that matter here",
    "part.on_battery": "battery",
    "part.on_battery_charged": "battery, {charge_pct:.0f} % charged",
    "part.on_mains": "mains",
    "part.on_mains_charged": "mains, battery {charge_pct:.0f} % charged",
    "part.power_plan": "power plan",
    "part.power_source": "power source",
    "part.python": "Python",
    "part.readable": "readable",
    "part.system": "system",
    "part.virtual_machine": "virtual machine",
    "part.virtual_no": "no",
    "part.virtual_no_kind": "no ({kind})",
    "part.virtual_yes": "yes",
    "part.virtual_yes_kind": "yes ({kind})",
    "part_group.cpu": "CPU",
    "part_group.gpu": "GPU",
    "part_group.memory": "Memory",
    "part_group.power": "Power",
    "part_group.storage": "Storage",
    "part_group.system": "System",
    "unknown.base_clock_linux": "On Linux, only the intel_pstate, acpi-cpufreq and acpi_cppc drivers report it.",
    "unknown.bios": "The system doesn't say which version of the BIOS the computer has.",
    "unknown.bios_macos": "A Mac's firmware is part of macOS.",
    "unknown.boost_clock_linux": (
        "This kernel has no cpufreq driver for the CPU, or one that hides it (acpi-cpufreq)."
    ),
    "unknown.boost_clock_windows": "Windows reports the base clock only.",
    "unknown.caches_linux": "This kernel doesn't list the caches.",
    "unknown.clock_macos": "Apple doesn't report the clocks of its CPUs.",
    "unknown.cpu_power_forbidden": (
        "Since version 5.10, Linux lets only the administrator read the energy counters (RAPL), because they"
        " reveal"
        " too much about other programs (CVE-2020-8694). To let everyone read them anyway, put this line into"
        " /etc/udev/rules.d/60-rapl.rules and restart: {rule}"
    ),
    "unknown.cpu_power_linux": "The CPU has no energy counter (RAPL), or the kernel doesn't show it.",
    "unknown.cpu_power_macos": "macOS reports power to the administrator only (powermetrics).",
    "unknown.cpu_power_windows": (
        "Windows reports CPU power to kernel drivers only, and Epochmark doesn't install one."
    ),
    "unknown.cpu_temperature_linux": "No driver for a sensor inside the CPU is loaded.",
    "unknown.cpu_temperature_macos": "macOS reports temperatures to the administrator only.",
    "unknown.cpu_temperature_windows": (
        "Windows reports the CPU temperature to kernel drivers only, and Epochmark doesn't install one."
    ),
    "unknown.disk": "The system doesn't say which disk the folder is on.",
    "unknown.gpu": "Its driver doesn't report it.",
    "unknown.gpu_gputil": (
        "nvidia-smi doesn't report it, and NVIDIA's library (NVML), which would, can't be loaded."
    ),
    "unknown.gpu_in_cpu": "The GPU is part of the CPU and has none of its own.",
    "unknown.gpu_procfs": "The GPU has been asleep since Epochmark started, and asking its driver would wake it.",
    "unknown.gpu_registry": "It isn't in the Windows registry.",
    "unknown.gpu_sysfs": "Its driver doesn't report it, or the GPU has been asleep since Epochmark started.",
    "unknown.gpu_without_driver": "NVIDIA's driver is missing or doesn't work. The doctor says more.",
    "unknown.instruction_sets": "The system doesn't list them.",
    "unknown.machine_id": "The system doesn't provide one.",
    "unknown.machine_id_linux": "There's no /etc/machine-id, as is usual in containers.",
    "unknown.memory_speed_linux": (
        "Only the administrator can read the firmware's table, and udev hasn't kept a copy of it."
    ),
    "unknown.memory_speed_macos": "macOS has it only in a slow report: see System Information, Memory.",
    "unknown.memory_speed_windows": "It isn't in the firmware's table.",
    "unknown.not_reported": "The system doesn't report it.",
    "unknown.other_instruction_sets": "Windows reports AVX2 and AVX-512 only.",
    "unknown.other_instruction_sets_arm": "Windows reports NEON only.",
    "unknown.power_plan_linux": "This kernel has no cpufreq policies, so no power plan slows down the CPU.",
    "unknown.power_plan_macos": "This Mac has no low power mode, or pmset doesn't report it.",
    "unknown.power_source": "There's no battery.",
    "unknown.virtual": "A virtual machine sees only what its host shows it, and the host doesn't show this.",
    "unknown.virtual_machine": "Neither the CPU nor the firmware says.",
}
