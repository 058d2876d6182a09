"""A folder of data sets that is the user's own: nothing in it goes but what Epochmark has put there."""

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from app.core.datasets import own_files
from app.core.datasets.install import fetch_dataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError, UsageError
from app.core.messages import message
from app.core.paths import Paths, default_paths
from tests.archives import make_nietzsche
from tests.core.datasets.acts import acts_on
from tests.core.datasets.server import serving
from tests.saying import said
from workloads.datasets import nietzsche
from workloads.datasets.source import HostileArchiveError

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
OLD_NOTE = '{"files": [{"name": "nietzsche.txt"}], "installed_at": "2026-11-20T10:00:00Z"}'


def strangers(names: str) -> re.Pattern[str]:
    return said("dataset.folder_has_strangers", names=names).pattern


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


def thesis(place: Path) -> None:
    place.mkdir()
    (place / "thesis.tex").write_text("years")


def mark(name: str) -> str:
    return json.dumps({"dataset": "nietzsche", "folder": name})


def a_file(place: Path) -> None:
    place.write_text("mine")


def unmarked(place: Path) -> None:
    noted(OLD_NOTE)(place)
    (place / "installed.json").unlink()


def noted(note: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        place.mkdir()
        (place / "nietzsche.txt").write_text("annotated")
        (place / "installed.json").write_text(note)

    return make


def linked_note(place: Path) -> None:
    noted(OLD_NOTE)(place)
    (place / "installed.json").rename(place.parent / "note.json")
    (place / "installed.json").symlink_to("../note.json")


def piped_note(place: Path) -> None:
    thesis(place)
    os.mkfifo(place / "installed.json")


def folder_as_note(place: Path) -> None:
    thesis(place)
    (place / "installed.json").mkdir()


def link(to: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        noted(OLD_NOTE)(place.with_name("elsewhere"))
        place.symlink_to(to)

    return make


FOREIGN: dict[str, Callable[[Path], None]] = {
    "files": thesis,
    "a file": a_file,
    "an unmarked text": unmarked,
    "a cut note": noted(OLD_NOTE[:40]),
    "an empty note": noted(""),
    "a note of something else": noted('{"version": 1}'),
    "a note of another data set": noted(OLD_NOTE.replace("{", '{"dataset": "mnist", ', 1)),
    "a note of wrong types": noted('{"files": "all", "installed_at": 5}'),
    "a list": noted("[1]"),
    "a deep note": noted("[" * 100_000),
    "a huge note": noted(OLD_NOTE + " " * (9 << 20)),
    "a linked note": linked_note,
    "a pipe as note": piped_note,
    "a folder as note": folder_as_note,
    "a link to a folder": link("elsewhere"),
    "a link to nowhere": link("nowhere"),
    "a pipe": os.mkfifo if sys.platform != "win32" else thesis,
}


@posix_only
@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_is_left_as_it_is(mine: Paths, text: Path, make: Callable[[Path], None]) -> None:
    thesis(mine.datasets / "own")
    place = mine.datasets / "nietzsche"
    make(place)
    before = snapshot(mine.datasets)
    with serving() as server:
        for act in acts_on(mine, "nietzsche", text, server.url):
            with pytest.raises(UsageError) as refused:
                act()
            codes = "dataset.folder_not_ours", "dataset.folder_not_ours_kept"
            assert any(said(code, folder=place).is_all_of(refused.value.message_text) for code in codes)
            assert refused.value.advice_text
            assert "\n" not in str(refused.value)
    assert server.ranges == []  # reported before anything was downloaded
    assert snapshot(mine.datasets) == before
    assert len(list_datasets(mine)) == 6


def test_neighbours_with_similar_names_stay_whatever_comes_of_an_import(
    mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        ".nietzsche-backup",
        ".nietzsche-abcdefgh",
        ".nietzsche-abcdefgh.epochmark-new",
        ".nietzsche-abcdefgh.epochmark-old",
    )
    for name in (*names, ".mnist-12345678.new", "nietzsche.new"):
        thesis(mine.datasets / name)
    for ending in (".epochmark-new", ".epochmark-old"):
        thesis(
            marked := mine.datasets / f".nietzsche-00000000{ending}"
        )  # ours, with something of the user's in it
        (marked / "installing.json").write_text(mark(marked.name))
        noted(OLD_NOTE)(copy := mine.datasets / f".nietzsche-20261122{ending}")  # a copy that the user made
        (copy / "installing.json").write_text(mark(f".nietzsche-abcdefgh{ending}"))
    (mine.datasets / ".nietzsche-11111111.epochmark-new").write_text("a file")
    (mine.datasets / ".nietzsche-22222222.new").mkdir()  # not our kind of name
    before = snapshot(mine.datasets)
    assert not remove_dataset(mine, "nietzsche").was_there
    assert snapshot(mine.datasets) == before
    folder = import_dataset(mine, "nietzsche", text)
    assert before.items() <= snapshot(mine.datasets).items()

    def refuse(files: Mapping[str, Path], fresh: Path) -> None:
        raise HostileArchiveError(message("idx.empty"))

    monkeypatch.setattr(nietzsche, "install", refuse)
    with pytest.raises(AppError, match=said("dataset.refused", reason=said("idx.empty")).pattern):
        import_dataset(mine, "nietzsche", text)
    assert nietzsche.is_installed(folder)
    assert remove_dataset(mine, "nietzsche").was_there
    assert snapshot(mine.datasets) == before


@pytest.mark.parametrize("notes", ["notes.txt", "nietzsche.txt.orig", "deep/notes.txt", ".hidden"])
def test_what_the_user_put_into_our_folder_stays_and_is_named(mine: Paths, text: Path, notes: str) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    (folder / notes).parent.mkdir(exist_ok=True)
    (folder / notes).write_text("mine")
    before = snapshot(folder)
    first = notes.split("/", maxsplit=1)[0] + ("/" if "/" in notes else "")
    for act in acts_on(mine, "nietzsche", text)[:2]:
        with pytest.raises(UsageError, match=strangers(first)) as refused:
            act()
        assert said("files.move_strangers_away").is_all_of(refused.value.advice_text)
    assert snapshot(folder) == before
    removal = remove_dataset(mine, "nietzsche")
    assert (removal.was_there, removal.folder, removal.kept) == (True, folder, (first,))
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / notes]


@posix_only
def test_a_link_or_a_pipe_in_our_folder_is_not_ours(mine: Paths, text: Path, tmp_path: Path) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    (folder / "nietzsche.txt").rename(tmp_path / "moved.txt")
    (folder / "nietzsche.txt").symlink_to(tmp_path / "moved.txt")
    assert list_datasets(mine)[4].installed
    (folder / "contents.sha256").unlink()
    os.mkfifo(folder / "contents.sha256")
    with pytest.raises(UsageError, match=strangers("contents.sha256, nietzsche.txt")):
        import_dataset(mine, "nietzsche", text)
    assert remove_dataset(mine, "nietzsche").kept == ("contents.sha256", "nietzsche.txt")
    assert (folder / "nietzsche.txt").is_symlink()
    assert (tmp_path / "moved.txt").read_bytes() == text.read_bytes()


def test_a_data_set_of_an_earlier_version_is_used_replaced_and_removed(mine: Paths, text: Path) -> None:
    folder = mine.datasets / "nietzsche"
    imports, _, removes = acts_on(mine, "nietzsche", text)
    for act in (imports, removes):
        noted(OLD_NOTE)(folder)
        nietzsche.install({"nietzsche.txt": text}, folder)
        assert list_datasets(mine)[4].installed
        act()
        assert [path.name for path in mine.datasets.iterdir()] == (["nietzsche"] if folder.exists() else [])
        shutil.rmtree(folder, ignore_errors=True)
    noted(OLD_NOTE)(folder)
    (folder / "notes.txt").write_text("mine")
    assert remove_dataset(mine, "nietzsche").kept == ("notes.txt",)


def test_a_note_cannot_make_other_files_ours(mine: Paths, text: Path, tmp_path: Path) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    (tmp_path / "outside.txt").write_text("mine")
    (folder / "thesis.tex").write_text("mine")
    note = json.loads((folder / "installed.json").read_text())
    note["contents"] = ["thesis.tex", "../../outside.txt", str(tmp_path / "outside.txt"), 5]
    (folder / "installed.json").write_text(json.dumps(note))
    assert remove_dataset(mine, "nietzsche").kept == ("thesis.tex",)
    assert (tmp_path / "outside.txt").exists()


def test_half_a_data_set_of_ours_is_replaced_or_removed(mine: Paths, text: Path) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    (folder / "nietzsche.txt").write_bytes(b"cut")
    (folder / "contents.sha256").unlink()
    assert nietzsche.is_installed(import_dataset(mine, "nietzsche", text))
    (folder / "nietzsche.txt").unlink()
    assert remove_dataset(mine, "nietzsche").was_there
    (folder).mkdir()
    assert not remove_dataset(mine, "nietzsche").was_there  # an empty folder is no loss, and not ours
    assert nietzsche.is_installed(import_dataset(mine, "nietzsche", text))
    assert list(mine.datasets.iterdir()) == [folder]


@pytest.mark.parametrize("size", [None, 0, 5, 1_000])
def test_what_was_hardly_begun_is_cleaned_up(mine: Paths, text: Path, size: int | None) -> None:
    leftover = mine.datasets / ".nietzsche-abcdefgh.epochmark-new"
    leftover.mkdir()
    (mine.datasets / ".nietzsche-abcdefgh.epochmark-old").mkdir()
    (leftover / "installing.lock").touch()
    if size is not None:
        (leftover / "installing.json").write_text(mark(leftover.name)[:size])
    folder = import_dataset(mine, "nietzsche", text)
    assert list(mine.datasets.iterdir()) == [folder]


def test_a_removal_that_failed_can_be_repeated(mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    unlink = Path.unlink

    def fail(path: Path, missing_ok: bool = False) -> None:
        if path.name == "nietzsche.txt":
            raise OSError(30, "Read-only file system")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", fail)
    why = said("files.not_removed", title="Nietzsche", folder=folder, reason="Read-only file system")
    with pytest.raises(AppError, match=why.pattern) as failed:
        remove_dataset(mine, "nietzsche")
    assert said("dataset.make_writable").is_all_of(failed.value.advice_text)
    assert {path.name for path in folder.iterdir()} == {"nietzsche.txt", "installed.json"}
    monkeypatch.undo()
    assert remove_dataset(mine, "nietzsche").was_there
    assert list(mine.datasets.iterdir()) == []


def test_only_a_full_disk_is_told_to_be_freed(mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, advice in ((28, "dataset.free_space_or_choose_folder"), (5, "dataset.choose_other_folder")):
        error = OSError(number, "no")

        def fail(files: Mapping[str, Path], fresh: Path, error: OSError = error) -> None:
            raise error

        monkeypatch.setattr(nietzsche, "install", fail)
        with pytest.raises(AppError, match=said("files.not_installed", title="Nietzsche").pattern) as failed:
            import_dataset(mine, "nietzsche", text)
        assert said(advice).is_all_of(failed.value.advice_text)
    assert list(mine.datasets.iterdir()) == []


def test_files_added_while_an_installation_is_replaced_are_kept(
    mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    install = nietzsche.install

    def install_slowly(files: Mapping[str, Path], fresh: Path) -> None:
        install(files, fresh)
        (folder / "notes.txt").write_text("mine")

    monkeypatch.setattr(nietzsche, "install", install_slowly)
    with pytest.raises(UsageError, match=strangers("notes.txt")):
        import_dataset(mine, "nietzsche", text)
    assert nietzsche.is_installed(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert list(mine.datasets.iterdir()) == [folder]


def test_the_old_data_set_is_restored_if_the_new_one_cannot_be_renamed(
    mine: Paths, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = import_dataset(mine, "nietzsche", text)
    before = snapshot(folder)
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.suffix == ".epochmark-new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(AppError, match=said("files.not_installed").pattern):
        import_dataset(mine, "nietzsche", text)
    assert snapshot(mine.datasets) == {"nietzsche": ("d", b"")} | {
        f"nietzsche/{name}": found for name, found in before.items()
    }


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
