"""The user's settings: a small JSON file, written atomically; an unreadable file is set aside."""

import errno
import itertools
import logging
import stat
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.core.errors import AppError, UsageError
from app.core.files import write_whole
from app.core.messages import message, sentence
from app.core.plain_text import one_line
from workloads.datasets.regular_file import read_regular

_SIZE_LIMIT_BYTES = 1 << 20
ZoomPct = Annotated[int, msgspec.Meta(ge=80, le=200)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Years = Annotated[float, msgspec.Meta(ge=0.1, le=100)]
Hours = Annotated[float, msgspec.Meta(ge=0.1, le=744)]
Names = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=100)], ...], msgspec.Meta(max_length=1_000)]
Folder = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*\Z", max_length=4_096)]
DeviceName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
# Printable ASCII, as an address that a browser or a server gets must be.
WebAddress = Annotated[str, msgspec.Meta(pattern=r"^(https?://[!-~]+)?\Z", max_length=2_000)]
_log = logging.getLogger(__name__)


class OwnDevice(msgspec.Struct, frozen=True, kw_only=True):
    """What a device of the user's costs; None means not told, and the computer's own counts.

    Attributes:
        power_w: Of the whole computer while the device trains, from the wall.
        purchase_usd: What the device cost, with what was bought for it.
    """

    power_w: Amount | None = None
    purchase_usd: Amount | None = None


Devices = Annotated[dict[DeviceName, OwnDevice], msgspec.Meta(max_length=64)]


class OwnComputer(msgspec.Struct, frozen=True, kw_only=True):
    """What the user's computer costs; None means not told.

    Attributes:
        power_w: While it trains, from the wall.
        electricity_usd_per_kwh: Price of electricity.
        purchase_usd: What it cost.
        lifetime_years: How long it will be used.
        hours_per_month: How many hours it trains in a month, over which the purchase is spread.
        devices: What is special about training on a device, by its name.
    """

    power_w: Amount | None = None
    electricity_usd_per_kwh: Amount | None = None
    purchase_usd: Amount | None = None
    lifetime_years: Years = 4.0
    hours_per_month: Hours = 40.0
    devices: Devices = {}

    @property
    def electricity_usd_per_hour(self) -> float | None:
        """Electricity of an hour of training."""
        if self.power_w is None or self.electricity_usd_per_kwh is None:
            return None
        return self.power_w / 1_000 * self.electricity_usd_per_kwh

    @property
    def purchase_usd_per_month(self) -> float | None:
        """The purchase, spread evenly over the lifetime."""
        return None if self.purchase_usd is None else self.purchase_usd / (12 * self.lifetime_years)

    @property
    def usd_per_hour(self) -> float | None:
        """Electricity, and the purchase spread over the hours of training; None if neither is told."""
        parts = [self.electricity_usd_per_hour]
        if self.purchase_usd_per_month is not None:
            parts.append(self.purchase_usd_per_month / self.hours_per_month)
        there = [part for part in parts if part is not None]
        return sum(there) if there else None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's choices. Fields from a newer version are ignored."""

    preset: Literal["quick", "standard", "sustained"] | None = (
        None  # None: never chosen; each view has its own default
    )
    data: Literal["auto", "real", "synthetic"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    datasets_folder: Folder | None = None  # None: Epochmark's own folder
    save_folder: Folder | None = None  # where something was saved last
    favourite_workloads: Names = ()
    recent_workloads: Names = ()  # the newest first
    table_address: WebAddress = ""  # of a table of everybody's machines
    collection_address: WebAddress = ""  # where results are collected
    geometry: str | None = None  # the window's geometry from Qt, in base64
    zoom_pct: ZoomPct = 100
    own_computer: OwnComputer = OwnComputer()  # its costs


def load_settings(path: Path) -> Settings:
    """Return the settings, or the defaults if there are none.

    A damaged file is renamed, never deleted, and named in a warning; anything but a file stays where it is.
    """
    try:
        return msgspec.json.decode(read_regular(path, _SIZE_LIMIT_BYTES), type=Settings)
    except FileNotFoundError:
        return Settings()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _set_aside(path, str(error))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return _set_aside(path, str(error.strerror))
        _log.warning("%s", sentence("settings.unreadable", path=_shown(path), reason=error.strerror))
        return Settings()


class _Zoom(msgspec.Struct, frozen=True):
    zoom_pct: ZoomPct = 100


def stored_zoom_pct(path: Path) -> int:
    """Return the stored zoom before anything else can be read or said; 100 if there is none, or no such file."""
    try:
        return msgspec.json.decode(read_regular(path, _SIZE_LIMIT_BYTES), type=_Zoom).zoom_pct
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Zoom().zoom_pct


def checked_address(text: str) -> str:
    """Return a web address without spaces around it; raises UsageError if it isn't one. "" is none."""
    address = text.strip()
    try:
        return msgspec.convert(address, WebAddress)
    except msgspec.ValidationError as error:
        raise UsageError(message("dataset.not_a_web_address", address=one_line(address, 200))) from error


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings so that a crash leaves either the old file or the new one.

    Links and permissions are kept; raises AppError if it can't be written.
    """
    try:
        content = msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, sentence("files.not_regular"))  # which might block forever
        write_whole(path, [content])
    except UnicodeEncodeError as error:
        raise AppError(message("settings.folder_not_utf8"), message("settings.rename_folder")) from error
    except OSError as error:
        raise AppError(message("settings.not_written", path=_shown(path), reason=error.strerror)) from error


def _set_aside(path: Path, reason: str) -> Settings:
    path = path.resolve()  # the link's target, so that the link stays
    stem = f"{path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (f"{stem}-{number}" if number else stem for number in itertools.count())
    aside = next(free for name in names if not (free := path.with_name(name + path.suffix)).exists())
    try:
        path.replace(aside)
    except OSError:
        aside = path
    _log.warning("%s", sentence("settings.invalid", reason=one_line(reason, 200), kept=_shown(aside)))
    return Settings()


def _shown(path: Path) -> str:
    return one_line(str(path), 300)
