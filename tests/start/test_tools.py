"""start.py running tests and linters, Qt's system libraries, and the locks."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.start.starting import load, on_posix, put_program

# The tests and the linters


def test_tests_run_in_the_projects_folder_without_a_screen(
    monkeypatch: pytest.MonkeyPatch, bare: ModuleType
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(bare, "set_up", lambda *_: {"qt": ["offscreen"]})

    def become(arguments: list[str], environment: dict[str, str]) -> int:
        calls.append(arguments)
        return 5

    monkeypatch.setattr(bare, "become", become)
    assert bare.main(["test", "-k", "charts"]) == 5
    assert calls == [["-P", str(bare.ROOT / "tests" / "__main__.py"), "test", "-k", "charts"]]


@pytest.mark.parametrize(("failing", "code"), [("", 0), ("ruff", 1), ("mypy", 1), ("pytest", 1)])
def test_check_runs_everything_tests_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str, code: int
) -> None:
    module = load(ROOT / "tests" / "__main__.py")
    ran: list[str] = []

    def run(command: list[str]) -> int:
        ran.append(" ".join(command))
        return int(bool(failing) and failing in ran[-1])

    monkeypatch.setattr(module, "call", run)
    assert module.check(again=False) == code
    words = ["ruff check", "ruff format --check", "mypy", "importlinter", "pytest"]
    assert all(word in command for word, command in zip(words, ran, strict=True))
    assert ran[-1].endswith("-m not packaging")
    assert ("Failed: " in capsys.readouterr().out.splitlines()[-1]) == bool(failing)


@pytest.mark.long
@on_posix
def test_exit_code_of_a_child_that_handles_ctrl_c(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(project / "start.py")
    real_wait = subprocess.Popen.wait
    presses = [KeyboardInterrupt]

    def wait(self: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        if presses:
            raise presses.pop()
        return real_wait(self, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    assert module.wait_for(["-c", "import sys; sys.exit(3)"], dict(os.environ)) == 3
    assert presses == []


# Qt's system libraries

MISSING = "libEGL.so.1: cannot open shared object file: No such file or directory"


@on_posix
@pytest.mark.parametrize(
    ("manager", "user_id", "for_window", "words"),
    [
        ("apt-get", 0, False, r"libEGL\.so\.1; type: apt-get install .*libglib2\.0-0 .*libegl1"),
        ("apt-get", 1000, False, r"type: sudo apt-get install .*libegl1"),
        ("apt-get", 1000, True, r"type: sudo apt-get install .*libxcb-cursor0 "),
        ("dnf", 1000, True, r"type: sudo dnf install -y .*xcb-util-cursor"),
        ("pacman", 1000, True, r"type: sudo pacman -S .*xcb-util-cursor"),
        ("none", 1000, True, r"needs libEGL\.so\.1 and its like; install them"),
    ],
)
def test_missing_qt_library_names_the_command(
    qt_libraries: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    *,
    manager: str,
    user_id: int,
    for_window: bool,
    words: str,
) -> None:
    monkeypatch.setattr(qt_libraries.shutil, "which", lambda name: name if name == manager else None)
    monkeypatch.setattr(qt_libraries.os, "geteuid", lambda: user_id)
    monkeypatch.setattr(qt_libraries, "uses_new_glib_name", lambda: False)
    text = qt_libraries.sentence(MISSING, for_window)
    assert re.search(words, text)
    assert ("xcb" in text) == (for_window and manager != "none")


@on_posix
@pytest.mark.parametrize(("user_id", "installs"), [(0, True), (1000, False)])
def test_only_root_installs_qt_libraries(
    qt_libraries: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    user_id: int,
    installs: bool,
) -> None:
    log = tmp_path / "log"
    put_program(tmp_path / "bin", "apt-get", f'echo "$1 $DEBIAN_FRONTEND" >> {log}')
    put_program(tmp_path / "bin", "apt-cache", "exit 100")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(qt_libraries.os, "geteuid", lambda: user_id)
    monkeypatch.setattr(qt_libraries, "find_problem", lambda platform: MISSING)
    monkeypatch.setattr(qt_libraries.sys, "executable", "/bin/true")  # the second look
    monkeypatch.setattr(qt_libraries.sys, "argv", ["qt_libraries.py", "offscreen", "--install"])
    assert qt_libraries.main() == (0 if installs else 1)
    assert log.exists() == installs
    if installs:
        assert log.read_text(encoding="utf-8").splitlines() == ["update noninteractive", "install noninteractive"]
    assert ("sudo apt-get install" in capsys.readouterr().err) == (not installs)


def test_without_qts_libraries_the_window_is_not_tried(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bare, "set_up", lambda *_: {"qt": []})
    monkeypatch.setattr(bare, "check_qt", lambda *_, **__: False)
    monkeypatch.setattr(bare, "become", lambda *_: pytest.fail("the app was started"))
    monkeypatch.setenv("DISPLAY", ":0")
    assert bare.start([]) == 2
    assert "runs in the terminal" in capsys.readouterr().err


# The locks


def test_locks_fit_pyproject(tmp_path: Path) -> None:
    lock = load(ROOT / "packaging" / "lock.py")
    assert lock.stale_locks(ROOT) == []
    for folder in (lock.FOLDER, lock.ENGINES):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(pyproject.replace('"psutil>=', '"psutil!=1,>='), encoding="utf-8")
    names = ["cpu.txt", "cuda.txt", "cuda-legacy.txt", "app.txt", "dev.txt", "build.txt", "uv.txt"]
    torch = ("torch-base", "torch-cpu", "torch-mps", "torch-cuda", "torch-cuda-windows")
    tensorflow = ("tensorflow-cpu", "tensorflow-cuda", "tensorflow-cuda-legacy")
    engines = [f"{part}.txt" for part in (*torch, *tensorflow, "jax-cpu", "jax-cuda12", "jax-cuda13")]
    assert lock.stale_locks(tmp_path) == names + engines
    assert {path.name for path in (ROOT / lock.ENGINES).iterdir()} == set(engines)


def read_pins(name: str, folder: str = "packaging/requirements") -> dict[str, str]:
    text = (ROOT / folder / name).read_text(encoding="utf-8")
    assert "://" not in text
    blocks = re.split(r"\n(?=\S)", text)[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    return {block.partition(" \\\n")[0]: block for block in blocks}


def test_locks_agree_with_one_another() -> None:
    cpu, cuda, legacy = read_pins("cpu.txt"), read_pins("cuda.txt"), read_pins("cuda-legacy.txt")
    assert [pin for pin in cpu if pin.startswith("nvidia")] == [
        next(p for p in cpu if p.startswith("nvidia-ml-py"))
    ]
    assert cpu.items() <= cuda.items()
    assert cpu.items() <= legacy.items()
    assert [pin.partition(" ")[0] for pin in legacy if "-cudnn-" in pin] == ["nvidia-cudnn-cu12==9.10.2.21"]
    assert cuda.keys() - legacy.keys() == {pin for pin in cuda if pin.startswith("nvidia-cudnn-cu12==")}
    versions = {pin.partition(" ")[0] for pin in cpu}
    names = {version.partition("==")[0] for version in versions}
    for other in ("dev.txt", "build.txt", "uv.txt"):
        shared = {pin.partition(" ")[0] for pin in read_pins(other) if pin.partition("==")[0] in names}
        assert shared <= versions
    for path in (ROOT / "resources" / "engines").iterdir():
        pins = read_pins(path.name, "resources/engines")
        shared = {pin.partition(" ")[0] for pin in pins if pin.partition("==")[0] in names}
        assert shared <= versions
        assert {"keras", "msgspec", "numpy", "psutil"} <= {pin.partition("==")[0] for pin in shared}


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("app/core/analysis/ab.py", ["tests/core/analysis/test_ab.py"]),
        (
            "app/core/storage/schema.py",
            ["tests/core/storage/test_database.py", "tests/core/storage/test_migration.py"],
        ),
        ("app/gui/run/charts.py", ["tests/gui/run"]),
        ("app/core/plans", ["tests/core/plans"]),
        ("app/gui/widgets/form.py", ["tests/gui/test_widgets.py"]),
        ("app/core/nothing.py", []),
    ],
)
def test_a_module_is_tested_at_its_place_or_where_it_is_imported(
    module: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load(ROOT / "tests" / "__main__.py")
    started: list[list[str]] = []
    monkeypatch.setattr(program, "become", started.append)
    code = program.main("test", module)
    assert (code, started) == ((None, [[*program.PYTEST, *files]]) if files else (4, []))
