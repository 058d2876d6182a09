"""Verifies the files of installed packages against the checksums in their wheels."""

import base64
import csv
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.core.engines.cancellable import CancelCheck

_CHUNK_BYTES = 1 << 20
_UP = "../../"  # prefix of scripts in RECORD; with --target, pip puts them next to the packages
_DAMAGED = (ValueError, csv.Error)


@dataclass(frozen=True, slots=True)
class Contents:
    """The result of verifying an installation.

    Attributes:
        records_sha256: Combined SHA-256 of all RECORD files.
        size_bytes: Total size of the files listed in RECORD files.
        damaged: Paths of files that are missing, unreadable or different, in order.
    """

    records_sha256: str
    size_bytes: int
    damaged: tuple[str, ...]


def check_contents(packages: Path, check: CancelCheck) -> Contents:
    """Compare installed files with their packages' RECORD files. Raises OSError if the folder can't be read."""
    records = sorted(packages.glob("*.dist-info/RECORD"))
    digest = hashlib.sha256()
    size_bytes = 0
    damaged = []
    for record in records:
        name = record.parent.name
        try:
            raw = record.read_bytes()
            digest.update(f"{name} {hashlib.sha256(raw).hexdigest()}\n".encode())
            entries = list(_entries(raw))
        except (OSError, *_DAMAGED):
            damaged.append(f"{name}/RECORD")
            continue
        for path, expected in entries:
            try:
                actual, file_bytes = _checksum(packages / path, check)
            except OSError:
                damaged.append(path)
                continue
            size_bytes += file_bytes
            if expected not in {None, actual}:
                damaged.append(path)
    return Contents(digest.hexdigest(), size_bytes, tuple(damaged))


def _entries(raw: bytes) -> Iterator[tuple[str, str | None]]:
    """Yield the paths listed in a RECORD, relative to the packages' folder, with their SHA-256."""
    # Raises ValueError if the RECORD is invalid.
    for row in csv.reader(io.StringIO(raw.decode("utf-8"), newline="")):
        if len(row) != 3:
            msg = "a RECORD has three columns"
            raise ValueError(msg)
        path = row[0].replace("\\", "/").removeprefix(_UP)
        if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or ":" in path:
            msg = "a RECORD names files of its own folder"
            raise ValueError(msg)
        algorithm, _, checksum = row[1].partition("=")
        yield path, checksum if algorithm == "sha256" else None


def _checksum(path: Path, check: CancelCheck) -> tuple[str, int]:
    digest = hashlib.sha256()
    size_bytes = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
            check()
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode(), size_bytes
