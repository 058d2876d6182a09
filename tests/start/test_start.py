"""start.py for real: set-up, starts, what is installed. Empty locks: nothing is downloaded."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import PYTHON_AS_TYPED
from tests.start.starting import environment, load, make_project, on_posix, read_stamp, run_start
from tests.systems import not_in_wine


@pytest.fixture
def module(project: Path) -> ModuleType:
    """The project's start.py."""
    return load(project / "start.py")


# Set-up and starts, for real


# Takes its time, as those below: each makes a virtual environment, as a first start does.
def test_first_start_sets_up_and_passes_on_arguments_and_exit_code(
    first_start: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    project, done = first_start
    assert done.returncode == 7, done.stderr
    report = json.loads(done.stdout)  # nothing else may be on stdout
    assert report["argv"] == ["7", "--json"]
    assert report["started_as"] == f"{PYTHON_AS_TYPED} {project / 'start.py'}"
    assert Path(report["python"]).parent.parent == project / ".venv"
    assert "Setting up Epochmark in .venv" in done.stderr
    stamp = read_stamp(project)
    assert stamp["profile"] == "cpu"
    assert stamp["dev"] is False
    assert stamp["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert not (project / ".venv" / "tmp").exists()
    assert list((project / "app" / "__pycache__").glob("used_later.*.pyc")), "the app would compile it"


def test_second_start_starts_nothing_but_the_app(project: Path, tmp_path: Path) -> None:
    shutil.rmtree(next((project / ".venv").glob("[Ll]ib/**/site-packages/pip")))  # whoever needs it fails
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
    done = subprocess.run(
        command, env=environment(EPOCHMARK_ACCELERATOR=""), capture_output=True, text=True, check=False
    )
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


def test_interrupted_set_up_continues(project: Path) -> None:
    (project / ".venv" / "start.json").write_text('{"profile": "cpu"}', encoding="utf-8")
    packages = next((project / ".venv").glob("[Ll]ib/**/site-packages"))
    half_copied = packages / "tensorflow-2.21.0.dist-info"
    half_copied.mkdir()
    (half_copied / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.21.0\n")
    done = run_start(project, "0")
    assert done.returncode == 0, done.stderr
    assert "Bringing Epochmark's packages in .venv up to date" in done.stderr
    assert not half_copied.exists()
    assert (project / ".venv" / "marker").exists()
    assert read_stamp(project)["locks"]


def test_changed_lock_installs_again_into_the_same_venv(project: Path) -> None:
    old = read_stamp(project)
    (project / "packaging" / "requirements" / "cpu.txt").write_text("# other pins\n", encoding="utf-8")
    done = run_start(project, "0")
    assert done.returncode == 0, done.stderr
    assert "up to date" in done.stderr
    assert read_stamp(project)["locks"] != old["locks"]
    assert (project / ".venv" / "marker").exists()


@pytest.mark.long
def test_failed_install_ends_in_one_sentence_and_the_next_start_continues(
    project: Path, install: ModuleType
) -> None:
    lock = project / "packaging" / "requirements" / "cpu.txt"
    lock.write_text(f"no-such-package==1 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    done = run_start(project, "0")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[1:] == [install.explain("No matching distribution found")]
    assert "locks" not in read_stamp(project)
    assert "no-such-package" in (project / ".venv" / "start.log").read_text(encoding="utf-8")
    lock.write_text("# pins\n", encoding="utf-8")
    assert run_start(project, "0").returncode == 0


@pytest.mark.long
@on_posix
def test_venv_whose_python_vanished_is_built_anew(project: Path) -> None:
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    done = run_start(project, "0")
    assert done.returncode == 0, done.stderr
    assert "Setting up Epochmark in .venv" in done.stderr
    assert not (project / ".venv" / "marker").exists()


@not_in_wine("says no reason when a file is locked")
def test_second_of_two_starts_waits_and_finds_everything_done(project: Path, module: ModuleType) -> None:
    whole = read_stamp(project)
    module.write_stamp({"profile": "cpu"})
    command = [sys.executable, str(project / "start.py"), "0"]
    with module.alone():
        second = subprocess.Popen(
            command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert second.stderr
        assert "waiting" in second.stderr.readline()
        module.write_stamp(whole)
    assert second.communicate(timeout=30)[1] == ""
    assert second.returncode == 0


# What is installed


def test_plain_start_after_test_needs_nothing_new_and_test_after_plain_does(
    project: Path, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHMARK_ACCELERATOR", "cpu")
    asked: list[bool] = []

    def install(old: object, wanted: str, dev: bool, repair: bool) -> dict[str, object]:
        asked.append(dev)
        return {}

    monkeypatch.setattr(module, "install", install)
    module.set_up(dev=False, repair=False)
    assert asked == []
    module.set_up(dev=True, repair=False)
    assert asked == [True]
    module.write_stamp({**read_stamp(project), "dev": True, "locks": module.digest_locks("cpu", True)})
    module.set_up(dev=True, repair=False)
    module.set_up(dev=False, repair=False)
    assert asked == [True]


@pytest.mark.parametrize(
    "change",
    [{"python": "3.10"}, {"profile": "tpu"}, {"locks": "0"}, {"profile": "cuda"}, {"dev": True}, {"driver": None}],
)
def test_stamp_of_something_else_is_not_current(project: Path, module: ModuleType, change: dict[str, Any]) -> None:
    stamp = read_stamp(project)
    assert module.is_current(stamp, "")
    assert module.is_current(stamp, "cpu")
    assert not module.is_current(stamp, "cuda")
    assert not module.is_current(stamp | change, "")


def test_half_made_venvs_are_not_whole(project: Path, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.is_whole()
    monkeypatch.setattr(module, "MINOR", "3.10")
    assert not module.is_whole()
    monkeypatch.undo()
    settings = project / ".venv" / "pyvenv.cfg"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(re.sub("(?m)^home = .*$", "home = /nowhere/bin", text), encoding="utf-8")
    assert not module.is_whole()
    settings.write_text(text, encoding="utf-8")
    (project / ".venv" / "start.json").unlink()
    assert not module.is_whole()


def test_damaged_stamp_counts_as_none(project: Path, module: ModuleType) -> None:
    for text in ("", "[1]", "{"):
        module.STAMP.write_text(text, encoding="utf-8")
        assert module.read_stamp() == {}


def test_nvidia_libraries_do_not_stay_when_only_the_cpu_is_asked_for(
    project: Path, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(module, "make_venv", made.append)
    monkeypatch.setattr(module, "wait_for", lambda arguments, environment: 0)
    module.install({"profile": "cuda"}, "cpu", dev=False, repair=False)
    module.install({"profile": "cpu"}, "cpu", dev=False, repair=False)
    assert made == ["cpu"]
    module.install({"profile": "cpu"}, "cpu", dev=False, repair=True)
    assert made == ["cpu", "cpu"]


DOWNLOAD = "  Downloading https://mirror/tensorflow-2.21.0-cp311-manylinux_2_27_x86_64.whl (100.0 MB)"
FILE = "tensorflow-2.21.0-cp311-manylinux_2_27_x86_64.whl"


class Terminal(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


class Scene:
    """A meter, pip's folders, and a clock."""

    def __init__(self, install: ModuleType, folder: Path, *, is_terminal: bool) -> None:
        self.scratch, self.packages, self.now_s = folder / "tmp", folder / "packages", 50.0
        for path in (self.scratch / "pip-unpack-x", self.packages):
            path.mkdir(parents=True)
        self.out = Terminal(is_terminal=is_terminal)
        self.meter: Any = install.Meter(self.scratch, self.packages, self.out, lambda: self.now_s)

    def arrive(self, size_bytes: int, now_s: float) -> None:
        with (self.scratch / "pip-unpack-x" / FILE).open("wb") as file:
            file.truncate(size_bytes)
        self.now_s = now_s
        self.meter.tick()

    def put(self, name: str) -> None:
        """Install a package as pip does."""
        (self.packages / f"{name}.dist-info").mkdir(exist_ok=True)
        (self.packages / f"{name}.dist-info" / "INSTALLER").write_text("pip")
        self.meter.tick()


@pytest.fixture
def plain(install: ModuleType, tmp_path: Path) -> Scene:
    return Scene(install, tmp_path, is_terminal=False)


@pytest.fixture
def live(install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("COLUMNS", "80")
    return Scene(install, tmp_path, is_terminal=True)


def test_a_terminal_has_one_line_with_percentage_and_rate(live: Scene) -> None:
    live.meter.see(DOWNLOAD)
    live.arrive(5_000_000, 50.5)
    live.arrive(42_000_000, 54.0)
    live.meter.see("Collecting six==1.17.0")
    live.meter.see("Collecting absl-py")
    shown = live.out.getvalue()
    assert shown.count("\n") == 1
    states = [state.rstrip() for state in shown.split("\r") if state]
    assert states == [
        "  downloading tensorflow (100 MB) ...",
        "  downloading tensorflow (100 MB): 5 %",
        "  downloading tensorflow (100 MB): 42 %, 10.5 MB/s",
    ]


def test_a_shorter_state_leaves_nothing_of_a_longer_one(live: Scene) -> None:
    live.meter.see(DOWNLOAD)
    live.arrive(42_000_000, 54.0)
    live.arrive(0, 54.1)
    last, before = live.out.getvalue().split("\r")[:-3:-1]
    assert len(last) == len(before)


def test_elsewhere_there_is_a_plain_line_every_quarter(plain: Scene) -> None:
    plain.meter.see(DOWNLOAD)
    for now_s, done_bytes in enumerate((10, 26_000_000, 30_000_000, 80_000_000, 10**8), 51):
        plain.arrive(done_bytes, float(now_s))
    plain.meter.close()
    assert plain.out.getvalue().splitlines() == [
        "  downloading tensorflow (100 MB) ...",
        "  downloading tensorflow (100 MB): 26 %, 13.0 MB/s",
        "  downloading tensorflow (100 MB): 80 %, 20.0 MB/s",
        "  downloading tensorflow (100 MB): 100 %, 20.0 MB/s",
    ]


def test_the_share_of_installed_packages_is_counted(plain: Scene) -> None:
    plain.put("numpy-1.0")
    plain.meter.see("Installing collected packages: six, absl-py, keras, numpy")
    for name in ("six-1.17.0", "absl_py-2.0", "keras-3.0"):
        plain.put(name)
    plain.meter.see("Successfully installed six")
    states = [" ...", ": 25 %", ": 50 %", ": 75 %"]
    assert plain.out.getvalue().splitlines() == [f"  installing{state}" for state in states]


def test_small_downloads_and_other_lines_are_silent(live: Scene) -> None:
    for line in ("Collecting six", "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)", "", "Ignoring x"):
        live.meter.see(line)
        live.meter.tick()
    live.meter.close()
    assert live.out.getvalue() == ""
