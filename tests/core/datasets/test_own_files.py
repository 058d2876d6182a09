"""Which files of an installation, of photos and of downloads are ours, and names that are hard to handle."""

import json
import os
import sys
from pathlib import Path

import pytest

from app.core.datasets import own_files
from app.core.datasets.install import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.paths import Paths, default_paths
from tests.archives import make_nietzsche
from tests.saying import said
from workloads.datasets import flowers


def test_photos_of_the_users_own_are_told_from_those_that_were_installed(paths: Paths) -> None:
    folder = paths.datasets / "flowers"
    own, records = ["daisy/1_a.jpg", "roses/2_b.jpg"], "tfrecords-128/photos-00.tfrec"
    names = [*own, records, ".tfrecords-32-abcdefgh/photos-03.tfrec", "LICENSE.txt", "contents.sha256"]
    theirs = ["daisy/my-daisy.jpg", "lilies/1_a.jpg", "tfrecords-128/notes.txt", "tulips/more/1_a.jpg"]
    for name in (*names, *theirs):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    note = {"dataset": "flowers", "files": [], "contents": own, "installed_at": "2026-11-20T10:00:00Z"}
    (folder / "installed.json").write_text(json.dumps(note))
    removal = remove_dataset(paths, "flowers")
    assert removal.kept == ("daisy/my-daisy.jpg", "lilies/", "tfrecords-128/notes.txt", "tulips/more/")
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(theirs)


def test_photos_of_an_earlier_version_are_known_by_a_list(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flowers, "TRAIN_COUNT", 1)
    monkeypatch.setattr(flowers, "TEST_COUNT", 1)
    folder = paths.datasets / "flowers"
    for name in ("daisy/1_a.jpg", "roses/2_b.jpg", "roses/mine.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    (folder / "photos.txt").write_text("daisy/1_a.jpg\nroses/2_b.jpg\n")
    (folder / "installed.json").write_text('{"files": [], "installed_at": "2026-11-20T10:00:00Z"}')
    assert remove_dataset(paths, "flowers").kept == ("roses/mine.jpg",)
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "roses" / "mine.jpg"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_downloads_are_removed_but_nothing_else_in_their_place(paths: Paths, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("mine")
    target = paths.downloads / "nietzsche-nietzsche.txt"
    target.symlink_to(own)
    target.with_name(target.name + ".part").mkdir()
    assert not remove_dataset(paths, "nietzsche").was_there
    with pytest.raises(AppError, match=said("dataset.in_the_way_of_download", path="nietzsche.txt").pattern):
        fetch_dataset(paths, "nietzsche", "http://127.0.0.1:1/")
    target.unlink()
    with pytest.raises(AppError, match=said("dataset.in_the_way_of_download", path=".part").pattern):
        fetch_dataset(paths, "nietzsche", "http://127.0.0.1:1/")
    part = target.with_name(target.name + ".part")
    part.rmdir()
    for lead in (part.symlink_to, part.hardlink_to):
        lead(own)
        with pytest.raises(AppError, match=said("dataset.in_the_way_of_download").pattern):
            fetch_dataset(paths, "nietzsche", "http://127.0.0.1:1/")
        part.unlink()
    assert own.read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", [b"caf\xff\xe9", b"a b'c\"d", b"two\nlines", "ü…×".encode(), b"-rf"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    paths = default_paths({"EPOCHMARK_HOME": str(tmp_path / os.fsdecode(name))})
    paths.create()
    text = tmp_path / "nietzsche.txt"
    text.write_bytes(make_nietzsche())
    folder = import_dataset(paths, "nietzsche", text)
    assert list_datasets(paths)[4].installed
    (folder / os.fsdecode(name)).write_text("mine")
    removal = remove_dataset(paths, "nietzsche")
    assert removal.kept == (os.fsdecode(name),)
    assert own_files.named(removal.kept).isprintable()
    with pytest.raises(UsageError) as refused:
        import_dataset(paths, "nietzsche", text)
    assert str(refused.value).isprintable()
