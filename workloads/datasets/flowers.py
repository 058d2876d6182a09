"""3,670 photos of flowers from the official archive, and a synthetic twin. Reads local files, never the network.

The study read the photos from sixteen record files that contain images of one size. `flower_records` creates these
files once.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets import source, twins
from workloads.datasets.archives import Limits, tar_members
from workloads.datasets.flower_photos import Photos
from workloads.datasets.jpeg import jpeg_size
from workloads.datasets.source import (
    DatasetSource,
    HostileArchiveError,
    MissingDataError,
    SourceFile,
    StoredFiles,
    UnfitError,
)
from workloads.protocol.messages import message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = DatasetSource(
    id="flowers",
    title="Flower photos",
    files=(
        SourceFile(
            "flower_photos.tgz",
            url="http://download.tensorflow.org/example_images/flower_photos.tgz",
            size_bytes=228_813_984,
            sha256="4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c",
        ),
    ),
    citation="The TensorFlow Team, Flowers, 2019",
    licence="CC BY 2.0, see its LICENSE.txt",
)
COUNTS = {"daisy": 633, "dandelion": 898, "roses": 641, "sunflowers": 699, "tulips": 799}
CLASSES = tuple(COUNTS)  # a label is an index into this tuple
TRAIN_COUNT, TEST_COUNT = 2_990, 680
MAX_PHOTO_BYTES = 5_000_000
MAX_PIXELS = 100_000_000
LIMITS = Limits(members=10_000, member_bytes=8_000_000, total_bytes=400_000_000)
_LICENCE_FILE = "LICENSE.txt"
_LIST_FILE = "photos.txt"  # class/name of each photo, in the order used for the checksum
_MEMBER = re.compile(r"flower_photos/([a-z]+)/([\w-]+\.jpg)", re.ASCII)
# Files that `flower_records` creates in the same folder, including temporary ones.
_RECORDS = re.compile(r"\.?tfrecords-\d+(-[a-z0-9_]{8})?/(photos-\d{2,}\.tfrec|packing\.lock)?", re.ASCII)
_ORDER = 51
_RECIPE = 52
_PICTURES = 16  # number of images per class in the twin


class _StoredPhotos(StoredFiles):
    """The photos, and the files that `flower_records` creates from them later."""

    def contents(self, folder: Path) -> frozenset[str]:
        try:
            return super().contents(folder).union(_listed(folder))
        except MissingDataError:
            return super().contents(folder)

    def owns(self, name: str, noted: Collection[str] | None) -> bool:
        if _is_photo(name):
            return noted is None or name in noted
        is_class = name.endswith("/") and name[:-1] in COUNTS
        return is_class or _RECORDS.fullmatch(name) is not None or super().owns(name, noted)


STORED: StoredFiles = _StoredPhotos([_LIST_FILE, _LICENCE_FILE])


def install(files: Mapping[str, Path], folder: Path) -> None:
    """Extract only the photos and their licence from the archive.

    Raises:
        HostileArchiveError: The archive isn't a tar.gz or exceeds the limits, or a photo is duplicated, missing,
            too large, not a regular file or not a JPEG.
    """
    names: set[str] = set()
    for label in CLASSES:
        (folder / label).mkdir()
    with tar_members(files[SOURCE.files[0].name], SOURCE.title, LIMITS) as members:
        for member in members:
            match = _MEMBER.fullmatch(member.name)
            if match and match[1] in COUNTS:
                name = f"{match[1]}/{match[2]}"
                if name.lower() in names:  # duplicates on case-insensitive file systems
                    raise HostileArchiveError(message("archive.twice", file=name))
                names.add(name.lower())
                (folder / name).write_bytes(_checked(members.read(member, MAX_PHOTO_BYTES), member.name))
            elif member.name == f"flower_photos/{_LICENCE_FILE}":
                (folder / _LICENCE_FILE).write_bytes(members.read(member, MAX_PHOTO_BYTES))
    for label, count in COUNTS.items():
        if (count_found := len(list((folder / label).iterdir()))) != count:
            raise HostileArchiveError(message("archive.photos", found=count_found, kind=label, expected=count))
    paths = sorted(path.relative_to(folder).as_posix() for label in CLASSES for path in (folder / label).iterdir())
    (folder / _LIST_FILE).write_text("\n".join(paths) + "\n", encoding="ascii", newline="\n")
    source.write_checksum(folder, [_LIST_FILE, *paths])


def is_installed(folder: Path) -> bool:
    """Return whether all photos and their checksum file exist."""
    try:
        return source.are_there(folder, [_LIST_FILE, *_listed(folder)])
    except MissingDataError:
        return False


def load(folder: Path | None, *, size: int) -> Photos:
    """Return 2,990 photos for training and 680 for validation; the synthetic twin if `folder` is None.

    The twin has sixteen images per class, with `size` pixels per side. Each image is used for many examples.

    Raises:
        MissingDataError: A photo is missing or modified.
    """
    import numpy as np

    if folder is None:
        pictures, kinds, checksum = _twin(size)
        which = (twins.raw_numbers([_RECIPE, 1], TRAIN_COUNT + TEST_COUNT) % np.uint64(len(kinds))).astype(
            np.int64
        )
        paths: tuple[Path, ...] = ()
    else:
        names = _listed(folder)
        checksum = _digest(folder, names)
        source.check_unchanged(folder, checksum, SOURCE.title)
        paths = tuple(folder / name for name in names)
        pictures = None
        kinds = np.array([CLASSES.index(path.parent.name) for path in paths], np.int32)
        which = twins.shuffled([_ORDER], len(paths)).astype(np.int64)
    train, test = which[:TRAIN_COUNT], which[TRAIN_COUNT:]
    return Photos(
        size=size,
        paths=paths,
        pictures=pictures,
        train=train,
        train_labels=kinds[train],
        test=test,
        test_labels=kinds[test],
        folder=folder,
        source="real" if folder else "synthetic",
        checksum=checksum,
    )


def _checked(raw: bytes, name: str) -> bytes:
    try:
        width, height = jpeg_size(raw)
    except UnfitError as error:
        raise HostileArchiveError(message("archive.bad_jpeg", file=name, reason=error.message)) from error
    if width * height > MAX_PIXELS:
        arguments = {"file": name, "width": width, "height": height, "limit": MAX_PIXELS}
        raise HostileArchiveError(message("archive.too_many_pixels", **arguments))
    return raw


def _is_photo(name: str) -> bool:
    match = _MEMBER.fullmatch(f"flower_photos/{name}")
    return match is not None and match[1] in COUNTS


def _listed(folder: Path) -> list[str]:
    """Return the paths listed in the installed photo list."""
    names = source.read_installed(folder, _LIST_FILE, SOURCE.title).decode("ascii", errors="replace").splitlines()
    if len(names) != TRAIN_COUNT + TEST_COUNT or not all(map(_is_photo, names)):
        raise MissingDataError(message("installed.file_changed", file=_LIST_FILE, title=SOURCE.title))
    return names


def _digest(folder: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in (_LIST_FILE, *names):
        digest.update(source.read_installed(folder, name, SOURCE.title))
    return digest.hexdigest()


def _twin(size: int) -> "tuple[NDArray[np.uint8], NDArray[np.int32], str]":
    """Return the images, labels and checksum. Each image is noise with a blob in the colour of its class."""
    import numpy as np

    kinds = np.repeat(np.arange(len(CLASSES), dtype=np.int32), _PICTURES)
    places = twins.raw_numbers([_RECIPE, 0], len(kinds)).tolist()
    colours = np.array([(90, 90, 90), (100, 90, 0), (110, 0, 40), (100, 45, 0), (80, 0, 110)], np.int64)
    row, column = np.ogrid[:size, :size]
    pictures = np.empty((len(kinds), size, size, 3), np.uint8)
    coarse = -(-size // 8)
    for number, (kind, place) in enumerate(zip(kinds, places, strict=True)):
        # Noise at two scales makes the JPEG about as large as a photo's.
        large = twins.raw_numbers([_RECIPE, 2, number], coarse * coarse * 3) >> np.uint64(58)
        grains = large.astype(np.uint8).reshape(coarse, coarse, 3).repeat(8, axis=0).repeat(8, axis=1)
        small = twins.raw_numbers([_RECIPE, 3, number], -(-size * size * 3 // 8)).astype("<u8", copy=False)
        fine = small.view(np.uint8)[: size * size * 3].reshape(size, size, 3) >> 3
        down, right = size // 4 + place % max(1, size // 2), size // 4 + (place >> 32) % max(1, size // 2)
        away = (row - down) ** 2 + (column - right) ** 2
        share = np.maximum(0, 256 - 256 * away // (size * size // 9 + 1))[..., None]
        pictures[number] = grains[:size, :size] + fine + (share * colours[kind] >> 8)
    return pictures, kinds, hashlib.sha256(pictures.data).hexdigest()
