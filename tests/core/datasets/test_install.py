"""Data sets on disk, from real archives with small files: stored whole or not at all, by one process at a time."""

import gzip
import hashlib
import math
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.core import locks
from app.core.datasets.downloads import DownloadError, WrongFileError
from app.core.datasets.install import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.paths import Paths
from tests.archives import CONTENT, FILE, make_archive, passing
from tests.conftest import ROOT
from tests.core.datasets.server import Handler, broken_after, halted, resumable, serving
from tests.saying import said
from tests.sure import sure
from workloads.datasets import DATASETS, cifar10, fashion_mnist, mnist, nietzsche, ptb

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and limits of what may be written")


NOBODY = "http://127.0.0.1:1/"  # listens there


def acts_on(
    paths: Paths, name: str, file: Path, url: str = NOBODY, waits: Callable[[], None] = lambda: None
) -> list[Callable[[], object]]:
    """Return all that can be done with a data set: to import, to fetch and to remove it."""
    return [
        partial(import_dataset, paths, name, file, waits=waits),
        partial(fetch_dataset, paths, name, url, waits=waits),
        partial(remove_dataset, paths, name, waits),
    ]


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
    before = list_datasets(paths)
    assert [(dataset.id, dataset.installed) for dataset in before] == [(name, False) for name in DATASETS]
    assert [dataset.id for dataset in before if not dataset.fetchable] == ["ptb"]
    file = import_dataset(paths, "cifar10", official)
    assert list(paths.datasets.iterdir()) == [file]
    found = cifar10.load(file, scale=1)
    assert found.y_train[:, 0].tolist() == found.x_train[:, 31, 31, 2].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert found.x_test.shape == (len(CONTENT["test_batch.bin"]) // cifar10.RECORD_BYTES, 32, 32, 3)
    assert official.exists()
    plain = official.with_name("plain")
    plain.write_bytes(b"")
    assert file.stat().st_mode == plain.stat().st_mode, "readable like any other file"
    after = list_datasets(paths)
    assert [(dataset.id, dataset.files) for dataset in after if dataset.installed] == [
        ("cifar10", cifar10.SOURCE.files)
    ]


def test_a_second_import_or_fetch_repairs_the_file_and_removing_takes_all(paths: Paths, official: Path) -> None:
    file = import_dataset(paths, "cifar10", official)
    whole = cifar10.load(file).checksum
    with serving() as server:
        server.content = official.read_bytes()
        for act in acts_on(paths, "cifar10", official, server.url)[:2]:
            file.write_bytes(b"spoilt")
            act()
            assert cifar10.load(file).checksum == whole
    for name in (f"cifar10-{FILE}", f"cifar10-{FILE}.part"):
        (paths.downloads / name).write_bytes(b"half")
    assert remove_dataset(paths, "cifar10")
    assert list(paths.datasets.iterdir()) == list(paths.downloads.iterdir()) == []
    assert not remove_dataset(paths, "cifar10")


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
    shutil.copy(official, paths.downloads / f"cifar10-{FILE}")
    assert fetch_dataset(paths, "cifar10", NOBODY) == file, "a whole download is not fetched again"
    assert list(paths.downloads.iterdir()) == []


def test_an_unknown_name_is_refused_everywhere(paths: Paths, official: Path) -> None:
    for act in acts_on(paths, "../cifar10", official):
        with pytest.raises(UsageError, match=said("dataset.unknown_dataset").pattern) as refused:
            act()
        assert "cifar10" in (refused.value.advice_text or "")


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


@posix_only
def test_what_is_no_official_file_leaves_the_old_data_as_it_was(
    mine: Paths, text: Path, official: Path, tmp_path: Path
) -> None:
    import_dataset(mine, "nietzsche", text)
    before = snapshot(mine.datasets)
    other, pipe = tmp_path / "other.txt", tmp_path / "pipe"
    other.write_bytes(text.read_bytes()[::-1])
    os.mkfifo(pipe)
    with pytest.raises(WrongFileError, match=said("dataset.other_contents", file=other).pattern) as refused:
        import_dataset(mine, "nietzsche", other)
    assert said("dataset.use_official_file", file="nietzsche.txt").is_all_of(refused.value.advice_text)
    raw = official.read_bytes()
    for spoilt, code in ((raw[:-1], "size"), (raw + b"x", "size"), (b"", "size"), (raw[::-1], "checksum")):
        official.write_bytes(spoilt)
        with pytest.raises(UsageError, match=said(f"dataset.wrong_{code}").pattern) as wrong:
            import_dataset(mine, "cifar10", official)
        assert "cifar-10-binary.tar.gz" in (wrong.value.advice_text or "")
    for dataset_id in ("cifar10", "nietzsche"):
        with pytest.raises(UsageError, match=said("dataset.not_a_regular_file", file="pipe").pattern):
            import_dataset(mine, dataset_id, pipe)
        for name in ("missing.tar.gz", "x" * 300, "a\0b"):
            with pytest.raises(UsageError, match=said("files.unreadable").pattern):
                import_dataset(mine, dataset_id, tmp_path / name)
    assert snapshot(mine.datasets) == before


def test_a_drive_that_fails_is_one_sentence(
    mine: Paths, text: Path, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_dataset(mine, "nietzsche", text)
    before = snapshot(mine.datasets)

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        why = said("files.not_installed", reason="Input/output error")
        with pytest.raises(AppError, match=why.pattern) as failed:
            import_dataset(mine, "nietzsche", text)
    assert said("engines.check_folder").is_all_of(failed.value.advice_text)
    assert snapshot(mine.datasets) == before
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        why = said("files.not_removed", title="Nietzsche", folder=mine.datasets, reason="Input/output error")
        with pytest.raises(AppError, match=why.pattern):
            remove_dataset(mine, "nietzsche")
    convert = cifar10.convert

    def unplug(files: Mapping[str, Path]) -> dict[str, Any]:
        shutil.rmtree(mine.datasets)
        return convert(files)

    monkeypatch.setattr(cifar10, "convert", unplug)
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(mine, "cifar10", official)


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


SHAPES = dict(zip(mnist.FILES.values(), ((6, 28, 28), (6,), (4, 28, 28), (4,)), strict=True))


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Four small files that pass for MNIST's; Fashion-MNIST takes the same contents, however they are packed."""
    contents = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        mark = (0x0800 + len(shape), *shape)
        values = bytes([number]) * math.prod(shape)
        contents[name] = b"".join(part.to_bytes(4, "big") for part in mark) + values
    files = {name: gzip.compress(content) for name, content in contents.items()}
    monkeypatch.setattr(mnist, "SOURCE", passing(mnist.SOURCE, files))
    monkeypatch.setattr(fashion_mnist, "SOURCE", passing(fashion_mnist.SOURCE, files))
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(fashion_mnist, "CONTENTS", digests)
    return files


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def test_several_files_are_fetched_in_turn_and_counted_together(paths: Paths, digits: dict[str, bytes]) -> None:
    told: list[tuple[int, int]] = []
    with serving() as server:
        server.files = digits
        file = fetch_dataset(paths, "mnist", f"{server.url}/mirror/", lambda *progress: told.append(progress))
    assert server.asked == list(digits)
    assert mnist.load(file).x_train.shape == (6, 28, 28, 1)
    sizes = [len(content) for content in digits.values()]
    assert told == [(sum(sizes[: number + 1]), sum(sizes)) for number in range(4)]
    assert list(paths.downloads.iterdir()) == []
    assert list(paths.datasets.iterdir()) == [file]


def test_a_break_in_the_third_file_keeps_the_first_two_and_resumes(paths: Paths, digits: dict[str, bytes]) -> None:
    third = list(digits)[2]
    with serving() as server:
        server.files = digits

        def answer(handler: Handler, start: int) -> None:
            (broken_after(20) if handler.path.endswith(third) else resumable)(handler, start)

        server.answer = answer
        with pytest.raises(DownloadError):
            fetch_dataset(paths, "mnist", server.url)
        assert {path.name for path in paths.downloads.iterdir()} == {
            *(f"mnist-{name}" for name in list(digits)[:2]),
            f"mnist-{third}.part",
        }
        assert not paths.datasets.exists()
        server.answer = resumable
        server.asked.clear()
        server.ranges.clear()
        assert fetch_dataset(paths, "mnist", server.url).is_file()
    assert server.asked == list(digits)[2:]
    assert server.ranges == ["bytes=20-", None]
    assert list(paths.downloads.iterdir()) == []


def test_a_download_whose_contents_are_refused_is_not_kept(paths: Paths, digits: dict[str, bytes]) -> None:
    """No checksum of the packed files is known, so only their contents show it; the sizes are right."""
    name = list(digits)[3]
    spoilt = digits | {name: digits[name][:-8] + bytes(8)}
    with serving() as server:
        server.files = spoilt
        with pytest.raises(AppError, match=said("dataset.other_contents", file=name).pattern):
            fetch_dataset(paths, "fashion_mnist", server.url)
        assert list(paths.downloads.iterdir()) == list(paths.datasets.iterdir()) == []
        server.files = digits
        assert fetch_dataset(paths, "fashion_mnist", server.url).is_file()


def test_files_are_imported_by_name_from_anywhere(paths: Paths, digits: dict[str, bytes], tmp_path: Path) -> None:
    files = write_all(tmp_path / "here", digits)
    there = tmp_path / "there"
    there.mkdir()
    files[0] = files[0].rename(there / files[0].name)
    for places in (list(reversed(files)), [tmp_path / "here", there], [files[0], tmp_path / "here"]):
        assert import_dataset(paths, "mnist", *places).is_file()
        assert remove_dataset(paths, "mnist")
    assert all(file.exists() for file in files)


def test_a_file_that_is_missing_is_named(paths: Paths, digits: dict[str, bytes], tmp_path: Path) -> None:
    files = write_all(tmp_path / "here", digits)
    missing = said("dataset.files_missing", files=files[2].name, title="MNIST")
    with pytest.raises(UsageError, match=missing.pattern):
        import_dataset(paths, "mnist", *files[:2], files[3])
    missing = said("dataset.files_missing", files=", ".join(digits), title="MNIST", places=paths.data)
    with pytest.raises(UsageError, match=missing.pattern):
        import_dataset(paths, "mnist", paths.data)
    (tmp_path / "here" / "other.gz").write_bytes(b"x")
    with pytest.raises(
        UsageError, match=said("dataset.not_one_of_its_files", title="MNIST", path="other.gz").pattern
    ):
        import_dataset(paths, "mnist", *files, tmp_path / "here" / "other.gz")
    files[1].write_bytes(b"x" * len(digits[files[1].name]))
    with pytest.raises(UsageError, match=said("dataset.wrong_checksum", file=files[1]).pattern):
        import_dataset(paths, "mnist", tmp_path / "here")
    assert not paths.datasets.exists()


def test_fashion_mnist_may_be_packed_otherwise(paths: Paths, digits: dict[str, bytes], tmp_path: Path) -> None:
    again = {name: gzip.compress(gzip.decompress(packed), 1) + bytes(16) for name, packed in digits.items()}
    write_all(tmp_path / "here", again)
    with pytest.raises(UsageError, match=said("dataset.wrong_size").pattern):
        import_dataset(paths, "mnist", tmp_path / "here")
    assert import_dataset(paths, "fashion_mnist", tmp_path / "here").is_file()


def test_penn_treebank_is_never_fetched_but_can_be_imported(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server, pytest.raises(UsageError, match=said("dataset.not_downloadable").pattern) as refused:
        fetch_dataset(paths, "ptb", server.url)
    assert server.asked == []
    assert said("dataset.import_own_copy", dataset="ptb").is_in(refused.value.advice_text or "")
    texts = dict.fromkeys(ptb.FILES, b" a b <unk> \n c \n")
    files = write_all(tmp_path / "here", texts)
    with pytest.raises(AppError, match=said("dataset.other_contents", file=files[0]).pattern) as wrong:
        import_dataset(paths, "ptb", tmp_path / "here")
    assert said("dataset.use_official_file", file="ptb.train.txt").is_all_of(wrong.value.advice_text)
    assert list(paths.datasets.iterdir()) == []
    md5 = hashlib.md5(texts["ptb.test.txt"], usedforsecurity=False).hexdigest()
    monkeypatch.setattr(ptb, "MD5", dict.fromkeys(ptb.FILES, md5))
    assert ptb.load(import_dataset(paths, "ptb", *files)).train.tolist() == [2, 3, 1, 0, 4, 0]


Child = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def child(mine: Paths, text: Path) -> Iterator[Child]:
    """Start a process that has written the new file but not yet renamed it."""
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        arguments = ["-m", "tests.core.datasets.data_child", str(mine.data.parent), str(text)]
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert sure(process.stdout).readline() == "written\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def age(file: Path) -> None:
    """Let a file be as old as one that no process is still writing."""
    hours_ago_s = file.stat().st_mtime - 10_000
    os.utime(file, (hours_ago_s, hours_ago_s))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 2], ids=["import", "remove"])
def test_a_killed_import_leaves_the_old_file_and_a_draft_that_is_deleted_later(
    mine: Paths, text: Path, child: Child, number: int
) -> None:
    file = import_dataset(mine, "nietzsche", text)
    before = file.stat()
    killed = child()
    killed.kill()
    killed.wait()
    (draft,) = set(mine.datasets.iterdir()) - {file}
    assert file.stat() == before
    with serving() as server:
        server.content = text.read_bytes()
        act = acts_on(mine, "nietzsche", text, server.url, pytest.fail)[number]  # the lock is free again
        act()
        assert draft.exists(), "another process may still be writing it"
        age(draft)
        act()
    assert set(mine.datasets.iterdir()) == (set() if number == 2 else {file})


@pytest.mark.slow
def test_who_waits_goes_on_when_the_other_one_is_killed(mine: Paths, text: Path, child: Child) -> None:
    other = child()
    file = import_dataset(mine, "nietzsche", text, waits=other.kill)
    assert other.wait() != 0
    assert nietzsche.load(file).source == "real"


def test_waiting_can_be_given_up_at_once(mine: Paths, text: Path) -> None:
    def give_up() -> None:
        raise KeyboardInterrupt

    with sure(locks.acquire(mine.locks / "data-nietzsche.lock")):
        for act in acts_on(mine, "nietzsche", text, waits=give_up):
            with pytest.raises(KeyboardInterrupt):
                act()


def test_what_another_process_has_just_fetched_is_not_fetched_again(mine: Paths, text: Path) -> None:
    with serving() as server, ThreadPoolExecutor(4) as pool:
        server.content = text.read_bytes()
        begun, go_on = halted(server)
        first = pool.submit(fetch_dataset, mine, "nietzsche", server.url)
        assert begun.wait(30)

        def never(done_bytes: int, all_bytes: int) -> None:
            raise AssertionError

        waiting: list[None] = []

        def wait() -> None:
            waiting.append(None)
            if len(waiting) == 3:  # a latecomer fetches it again
                go_on.set()

        others = [pool.submit(fetch_dataset, mine, "nietzsche", server.url, never, wait) for _ in range(3)]
        files = {first.result(), *(other.result() for other in others)}
    assert server.ranges == [None]
    assert files == set(mine.datasets.iterdir())
    assert list(mine.downloads.iterdir()) == []
