"""Data sets on disk, from real archives with small files: installed whole or not at all, hostile ones refused."""

import hashlib
import shutil
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.data import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.downloads import DownloadError
from app.core.errors import AppError, UsageError
from app.core.paths import Paths
from tests.archives import CONTENT, FOLDER, SIZE_BYTES, Change, adding, contents, make_archive
from tests.core.server import broken_after, resumable, serving
from workloads.datasets import cifar10


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive that passes for the official one."""
    return make_official(tmp_path / "official.tar.gz", monkeypatch)


def make_official(archive: Path, monkeypatch: pytest.MonkeyPatch, **changes: Change) -> Path:
    make_archive(archive, **changes)
    raw = archive.read_bytes()
    source = replace(cifar10.SOURCE, size_bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest())
    monkeypatch.setattr(cifar10, "SOURCE", source)
    return archive


def test_an_import_installs_six_files_and_a_note_and_keeps_the_archive(paths: Paths, official: Path) -> None:
    folder = import_dataset(paths, "cifar10", official)
    found = contents(folder)
    assert b'"sha256"' in found.pop("installed.json")
    assert found == CONTENT
    assert folder == paths.datasets / "cifar10"
    assert list(paths.datasets.iterdir()) == [folder]
    assert official.exists()


def test_a_fetch_installs_what_it_downloaded_and_goes_on_after_a_break(paths: Paths, official: Path) -> None:
    with serving() as server:
        server.content = official.read_bytes()
        server.answer = broken_after(100)
        with pytest.raises(DownloadError):
            fetch_dataset(paths, "cifar10", server.url)
        assert not paths.datasets.exists()
        server.answer = resumable
        folder = fetch_dataset(paths, "cifar10", server.url)
    assert server.ranges == [None, "bytes=100-"]
    assert CONTENT.items() <= contents(folder).items()
    assert list(paths.downloads.iterdir()) == []


def test_the_list_says_what_is_installed(paths: Paths, official: Path) -> None:
    (before,) = list_datasets(paths)
    import_dataset(paths, "cifar10", official)
    (after,) = list_datasets(paths)
    assert (before.id, before.installed, after.installed) == ("cifar10", False, True)
    assert after.sha256 == cifar10.SOURCE.sha256


def test_a_second_import_takes_the_place_of_the_first(paths: Paths, official: Path) -> None:
    folder = import_dataset(paths, "cifar10", official)
    (folder / "data_batch_1.bin").write_bytes(b"spoilt")
    import_dataset(paths, "cifar10", official)
    assert (folder / "data_batch_1.bin").read_bytes() == CONTENT["data_batch_1.bin"]
    assert list(paths.datasets.iterdir()) == [folder]


def test_removing_takes_the_data_and_unfinished_or_unused_downloads(paths: Paths, official: Path) -> None:
    import_dataset(paths, "cifar10", official)
    for name in ("cifar10.tar.gz", "cifar10.tar.gz.part"):
        (paths.downloads / name).write_bytes(b"half")
    assert remove_dataset(paths, "cifar10")
    assert list(paths.datasets.iterdir()) == list(paths.downloads.iterdir()) == []
    assert not remove_dataset(paths, "cifar10")


@pytest.mark.parametrize("name", ["mnist", "", "../cifar10", "CIFAR10"])
def test_an_unknown_name_is_refused_everywhere(paths: Paths, official: Path, name: str) -> None:
    acts: list[Callable[[], object]] = [
        lambda: import_dataset(paths, name, official),
        lambda: fetch_dataset(paths, name),
        lambda: remove_dataset(paths, name),
    ]
    for act in acts:
        with pytest.raises(UsageError, match="There is no data set") as refused:
            act()
        assert "cifar10" in (refused.value.advice or "")


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda raw: raw[::-1], lambda raw: b""]
)
def test_another_file_than_the_official_one_is_refused_and_named(
    paths: Paths, official: Path, spoil: Callable[[bytes], bytes]
) -> None:
    official.write_bytes(spoil(official.read_bytes()))
    with pytest.raises(UsageError, match=r"official\.tar\.gz is not the expected file") as refused:
        import_dataset(paths, "cifar10", official)
    assert "cifar-10-binary.tar.gz" in (refused.value.advice or "")
    assert not paths.datasets.exists()


def test_a_missing_file_or_a_folder_is_refused(paths: Paths, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        import_dataset(paths, "cifar10", tmp_path / "missing.tar.gz")
    with pytest.raises(UsageError, match="is not the expected file"):
        import_dataset(paths, "cifar10", tmp_path)


def test_a_refused_archive_leaves_the_old_install_as_it_was(
    paths: Paths, official: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(paths, "cifar10", official)
    before = contents(folder)
    link = adding(f"{FOLDER}/test_batch.bin", kind=tarfile.SYMTYPE, link="/etc/passwd")
    hostile = make_official(tmp_path / "hostile.tar.gz", monkeypatch, last=link)
    with pytest.raises(AppError, match=r"hostile\.tar\.gz was refused: .*test_batch\.bin is no regular file"):
        import_dataset(paths, "cifar10", hostile)
    assert contents(folder) == before
    assert list(paths.datasets.iterdir()) == [folder]


def test_a_disk_that_fills_up_leaves_the_old_install_as_it_was(
    paths: Paths, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(paths, "cifar10", official)
    before = contents(folder)

    def fill_up(archive: Path, fresh: Path) -> None:
        (fresh / "data_batch_1.bin").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cifar10, "unpack", fill_up)
    with pytest.raises(AppError, match=r"cannot be installed .*No space left"):
        import_dataset(paths, "cifar10", official)
    assert contents(folder) == before
    assert list(paths.datasets.iterdir()) == [folder]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root may write to")
def test_a_folder_that_cannot_be_written_is_one_sentence(paths: Paths, official: Path) -> None:
    paths.datasets.symlink_to("/proc")
    with pytest.raises(AppError, match="cannot be installed"):
        import_dataset(paths, "cifar10", official)


def test_a_file_in_place_of_a_folder_is_one_sentence(paths: Paths, official: Path) -> None:
    paths.datasets.mkdir()
    (paths.datasets / "cifar10").write_text("a file")
    with pytest.raises(AppError, match="cannot be installed"):
        import_dataset(paths, "cifar10", official)
    with pytest.raises(AppError, match="cannot be removed"):
        remove_dataset(paths, "cifar10")
    assert [path.name for path in paths.datasets.iterdir()] == ["cifar10"]


def test_leftovers_of_a_killed_install_are_cleaned_up(paths: Paths, official: Path) -> None:
    leftover = paths.datasets / ".cifar10-abc"
    leftover.mkdir(parents=True)
    (leftover / "data_batch_1.bin").write_bytes(b"half")
    folder = import_dataset(paths, "cifar10", official)
    assert list(paths.datasets.iterdir()) == [folder]


def test_a_whole_download_is_not_fetched_again(paths: Paths, official: Path) -> None:
    shutil.copy(official, paths.downloads / "cifar10.tar.gz")
    # Nobody listens there.
    folder = fetch_dataset(paths, "cifar10", "http://127.0.0.1:1/cifar.tar.gz")
    assert cifar10.is_installed(folder)
    assert list(paths.downloads.iterdir()) == []
