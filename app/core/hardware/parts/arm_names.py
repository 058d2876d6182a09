"""Names ARM processors by the numbers of their cores, because Linux doesn't report a name for them."""

import re
import tomllib
from functools import cache
from typing import Any

from app.core.paths import RESOURCES

# Processors by the kinds of their cores, and by the beginning of the firmware's vendor and product in lower case.
_PROCESSORS = (
    (frozenset({"Arm Cortex-A725", "Arm Cortex-X925"}), "nvidia", "NVIDIA GB10"),
    (frozenset({"Arm Neoverse V2"}), "nvidia", "NVIDIA Grace"),
    (frozenset({"Arm Cortex-A72"}), "amazon ec2", "AWS Graviton"),
    (frozenset({"Arm Neoverse N1"}), "amazon ec2", "AWS Graviton2"),
    (frozenset({"Arm Neoverse V1"}), "amazon ec2", "AWS Graviton3"),
    (frozenset({"Arm Neoverse V2"}), "amazon ec2", "AWS Graviton4"),
    (frozenset({"Arm Neoverse V3"}), "amazon ec2", "AWS Graviton5"),
    (frozenset({"Arm Neoverse V2"}), "google", "Google Axion"),
    (frozenset({"Arm Neoverse N3"}), "google", "Google Axion N4A"),
    (frozenset({"Arm Neoverse N1"}), "google", "Ampere Altra"),
    (frozenset({"Arm Neoverse N1"}), "microsoft", "Ampere Altra"),
    (frozenset({"Arm Neoverse N2"}), "alibaba", "Alibaba Yitian 710"),
)


def arm_name(cpuinfo: str, firmware: str = "") -> str | None:
    """Return an ARM processor's name, or else the names of its kinds of cores; None if there are no numbers.

    Unknown numbers are part of the name, so that different processors have different names.
    """
    numbers = re.findall(
        r"^CPU implementer[ \t]*:[ \t]*0x([0-9a-f]{1,4})$(?:\n.+){0,3}?\nCPU part[ \t]*:[ \t]*0x([0-9a-f]{1,4})$",
        cpuinfo,
        re.MULTILINE | re.IGNORECASE,
    )
    names = list(dict.fromkeys(_core_name(int(maker, 16), int(part, 16)) for maker, part in numbers))
    maker = " ".join(firmware.lower().split())
    for cores, start, name in _PROCESSORS:
        if cores == frozenset(names) and maker.startswith(start):
            return name
    return " + ".join(names) or None


def _core_name(maker: int, part: int) -> str:
    implementer, number = f"{maker:02x}", f"{part:03x}"
    name = _table()["cores"].get(f"{implementer} {number}")
    return name or f"{_table()['implementers'].get(implementer, 'ARM')} 0x{implementer} 0x{number}"


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((RESOURCES / "hardware/arm_cores.toml").read_text(encoding="utf-8"))
