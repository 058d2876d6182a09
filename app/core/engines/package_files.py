"""Determines the files to install from a variant's lock and the package index."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from app.core.datasets.addresses import shown
from app.core.engines.cancellable import CancelCheck
from app.core.engines.pip import run_pip
from app.core.engines.variants import LOCKS, Variant
from app.core.errors import AppError
from app.core.messages import message
from app.core.plain_text import one_line
from workloads.protocol import typed

# Packages are built with Epochmark's own setuptools, so that no other package has to be trusted.
PIP_OPTIONS = ("--only-binary=:all:", "--no-build-isolation", "--retries=2", "--timeout=15")
# Lets pip read a wheel's metadata without downloading the wheel if the index doesn't offer the metadata
# separately.
_LAZY = "--use-feature=fast-deps"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)\s*(?P<marker>;[^\\]*)?")
_FILE_NAME = re.compile(r"[A-Za-z0-9._+!-]{1,250}(\.whl|\.tar\.gz)")


class WrongFileError(AppError):
    """The file isn't the expected one."""


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file to install: a wheel or, for one of a variant's `sources`, source code."""

    name: str
    version: str
    url: str  # address (http, https or file)
    sha256: str | None  # checksum stated by the index; None if not stated
    # Checksums that the lock allows; empty for a file that isn't in the lock.
    allowed: frozenset[str] = frozenset()
    pip_options: tuple[str, ...] = ()  # additional options with which pip finds the file

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

    def check(self, sha256: str | None) -> None:
        """Raise WrongFileError unless this can be the file's checksum; None is accepted."""
        if sha256 is not None and (sha256 != (self.sha256 or sha256) or sha256 not in (self.allowed or {sha256})):
            package = f"{self.name} {self.version}"
            raise WrongFileError(
                message("engines.other_file", package=package, address=shown(self.url)),
                message("engines.check_connection"),
            )


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


def resolve(variant: Variant, scratch: Path, check: CancelCheck, source: Path | None = None) -> list[PackageFile]:
    """Determine the files of a variant, from the package index or a folder.

    Args:
        check: Called while pip runs; may raise an exception to cancel.
        source: The only folder to search for files; None to use the index.

    Raises:
        AppError: A file isn't available, or differs from the lock.
    """
    pins = read_lock(LOCKS / variant.lock)
    allowed: dict[str, frozenset[str]] = {}
    for pin in pins:
        allowed[pin.name] = allowed.get(pin.name, frozenset()) | pin.hashes
    lock = scratch / "lock.txt"
    # "===" excludes a mirror's 1.0+other, which isn't 1.0. Hashes are omitted because pip would download all files
    # to check them.
    lock.write_text("".join(f"{pin.name}==={pin.version} {pin.marker}\n" for pin in pins), encoding="utf-8")
    items = _select(["--no-deps", "-r", str(lock)], scratch, check, source)
    files = [_package_file(item, allowed[plain(item.metadata.name)]) for item in items]
    if variant.pins:
        options = variant.index_options if source is None else ()
        options += tuple(f"--no-binary={pin.partition('==')[0]}" for pin in variant.sources)
        wanted = [pin.replace("==", "===", 1) for pin in (*variant.pins, *variant.sources)]
        if not variant.asks_for_more:
            wanted.append("--no-deps")
        elif not variant.is_alone:  # otherwise, the index has other versions of the lock's packages
            wanted += ["--constraint", str(lock)]
        items = _select([*options, *wanted], scratch, check, source)
        others = [_package_file(item, pip_options=options) for item in items]
        names = {file.name for file in files}
        files += [file for file in others if file.name not in names]
    return files


def _select(what: Sequence[str], scratch: Path, check: CancelCheck, source: Path | None) -> list[_Item]:
    report = scratch / "report.json"
    folder = () if source is None else ("--no-index", "--find-links", source.absolute().as_uri())
    options = ("--dry-run", "--ignore-installed", "--report", str(report), *PIP_OPTIONS, *folder)
    arguments = ("install", *options, *what)
    try:
        run_pip((*arguments, _LAZY), scratch, check, reads_settings=source is None)
    except AppError:  # _LAZY needs an index with HEAD requests and sizes
        run_pip(arguments, scratch, check, reads_settings=source is None)
    try:
        return typed.decode(report.read_bytes(), _Report).install
    except msgspec.DecodeError as error:
        raise AppError(message("engines.odd_report")) from error


def _package_file(
    item: _Item, allowed: frozenset[str] = frozenset(), pip_options: tuple[str, ...] = ()
) -> PackageFile:
    info = item.download_info
    sha256 = info.archive_info.hashes.get("sha256")
    file = PackageFile(plain(item.metadata.name), item.metadata.version, info.url, sha256, allowed, pip_options)
    if not _FILE_NAME.fullmatch(file.file_name):
        offer = message("engines.odd_offer", file=one_line(file.file_name, 100))
        raise AppError(offer, message("engines.check_connection"))
    file.check(sha256)
    return file


def read_lock(path: Path) -> list[_Pin]:
    """Return the pins in one of Epochmark's lock files."""
    blocks = re.split(r"\n(?=[^\s#])", path.read_text(encoding="utf-8"))
    pins = []
    for block in blocks:
        if match := _PIN.match(block):
            hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
            pins.append(_Pin(plain(match["name"]), match["version"], (match["marker"] or "").strip(), hashes))
    return pins


def versions(variant: Variant, python: str) -> set[tuple[str, str]]:
    """Return the names and versions of a variant's packages for a version of Python, such as "3.14.1"."""
    from pip._vendor.packaging.requirements import Requirement  # slow to load

    lines = [f"{pin.name}=={pin.version} {pin.marker}" for pin in read_lock(LOCKS / variant.lock)]
    wanted = [Requirement(line) for line in (*lines, *variant.pins)]
    environment = {"python_full_version": python, "python_version": ".".join(python.split(".")[:2])}
    return {
        (plain(each.name), str(each.specifier).removeprefix("=="))
        for each in wanted
        if each.marker is None or each.marker.evaluate(environment)
    }


def plain(name: str) -> str:
    """Return a package's name in normalised form, as compared by indexes."""
    return re.sub(r"[-_.]+", "-", name).lower()
