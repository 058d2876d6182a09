"""Small files that pass for the official ones of data sets, and sources that they pass for."""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import cifar10, nietzsche
from workloads.datasets.source import Dataset, DatasetSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = cifar10.SOURCE.files[0].name
# Two images a file, of one brightness each, and of the class of their file's number.
CONTENT = {name: (bytes([number]) * cifar10.RECORD_BYTES) * 2 for number, name in enumerate(cifar10.FILES)}


def make_archive(archive: Path) -> Path:
    """Write CIFAR-10's archive, with all that is in the official one."""
    names = ("batches.meta.txt", *cifar10.FILES, "readme.html")
    return pack(archive, {f"cifar-10-batches-bin/{name}": CONTENT.get(name, b"text") for name in names})


def passing(source: DatasetSource, files: Mapping[str, bytes], url: str | None = None) -> DatasetSource:
    """Return a source whose official files are these; where no checksum is published, none is given."""
    passing = []
    for file in source.files:
        content = files[file.name]
        sha256 = hashlib.sha256(content).hexdigest() if file.sha256 else None
        passing.append(replace(file, size_bytes=len(content), sha256=sha256, url=url or file.url))
    return replace(source, files=tuple(passing))


def digest_of(*arrays: "NDArray[Any]") -> str:
    """Return the SHA-256 of arrays' types, shapes and contents."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.name} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def pack(archive: Path, members: Mapping[str, bytes]) -> Path:
    with tarfile.open(archive, "w:gz", format=tarfile.GNU_FORMAT, compresslevel=1) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive


def store(module: Dataset, folder: Path, *files: Path) -> Path:
    """Store a data set without checking the official files."""
    import numpy as np

    file = module.SOURCE.stored_in(folder)
    np.savez(file, allow_pickle=False, **module.convert({path.name: path for path in files}))
    return file


def make_nietzsche() -> bytes:
    """Return a text of as many bytes, characters and symbols as Nietzsche's, which is all that is known of it."""
    symbols = "".join(map(chr, (*range(33, 59), *range(97, 123)))) + " \n"
    text = (symbols + "äæéäæéäæ").ljust(nietzsche.CHARACTERS, "a").encode()
    assert len(text) == nietzsche.FILE_BYTES
    return text
