"""start.py and its helpers in packaging/: set-up, starts, faults. Empty locks: nothing is downloaded."""

import ast
import errno
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ["start.py", "packaging/install.py", "packaging/qt_libraries.py"]
LOCKS = ["build.txt", "cpu.txt", "cuda.txt", "cuda-legacy.txt", "dev.txt"]
APP = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "python": sys.executable, "file": __file__}))
sys.exit(int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 0)
"""

Start = Callable[..., "subprocess.CompletedProcess[str]"]
on_posix = pytest.mark.skipif(os.name != "posix", reason="stands in for programs with shell scripts")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_under_test", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_project(folder: Path) -> Path:
    for name in COPIED:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (folder / "packaging" / "requirements").mkdir()
    for name in LOCKS:
        (folder / "packaging" / "requirements" / name).write_text(f"# {name}\n", encoding="utf-8")
    (folder / "app").mkdir()
    (folder / "app" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "app" / "__main__.py").write_text(APP, encoding="utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    dropped = ("DISPLAY", "WAYLAND_DISPLAY", "EPOCHMARK_ACCELERATOR", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"EPOCHMARK_ACCELERATOR": "cpu", "PIP_NO_INDEX": "1"} | changes


def run_start(
    project: Path, *arguments: str, cwd: Path | None = None, **changes: str
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(project / "start.py"), *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, timeout=60, check=False
    )


def read_stamp(project: Path) -> dict[str, Any]:
    stamp: dict[str, Any] = json.loads((project / ".venv" / "start.json").read_text(encoding="utf-8"))
    return stamp


def put_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def first_start(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    """A project that a real first start has set up."""
    project = make_project(tmp_path_factory.mktemp("first") / "project")
    return project, run_start(project, "7", "--json")


@pytest.fixture
def project(first_start: tuple[Path, object], tmp_path: Path) -> Path:
    """A copy of it: also shows that a folder that has been set up can be moved."""
    shutil.copytree(first_start[0], tmp_path / "project", symlinks=True)
    (tmp_path / "project" / ".venv" / "marker").touch()
    return tmp_path / "project"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """start.py as a module, of a project that is not set up."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "EPOCHMARK_ACCELERATOR"):
        monkeypatch.delenv(name, raising=False)
    return load(make_project(tmp_path / "bare") / "start.py")


@pytest.fixture
def install() -> ModuleType:
    return load(ROOT / "packaging" / "install.py")


@pytest.fixture
def qt_libraries() -> ModuleType:
    return load(ROOT / "packaging" / "qt_libraries.py")


# Set-up and starts, for real


def test_first_start_sets_up_and_passes_on_arguments_and_exit_code(
    first_start: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    project, done = first_start
    assert done.returncode == 7, done.stderr
    report = json.loads(done.stdout)  # nothing else may be on stdout
    assert report["argv"] == ["7", "--json"]
    assert Path(report["python"]).parent.parent == project / ".venv"
    assert "Setting up Epochmark in .venv" in done.stderr
    stamp = read_stamp(project)
    assert stamp["profile"] == "cpu"
    assert stamp["dev"] is False
    assert stamp["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert not (project / ".venv" / "tmp").exists()


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


@on_posix
def test_venv_whose_python_vanished_is_built_anew(project: Path) -> None:
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    done = run_start(project, "0")
    assert done.returncode == 0, done.stderr
    assert "Setting up Epochmark in .venv" in done.stderr
    assert not (project / ".venv" / "marker").exists()


def test_second_of_two_starts_waits_and_finds_everything_done(project: Path) -> None:
    module = load(project / "start.py")
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
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(project / "start.py")
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
def test_stamp_of_something_else_is_not_current(project: Path, change: dict[str, Any]) -> None:
    module = load(project / "start.py")
    stamp = read_stamp(project)
    assert module.is_current(stamp, "")
    assert module.is_current(stamp, "cpu")
    assert not module.is_current(stamp, "cuda")
    assert not module.is_current(stamp | change, "")


def test_half_made_venvs_are_not_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(project / "start.py")
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


def test_damaged_stamp_counts_as_none(project: Path) -> None:
    module = load(project / "start.py")
    for text in ("", "[1]", "{"):
        module.STAMP.write_text(text, encoding="utf-8")
        assert module.read_stamp() == {}


def test_nvidia_libraries_do_not_stay_when_only_the_cpu_is_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(project / "start.py")
    made: list[str] = []
    monkeypatch.setattr(module, "make_venv", made.append)
    monkeypatch.setattr(module, "wait_for", lambda arguments, environment: 0)
    module.install({"profile": "cuda"}, "cpu", dev=False, repair=False)
    module.install({"profile": "cpu"}, "cpu", dev=False, repair=False)
    assert made == ["cpu"]
    module.install({"profile": "cpu"}, "cpu", dev=False, repair=True)
    assert made == ["cpu", "cpu"]


# The graphics card


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
        (
            "echo 'NVIDIA-SMI has failed because it could not communicate with the driver.'; exit 9",
            False,
            "cpu",
        ),
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", True, "cuda"),
        ("exec sleep 30", False, "cpu"),
    ],
)
def test_profile_fits_the_graphics_cards(
    bare: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    script: str,
    driver: bool,
    profile: str,
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


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_suitable_pythons(bare: ModuleType, version: tuple[int, int]) -> None:
    bare.check_python(version)


@pytest.mark.parametrize(
    ("computer", "words"),
    [
        (("darwin", "x86_64", "macosx-10.9-universal2"), "Intel Macs"),
        (("win32", "ARM64", "win-arm64"), "Windows on ARM"),
        (("win32", "AMD64", "win32"), "32-bit"),
    ],
)
def test_computers_without_tensorflow(bare: ModuleType, computer: tuple[str, str, str], words: str) -> None:
    with pytest.raises(bare.Fault, match=words):
        bare.check_platform(*computer)


@pytest.mark.parametrize(
    "computer",
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("win32", "AMD64", "win-amd64"),
        ("darwin", "arm64", "macosx-11.0-universal2"),
    ],
)
def test_computers_with_tensorflow(bare: ModuleType, computer: tuple[str, str, str]) -> None:
    bare.check_platform(*computer)


def fill_disk(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(module.ROOT)._replace(free=2_000_000_000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)


def fill_disk_halfway(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(profile: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "pyvenv.cfg")

    monkeypatch.setattr(module, "make_venv", fail)


def write_protect(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (module.ROOT / ".start.lock").mkdir()  # root may write anywhere, but not this


def take_away_ensurepip(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)


def break_venv(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "_base_executable", sys.executable, raising=False)
    monkeypatch.setattr(module, "VENV", module.ROOT / "start.py" / "venv")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (fill_disk, "Setting up needs 5 GB of disk and 2.0 GB are free"),
        (fill_disk_halfway, r"No space left on device \(pyvenv.cfg\); free some space"),
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
        (
            "  Downloading https://files/nvidia_cudnn_cu12-9.28-py3-none-any.whl (717.5 MB)",
            "cudnn_cu12 (717 MB)",
        ),
        ("Installing collected packages: six, absl-py", "installing"),
    ],
)
def test_large_stages_are_announced(install: ModuleType, line: str, note: str) -> None:
    assert note in install.progress_of(line)


def test_small_stages_are_not(install: ModuleType) -> None:
    assert install.progress_of("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)") == ""
    assert install.progress_of("  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)") == ""
    assert install.progress_of("Collecting six==1.17.0") == ""


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


# The tests and the linters


def test_test_hands_over_to_pytest(bare: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setattr(bare, "set_up", lambda dev, repair: {"qt": ["offscreen"], "dev": dev})

    def become(arguments: list[str], environment: dict[str, str]) -> int:
        calls.append((arguments, environment))
        return 5

    monkeypatch.setattr(bare, "become", become)
    assert bare.main(["test", "-k", "charts"]) == 5
    assert calls[0][0] == ["-m", "pytest", "-k", "charts"]
    assert calls[0][1]["QT_QPA_PLATFORM"] == "offscreen"
    assert Path.cwd() == bare.ROOT
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    bare.main(["test"])
    assert calls[1][1]["QT_QPA_PLATFORM"] == "xcb"


@pytest.mark.parametrize(("failing", "code"), [("", 0), ("ruff", 1), ("mypy", 1), ("-m pytest", 1)])
def test_check_runs_everything_tests_last(
    bare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failing: str,
    code: int,
) -> None:
    ran: list[str] = []

    def run(command: list[str], env: dict[str, str]) -> int:
        ran.append(" ".join(command))
        return int(bool(failing) and failing in ran[-1])

    monkeypatch.setattr(bare.subprocess, "call", run)
    monkeypatch.setattr(bare, "wait_for", run)
    assert bare.check({}) == code
    words = ["ruff check", "ruff format --check", "mypy", "importlinter", "pytest"]
    assert len(ran) == len(words)
    assert all(word in command for word, command in zip(words, ran, strict=True))
    assert ("Failed before the tests" in capsys.readouterr().err) == (failing in ("ruff", "mypy"))


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
def test_glib_has_another_name_on_newer_systems(
    qt_libraries: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path / "bin", "apt-get", "exit 0")
    put_program(tmp_path / "bin", "apt-cache", 'test "$2" = libglib2.0-0t64')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "libglib2.0-0t64" in qt_libraries.install_command(for_window=False)
    put_program(tmp_path / "bin", "apt-cache", "exit 100")
    assert "libglib2.0-0" in qt_libraries.install_command(for_window=False)


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
        assert log.read_text(encoding="utf-8").splitlines() == [
            "update noninteractive",
            "install noninteractive",
        ]
    assert ("sudo apt-get install" in capsys.readouterr().err) == (not installs)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Qt's wheels bring all they need elsewhere")
def test_qt_is_looked_at_once_and_only_tests_insist(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [1, 1, 0]
    commands: list[list[str]] = []
    stamps: list[dict[str, Any]] = []

    def run(command: list[str], env: dict[str, str]) -> int:
        commands.append(command[3:])
        return codes.pop(0)

    monkeypatch.setattr(bare.subprocess, "call", run)
    monkeypatch.setattr(bare, "write_stamp", stamps.append)
    bare.check_qt({"qt": []}, for_tests=False)
    with pytest.raises(SystemExit, match="2"):
        bare.check_qt({"qt": []}, for_tests=True)
    bare.check_qt({"qt": ["xcb"]}, for_tests=True)
    assert commands == [["xcb"], ["offscreen", "--install"], ["offscreen", "--install"]]
    assert stamps == [{"qt": ["xcb", "offscreen"]}]
    bare.check_qt(stamps[0], for_tests=True)
    bare.check_qt(stamps[0], for_tests=False)
    assert len(commands) == 3


def test_qt_of_this_environment_loads(qt_libraries: ModuleType) -> None:
    if sys.platform.startswith("linux"):
        assert qt_libraries.find_problem("offscreen") == ""
        assert "no_such.so: cannot open shared object file" in qt_libraries.find_problem("no_such")


# The locks


def test_locks_fit_pyproject(tmp_path: Path) -> None:
    lock = load(ROOT / "packaging" / "lock.py")
    assert lock.stale_locks(ROOT) == []
    shutil.copytree(ROOT / "packaging" / "requirements", tmp_path / "packaging" / "requirements")
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(pyproject.replace('"psutil>=', '"psutil!=1,>='), encoding="utf-8")
    assert lock.stale_locks(tmp_path) == ["cpu.txt", "cuda.txt", "cuda-legacy.txt", "dev.txt", "build.txt"]


def read_pins(name: str) -> dict[str, str]:
    text = (ROOT / "packaging" / "requirements" / name).read_text(encoding="utf-8")
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
    assert "nvidia-cudnn-cu12==9.10.2.21 ; sys_platform == 'linux'" in legacy
    assert cuda.keys() - legacy.keys() == {pin for pin in cuda if pin.startswith("nvidia-cudnn-cu12==")}
    versions = {pin.partition(" ")[0] for pin in cpu}
    names = {version.partition("==")[0] for version in versions}
    for other in ("dev.txt", "build.txt"):
        shared = {pin.partition(" ")[0] for pin in read_pins(other) if pin.partition("==")[0] in names}
        assert shared <= versions
