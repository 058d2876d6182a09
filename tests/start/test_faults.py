"""start.py where the surroundings do not play along: graphics cards, consoles, disks."""

import ast
import errno
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

from tests.conftest import ROOT
from tests.start.starting import on_posix, put_program
from tests.systems import needs_links

# The graphics card


def pretend_linux(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")


@pytest.mark.slow
@on_posix
@pytest.mark.parametrize(
    ("script", "driver", "profile"),
    [
        ("echo 8.9", True, "cuda"),
        ("echo 7.5", True, "cuda"),
        ("echo 6.1", True, "cuda-legacy"),
        ("echo 8.9; echo 6.1", True, "cuda-legacy"),
        ("echo 12.0", False, "cuda"),
        ("echo '[N/A]'", False, "cpu"),
        ("echo 'NVIDIA-SMI has failed because it could not communicate with the driver.'; exit 9", False, "cpu"),
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", True, "cuda"),
        ("exec sleep 30", False, "cpu"),
    ],
)
def test_profile_fits_the_graphics_cards(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, script: str, driver: bool, profile: str
) -> None:
    put_program(tmp_path / "bin", "nvidia-smi", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    pretend_linux(bare, monkeypatch)
    monkeypatch.setattr(bare, "NVIDIA_DRIVER", tmp_path if driver else tmp_path / "none")
    ask = bare.ask_nvidia_smi
    monkeypatch.setattr(bare, "ask_nvidia_smi", lambda: ask(timeout_s=1))
    assert bare.detect_profile() == profile


@pytest.mark.parametrize(("driver", "profile"), [(True, "cuda"), (False, "cpu")])
def test_without_nvidia_smi_the_driver_decides(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: bool, profile: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pretend_linux(bare, monkeypatch)
    monkeypatch.setattr(bare, "NVIDIA_SMI_IN_WSL", str(tmp_path / "none"))
    monkeypatch.setattr(bare, "NVIDIA_DRIVER", tmp_path if driver else tmp_path / "none")
    assert bare.detect_profile() == profile
    monkeypatch.setattr(bare.platform, "machine", lambda: "aarch64")
    assert bare.detect_profile() == "cpu"


def test_wish_for_an_accelerator(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bare.wanted_profile() == ""
    monkeypatch.setenv("EPOCHMARK_ACCELERATOR", "cuda-legacy")
    assert bare.wanted_profile() == "cuda-legacy"
    monkeypatch.setenv("EPOCHMARK_ACCELERATOR", "gpu")
    with pytest.raises(bare.Fault, match="set it to cpu, cuda or cuda-legacy"):
        bare.wanted_profile()


# Faults


def test_start_is_readable_for_old_pythons() -> None:
    tree = ast.parse((ROOT / "start.py").read_text(encoding="utf-8"), feature_version=(3, 6))
    builtin_generics = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("dict", "list", "set", "tuple", "type")
    ]
    assert builtin_generics == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["python", "start.py"], "python start.py"),
        ([r"C:\Python313\python.exe", r"C:\my files\start.py"], r'C:\Python313\python.exe "C:\my files\start.py"'),
        ([r"C:\Users\Bo Li\python.exe", "start.py"], "py start.py"),  # PowerShell runs nothing in quotes
    ],
)
def test_what_was_typed_runs_in_every_shell_of_windows(bare: ModuleType, words: list[str], line: str) -> None:
    assert bare.join_for_windows(words) == line


@pytest.mark.parametrize(
    ("programs", "is_own"),
    [
        (["py.exe", "python.exe"], True),  # a double click
        (["Python3.13.exe", "PYTHON.EXE", "pythonw.exe"], True),
        (["cmd.exe", "python.exe"], False),
        (["powershell.exe", "py.exe", "python.exe"], False),
        ([], False),  # no console, or no Windows
    ],
)
def test_a_console_that_was_opened_for_us_is_known(bare: ModuleType, programs: list[str], is_own: bool) -> None:
    assert bare.has_own_console(programs) is is_own


@pytest.mark.parametrize("code", [0, 2])
def test_a_console_of_our_own_stays_open_after_a_fault(
    bare: ModuleType, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", asked.append)
    monkeypatch.setattr(bare, "main", lambda _: code)
    for programs in (["cmd.exe", "py.exe"], ["py.exe"]):
        monkeypatch.setattr(bare, "programs_in_console", lambda programs=programs: programs)
        assert bare.main_of_console([]) == code
    assert len(asked) == bool(code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code"), [("print('x'); import no_such_module", 1), ("import time; time.sleep(60)", 0)]
)
def test_a_window_without_a_console_that_starts_badly_says_why(
    bare: ModuleType,
    program: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bare, "VENV", tmp_path)
    python = Path(sys.executable)
    if os.name == "posix":
        (tmp_path / "pythonw.exe").symlink_to(python)
        python = tmp_path / "python"
    monkeypatch.setattr(bare, "PYTHON", python)
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*arguments, **options))
        return started[0]

    monkeypatch.setattr(bare.subprocess, "Popen", start)
    assert bare.leave_console(["-c", program], dict(os.environ), watched_s=60 if code else 0.1) == code
    started[0].kill()
    started[0].wait()
    assert ("no_such_module" in capsys.readouterr().err) is bool(code)


def fill_disk(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    module.OWN.rmdir()  # nothing is downloaded yet
    usage = shutil.disk_usage(module.ROOT)._replace(free=2_000_000_000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)


def fail_with(number: int) -> Callable[[ModuleType, pytest.MonkeyPatch], None]:
    def fail(*_: object, **options: object) -> None:
        raise OSError(number, os.strerror(number), "pyvenv.cfg")

    return lambda module, monkeypatch: monkeypatch.setattr(module, "run", fail)


def write_protect(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    module.OWN.rmdir()
    module.OWN.touch()  # root may write anywhere, but not in this


def link_venv(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    module.VENV.symlink_to(module.ROOT / "app")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (fill_disk, "Setting up needs 3 GB of disk and 2.0 GB are free"),
        (fail_with(errno.ENOSPC), r"\w \(pyvenv.cfg\); free some space"),
        (fail_with(errno.EDQUOT), r"\w \(pyvenv.cfg\); free some space"),
        (write_protect, r"\.uv\); make the folder writable or move it"),
        pytest.param(link_venv, r"\.venv is a link; remove the link", marks=needs_links),
    ],
)
def test_faults_end_in_a_sentence_and_exit_code_2(
    bare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cause: Callable[[ModuleType, pytest.MonkeyPatch], None],
    words: str,
) -> None:
    monkeypatch.setenv("EPOCHMARK_ACCELERATOR", "cpu")
    monkeypatch.setattr(bare, "become", lambda arguments, environment: 0)  # not in place of pytest
    cause(bare, monkeypatch)
    code = bare.main([])
    monkeypatch.undo()
    assert code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(words, err.splitlines()[-1])
    assert "Traceback" not in err
