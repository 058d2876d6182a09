"""Data sets on disk, from real archives with small files: installed whole or not at all, hostile ones refused."""

import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from app.core.datasets.downloads import DownloadError
from app.core.datasets.install import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.messages import Message
from app.core.paths import Paths, with_datasets_folder
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import all_ids
from tests.archives import CONTENT, FILE, FOLDER, SIZE_BYTES, Change, adding, contents, make_archive, passing
from tests.core.datasets.acts import acts_on
from tests.core.datasets.server import broken_after, resumable, serving
from tests.core.runs.running import start_run
from tests.saying import said
from workloads import CATALOGUE
from workloads.datasets import DATASETS, cifar10
from workloads.protocol.machine import Machine


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_official(tmp_path / "official.tar.gz", monkeypatch)


def make_official(archive: Path, monkeypatch: pytest.MonkeyPatch, **changes: Change) -> Path:
    make_archive(archive, **changes)
    monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: archive.read_bytes()}))
    return archive


def test_an_import_installs_six_files_and_a_note_and_keeps_the_archive(paths: Paths, official: Path) -> None:
    folder = import_dataset(paths, "cifar10", official)
    found = contents(folder)
    assert b'"sha256"' in found.pop("installed.json")
    assert found == CONTENT
    assert folder == paths.datasets / "cifar10"
    assert list(paths.datasets.iterdir()) == [folder]
    assert official.exists()


def test_a_fetch_installs_its_download_and_resumes_after_a_break(paths: Paths, official: Path) -> None:
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
    before = list_datasets(paths)
    import_dataset(paths, "cifar10", official)
    after = list_datasets(paths)
    assert [dataset.id for dataset in before] == list(DATASETS)
    assert [dataset.installed for dataset in before] == [False] * len(DATASETS)
    assert [dataset.id for dataset in after if dataset.installed] == ["cifar10"]
    assert after[0].files == cifar10.SOURCE.files
    assert [dataset.id for dataset in after if not dataset.fetchable] == ["ptb"]


def test_a_second_import_takes_the_place_of_the_first(paths: Paths, official: Path) -> None:
    folder = import_dataset(paths, "cifar10", official)
    (folder / "data_batch_1.bin").write_bytes(b"spoilt")
    import_dataset(paths, "cifar10", official)
    assert (folder / "data_batch_1.bin").read_bytes() == CONTENT["data_batch_1.bin"]
    assert list(paths.datasets.iterdir()) == [folder]


def test_removing_takes_the_data_and_unfinished_or_unused_downloads(paths: Paths, official: Path) -> None:
    import_dataset(paths, "cifar10", official)
    for name in (f"cifar10-{FILE}", f"cifar10-{FILE}.part"):
        (paths.downloads / name).write_bytes(b"half")
    assert remove_dataset(paths, "cifar10").was_there
    assert list(paths.datasets.iterdir()) == list(paths.downloads.iterdir()) == []
    assert not remove_dataset(paths, "cifar10").was_there


@pytest.mark.parametrize("name", ["nonsense", "", "../cifar10", "CIFAR10"])
def test_an_unknown_name_is_refused_everywhere(paths: Paths, official: Path, name: str) -> None:
    for act in acts_on(paths, name, official):
        with pytest.raises(UsageError, match=said("dataset.unknown_dataset").pattern) as refused:
            act()
        assert "cifar10" in (refused.value.advice_text or "")


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda raw: raw[::-1], lambda raw: b""]
)
def test_an_unofficial_file_is_refused(paths: Paths, official: Path, spoil: Callable[[bytes], bytes]) -> None:
    official.write_bytes(spoil(official.read_bytes()))
    with pytest.raises(UsageError) as refused:
        import_dataset(paths, "cifar10", official)
    assert isinstance(refused.value.message, Message)
    assert refused.value.message.code in {"dataset.wrong_size", "dataset.wrong_checksum"}
    assert "cifar-10-binary.tar.gz" in (refused.value.advice_text or "")
    assert not paths.datasets.exists()


@pytest.mark.parametrize("name", ["missing.tar.gz", "x" * 300, "a\0b"])
def test_a_file_that_cannot_be_read_is_refused(paths: Paths, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=said("files.unreadable").pattern):
        import_dataset(paths, "cifar10", tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes in folders")
@pytest.mark.parametrize("dataset_id", ["cifar10", "nietzsche"])
def test_a_pipe_is_refused_instead_of_waited_for(paths: Paths, tmp_path: Path, dataset_id: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=said("dataset.not_a_regular_file", file="pipe").pattern):
        import_dataset(paths, dataset_id, tmp_path / "pipe")


def test_an_archive_is_found_in_its_folder_by_its_name(paths: Paths, official: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said("dataset.files_missing", files=FILE, places=tmp_path).pattern):
        import_dataset(paths, "cifar10", tmp_path)
    official.rename(tmp_path / FILE)
    assert cifar10.is_installed(import_dataset(paths, "cifar10", tmp_path))


def test_a_refused_archive_leaves_the_old_install_as_it_was(
    paths: Paths, official: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(paths, "cifar10", official)
    before = contents(folder)
    link = adding(f"{FOLDER}/test_batch.bin", kind=tarfile.SYMTYPE, link="/etc/passwd")
    hostile = make_official(tmp_path / "hostile.tar.gz", monkeypatch, last=link)
    with pytest.raises(AppError, match=said("archive.not_regular", file=f"{FOLDER}/test_batch.bin").pattern):
        import_dataset(paths, "cifar10", hostile)
    assert contents(folder) == before
    assert list(paths.datasets.iterdir()) == [folder]


def test_a_disk_that_fills_up_leaves_the_old_install_as_it_was(
    paths: Paths, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(paths, "cifar10", official)
    before = contents(folder)

    def fill_up(files: Mapping[str, Path], fresh: Path) -> None:
        (fresh / "data_batch_1.bin").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cifar10, "install", fill_up)
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(paths, "cifar10", official)
    assert contents(folder) == before
    assert list(paths.datasets.iterdir()) == [folder]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root may write to")
def test_a_folder_that_cannot_be_written_is_one_sentence(paths: Paths, official: Path) -> None:
    paths.datasets.symlink_to("/proc")
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(paths, "cifar10", official)


def test_a_data_set_goes_into_the_folder_that_the_user_chose(paths: Paths, official: Path, tmp_path: Path) -> None:
    (tmp_path / "drive").mkdir()
    chosen = with_datasets_folder(paths, str(tmp_path / "drive"))
    assert import_dataset(chosen, "cifar10", official) == tmp_path / "drive" / "cifar10"
    assert [list_datasets(place)[0].installed for place in (chosen, paths)] == [True, False]
    assert remove_dataset(chosen, "cifar10").was_there
    assert not paths.datasets.exists()


@pytest.mark.parametrize("folder", ["unplugged", "x" * 300, None])
def test_a_folder_on_an_unplugged_drive_is_said_before_anything_is_downloaded(
    paths: Paths, official: Path, tmp_path: Path, folder: str | None
) -> None:
    chosen = with_datasets_folder(paths, str(tmp_path / folder) if folder else "relative")
    assert not list_datasets(chosen)[0].installed
    with serving() as server:
        server.content = official.read_bytes()
        for act in acts_on(chosen, "cifar10", official, server.url):
            with pytest.raises(UsageError) as refused:
                act()
            assert isinstance(refused.value.message, Message)
            assert refused.value.message.code.startswith("folders.datasets_")
    assert server.ranges == []
    assert list(paths.downloads.iterdir()) == []
    assert not (tmp_path / "unplugged").exists()


@pytest.mark.slow
def test_a_run_of_real_data_on_an_unplugged_drive_is_refused_before_it_begins(
    paths: Paths, machine: Machine, tmp_path: Path
) -> None:
    runner = Runner(with_datasets_folder(paths, str(tmp_path / "unplugged")), machine)
    with pytest.raises(UsageError, match=said("folders.datasets_missing", folder=tmp_path / "unplugged").pattern):
        start_run(runner, CATALOGUE["cifar10_keras_cnn"].default_spec(data="real"))
    with Database(paths.database) as database:
        assert all_ids(database) == []
    assert start_run(runner, CATALOGUE["demo"].default_spec(data="real", epochs=1)).wait(30)


def test_a_drive_that_goes_while_data_is_installed_is_one_sentence(
    paths: Paths, official: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = tmp_path / "drive"
    drive.mkdir()

    def unplug(files: Mapping[str, Path], fresh: Path) -> None:
        shutil.rmtree(drive)
        (fresh / "data_batch_1.bin").write_bytes(b"half")

    monkeypatch.setattr(cifar10, "install", unplug)
    # Windows says that the folder is in use.
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(with_datasets_folder(paths, str(drive)), "cifar10", official)


def test_a_whole_download_is_not_fetched_again(paths: Paths, official: Path) -> None:
    shutil.copy(official, paths.downloads / f"cifar10-{FILE}")
    # Nobody listens there.
    folder = fetch_dataset(paths, "cifar10", "http://127.0.0.1:1/cifar.tar.gz")
    assert cifar10.is_installed(folder)
    assert list(paths.downloads.iterdir()) == []
