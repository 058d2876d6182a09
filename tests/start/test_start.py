"""start.py for real: set-up, starts, and what makes .venv anew."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import PYTHON_AS_TYPED
from tests.start.starting import environment, load, make_project, on_posix, put_program, read_stamp, run_start
from tests.waiting import wait_until


@pytest.fixture
def module(project: Path) -> ModuleType:
    return load(project / "start.py")


def test_first_start_sets_up_and_passes_on_arguments_and_exit_code(
    first_start: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    project, done = first_start
    assert done.returncode == 7, done.stderr
    report = json.loads(done.stdout)  # nothing else may be on stdout
    assert report["argv"] == ["7", "--json"]
    assert report["started_as"].startswith((PYTHON_AS_TYPED, Path(sys.executable).name))
    assert str(project / "start.py") in report["started_as"]
    assert Path(report["python"]).parent.parent == project / ".venv"
    assert "Setting up Epochmark in .venv" in done.stderr
    stamp = read_stamp(project)
    assert stamp["profile"] == "cpu"
    assert stamp["dev"] is False
    assert list((project / "app" / "__pycache__").glob("used_later.*.pyc")), "the app would compile it"
    assert list((project / ".venv").glob("[Ll]ib/**/__pycache__/tiny.*.pyc")), "the app would compile it"


def test_second_start_starts_nothing_but_the_app(project: Path, tmp_path: Path) -> None:
    log = tmp_path / "started"
    watcher = tmp_path / "watch.py"
    watcher.write_text(
        "import runpy, sys\n"
        "WATCHED = ('subprocess.Popen', 'os.exec', 'os.fork', 'os.system', 'os.posix_spawn', 'os.spawn')\n"
        f"log = open({str(log)!r}, 'a', buffering=1)\n"
        "sys.addaudithook(lambda event, args: log.write(event + '\\n') if event in WATCHED else None)\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(watcher), str(project / "start.py"), "0"]
    # No EPOCHMARK_ACCELERATOR: the graphics card is not looked for again.
    variables = environment(project, EPOCHMARK_ACCELERATOR="")
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert log.read_text(encoding="utf-8").split() == ["os.exec" if os.name == "posix" else "subprocess.Popen"]


def test_app_runs_where_the_user_is_and_from_our_folder(project: Path, tmp_path: Path) -> None:
    elsewhere = make_project(tmp_path / "elsewhere")  # has an `app` of its own
    done = run_start(project, "import", "runs.csv", cwd=elsewhere, PYTHONPATH=str(elsewhere), PYTHONHOME="")
    report = json.loads(done.stdout)
    assert report["argv"] == ["import", "runs.csv"]
    assert Path(report["cwd"]) == elsewhere
    assert Path(report["file"]) == project / "app" / "__main__.py"


# What makes .venv anew


def change_lock(project: Path) -> None:
    lock = project / "packaging" / "requirements" / "cpu.txt"
    lock.write_text("# newer\n" + lock.read_text(encoding="utf-8"), encoding="utf-8")


def lose_base(project: Path) -> None:
    settings = project / ".venv" / "pyvenv.cfg"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(re.sub("(?m)^home = .*$", "home = /nowhere/bin", text), encoding="utf-8")


def put_file_in_place(project: Path) -> None:
    shutil.rmtree(project / ".venv")
    (project / ".venv").touch()


def write_stamp(text: str) -> Callable[[Path], None]:
    def write(project: Path) -> None:
        (project / ".venv" / "start.json").write_text(text, encoding="utf-8")

    return write


@pytest.mark.parametrize(
    "change",
    [
        change_lock,
        lose_base,
        lambda project: (project / ".venv" / "start.json").unlink(),  # as after an interrupted set-up
        write_stamp("[1]"),
        write_stamp('{"profile": ["cpu"]}'),
        write_stamp("[" * 100_000),
        lambda project: (project / ".venv" / "pyvenv.cfg").unlink(),  # as if uv ended while it removed the folder
        put_file_in_place,
    ],
    ids=["lock", "base", "interrupted", "list", "profile", "nested", "half removed", "file"],
)
def test_what_is_not_current_is_made_anew(project: Path, change: Callable[[Path], None]) -> None:
    change(project)
    done = run_start(project, "0")
    assert done.returncode == 0, done.stderr
    assert "Setting up Epochmark in .venv" in done.stderr
    assert not (project / ".venv" / "marker").exists()
    assert run_start(project, "0").stderr == ""


@pytest.mark.parametrize(
    ("change", "wanted", "dev", "is_current"),
    [
        ({}, "", False, True),
        ({}, "cpu", False, True),
        ({}, "cuda", False, False),
        ({}, "", True, False),  # the tests need more
        ({"python": "3.10"}, "", False, False),
        ({"profile": "tpu"}, "", False, False),
        ({"locks": "0"}, "", False, False),
        ({"profile": "cuda"}, "", False, False),
        ({"dev": True}, "", False, False),  # without the lock that belongs to it
        ({"driver": None}, "", False, False),
        ({"qt": None}, "", False, False),
    ],
)
def test_what_is_current(
    project: Path, module: ModuleType, *, change: dict[str, Any], wanted: str, dev: bool, is_current: bool
) -> None:
    assert module.is_current(read_stamp(project) | change, wanted, dev) is is_current


def test_packages_for_tests_stay(project: Path, module: ModuleType) -> None:
    assert run_start(project, "test", "--version").returncode  # there are no tests
    stamp = read_stamp(project)
    assert stamp["dev"] is True
    assert module.is_current(stamp, "", dev=True)
    assert module.is_current(stamp, "", dev=False)
    change_lock(project)
    run_start(project, "0")
    assert read_stamp(project)["dev"] is True


# Interrupted and failed set-ups


def test_failed_install_ends_in_one_sentence_and_the_next_start_continues(project: Path) -> None:
    lock = project / "packaging" / "requirements" / "cpu.txt"
    pins = lock.read_text(encoding="utf-8")
    lock.write_text(re.sub("sha256:[0-9a-f]{8}", "sha256:00000000", pins), encoding="utf-8")
    done = run_start(project, "0", "--repair")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "differs from the one that was tested" in done.stderr.splitlines()[-1]
    assert "tiny" in (project / ".uv" / "start.log").read_text(encoding="utf-8")
    lock.write_text(pins, encoding="utf-8")
    assert run_start(project, "0").returncode == 0


@pytest.mark.slow
@on_posix
def test_the_uv_of_a_killed_start_is_waited_for(project: Path, tmp_path: Path) -> None:
    uv, log, go = shutil.which("uv", path=str(Path(sys.executable).parent)), tmp_path / "log", tmp_path / "go"
    wait = f'for _ in $(seq 1200); do [ "$2" != sync ] || [ -e "{go}" ] && break; sleep 0.05; done'
    put_program(tmp_path / "bin", "uv", f'echo begin >> "{log}"; {wait}; "{uv}" "$@"; echo end >> "{log}"')
    (project / ".venv" / "start.json").unlink()
    command = [sys.executable, str(project / "start.py"), "0"]
    variables = environment(project, PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as first:
        # The third is sync.
        wait_until(lambda: log.exists() and log.read_text(encoding="utf-8").count("begin") == 3)
        first.kill()
    second = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert second.stderr
    assert "waiting" in second.stderr.readline()
    go.touch()
    assert "Epochmark is set up." in second.communicate(timeout=60)[1]
    assert second.returncode == 0
    words = log.read_text(encoding="utf-8").split()
    assert words == ["begin", "end"] * (len(words) // 2), "two at a time"


@pytest.mark.slow
def test_a_lock_ends_with_its_last_holder(bare: ModuleType) -> None:
    with bare.alone() as lock:
        assert bare.try_lock() < 0
        inherited: dict[str, Any] = {"close_fds": False} if os.name == "nt" else {"pass_fds": [lock]}
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **inherited
        )
    assert bare.try_lock() < 0
    child.communicate(b"\n")
    with bare.alone() as lock:
        assert lock >= 0
