"""Writing files for the user: whole or not at all, through links, into devices and pipes."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.files import patiently, write_new, write_whole
from tests.conftest import ROOT

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
