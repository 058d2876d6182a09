"""Looks up the names of PCI devices in the lists that Linux distributions include."""

from pathlib import Path

from app.core.hardware.gpu.values import clean_text
from app.core.hardware.system_files import read_bytes

_PCI_IDS = ("usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids")
_AMDGPU_IDS = "usr/share/libdrm/amdgpu.ids"
_MAX_BYTES = 2**24
_BRANDS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel"}


class DeviceNames:
    """Looks up device names. Each list is read once, when it is first needed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, bytes] = {}

    def name(self, vendor_id: int, device_id: int, revision: int | None = None) -> str:
        """Return a GPU's name, such as "AMD Radeon RX 6800 XT", or "AMD GPU (1002:73bf)" if it isn't listed."""
        brand = _BRANDS.get(vendor_id, "")
        if vendor_id == 0x1002 and revision is not None:
            amd_name = amdgpu_name(self._text(_AMDGPU_IDS), device_id, revision)
            if amd_name:
                return amd_name
        vendor, device = next(
            (names for path in _PCI_IDS if (names := pci_names(self._text(path), vendor_id, device_id))[1]),
            (None, None),
        )
        if not device:
            return f"{brand} GPU ({vendor_id:04x}:{device_id:04x})".strip()
        sold_as = bracketed(device)
        brand = brand or bracketed(vendor or "")
        return sold_as if sold_as.lower().startswith(brand.lower()) else f"{brand} {sold_as}"

    def chip(self, vendor_id: int, device_id: int) -> str:
        """Return a device's complete entry, including the chip, such as "DG2 [Arc A770]"; "" if there is none."""
        chips = (pci_names(self._text(path), vendor_id, device_id)[1] for path in _PCI_IDS)
        return next((device for device in chips if device), "")

    def _text(self, path: str) -> bytes:
        if path not in self._texts:
            self._texts[path] = read_bytes(self._root / path, _MAX_BYTES)
        return self._texts[path]


def pci_names(ids: bytes, vendor_id: int, device_id: int) -> tuple[str | None, str | None]:
    """Return the names of a vendor and its device in a pci.ids file; None for a missing name."""
    start = (b"\n" + ids).find(f"\n{vendor_id:04x}  ".encode())
    if start < 0:
        return None, None
    end = ids.find(b"\n", start)
    vendor = clean_text(ids[start + 6 : end if end >= 0 else None])
    wanted = f"\t{device_id:04x}  ".encode()
    while end >= 0:
        start = end + 1
        if ids[start : start + 1] not in (b"\t", b"#", b"\n", b"\r"):
            break  # the next vendor
        end = ids.find(b"\n", start)
        if ids.startswith(wanted, start):
            return vendor, clean_text(ids[start + len(wanted) : end if end >= 0 else None])
    return vendor, None


def amdgpu_name(ids: bytes, device_id: int, revision: int) -> str | None:
    """Return the name in libdrm's list, whose lines contain a device, a revision and a name; None if missing."""
    start = (b"\n" + ids).find(f"\n{device_id:04X},\t{revision:02X},\t".encode())
    return None if start < 0 else clean_text(ids[start + 10 :].split(b"\n", 1)[0])


def bracketed(name: str) -> str:
    """Return the product name, which is in the last pair of brackets. A name without brackets is unchanged."""
    head, opening, tail = name.rpartition("[")
    return tail.partition("]")[0].strip() or head.strip() if opening else name
