"""Linux's files for CPU packages with power limits, and a user who runs the commands for them."""

from pathlib import Path

FOLDER = "sys/class/powercap/intel-rapl:"
MMIO = "sys/class/powercap/intel-rapl-mmio:"


def package(number: int, limit_uw: int, rated_uw: str = "65000000", folder: str = FOLDER) -> dict[str, str]:
    zone = f"{folder}{number}"
    return {
        f"{zone}/name": f"package-{number}",
        f"{zone}/enabled": "1",
        f"{zone}/constraint_0_name": "long_term",
        f"{zone}/constraint_0_power_limit_uw": str(limit_uw),
        f"{zone}/constraint_0_max_power_uw": rated_uw,
        f"{zone}/constraint_1_name": "short_term",
        f"{zone}/constraint_1_power_limit_uw": "250000000",
    }


def run_command(command: str, step_uw: int = 1) -> None:
    """Write what a command writes, without being the administrator; the kernel rounds limits down to a step."""
    for part in command.split(" && "):
        value, _, paths = part.removeprefix("echo ").partition(" | sudo tee ")
        for path in paths.split():
            Path(path).write_text(f"{int(value) // step_uw * step_uw}\n")
