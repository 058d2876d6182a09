"""`--output`: files, links, devices and pipes are written as other tools write them."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import ended, posix_only, sentence_of
from tests.cli.devices import device
from tests.conftest import ROOT, CommandLine, command

OLD = b"what was there"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@posix_only
@pytest.mark.parametrize(
    "arguments", [["export"], ["export", "--format", "json"], ["share", "1"]], ids=["csv", "json", "png"]
)
def test_other_files_in_the_folder_are_unchanged(
    stored: CommandLine, tmp_path: Path, arguments: list[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link, part = folder / "target.png", folder / "link.png", folder / "link.png.part"
    target.write_bytes(OLD)
    target.chmod(0o600)
    link.symlink_to("target.png")
    part.symlink_to(tmp_path / "victim")
    assert stored("results", *arguments, "--output", str(link)).returncode == 0
    assert (link.is_symlink(), part.is_symlink(), (tmp_path / "victim").exists()) == (True, True, False)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_bytes() not in (OLD, b"")
    assert names(folder) == ["link.png", "link.png.part", "target.png"]


@posix_only
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_devices_pipes_and_standard_output_get_what_a_file_gets(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path, format_: str
) -> None:
    wanted = stored("results", "export", "--format", format_).stdout
    for name in ("-", "/dev/stdout"):
        assert stored("results", "export", "--format", format_, "--output", name).stdout == wanted
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        command("results", "export", "--format", format_, "--output", str(pipe)),
        env=environment,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert pipe.read_text("utf-8") == wanted
        assert process.wait(20) == 0
    null = device(tmp_path, "null")
    before = null.stat()
    assert stored("results", "export", "--format", format_, "--output", str(null)).returncode == 0
    after = null.stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)
    assert not Path("-").exists()


@pytest.mark.parametrize("verb", [["export"], ["share", "1"]], ids=["export", "share"])
def test_an_impossible_file_is_reported_in_a_sentence_and_nothing_is_lost(
    environment: dict[str, str], stored: CommandLine, tmp_path: Path, verb: list[str]
) -> None:
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "kept.png").write_bytes(OLD)
    for output in ("", ".", os.sep, f"folder{os.sep}", "none/a.png", "kept.png/a.png"):
        surroundings = environment | {"PYTHONPATH": str(ROOT)}
        done = ended(surroundings, "results", *verb, "--output", output, cwd=place)
        assert sentence_of(done).startswith("epochmark: ")
        assert "itself failed" not in done.stderr
        assert (done.returncode, done.stdout) == (2, ""), output
    assert names(place) == ["folder", "kept.png"]
    assert (place / "kept.png").read_bytes() == OLD
    assert names(place / "folder") == []


def test_a_full_device_is_reported(stored: CommandLine, tmp_path: Path) -> None:
    full = device(tmp_path, "full")
    done = stored("results", "export", "--output", str(full))
    assert sentence_of(done).startswith(f"epochmark: {full} can't be saved (No space left on device).")
    assert done.returncode == 2
    assert full.is_char_device()
