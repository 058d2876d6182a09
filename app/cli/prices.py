"""The `study prices` command: shows and sets the costs of the user's computer and its devices."""

import argparse
import json
from dataclasses import dataclass
from typing import Any

import msgspec

from app.cli.layout import Column
from app.cli.text import say, say_json, say_table
from app.cli.values import fraction
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plans.study.own_prices import DeviceRow, device_named, device_rows, prices_on, with_device
from app.core.settings import OwnComputer, OwnDevice, load_settings, save_settings

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Amount:
    """A price setting: its option's name without dashes, its field in the settings, and its range."""

    option: str
    field: str
    least: float
    most: float
    may_be_unknown: bool = True

    @property
    def is_of_device(self) -> bool:
        return self.field in OwnDevice.__struct_fields__


AMOUNTS = (
    Amount("power", "power_w", 0, 1e6),
    Amount("purchase", "purchase_usd", 0, 1e6),
    Amount("electricity", "electricity_usd_per_kwh", 0, 1e6),
    Amount("lifetime", "lifetime_years", 0.1, 100, may_be_unknown=False),
    Amount("hours", "hours_per_month", 0.1, 744, may_be_unknown=False),
)
_COLUMNS = (
    Column("column.device", least=12),
    Column("column.power", is_right=True),
    Column("column.purchase", is_right=True),
    Column("column.per_hour", is_right=True),
)


def amount(text: str) -> float | str:
    """Parse an amount for argparse: a number, or "unknown"."""
    return UNKNOWN if text == UNKNOWN else fraction(text)


def prices(options: argparse.Namespace, paths: Paths) -> int:
    machine, settings = detect_machine(data_folder=paths.datasets), load_settings(paths.settings)
    own = _changed(options, settings.own_computer, device_rows(machine, settings.own_computer))
    if own != settings.own_computer:
        save_settings(paths.settings, msgspec.structs.replace(settings, own_computer=own))
    rows = device_rows(machine, own)
    if options.json:
        plain = msgspec.to_builtins(own)
        plain["devices"] = {
            row.name: msgspec.to_builtins(row.prices) | {"usd_per_hour": prices_on(own, row.name).usd_per_hour}
            for row in rows
        }
        say_json(json.dumps(plain | {"usd_per_hour": own.usd_per_hour}))
        return 0
    cells = [_cells(row.name, row.prices, prices_on(own, row.name)) for row in rows]
    say_table(_COLUMNS, [_cells(sentence("prices.whole"), own, own), *cells])
    said = {"years": own.lifetime_years, "hours": own.hours_per_month}
    if own.electricity_usd_per_kwh is not None:
        say("\n" + sentence("prices.of_all", electricity=own.electricity_usd_per_kwh, **said))
    else:
        say("\n" + sentence("prices.without_electricity", **said))
    return 0


def _changed(options: argparse.Namespace, own: OwnComputer, rows: list[DeviceRow]) -> OwnComputer:
    """Return the prices with the options applied. Raises UsageError if an option is invalid."""
    given: dict[str, Any] = {}
    for each in AMOUNTS:
        if (value := getattr(options, each.option)) is not None:
            given[each.field] = _checked(each, value)
    if options.device is None:
        return msgspec.structs.replace(own, **given)
    by_name = {row.name: row.prices for row in rows}
    device = device_named(options.device, list(by_name))
    if others := [f"--{each.option}" for each in AMOUNTS if each.field in given and not each.is_of_device]:
        raise UsageError(message("prices.of_computer_only", options=others))
    return with_device(own, device, msgspec.structs.replace(by_name[device], **given))


def _checked(each: Amount, value: float | str) -> float | None:
    if value == UNKNOWN and each.may_be_unknown:
        return None
    if isinstance(value, str) or not each.least <= value <= each.most:
        limits = {"least": each.least, "most": each.most}
        raise UsageError(message("prices.out_of_range", option=f"--{each.option}", value=str(value), **limits))
    return value


def _cells(name: str, special: OwnDevice | OwnComputer, own: OwnComputer) -> list[str]:
    power = "" if special.power_w is None else sentence("prices.power", power_w=special.power_w)
    purchase = "" if special.purchase_usd is None else sentence("prices.usd", usd=special.purchase_usd)
    hour = own.usd_per_hour
    return [name, power, purchase, "n/a" if hour is None else sentence("prices.usd_per_hour", usd=hour)]
