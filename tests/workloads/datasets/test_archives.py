"""Unpacking archives, mostly CIFAR-10's: only its six files, each of the right kind and size, or a refusal."""

import gzip
import os
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.messages import text
from tests.archives import CONTENT, FILE, FOLDER, SIZE_BYTES, Change, adding, contents, make_archive, member, pack
from tests.workloads.datasets.refusals import refusing
from workloads.datasets import cifar10, imdb
from workloads.datasets.archives import Limits
from workloads.datasets.source import HostileArchiveError


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)


def test_members_that_are_not_wanted_are_never_written(tmp_path: Path, folder: Path) -> None:
    absolute = tmp_path / "absolute" / "escaped"
    absolute.parent.mkdir()

    def extras(tar: tarfile.TarFile) -> None:
        for name in (
            "../escaped",
            str(absolute),
            f"{FOLDER}/../escaped",
            f"{FOLDER}/readme.html",
            "test_batch.bin",
        ):
            adding(name)(tar)
        adding("link", kind=tarfile.SYMTYPE, link="/etc")(tar)
        adding(FOLDER, kind=tarfile.DIRTYPE)(tar)

    cifar10.install({FILE: make_archive(tmp_path / "extras.tar.gz", first=extras)}, folder)
    assert contents(folder) == CONTENT
    assert not list(tmp_path.glob("**/escaped"))


LAST = f"{FOLDER}/test_batch.bin"
NOT_REGULAR = f"archive.not_regular file={LAST}"
HOSTILE = {
    "symlink": (adding(LAST, kind=tarfile.SYMTYPE, link="/etc/passwd"), NOT_REGULAR),
    "hardlink": (
        adding(LAST, kind=tarfile.LNKTYPE, link=f"{FOLDER}/data_batch_1.bin"),
        NOT_REGULAR,
    ),
    "character device": (adding(LAST, kind=tarfile.CHRTYPE), NOT_REGULAR),
    "block device": (adding(LAST, kind=tarfile.BLKTYPE), NOT_REGULAR),
    "pipe": (adding(LAST, kind=tarfile.FIFOTYPE), NOT_REGULAR),
    "folder": (adding(LAST, kind=tarfile.DIRTYPE), NOT_REGULAR),
    "short": (adding(LAST, b"x" * (SIZE_BYTES - 1)), "size_bytes=999 expected_bytes=1000"),
    "long": (adding(LAST, b"x" * (SIZE_BYTES + 1)), "size_bytes=1001 expected_bytes=1000"),
    "twice": (adding(f"{FOLDER}/data_batch_1.bin", b"x" * SIZE_BYTES), "archive.twice"),
    "names for terminals": (
        adding("a\x1b[31m\nb" * 99, b"x" * (2 * SIZE_BYTES + 1)),
        r"archive.too_much title=CIFAR-10 member=a\?\[31m\?ba",
    ),
    "huge extra": (adding("extra", b"x" * (2 * SIZE_BYTES + 1)), "archive.too_much title=CIFAR-10 member=extra"),
    "crowd": (lambda tar: [adding(f"extra{number}")(tar) for number in range(101)] and None, "archive.too_much"),
}


@pytest.mark.parametrize(("change", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused(tmp_path: Path, folder: Path, change: Change, reason: str) -> None:
    archive = make_archive(tmp_path / "hostile.tar.gz", last=change)
    with refusing(HostileArchiveError, reason) as refused:
        cifar10.install({FILE: archive}, folder)
    told = text(refused.value.message)
    assert told.isprintable()
    assert len(told) < 200
    assert not any(path.is_symlink() or not path.is_file() for path in folder.iterdir())
    assert not (folder / "test_batch.bin").exists()


def test_a_fault_of_the_disk_is_not_called_one_of_the_archive(tmp_path: Path, folder: Path) -> None:
    archive = make_archive(tmp_path / "sound.tar.gz")
    (folder / "data_batch_2.bin").mkdir()
    with pytest.raises(FileExistsError):
        cifar10.install({FILE: archive}, folder)


def test_a_missing_member_is_named(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(tmp_path / "few.tar.gz", "w:gz") as tar:
        tar.addfile(*member(f"{FOLDER}/data_batch_1.bin", CONTENT["data_batch_1.bin"]))
    with refusing(HostileArchiveError, r"archive.*data_batch_2\.bin"):
        cifar10.install({FILE: tmp_path / "few.tar.gz"}, folder)


def refused_by(module: ModuleType, archive: Path, folder: Path) -> None:
    with refusing(HostileArchiveError, f"archive.too_much title={module.SOURCE.title} member=extra"):
        module.install({module.SOURCE.files[0].name: archive}, folder)
    assert not any(path.is_file() for path in folder.rglob("*"))


@pytest.mark.parametrize("module", [cifar10, imdb], ids=lambda module: module.SOURCE.id)
def test_a_bomb_is_refused_by_its_declared_size_before_it_is_unpacked(
    tmp_path: Path, folder: Path, module: ModuleType
) -> None:
    info = tarfile.TarInfo("extra")
    info.size = 1 << 40
    with gzip.open(tmp_path / "bomb.tar.gz", "wb", compresslevel=1) as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
        for _ in range(50):
            file.write(bytes(1 << 20))
    refused_by(module, tmp_path / "bomb.tar.gz", folder)


@pytest.mark.parametrize(
    ("count", "size_bytes"),
    [(101, 1), (1, 1_001), (11, 1_000)],
    ids=["too many", "too large", "too much together"],
)
def test_more_than_the_limits_allow_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, size_bytes: int
) -> None:
    monkeypatch.setattr(imdb, "LIMITS", Limits(members=100, member_bytes=1_000, total_bytes=10_000))
    extra = {f"extra{number}": b"x" * size_bytes for number in range(count)}
    refused_by(imdb, pack(tmp_path / "large.tar.gz", extra), folder)
    del extra["extra0"]  # now it's within the limits, and only not what is wanted
    (fresh := folder / "fresh").mkdir()
    with refusing(HostileArchiveError, "expected="):
        imdb.install({imdb.SOURCE.files[0].name: pack(tmp_path / "fair.tar.gz", extra)}, fresh)


def test_an_archive_cut_anywhere_is_refused_or_complete(tmp_path: Path, folder: Path) -> None:
    whole = make_archive(tmp_path / "whole.tar.gz").read_bytes()
    cut = tmp_path / "cut.tar.gz"
    for end in [*range(40), *range(40, len(whole) - 1, 7)]:
        cut.write_bytes(whole[:end])
        (fresh := folder / str(end)).mkdir()
        try:
            cifar10.install({FILE: cut}, fresh)
        except HostileArchiveError:
            continue
        assert contents(fresh) == CONTENT


@example(b"\x04\0\0\0\0\0\0\0\x01\0\0\0\0\0", False, b"\x1f\x8b\x08")  # tarfile of Python 3.11.2 stumbles over it
@given(st.binary(max_size=600), st.booleans(), st.sampled_from([b"", b"\x1f\x8b", b"\x1f\x8b\x08"]))
def test_no_content_makes_unpacking_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, packed: bool, magic: bytes
) -> None:
    archive = tmp_path_factory.getbasetemp() / f"noise{os.getpid()}.tar.gz"
    archive.write_bytes(gzip.compress(noise, 1) if packed else magic + noise)
    with pytest.raises(HostileArchiveError):
        cifar10.install({FILE: archive}, archive.parent)


def test_a_damaged_header_inside_a_sound_gzip_is_refused(tmp_path: Path, folder: Path) -> None:
    raw = bytearray(gzip.decompress(make_archive(tmp_path / "whole.tar.gz").read_bytes()))
    for place in (0, 100, 124, 148, 156, 300):
        damaged = bytes(raw[:place]) + b"\xff\xfe" + bytes(raw[place + 2 :])
        (tmp_path / "damaged.tar.gz").write_bytes(gzip.compress(damaged, 1))
        with pytest.raises(HostileArchiveError):
            cifar10.install({FILE: tmp_path / "damaged.tar.gz"}, folder)
    assert list(folder.iterdir()) == []
