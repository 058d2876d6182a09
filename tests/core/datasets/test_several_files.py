"""Data sets of several files: fetched in turn, imported by name, and Penn Treebank, which only its user has."""

import gzip
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.core.datasets.downloads import DownloadError
from app.core.datasets.install import fetch_dataset, import_dataset, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.paths import Paths
from tests.archives import passing
from tests.core.datasets.server import Handler, broken_after, resumable, serving
from tests.saying import said
from workloads.datasets import fashion_mnist, mnist, ptb

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


def test_a_download_can_be_given_up_between_files(paths: Paths, digits: dict[str, bytes]) -> None:
    def stop(done_bytes: int, all_bytes: int) -> None:
        if done_bytes >= len(digits["train-images-idx3-ubyte.gz"]):
            raise KeyboardInterrupt

    with serving() as server:
        server.files = digits
        with pytest.raises(KeyboardInterrupt):
            fetch_dataset(paths, "mnist", server.url, stop)
    assert server.asked == ["train-images-idx3-ubyte.gz"]
    assert remove_dataset(paths, "mnist")
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
