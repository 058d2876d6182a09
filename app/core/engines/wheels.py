"""Determines the files to install from a variant's lock and the package index."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from app.core.datasets.addresses import shown
from app.core.engines.cancellable import CancelCheck
from app.core.engines.pip import PipError, run_pip
from app.core.engines.variants import LOCKS, Variant
from app.core.errors import AppError
from app.core.messages import Message, message
from app.core.plain_text import one_line
from workloads.protocol import typed

_OPTIONS = ("--dry-run", "--ignore-installed", "--only-binary=:all:", "--retries=2", "--timeout=15")
# Lets pip read a wheel's metadata without downloading the wheel if the index doesn't offer the metadata
# separately.
_LAZY = "--use-feature=fast-deps"
# After these errors, another attempt without _LAZY would fail as well.
_FINAL = ("engines.not_on_offer", "engines.disk_full", "engines.no_pip", "engines.no_trust")
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)\s*(?P<marker>;[^\\]*)?")
_CHECK_INDEX = message("engines.check_index")
_FILE_NAME = re.compile(r"[A-Za-z0-9._+!-]{1,250}\.whl")


class WrongWheelError(AppError):
    """The file isn't the expected one."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file to install.

    Attributes:
        url: Address (http, https or file).
        sha256: Checksum stated by the index; None if not stated.
        allowed: Checksums that the lock allows; empty for a file that isn't in the lock.
        index: Additional index that may provide it.
        is_alone: Whether that index is the only permitted source.
    """

    name: str
    version: str
    url: str
    sha256: str | None
    allowed: frozenset[str] = frozenset()
    index: str | None = None
    is_alone: bool = False

    @property
    def index_options(self) -> tuple[str, ...]:
        """The pip options that select the wheel's index."""
        return index_options(self.index, is_alone=self.is_alone)

    @property
    def file_name(self) -> str:
        """The file's name, including the compatibility tags that pip reads."""
        return unquote(urlsplit(self.url).path.rpartition("/")[2])

    @property
    def local(self) -> Path | None:
        """The file's path if it is on this computer; None if it must be downloaded."""
        from urllib.request import url2pathname  # loads HTTP and TLS, which the window doesn't need at start

        parts = urlsplit(self.url)
        return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


@dataclass(frozen=True, slots=True)
class _Pin:
    name: str
    version: str
    marker: str
    hashes: frozenset[str]


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _Download(msgspec.Struct):
    url: str
    archive_info: _Archive


class _Metadata(msgspec.Struct):
    name: str
    version: str


class _Item(msgspec.Struct):
    download_info: _Download
    metadata: _Metadata


class _Report(msgspec.Struct):
    install: list[_Item]


def resolve(variant: Variant, scratch: Path, check: CancelCheck, source: Path | None = None) -> list[Wheel]:
    """Determine the files of a variant, from the package index or a folder.

    Args:
        variant: The variant.
        scratch: Existing folder for temporary files.
        check: Called while pip runs; may raise an exception to cancel.
        source: The only folder to search for files; None to use the index.

    Raises:
        AppError: A file isn't available, or differs from the lock.
    """
    pins = read_lock(LOCKS / variant.lock)
    wanted = scratch / "lock.txt"
    # "===" excludes a mirror's 1.0+other, which isn't 1.0. Hashes are omitted because pip would download all files
    # to check them.
    wanted.write_text("".join(f"{pin.name}==={pin.version} {pin.marker}\n" for pin in pins), encoding="utf-8")
    items = _ask(("--no-deps", "-r", str(wanted)), scratch, check, source)
    wheels = [_locked(item, pins) for item in items]
    if variant.pins:
        limits = scratch / "limits.txt"
        limits.write_text("".join(f"{pin.name}=={pin.version} {pin.marker}\n" for pin in pins), encoding="utf-8")
        built = _build(variant, scratch, check, source)
        others = _ask([*_unlocked(variant, limits, source), *built], scratch, check, source)
        done = {wheel.name for wheel in wheels}
        noted = [replace(_noted(item), index=variant.index, is_alone=variant.is_alone) for item in others]
        wheels += [wheel for wheel in noted if wheel.name not in done]
    names = [wheel.file_name for wheel in wheels]
    for name in names:
        if not _FILE_NAME.fullmatch(name) or names.count(name) > 1:
            raise AppError(message("engines.odd_offer", file=one_line(name, 100)), _CHECK_INDEX)
    return wheels


def _unlocked(variant: Variant, limits: Path, source: Path | None) -> list[str]:
    """Return the pip requirements for packages that only the variant's own index provides."""
    # An index that is the only source has other versions of the lock's packages, which are excluded afterwards.
    dependencies = [] if variant.is_alone else ["--constraint", str(limits)]
    options = dependencies if variant.asks_for_more else ["--no-deps"]
    if source is None:
        options = [*options, *index_options(variant.index, is_alone=variant.is_alone)]
    # The version with its local part, which no other index can have ("2.13.0+cpu").
    return [*options, *map(_exactly, variant.pins)]


def _build(variant: Variant, scratch: Path, check: CancelCheck, source: Path | None) -> tuple[str, ...]:
    """Build packages that the index provides only as source code; return the pip options for their wheels."""
    # Epochmark's own setuptools is used, so that no other package has to be trusted.
    if not variant.sources:
        return ()
    folder = scratch / "built"
    arguments = ["wheel", "--no-deps", "--no-build-isolation", "--retries=2", "--timeout=15"]
    arguments += ["--wheel-dir", str(folder), *map(_exactly, variant.sources)]
    if source is None:
        run_pip([*arguments, *index_options(variant.index, is_alone=variant.is_alone)], scratch, check)
    else:
        run_pip([*arguments, "--no-index"], scratch, check, find_links=source.absolute().as_uri())
    return ("--find-links", folder.absolute().as_uri())


def index_options(index: str | None, *, is_alone: bool) -> tuple[str, ...]:
    """Return the pip options for using an index in addition to the user's own, or instead of it."""
    if index is None:
        return ()
    return ("--index-url" if is_alone else "--extra-index-url", index)


def _exactly(pin: str) -> str:
    return pin.replace("==", "===")


def _ask(what: Sequence[str], scratch: Path, check: CancelCheck, source: Path | None) -> list[_Item]:
    """Run pip to select the files for this computer, and return them."""
    report = scratch / "report.json"
    report.unlink(missing_ok=True)
    arguments = ["install", *_OPTIONS, "--report", str(report), *what]
    if source is None:
        try:
            run_pip([*arguments, _LAZY], scratch, check)
        except PipError as error:
            if isinstance(error.message, Message) and error.message.code in _FINAL:
                raise
            run_pip(arguments, scratch, check)  # without _LAZY, which needs an index with HEAD requests and sizes
    else:
        run_pip([*arguments, "--no-index"], scratch, check, find_links=source.absolute().as_uri())
    try:
        return typed.decode(report.read_bytes(), _Report).install
    except (OSError, msgspec.DecodeError) as error:
        raise AppError(message("engines.odd_report")) from error


def read_lock(path: Path) -> list[_Pin]:
    """Return the pins in one of Epochmark's lock files."""
    blocks = re.split(r"\n(?=[^\s#])", path.read_text(encoding="utf-8"))
    pins = []
    for block in blocks:
        if match := _PIN.match(block):
            hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
            pins.append(_Pin(match["name"], match["version"], (match["marker"] or "").strip(), hashes))
    return pins


def _locked(item: _Item, pins: Sequence[_Pin]) -> Wheel:
    """Return the wheel of a locked package. Raises AppError if it differs from the lock."""
    wheel = _noted(item)
    same = [pin.hashes for pin in pins if (plain(pin.name), pin.version) == (wheel.name, wheel.version)]
    wheel = replace(wheel, allowed=frozenset().union(*same))
    if not wheel.allowed:
        raise AppError(message("engines.odd_offer", file=one_line(wheel.file_name, 100)), _CHECK_INDEX)
    if wheel.sha256 is not None:
        check_sum(wheel, wheel.sha256)
    return wheel


def check_sum(wheel: Wheel, sha256: str) -> None:
    """Raise WrongWheelError unless this is the expected checksum of a file."""
    if sha256 != (wheel.sha256 or sha256) or (wheel.allowed and sha256 not in wheel.allowed):
        package = f"{wheel.name} {wheel.version}"
        raise WrongWheelError(
            message("engines.other_file", package=package, address=shown(wheel.url)),
            message("engines.ask_for_the_mirror"),
        )


def _noted(item: _Item) -> Wheel:
    info = item.download_info
    sha256 = info.archive_info.hashes.get("sha256")
    return Wheel(plain(item.metadata.name), item.metadata.version, info.url, sha256)


def plain(name: str) -> str:
    """Return a package's name in normalised form, as compared by indexes."""
    return re.sub(r"[-_.]+", "-", name).lower()
