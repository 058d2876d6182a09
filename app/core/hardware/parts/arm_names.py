"""Names ARM processors by the numbers of their cores, because Linux doesn't report a name for them.

The numbers are from Linux (arch/arm64/include/asm/cputype.h) and util-linux (sys-utils/lscpu-arm.c).
"""

import re

_IMPLEMENTERS = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x56: "Marvell",
    0x61: "Apple",
    0x69: "Intel",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}
_CORES = {
    (0x41, 0xD03): "Arm Cortex-A53",
    (0x41, 0xD04): "Arm Cortex-A35",
    (0x41, 0xD05): "Arm Cortex-A55",
    (0x41, 0xD07): "Arm Cortex-A57",
    (0x41, 0xD08): "Arm Cortex-A72",
    (0x41, 0xD09): "Arm Cortex-A73",
    (0x41, 0xD0A): "Arm Cortex-A75",
    (0x41, 0xD0B): "Arm Cortex-A76",
    (0x41, 0xD0C): "Arm Neoverse N1",
    (0x41, 0xD0D): "Arm Cortex-A77",
    (0x41, 0xD40): "Arm Neoverse V1",
    (0x41, 0xD41): "Arm Cortex-A78",
    (0x41, 0xD42): "Arm Cortex-A78AE",
    (0x41, 0xD44): "Arm Cortex-X1",
    (0x41, 0xD46): "Arm Cortex-A510",
    (0x41, 0xD47): "Arm Cortex-A710",
    (0x41, 0xD48): "Arm Cortex-X2",
    (0x41, 0xD49): "Arm Neoverse N2",
    (0x41, 0xD4B): "Arm Cortex-A78C",
    (0x41, 0xD4C): "Arm Cortex-X1C",
    (0x41, 0xD4D): "Arm Cortex-A715",
    (0x41, 0xD4E): "Arm Cortex-X3",
    (0x41, 0xD4F): "Arm Neoverse V2",
    (0x41, 0xD80): "Arm Cortex-A520",
    (0x41, 0xD81): "Arm Cortex-A720",
    (0x41, 0xD82): "Arm Cortex-X4",
    (0x41, 0xD83): "Arm Neoverse V3AE",
    (0x41, 0xD84): "Arm Neoverse V3",
    (0x41, 0xD85): "Arm Cortex-X925",
    (0x41, 0xD87): "Arm Cortex-A725",
    (0x41, 0xD8E): "Arm Neoverse N3",
    (0x42, 0x516): "Cavium ThunderX2",
    (0x43, 0x0A1): "Cavium ThunderX",
    (0x43, 0x0AF): "Cavium ThunderX2",
    (0x46, 0x001): "Fujitsu A64FX",
    (0x46, 0x003): "Fujitsu MONAKA",
    (0x48, 0xD01): "HiSilicon Kunpeng 920",
    (0x48, 0xD02): "HiSilicon TaiShan v120",
    (0x4E, 0x004): "NVIDIA Carmel",
    (0x4E, 0x010): "NVIDIA Olympus",
    (0x51, 0x001): "Qualcomm Snapdragon X",
    (0x51, 0xC00): "Qualcomm Falkor",
    (0x61, 0x000): "Apple silicon",
    (0x61, 0x022): "Apple M1",
    (0x61, 0x023): "Apple M1",
    (0x61, 0x024): "Apple M1 Pro",
    (0x61, 0x025): "Apple M1 Pro",
    (0x61, 0x028): "Apple M1 Max",
    (0x61, 0x029): "Apple M1 Max",
    (0x61, 0x032): "Apple M2",
    (0x61, 0x033): "Apple M2",
    (0x61, 0x034): "Apple M2 Pro",
    (0x61, 0x035): "Apple M2 Pro",
    (0x61, 0x038): "Apple M2 Max",
    (0x61, 0x039): "Apple M2 Max",
    (0x6D, 0xD49): "Microsoft Azure Cobalt 100",
    (0x70, 0x303): "Phytium FTC310",
    (0x70, 0x660): "Phytium FTC660",
    (0x70, 0x661): "Phytium FTC661",
    (0x70, 0x662): "Phytium FTC662",
    (0x70, 0x663): "Phytium FTC663",
    (0x70, 0x664): "Phytium FTC664",
    (0x70, 0x862): "Phytium FTC862",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}
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
    return _CORES.get((maker, part)) or f"{_IMPLEMENTERS.get(maker, 'ARM')} 0x{maker:02x} 0x{part:03x}"
