"""Data sets on disk, from real archives with small files: one file each, stored whole or not at all."""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.core.datasets.downloads import DownloadError, WrongFileError
from app.core.datasets.install import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.messages import Message
from app.core.paths import Paths, default_paths
from tests.archives import CONTENT, FILE, make_archive, make_nietzsche, passing
from tests.core.datasets.acts import acts_on
from tests.core.datasets.server import broken_after, resumable, serving
from tests.saying import said
from workloads.datasets import DATASETS, cifar10, nietzsche

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and limits of what may be written")


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    archive = make_archive(tmp_path / "official.tar.gz")
    monkeypatch.setattr(cifar10, "SOURCE", passing(cifar10.SOURCE, {FILE: archive.read_bytes()}))
    return archive


def snapshot(folder: Path) -> dict[str, tuple[str, bytes]]:
    found = {}
    for root, folders, names in os.walk(folder):
        for path in (Path(root, name) for name in (*folders, *names)):
            mode = path.lstat().st_mode
            content = path.read_bytes() if stat.S_ISREG(mode) else b""
            if stat.S_ISLNK(mode):
                content = os.fsencode(path.readlink())
            found[path.relative_to(folder).as_posix()] = (stat.filemode(mode)[0], content)
    return found


def test_an_import_stores_one_file_and_keeps_the_archive(paths: Paths, official: Path) -> None:
    file = import_dataset(paths, "cifar10", official)
    assert list(paths.datasets.iterdir()) == [file]
    found = cifar10.load(file, scale=1)
    assert found.y_train[:, 0].tolist() == found.x_train[:, 31, 31, 2].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert found.x_test.shape == (len(CONTENT["test_batch.bin"]) // cifar10.RECORD_BYTES, 32, 32, 3)
    assert official.exists()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask(), "readable like any other file"


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_a_fetch_stores_its_download_and_resumes_after_a_break(paths: Paths, official: Path) -> None:
    with serving() as server:
        server.content = official.read_bytes()
        server.answer = broken_after(100)
        with pytest.raises(DownloadError):
            fetch_dataset(paths, "cifar10", server.url)
        assert not paths.datasets.exists()
        server.answer = resumable
        file = fetch_dataset(paths, "cifar10", server.url)
    assert server.ranges == [None, "bytes=100-"]
    assert list(paths.datasets.iterdir()) == [file]
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


def test_a_second_import_or_fetch_takes_the_place_of_a_damaged_file(paths: Paths, official: Path) -> None:
    file = import_dataset(paths, "cifar10", official)
    whole = cifar10.load(file).checksum
    with serving() as server:
        server.content = official.read_bytes()
        for act in acts_on(paths, "cifar10", official, server.url)[:2]:
            file.write_bytes(b"spoilt")
            act()
            assert cifar10.load(file).checksum == whole
    assert list(paths.datasets.iterdir()) == [file]


def test_removing_takes_the_data_and_unfinished_or_unused_downloads(paths: Paths, official: Path) -> None:
    import_dataset(paths, "cifar10", official)
    for name in (f"cifar10-{FILE}", f"cifar10-{FILE}.part"):
        (paths.downloads / name).write_bytes(b"half")
    assert remove_dataset(paths, "cifar10")
    assert list(paths.datasets.iterdir()) == list(paths.downloads.iterdir()) == []
    assert not remove_dataset(paths, "cifar10")


def test_what_is_not_ours_stays_whatever_is_done(mine: Paths, text: Path) -> None:
    """Also a folder in which an earlier version stored the data set: it's neither used nor deleted."""
    for name in ("nietzsche", ".nietzsche-backup", ".nietzsche-abcdefgh.epochmark-new", "mnist"):
        (mine.datasets / name).mkdir()
        (mine.datasets / name / "nietzsche.txt").write_text("years")
        (mine.datasets / name / "installed.json").write_text('{"files": [], "installed_at": ""}')
    stored = nietzsche.SOURCE.stored_in(mine.datasets).name
    for name in (f"{stored}.bak", f"my {stored}", "nietzsche.npz", ".nietzsche-abcdefgh.tmp"):
        (mine.datasets / name).write_text("mine")
        os.utime(mine.datasets / name, (0, 0))
    before = snapshot(mine.datasets)
    assert not list_datasets(mine)[4].installed
    assert not remove_dataset(mine, "nietzsche")
    assert snapshot(mine.datasets) == before
    with serving() as server:
        server.content = text.read_bytes()
        for act in acts_on(mine, "nietzsche", text, server.url):
            act()
            assert before.items() <= snapshot(mine.datasets).items()
    assert snapshot(mine.datasets) == before


@posix_only
def test_a_folder_a_pipe_or_a_link_with_the_name_of_the_file_is_not_deleted(
    mine: Paths, text: Path, tmp_path: Path
) -> None:
    place, own = nietzsche.SOURCE.stored_in(mine.datasets), tmp_path / "own.txt"
    own.write_text("mine")
    for make in (Path.mkdir, os.mkfifo, lambda path: path.symlink_to(own)):
        make(place)
        before = snapshot(mine.datasets)
        assert not remove_dataset(mine, "nietzsche")
        assert snapshot(mine.datasets) == before
        if place.is_dir():
            with pytest.raises(AppError, match=said("files.not_installed", title="Nietzsche").pattern):
                import_dataset(mine, "nietzsche", text)
            assert snapshot(mine.datasets) == before
            place.rmdir()
        else:
            place.unlink()
    place.symlink_to(own)
    import_dataset(mine, "nietzsche", text)
    assert own.read_text() == "mine", "the file replaces the link, not what it leads to"


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
    assert import_dataset(paths, "cifar10", tmp_path).is_file()


def test_an_unofficial_text_leaves_the_old_data_as_it_was(mine: Paths, text: Path, tmp_path: Path) -> None:
    import_dataset(mine, "nietzsche", text)
    before = snapshot(mine.datasets)
    other = tmp_path / "other.txt"
    other.write_bytes(text.read_bytes()[::-1])
    with pytest.raises(WrongFileError, match=said("dataset.other_contents", file=other).pattern) as refused:
        import_dataset(mine, "nietzsche", other)
    assert said("dataset.use_official_file", file="nietzsche.txt").is_all_of(refused.value.advice_text)
    assert snapshot(mine.datasets) == before


@posix_only
def test_a_disk_that_fills_up_leaves_the_old_data_as_it_was(mine: Paths, text: Path) -> None:
    import resource

    import_dataset(mine, "nietzsche", text)
    state = snapshot(mine.datasets)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit_bytes in (0, 300_000, 601_500):  # at once, inside the text, and in the file's table at the end
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
        try:
            with pytest.raises(AppError, match=said("files.not_installed", title="Nietzsche").pattern) as failed:
                import_dataset(mine, "nietzsche", text)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert said("dataset.free_space_or_move_home").is_all_of(failed.value.advice_text)
        assert snapshot(mine.datasets) == state


def test_a_file_that_cannot_be_replaced_is_one_sentence(
    mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_dataset(mine, "nietzsche", text)
    before = snapshot(mine.datasets)

    def fail(path: Path, target: Path) -> Path:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(AppError, match=said("files.not_installed", reason="Input/output error").pattern) as failed:
        import_dataset(mine, "nietzsche", text)
    assert said("engines.check_folder").is_all_of(failed.value.advice_text)
    assert snapshot(mine.datasets) == before


def test_a_removal_that_failed_is_one_sentence(mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_dataset(mine, "nietzsche", text)

    def fail(path: Path, missing_ok: bool = False) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        why = said("files.not_removed", title="Nietzsche", folder=mine.datasets, reason="Read-only file system")
        with pytest.raises(AppError, match=why.pattern) as failed:
            remove_dataset(mine, "nietzsche")
    assert said("engines.check_folder").is_all_of(failed.value.advice_text)
    assert remove_dataset(mine, "nietzsche")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root may write to")
def test_a_folder_that_cannot_be_written_is_one_sentence(paths: Paths, official: Path) -> None:
    paths.datasets.symlink_to("/proc")
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(paths, "cifar10", official)


def test_a_drive_that_goes_while_data_is_installed_is_one_sentence(
    paths: Paths, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = cifar10.convert

    def unplug(files: Mapping[str, Path]) -> dict[str, Any]:
        shutil.rmtree(paths.datasets)
        return convert(files)

    monkeypatch.setattr(cifar10, "convert", unplug)
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(paths, "cifar10", official)


def test_a_whole_download_is_not_fetched_again(paths: Paths, official: Path) -> None:
    shutil.copy(official, paths.downloads / f"cifar10-{FILE}")
    # Nobody listens there.
    assert fetch_dataset(paths, "cifar10", "http://127.0.0.1:1/cifar.tar.gz").is_file()
    assert list(paths.downloads.iterdir()) == []


@posix_only
def test_downloads_are_removed_but_nothing_else_in_their_place(paths: Paths, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("mine")
    target = paths.downloads / "nietzsche-nietzsche.txt"
    target.symlink_to(own)
    target.with_name(target.name + ".part").mkdir()
    assert not remove_dataset(paths, "nietzsche")
    with pytest.raises(AppError, match=said("dataset.in_the_way_of_download", path="nietzsche.txt").pattern):
        fetch_dataset(paths, "nietzsche", "http://127.0.0.1:1/")
    assert own.read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", [b"caf\xff\xe9", b"a b'c\"d", b"two\nlines", "ü…×".encode(), b"-rf", b"[a]*"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    paths = default_paths({"EPOCHMARK_HOME": str(tmp_path / os.fsdecode(name))})
    paths.create()
    text = tmp_path / "nietzsche.txt"
    text.write_bytes(make_nietzsche())
    assert nietzsche.load(import_dataset(paths, "nietzsche", text)).source == "real"
    assert list_datasets(paths)[4].installed
    assert remove_dataset(paths, "nietzsche")
