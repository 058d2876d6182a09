"""Describes GPUs from all vendors on Linux, using sysfs.

No GPU is woken. For a sleeping GPU, only values cached by the kernel are read, because reading its link speed,
sensors or displays would wake it.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from app.core.hardware.gpu.pci_ids import DeviceNames
from app.core.hardware.gpu.values import (
    MAX_MEMORY_BYTES,
    SCREENS_ONLY,
    clean_text,
    read_number,
    scaled,
    vendor_of,
    whole,
    within,
)
from app.core.hardware.system_files import read_text, read_word, version_of
from workloads.protocol.machine import Gpu

_GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}
# Drivers of displays without a GPU.
_SCREEN_DRIVERS = frozenset({"vgem", "vkms", "evdi", "udl", "gud", "simpledrm", "simple-framebuffer"})
# Chip names as in pci.ids, without spaces, and Intel's names for their GPU architectures.
_INTEL_ARCHITECTURES = {
    ("tigerlake", "rocketlake", "alderlake", "raptorlake", "dg1"): "Xe-LP",
    ("meteorlake", "arrowlake"): "Xe-LPG",
    ("dg2", "alchemist"): "Xe-HPG",
    ("lunarlake", "battlemage"): "Xe2",
    ("pantherlake",): "Xe3",
}
_INTEL_INTEGRATED = "0000:00:02.0"  # at this address in every computer
# The limit in force: amdgpu's name, and that of i915 and xe.
LIMITS = ("cap", "max")
_CARD_CLASSES = ("0x03", "0x12")  # displays, and accelerators without a display

# Values read from cards while awake, for use while they sleep.
_known: dict[Path, Gpu] = {}


@dataclass(frozen=True, slots=True)
class Card:
    """A card's folder, and properties that can be read without waking the card."""

    folder: Path
    vendor_id: int  # 0 unless it is a PCI device
    device_id: int
    driver: str | None  # name of the kernel module
    drm: Path | None  # folder of its displays
    render: str | None  # such as "renderD128"

    @property
    def vendor(self) -> str:
        return vendor_of(self.vendor_id)

    def asleep(self) -> bool:
        return read_word(self.folder / "power/runtime_status") in ("suspended", "suspending")


def find_cards(root: Path) -> tuple[Card, ...]:
    """Return all cards that can compute: PCI cards by address, then cards on other buses."""
    cards_on_buses = [_pci_card(folder) for folder in sorted(root.glob("sys/bus/pci/devices/*"))]
    cards = [path for path in sorted(root.glob("sys/class/drm/card*")) if re.fullmatch(r"card\d+", path.name)]
    cards_on_buses += [_other_card(card / "device") for card in cards if not (card / "device/vendor").is_file()]
    return tuple(card for card in cards_on_buses if card is not None)


def pci_vendors(root: Path) -> tuple[str, ...]:
    """Return the vendor of each GPU on the PCI bus, with or without a driver, by address."""
    folders = sorted(root.glob("sys/bus/pci/devices/*"))
    cards = [folder for folder in folders if read_word(folder / "class").startswith(_CARD_CLASSES)]
    words = [read_word(folder / "vendor") for folder in cards]
    return tuple(vendor_of(int(word, 16)) for word in words if re.fullmatch(r"0x[0-9a-f]{4}", word))


def describe_cards(root: Path, cards: tuple[Card, ...]) -> tuple[Gpu, ...]:
    """Describe cards, in the same order.

    The link, power limit and displays of a sleeping card are known only if this process has seen it awake.
    """
    names = DeviceNames(root)
    gpus = []
    for card in cards:
        gpu = _known_asleep(root, card, names)
        if not card.asleep():
            gpu = _known[card.folder] = _known_awake(card, gpu)
        gpus.append(_known.get(card.folder, gpu))
    return tuple(gpus)


def generation_from(text: str) -> int | None:
    """Return the PCI Express generation for a speed in sysfs, such as 4 for "16.0 GT/s PCIe"; None if unknown."""
    speed = re.match(r"(\d+(\.\d+)?) GT/s", text)
    return _GENERATIONS.get(speed[1].removesuffix(".0")) if speed else None


def gfx_name(version: int) -> str | None:
    """Return AMD's architecture for the kernel's number: "gfx1036" for 100306, "gfx90a" for 90010."""
    major, minor, step = version // 10_000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}" if 6 <= major <= 99 and minor < 16 and step < 16 else None


def intel_architecture(chip: str) -> str | None:
    """Return Intel's architecture for a chip's name in pci.ids; None if unknown."""
    plain = chip.lower().replace(" ", "")
    names = _INTEL_ARCHITECTURES.items()
    return next((name for chips, name in names if plain.startswith(chips)), None)


def properties_from(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and re.fullmatch(r"[0-9]{1,20}", pair[1])}


def shares_memory(card: Card) -> bool | None:
    """Return whether a card uses the computer's memory; None if unknown. AMD cards must be awake."""
    if not card.vendor_id:
        return True
    if card.vendor == "intel":
        return not own_memory_bytes(card) and card.folder.name == _INTEL_INTEGRATED
    if card.vendor == "amd":
        try:
            with (card.folder / "gpu_metrics").open("rb") as file:
                header = file.read(4)
        except OSError:
            return None
        # Two bytes of length, then the format of the table: 1 for cards, 2 or 3 for integrated GPUs.
        return None if len(header) < 4 or not 1 <= header[2] <= 3 else header[2] != 1
    return None


def own_memory_bytes(card: Card) -> int | None:
    """Return the size of a card's own memory as cached by its driver; None if it isn't reported."""
    # By amdgpu; by xe, for each tile; and by Intel's own builds of i915.
    paths = [card.folder / "mem_info_vram_total", *sorted(card.folder.glob("tile*/physical_vram_size_bytes"))]
    paths += sorted(card.folder.glob("drm/card*/lmem_total_bytes"))
    return whole(sum(read_number(path) or 0 for path in paths), 1, MAX_MEMORY_BYTES)


def _pci_card(folder: Path) -> Card | None:
    kind = read_word(folder / "class")
    if not kind.startswith(_CARD_CLASSES):
        return None
    numbers = [read_word(folder / name) for name in ("vendor", "device")]
    if not all(re.fullmatch(r"0x[0-9a-f]{4}", number) for number in numbers):
        return None
    vendor_id, device_id = (int(number, 16) for number in numbers)
    driver = _driver(folder)
    if vendor_id in SCREENS_ONLY or (kind.startswith("0x12") and driver not in ("amdgpu", "nvidia")):
        return None
    return Card(folder, vendor_id, device_id, driver, *_drm(folder))


def _other_card(folder: Path) -> Card | None:
    """Return a GPU that is part of a system-on-chip rather than on a bus; None if it only drives a display."""
    driver = _driver(folder)
    drm, render = _drm(folder)
    if driver is None or driver in _SCREEN_DRIVERS or render is None:
        return None
    return Card(folder, 0, 0, driver, drm, render)


def _driver(folder: Path) -> str | None:
    try:
        return (folder / "driver").readlink().name
    except OSError:
        return None


def _drm(folder: Path) -> tuple[Path | None, str | None]:
    try:
        names = sorted(entry.name for entry in (folder / "drm").iterdir())
    except OSError:
        return None, None
    card = next((folder / "drm" / name for name in names if re.fullmatch(r"card\d+", name)), None)
    return card, next((name for name in names if name.startswith("renderD")), None)


def _known_asleep(root: Path, card: Card, names: DeviceNames) -> Gpu:
    revision = re.fullmatch(r"0x([0-9a-f]{2})", read_word(card.folder / "revision"))
    architecture = None
    if card.vendor == "intel":
        architecture = intel_architecture(names.chip(card.vendor_id, card.device_id))
    elif card.vendor == "amd":
        architecture = _gfx(root, card)
    return Gpu(
        name=names.name(card.vendor_id, card.device_id, int(revision[1], 16) if revision else None)
        if card.vendor_id
        else f"GPU ({card.driver})",
        vendor=card.vendor,
        memory_bytes=own_memory_bytes(card),
        driver=_driver_text(root, card),
        source="sysfs",
        architecture=architecture,
        shares_memory=None if card.vendor == "amd" else shares_memory(card),
    )


def _known_awake(card: Card, gpu: Gpu) -> Gpu:
    shares = shares_memory(card)
    memory_bytes = gpu.memory_bytes
    borrowed_bytes = whole(read_number(card.folder / "mem_info_gtt_total"), 1, MAX_MEMORY_BYTES)
    if shares and memory_bytes and borrowed_bytes:
        memory_bytes += borrowed_bytes
    generation, lanes = (None, None) if shares else link_of(card.folder)
    # An integrated GPU's limit applies to the whole chip.
    return replace(
        gpu,
        name=clean_text(read_word(card.folder / "product_name")) or gpu.name,
        memory_bytes=memory_bytes,
        power_limit_w=None if shares else power_limit_w(card, *LIMITS),
        # amdgpu's name and i915's.
        power_default_w=None if shares else power_limit_w(card, "cap_default", "rated_max"),
        power_min_w=None if shares else power_limit_w(card, "cap_min"),
        power_max_w=None if shares else power_limit_w(card, "cap_max"),
        pcie_generation=generation,
        pcie_lanes=lanes,
        shares_memory=shares,
        drives_display=_drives_display(card),
    )


def power_limit_w(card: Card, *names: str) -> float | None:
    """Return the first plausible power limit in a card's files "power1_NAME", in watts; None if there is none."""
    paths = (path for name in names for path in sorted(card.folder.glob(f"hwmon/hwmon*/power1_{name}")))
    limits_w = (within(scaled(read_number(path), 1e6), 1, 10_000) for path in paths)
    return next((limit_w for limit_w in limits_w if limit_w is not None), None)


def link_of(folder: Path) -> tuple[int | None, int | None]:
    """Return the fastest PCI Express link that both card and slot support, as generation and number of lanes."""
    try:
        chain = [folder.resolve(), *folder.resolve().parents]
    except OSError:
        return None, None
    ports = [port for port in chain if (port / "max_link_speed").is_file()]
    vendors = [read_word(port / "vendor") for port in ports]
    # AMD's and Intel's cards contain a switch with two ports. The GPU behind the switch reports a fictitious link.
    ends = ports[2:4] if len(ports) > 3 and len(set(vendors[:3])) == 1 else ports[:2]
    generations = [generation_from(read_word(port / "max_link_speed")) for port in ends]
    lanes = [whole(read_number(port / "max_link_width"), 1, 32) for port in ends]
    return _agreed(generations), _agreed(lanes)


def _agreed(ends: list[int | None]) -> int | None:
    stated = [end for end in ends if end is not None]
    return min(stated) if len(stated) == 2 else None


def _drives_display(card: Card) -> bool | None:
    if card.drm is None or not card.vendor_id:  # a separate component drives the display of such chips
        return None
    return any(read_word(path) == "connected" for path in card.drm.glob(f"{card.drm.name}-*/status"))


def _gfx(root: Path, card: Card) -> str | None:
    # Not from the card's ip_discovery, whose numbers differ from the compiler's names.
    for node in sorted(root.glob("sys/class/kfd/kfd/topology/nodes/*/properties")):
        properties = properties_from(read_text(node))
        if card.render is not None and f"renderD{properties.get('drm_render_minor')}" == card.render:
            return gfx_name(properties.get("gfx_target_version", 0))
    return None


def _driver_text(root: Path, card: Card) -> str | None:
    """Return the driver's name and version; for drivers included in the kernel, "amdgpu (Linux 6.8.0)"."""
    if card.driver is None or card.driver == "nvidia":  # NVIDIA's driver, if it doesn't respond
        return None
    own = version_of(read_word(root / "sys/module" / card.driver / "version"))
    kernel = version_of(read_word(root / "proc/sys/kernel/osrelease"))
    if own and "." in own:
        return f"{card.driver} {own}"
    return f"{card.driver} (Linux {kernel})" if kernel else card.driver
