"""Prices of the user's own devices, one row per device, stored in the settings. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from app.core.errors import UsageError
from app.core.messages import message
from app.core.settings import OwnComputer, OwnDevice
from workloads.protocol.machine import Machine

UNTOLD = OwnDevice()


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """The prices of one device."""

    name: str
    prices: OwnDevice


def device_rows(machine: Machine | None, own: OwnComputer) -> list[DeviceRow]:
    """Return a row for the CPU and each graphics card, followed by devices that are no longer in the computer."""
    there = [machine.cpu_name, *(gpu.name for gpu in machine.gpus)] if machine is not None else []
    names = list(dict.fromkeys(name for name in there if name))
    names += [name for name in own.devices if _same(name, names) is None]
    return [DeviceRow(name, _row(own, name) or UNTOLD) for name in names]


def device_named(typed: str, names: Sequence[str]) -> str:
    """Return the device with this name, or else the only device whose name contains it.

    Raises UsageError if there is no such device, or if there are several.
    """
    key = typed.casefold().strip()
    exact = [name for name in names if name.casefold() == key]
    matches = exact or [name for name in names if key and key in name.casefold()]
    if len(matches) != 1:
        raise UsageError(message("prices.no_device", name=repr(typed[:60]), devices=list(matches or names)))
    return matches[0]


def prices_on(own: OwnComputer, device: str | None) -> OwnComputer:
    """Return the prices for training on a device: the computer's, overridden by the device's."""
    special = _row(own, device or "") or UNTOLD
    changes = {name: value for name, value in msgspec.structs.asdict(special).items() if value is not None}
    return msgspec.structs.replace(own, **changes)


def with_device(own: OwnComputer, device: str, special: OwnDevice) -> OwnComputer:
    devices = {name: row for name, row in own.devices.items() if _same(name, [device]) is None}
    return msgspec.structs.replace(own, devices=devices | ({device: special} if special != UNTOLD else {}))


def _row(own: OwnComputer, device: str) -> OwnDevice | None:
    name = _same(device, list(own.devices))
    return None if name is None else own.devices[name]


def _same(device: str, names: Sequence[str]) -> str | None:
    """Return the stored name that matches a device; None if there is none. Names may omit the vendor."""
    return next((name for name in names if _ends_with(name, device) or _ends_with(device, name)), None)


def _ends_with(name: str, words: str) -> bool:
    return bool(words) and f" {name}".casefold().endswith(f" {words}".casefold())
