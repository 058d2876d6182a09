"""Small archives that look like the official one of CIFAR-10, hostile ones, and sources that they pass for."""

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from workloads.datasets import cifar10, nietzsche
from workloads.datasets.source import DatasetSource

SIZE_BYTES = 1_000
FOLDER = "cifar-10-batches-bin"
FILE = cifar10.SOURCE.files[0].name
CONTENT = {name: bytes([number]) * SIZE_BYTES for number, name in enumerate(cifar10.FILES)}
Change = Callable[[tarfile.TarFile], None]


def make_archive(archive: Path, first: Change = lambda tar: None, last: Change = lambda tar: None) -> Path:
    """Write the six files, with something hostile before the first or in place of the last."""
    with tarfile.open(archive, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        first(tar)
        for name in cifar10.FILES[:-1]:
            tar.addfile(*member(f"{FOLDER}/{name}", CONTENT[name]))
        last(tar)
        if f"{FOLDER}/{cifar10.FILES[-1]}" not in tar.getnames():
            tar.addfile(*member(f"{FOLDER}/{cifar10.FILES[-1]}", CONTENT[cifar10.FILES[-1]]))
    return archive


def passing(source: DatasetSource, files: Mapping[str, bytes], url: str | None = None) -> DatasetSource:
    """Return a source whose official files are these; where no checksum is published, none is given."""
    return replace(
        source,
        files=tuple(
            replace(
                file,
                size_bytes=len(files[file.name]),
                sha256=hashlib.sha256(files[file.name]).hexdigest() if file.sha256 else None,
                url=url or file.url,
            )
            for file in source.files
        ),
    )


def pack(archive: Path, members: Mapping[str, bytes], *extra: Change) -> Path:
    with tarfile.open(archive, "w:gz", format=tarfile.GNU_FORMAT, compresslevel=1) as tar:
        for name, content in members.items():
            tar.addfile(*member(name, content))
        for change in extra:
            change(tar)
    return archive


def member(
    name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, io.BytesIO]:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    return info, io.BytesIO(content)


def adding(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> Change:
    return lambda tar: tar.addfile(*member(name, content if kind == tarfile.REGTYPE else b"", kind, link))


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a data set's folder; the checksum that is noted with them is compared elsewhere."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "contents.sha256"}


def make_nietzsche() -> bytes:
    """Return a text of as many bytes, characters and symbols as Nietzsche's, which is all that is known of it."""
    symbols = "".join(map(chr, (*range(33, 59), *range(97, 123)))) + " \n"
    text = (symbols + "äæéäæéäæ").ljust(nietzsche.CHARACTERS, "a").encode()
    assert len(text) == nietzsche.FILE_BYTES
    return text
