"""start.py where the surroundings do not play along: graphics cards, Pythons, disks, pip."""

import ast
import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.start.starting import on_posix, put_program

# The graphics card


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
    monkeypatch.setattr(bare, "can_use_cuda", lambda: True)
    monkeypatch.setattr(bare, "NVIDIA_DRIVER", tmp_path if driver else tmp_path / "none")
    ask = bare.ask_nvidia_smi
    monkeypatch.setattr(bare, "ask_nvidia_smi", lambda: ask(timeout_s=1))
    assert bare.detect_profile() == profile


@pytest.mark.parametrize(("driver", "profile"), [(True, "cuda"), (False, "cpu")])
def test_without_nvidia_smi_the_driver_decides(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: bool, profile: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bare, "can_use_cuda", lambda: True)
    monkeypatch.setattr(bare, "NVIDIA_SMI_IN_WSL", str(tmp_path / "none"))
    monkeypatch.setattr(bare, "NVIDIA_DRIVER", tmp_path if driver else tmp_path / "none")
    assert bare.detect_profile() == profile
    monkeypatch.setattr(bare, "can_use_cuda", lambda: False)
    assert bare.detect_profile() == "cpu"


def test_wish_for_an_accelerator(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bare.wanted_profile() == ""
    monkeypatch.setenv("EPOCHMARK_ACCELERATOR", "cuda-legacy")
    monkeypatch.setattr(bare, "can_use_cuda", lambda: True)
    assert bare.wanted_profile() == "cuda-legacy"
    monkeypatch.setattr(bare, "can_use_cuda", lambda: False)
    with pytest.raises(bare.Fault, match="Linux on x86-64 only"):
        bare.wanted_profile()
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


@pytest.mark.slow
@pytest.mark.parametrize("version", [(3, 6), (3, 10), (3, 14)])
def test_unsuitable_python_names_a_better_one(
    bare: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(bare.Fault, match=r"this is 3\.\d+; install Python 3\.13"):
        bare.check_python(version)
    if os.name == "posix":
        put_program(tmp_path / "bin", "python3.13", "exit 127")  # a version manager's empty name
        put_program(tmp_path / "bin", "python3.12", "exit 0")
        with pytest.raises(bare.Fault, match=r"type: python3\.12 start\.py"):
            bare.check_python(version)
    for suitable in ((3, 11), (3, 12), (3, 13)):
        bare.check_python(suitable)


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
    monkeypatch.setattr(bare, "PYTHON_WITHOUT_CONSOLE", sys.executable)
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


@pytest.mark.parametrize(
    ("computer", "words"),
    [
        (("darwin", "x86_64", "macosx-10.9-universal2"), "Intel Macs"),
        (("win32", "ARM64", "win-arm64"), "Windows on ARM"),
        (("win32", "AMD64", "win32"), "32-bit"),
        (("linux", "x86_64", "linux-x86_64"), None),
        (("linux", "aarch64", "linux-aarch64"), None),
        (("win32", "AMD64", "win-amd64"), None),
        (("darwin", "arm64", "macosx-11.0-universal2"), None),
    ],
)
def test_computers_with_and_without_tensorflow(
    bare: ModuleType, computer: tuple[str, str, str], words: str | None
) -> None:
    with pytest.raises(bare.Fault, match=words) if words else nullcontext():
        bare.check_platform(*computer)


def fill_disk(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(module.ROOT)._replace(free=2_000_000_000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)


def full(number: int) -> Callable[[ModuleType, pytest.MonkeyPatch], None]:
    """Return what lets the virtual environment end with this error."""

    def fail(profile: str) -> None:
        raise OSError(number, os.strerror(number), "pyvenv.cfg")

    return lambda module, monkeypatch: monkeypatch.setattr(module, "make_venv", fail)


def write_protect(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (module.ROOT / ".start.lock").mkdir()  # root may write anywhere, but not this


def take_away_ensurepip(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)


def break_venv(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "_base_executable", sys.executable, raising=False)
    monkeypatch.setattr(module, "VENV", module.ROOT / "start.py" / "venv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (fill_disk, "Setting up needs 5 GB of disk and 2.0 GB are free"),
        (full(errno.ENOSPC), r"\w \(pyvenv.cfg\); free some space"),
        (full(errno.EDQUOT), r"\w \(pyvenv.cfg\); free some space"),
        (write_protect, r"\.start\.lock\); make the folder writable or move it"),
        (take_away_ensurepip, r"sudo apt-get install python3\.\d+-venv"),
        (break_venv, "could not make a virtual environment"),
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


def test_ctrl_c_during_set_up(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press(dev: bool, repair: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bare, "set_up", press)
    assert bare.main([]) == 130
    assert capsys.readouterr().err == "Stopped; the next start goes on from here.\n"


RETRYING = (
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after "
    "connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection>: Failed "
    "to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/absl-py/\n"
)
NO_VERSION = (
    "ERROR: Could not find a version that satisfies the requirement absl-py==2.5.1 (from versions: none)\n"
    "ERROR: No matching distribution found for absl-py==2.5.1\n"
)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (RETRYING + NO_VERSION, "index cannot be reached"),
        (NO_VERSION, "no build for this computer"),
        (
            "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='files', port=443): "
            "Read timed out.",
            "index cannot be reached",
        ),
        ("ERROR: HTTP error 503 while getting x.whl", "index cannot be reached"),
        (
            "Could not fetch URL: There was a problem confirming the ssl certificate: Max retries exceeded "
            "(Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed",
            "No trusted connection",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have",
            "differs from the one that was tested",
        ),
        (
            RETRYING + "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk became full",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: 'six.py'",
            "cannot be written",
        ),
        ("OSError: [Errno 30] Read-only file system: 'x'", "cannot be written"),
        (
            "HINT: This error might have occurred since this system does not have Windows Long Path support "
            "enabled.",
            "too long for Windows",
        ),
    ],
)
def test_pip_faults_become_sentences(install: ModuleType, output: str, words: str) -> None:
    assert words in install.explain(output)
    assert install.explain("ERROR: Something new") == ""


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (
            "  Downloading tensorflow-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl (572.0 MB)",
            "tensorflow (572 MB)",
        ),
        ("  Downloading https://files/nvidia_cudnn_cu12-9.28-py3-none-any.whl (717.5 MB)", "cudnn_cu12 (717 MB)"),
        ("Installing collected packages: six, absl-py", "installing"),
        ("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)", ""),
        ("  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)", ""),
        ("Collecting six==1.17.0", ""),
    ],
)
def test_only_large_stages_are_announced(install: ModuleType, line: str, note: str) -> None:
    announced = install.progress_of(line)
    assert note in announced
    assert bool(note) == bool(announced)


def test_pip_keeps_mirrors_but_not_what_misleads(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    settings = install.pip_environment(tmp_path)
    assert settings["PIP_INDEX_URL"] == "https://mirror"
    assert settings["TMPDIR"] == str(tmp_path)
    assert "PIP_TARGET" not in settings
    assert "PIP_USER" not in settings
