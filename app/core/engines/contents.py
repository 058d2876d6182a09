"""Verifies the files of installed packages against the checksums in their wheels."""

import base64
import csv
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.engines.cancellable import CancelCheck

_CHUNK_BYTES = 1 << 20
_UP = "../../"  # prefix of scripts in RECORD; with --target, pip puts them next to the packages


@dataclass(frozen=True, slots=True)
class Contents:
    """The result of verifying an installation."""

    records_sha256: str  # combined SHA-256 of all RECORD files
    size_bytes: int  # total size of the files listed in RECORD files
    damaged: tuple[str, ...]  # paths of files that are missing, unreadable or different, in order


def check_contents(packages: Path, check: CancelCheck) -> Contents:
    """Compare installed files with their packages' RECORD files. Raises OSError if the folder can't be read."""
    records = sorted(packages.glob("*.dist-info/RECORD"))
    all_records = hashlib.sha256()
    size_bytes = 0
    damaged = []
    for record in records:
        name = record.parent.name
        try:
            raw = record.read_bytes()
            all_records.update(f"{name} {hashlib.sha256(raw).hexdigest()}\n".encode())
            entries = list(_entries(raw))
        except (OSError, ValueError, csv.Error):
            damaged.append(f"{name}/RECORD")
            continue
        for path, expected in entries:
            try:
                digest = sha256_of(packages / path, lambda _: check())
                size_bytes += (packages / path).stat().st_size
            except OSError:
                digest = b""
            if expected not in {None, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()} or not digest:
                damaged.append(path)
    return Contents(all_records.hexdigest(), size_bytes, tuple(damaged))


def _entries(raw: bytes) -> Iterator[tuple[str, str | None]]:
    """Yield the paths listed in a RECORD, relative to the packages' folder, with their SHA-256."""
    for path, checksum, _ in csv.reader(io.StringIO(raw.decode("utf-8"), newline="")):
        algorithm, _, digest = checksum.partition("=")
        yield path.replace("\\", "/").removeprefix(_UP), digest if algorithm == "sha256" else None


def sha256_of(path: Path, progress: Callable[[int], None]) -> bytes:
    """Return the SHA-256 of a file. `progress` is called with the bytes done, and may raise to cancel."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            progress(file.tell())
    return digest.digest()
