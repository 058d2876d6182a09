"""Writing files for the user: whole or not at all, through links, into devices and pipes."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.files import patiently, write_new, write_whole
from tests.cli.devices import device
from tests.conftest import ROOT
from tests.sure import sure

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX files")
OLD, NEW = b"what was there\n" * 3, b"new\n"


class ProbeError(Exception):
    """Stands for any trouble while the content is made."""


def broken() -> Iterator[bytes]:
    yield NEW * 100_000
    raise ProbeError


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "report.csv"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_nothing_else_touched(target: Path) -> None:
    part = target.with_name("report.csv.part")
    part.write_bytes(b"somebody's")
    write_whole(target, [NEW, b"", NEW])
    assert target.read_bytes() == NEW * 2
    assert part.read_bytes() == b"somebody's"
    assert names(target.parent) == ["report.csv", "report.csv.part"]


@pytest.mark.parametrize("problem", [ProbeError, KeyboardInterrupt, SystemExit, OSError])
def test_a_failure_midway_keeps_the_old_file(target: Path, problem: type[BaseException]) -> None:
    def chunks() -> Iterator[bytes]:
        yield NEW * 100_000
        assert len(names(target.parent)) == 2, "the new content lies beside the old"
        raise problem

    for path in (target, target.with_name("new.csv")):
        with pytest.raises(problem):
            write_whole(path, chunks())
        assert names(target.parent) == ["report.csv"]
    assert target.read_bytes() == OLD


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_permissions_of_an_existing_file_stay(target: Path, mode: int) -> None:
    target.chmod(mode)
    write_whole(target, [NEW])
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.slow
@posix_only
def test_a_new_file_gets_what_the_umask_says(target: Path) -> None:
    code = "import os, sys; os.umask(0o027); from pathlib import Path; from app.core.files import write_whole; "
    code += "write_whole(Path(sys.argv[1]), [b'new'])"
    path = target.with_name("new.csv")
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=True, timeout=60)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_of_an_existing_file_stays(target: Path) -> None:
    os.chown(target, 12_345, 23_456)
    write_whole(target, [NEW])
    status = target.stat()
    assert (status.st_uid, status.st_gid, target.read_bytes()) == (12_345, 23_456, NEW)


@posix_only
def test_a_link_is_followed_to_the_file_that_it_names(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    second = tmp_path / "second.csv"
    link.symlink_to(Path("folder") / "report.csv")
    second.symlink_to(link)
    write_whole(second, [NEW])
    assert (link.is_symlink(), second.is_symlink(), target.read_bytes()) == (True, True, NEW)
    target.unlink()
    write_whole(second, [NEW, NEW])
    assert (second.is_symlink(), target.read_bytes()) == (True, NEW + NEW)
    assert names(target.parent) == ["report.csv"]


@posix_only
def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)) as caught:
        write_whole(tmp_path / "a", [NEW])
    assert caught.value.errno == errno.ELOOP
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize(
    "name", ["", ".", "folder", "missing/report.csv", "folder/report.csv/more.csv", "x" * 300]
)
def test_an_impossible_file_is_an_error_with_a_reason(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r".") as caught:
        write_whole(Path(name), [NEW])
    assert caught.value.strerror
    assert names(tmp_path) == ["folder"]
    assert target.read_bytes() == OLD


def test_devices_are_written_to_and_stay(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    before = null.stat()
    write_whole(null, [NEW])
    after = null.stat()
    assert (before.st_ino, before.st_rdev, before.st_mode) == (after.st_ino, after.st_rdev, after.st_mode)


def test_a_device_that_is_full_says_so(tmp_path: Path) -> None:
    full = device(tmp_path, "full")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write_whole(full, [NEW])
    assert full.is_char_device()


@posix_only
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, [NEW * 50_000])
    reader.join(20)
    assert read == [NEW * 50_000]
    assert names(tmp_path) == ["pipe"]


@pytest.mark.slow
@posix_only
def test_ctrl_c_ends_writing_to_a_pipe_without_a_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = "import sys; from pathlib import Path; from app.core.files import write_whole\n"
    code += "try:\n    print('waiting', flush=True); write_whole(Path(sys.argv[1]), [b'new'])\n"
    code += "except KeyboardInterrupt:\n    sys.exit(7)"
    process = subprocess.Popen([sys.executable, "-c", code, str(pipe)], cwd=ROOT, stdout=subprocess.PIPE)
    assert sure(process.stdout).readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 7
    sure(process.stdout).close()


@pytest.mark.slow
@posix_only
def test_standard_output_by_its_name_is_written_on_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "all.txt"
    file.write_bytes(OLD)
    code = "import sys; from pathlib import Path; from app.core.files import write_whole; "
    code += "write_whole(Path(sys.argv[1]), [b'new\\n'])"
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") if sys.platform == "linux" else ("/dev/stdout",):
        with file.open("ab") as stdout:
            subprocess.run([sys.executable, "-c", code, name], cwd=ROOT, stdout=stdout, check=True, timeout=60)
    assert file.read_bytes().startswith(OLD + NEW)
    assert len(names(tmp_path)) == 1


@posix_only
@pytest.mark.parametrize("step", ["open", "replace", "fchown"])
def test_a_file_that_cannot_be_replaced_is_written_in_place(
    target: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    number, refused = target.stat().st_ino, OSError(errno.EPERM, os.strerror(errno.EPERM))
    open_ = os.open

    def refuse(*_: object) -> None:
        raise refused

    def refuse_new(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_EXCL and Path(path).parent == target.parent:
            raise refused
        return open_(path, flags, mode)

    if step == "open":
        monkeypatch.setattr("app.core.files.os.open", refuse_new)
    elif step == "fchown":
        monkeypatch.setattr("app.core.files.os.fchown", refuse)
        monkeypatch.setattr("app.core.files.os.geteuid", lambda: 1)
    else:
        monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ProbeError):
        write_whole(target, broken())
    assert target.read_bytes() == OLD
    write_whole(target, [NEW])
    assert (target.read_bytes(), target.stat().st_ino) == (NEW, number)
    assert names(target.parent) == ["report.csv"]


@posix_only
def test_a_file_that_may_not_be_written_to_is_not_replaced(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    target.chmod(0o400)
    if os.geteuid() == 0:  # whom permissions do not stop
        monkeypatch.setattr("app.core.files.os.open", refuse)
    with pytest.raises(PermissionError):
        write_whole(target, [NEW])
    assert target.read_bytes() == OLD


def test_a_new_file_is_never_written_over_or_through_another(target: Path, tmp_path: Path) -> None:
    if os.name == "posix":
        (target.parent / "report-2.csv").symlink_to(tmp_path / "elsewhere")
    else:
        (target.parent / "report-2.csv").mkdir()
    found = write_new(target.parent, "report.csv", [NEW, NEW])
    assert (found, found.read_bytes()) == (target.with_name("report-3.csv"), NEW + NEW)
    assert target.read_bytes() == OLD
    assert not (tmp_path / "elsewhere").exists()
    assert write_new(target.parent, "other.txt", [NEW]) == target.with_name("other.txt")


def test_a_new_file_that_cannot_be_finished_is_not_left_behind(target: Path) -> None:
    with pytest.raises(ProbeError):
        write_new(target.parent, "new.csv", broken())
    with pytest.raises(FileNotFoundError):
        write_new(target.parent / "missing", "new.csv", [NEW])
    for name in ("", "..", "a/b", "/a"):
        with pytest.raises(ValueError, match="no name of a file"):
            write_new(target.parent, name, [NEW])
    assert names(target.parent) == ["report.csv"]


def test_windows_waits_for_a_virus_scanner_and_others_do_not() -> None:
    refusals = [PermissionError(13, "in use")] * 2

    def act() -> str:
        if refusals:
            raise refusals.pop()
        return "renamed"

    with pytest.raises(PermissionError):
        patiently(act, 1.0, system="linux")
    assert patiently(act, 1.0, system="win32") == "renamed"
    refusals[:] = [PermissionError(13, "in use")] * 10
    with pytest.raises(PermissionError):
        patiently(act, 0.1, system="win32")
    assert refusals


def test_a_file_that_another_program_has_open_is_written(tmp_path: Path) -> None:
    """Windows refuses to replace it."""
    path = tmp_path / "results.csv"
    path.write_bytes(b"an older and longer content")
    with path.open("rb"):
        write_whole(path, [b"new"])
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
