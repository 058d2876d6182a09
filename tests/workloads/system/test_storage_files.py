"""The storage test's files without an engine: room for them, what is removed and what never is."""

import errno
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from app.core.messages import text
from tests.saying import said
from tests.systems import CAN_LINK
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.reporter import Cancelled, Emitter, Reporter
from workloads.system import storage_files
from workloads.system.storage_files import (
    MARKER,
    PREFIX,
    check_space,
    own_folder,
    remove_leftovers,
    write_pictures,
)

Usage = namedtuple("Usage", "total used free")
ROOT = Path(storage_files.__file__).parents[2]


def reporter() -> Reporter:
    return Reporter(Emitter(BytesIO()))


def silent(said: Message) -> None:
    raise AssertionError(said)


def contents(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def attempt(parent: Path, do: Callable[[Path], object]) -> None:
    with own_folder(parent, silent) as folder:
        do(folder)


def failing(error: BaseException) -> Callable[[Path], object]:
    def do(folder: Path) -> None:
        write_pictures(folder, [b"a"], 3, reporter())
        raise error

    return do


def removing(gone: Path | None = None) -> Callable[[Path], object]:
    def do(folder: Path) -> None:
        shutil.rmtree(gone or folder)
        write_pictures(folder, [b"a"], 1, reporter())

    return do


@pytest.fixture
def leftover(tmp_path: Path) -> Path:
    code = (
        "import os, sys; from pathlib import Path; from workloads.system.storage_files import own_folder\n"
        "with own_folder(Path(sys.argv[1]), print) as folder:\n"
        "    (folder / 'jpeg' / '0.jpg').touch(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=False).returncode == 9
    (folder,) = tmp_path.iterdir()
    return folder


def test_the_files_are_written_as_often_as_asked_and_removed(tmp_path: Path) -> None:
    with own_folder(tmp_path, silent) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(PREFIX)
        told = reporter()
        told.epoch_begin(0)
        paths = write_pictures(folder, [b"a", b"bc"], 65, told)
        assert [path.read_bytes() for path in paths] == [b"a", b"bc"] * 32 + [b"a"]
        assert told.steps_done == 6  # three to write, three to flush
        assert len({path.name for path in paths}) == 65
    assert contents(tmp_path) == []


@pytest.mark.parametrize(
    "error", [Cancelled(), ValueError(), KeyboardInterrupt(), BrokenPipeError(32, "Broken pipe")]
)
def test_nothing_is_left_however_it_ends(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        attempt(tmp_path, failing(error))
    assert contents(tmp_path) == []


def test_writing_answers_a_request_to_cancel(tmp_path: Path) -> None:
    told = reporter()
    told.cancel_requested.set()
    (tmp_path / "jpeg").mkdir()
    with pytest.raises(Cancelled):
        write_pictures(tmp_path, [b"a"], 1_000, told)
    assert len(list((tmp_path / "jpeg").iterdir())) == storage_files.FILES_PER_STEP


def test_a_folder_without_room_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_bytes = 1_000 * storage_files.SPACE_PER_IMAGE_BYTES
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, need_bytes))
    check_space(tmp_path, 1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, need_bytes - 10_000_000))
    with pytest.raises(WorkloadError) as found:
        check_space(tmp_path, 1_000)
    free = said("storage.no_room", folder=tmp_path, free_bytes="430 MB", images="1,000", need_bytes="440 MB")
    assert free.is_all_of(text(found.value.message))


def test_a_running_tests_files_are_kept(tmp_path: Path) -> None:
    with own_folder(tmp_path, silent) as folder:
        (folder / "jpeg" / "0.jpg").touch()
        before = contents(tmp_path)
        remove_leftovers(tmp_path)
        assert contents(tmp_path) == before


@pytest.mark.slow
def test_what_a_killed_test_left_is_removed_if_its_marker_is_ours(leftover: Path, tmp_path: Path) -> None:
    def assert_kept() -> None:
        before = contents(tmp_path)
        remove_leftovers(tmp_path)
        assert contents(tmp_path) == before, before

    assert contents(leftover) == ["epochmark.json", "jpeg", "jpeg/0.jpg", "packed"]
    place = leftover / MARKER
    ours = place.read_text()
    for other in ("", "{}", "[]", '"x"', '{"pid": "x"}', ours + " " * 2_000):
        place.write_text(other)
        assert_kept()
    place.unlink()
    assert_kept()
    place.mkdir()
    assert_kept()
    place.rmdir()
    if CAN_LINK:
        (tmp_path / "true").write_text(ours)
        place.symlink_to(tmp_path / "true")
        assert_kept()
        place.unlink()
        (tmp_path / "true").unlink()
    place.write_text(ours)
    remove_leftovers(tmp_path)
    assert contents(tmp_path) == []


def test_a_folder_that_disappears_is_reported_in_a_sentence(tmp_path: Path) -> None:
    parent = tmp_path / "drive"
    parent.mkdir()
    with pytest.raises(WorkloadError) as found:
        attempt(parent, removing(parent))
    reason = os.strerror(errno.ENOENT)
    assert found.value.message == message("storage.folder_gone", folder=str(parent), reason=reason)
    assert found.value.code == "bad_parameters"
    with pytest.raises(WorkloadError, match=r"storage\.folder_gone"):
        check_space(parent, 100)
    remove_leftovers(parent)


def test_files_are_dropped_from_memory_where_the_system_does_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(200_000))
    storage_files.flush(path)
    checks: list[int] = []
    state = storage_files.drop_from_memory([path] * 40, lambda: checks.append(1))
    assert state in ("dropped", "kept", "unknown")
    assert len(checks) == (2 if sys.platform == "linux" else 0)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert storage_files.drop_from_memory([path], silent) == "kept"  # type: ignore[arg-type]
