"""Sets up Epochmark in .venv beside this file, then starts it. Needs nothing but Python.

    python3 start.py [ARGS]         the window, or the terminal program with ARGS
    python3 start.py test [ARGS]    the test suite; ARGS go to pytest
    python3 start.py test --fast    only tests that train nothing, start no program and wait for nothing
    python3 start.py test --all     the long ones too, and those with PyTorch and JAX, installed in .engines
    python3 start.py check          everything that CI checks: all tests, types and style
    python3 start.py --repair ...   builds .venv anew first

EPOCHMARK_ACCELERATOR=cpu|cuda|cuda-legacy overrides what is found out about the graphics card.
The syntax stays that of Python 3.6, so that an old Python prints a sentence and not a SyntaxError.
"""

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parent
LOCKS = ROOT / "packaging" / "requirements"
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PYTHON_WITHOUT_CONSOLE = VENV / "Scripts" / "pythonw.exe"
# Exists from the moment .venv is whole; says what is in it, or only the profile while packages are changing.
STAMP = VENV / "start.json"

OLDEST, NEWEST = (3, 11), (3, 13)
MINOR = "{}.{}".format(*sys.version_info)
# Profile -> gigabytes to download, gigabytes of disk while installing (downloads, pip's cache, the packages).
PROFILES = {"cpu": (0.8, 5), "cuda": (3.5, 14), "cuda-legacy": (3.5, 14)}
OLDEST_CUDNN_CAPABILITY = 7.5
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
NVIDIA_SMI_IN_WSL = "/usr/lib/wsl/lib/nvidia-smi"

# A file of tests is one process's: what its tests share is made once.
# Files in the order that tests/conftest.py gives them, not by their number of tests.
# One process more than CPUs, as tests wait for a fifth of their time. Each may hold TensorFlow and a window, so
# there is a limit.
CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
PYTEST = ["-m", "pytest", "-n", str(min(CPUS + 1, 6)), "--dist", "loadfile", "--no-loadscope-reorder"]
# pyproject.toml leaves the marks `engines` and `long` out; what is said last counts.
SELECTIONS = {
    "--fast": ["-m", "not (engine or engines or slow or long or packaging)"],
    "--all": ["-m", "not packaging"],
    "--packaging": ["-m", "packaging"],
}
# What .venv's Python runs before the tests.
CHECKS = {
    "ruff check": ["-m", "ruff", "check"],
    "ruff format --check": ["-m", "ruff", "format", "--check"],
    # NumPy's types for a newer Python cannot be read as the oldest one.
    "mypy": ["-m", "mypy", "--python-version", MINOR],
    "lint-imports": [
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())",
    ],
}


class Fault(Exception):  # noqa: N818 -- it is a sentence for the user, not an error of the program
    """One sentence: what happened and what to do. Ends the start with exit code 2."""


def say(text: str) -> None:
    """Print to stderr: stdout belongs to the app."""
    print(text, file=sys.stderr, flush=True)


def succeeds(command: List[str]) -> bool:
    """Tell whether a command runs and ends with exit code 0; its output is dropped."""
    try:
        null = subprocess.DEVNULL
        return subprocess.call(command, stdin=null, stdout=null, stderr=null, timeout=30) == 0
    except (OSError, subprocess.SubprocessError):
        return False


def check_python(version: Tuple[int, int]) -> None:
    """Stop on a Python for which the locked packages have no builds, and name a better one."""
    if OLDEST <= version <= NEWEST:
        return
    names = ["python3.13", "python3.12", "python3.11"]
    if os.name == "nt":
        names = ["py -3.13", "py -3.12", "py -3.11"]
    # A version manager may leave names on PATH that only complain.
    working = [name for name in names if shutil.which(name.split()[0]) and succeeds([*name.split(), "-c", ""])]
    advice = f"type: {working[0]} start.py" if working else "install Python 3.13 and start again with it."
    raise Fault(f"Epochmark needs Python 3.11, 3.12 or 3.13 and this is {version[0]}.{version[1]}; {advice}")


def check_platform(system: str, machine: str, build: str) -> None:
    """Stop where TensorFlow has no builds for the processor, or for what this Python was built for."""
    if system == "darwin" and machine != "arm64":
        raise Fault("TensorFlow 2.21 has no build for Intel Macs; on Apple silicon, use a Python built for arm64.")
    if build == "win-arm64":
        raise Fault("TensorFlow 2.21 has no build for Windows on ARM; use WSL 2 or another computer.")
    if build == "win32":
        raise Fault("This is a 32-bit Python; install the 64-bit Python 3.13 and start again with it.")


def read_capabilities(text: str) -> List[float]:
    """Read the compute capabilities from nvidia-smi's answer, one a line; other text counts for nothing."""
    return [float(line) for line in text.splitlines() if re.match(r"\s*\d+\.\d+\s*$", line)]


def ask_nvidia_smi(timeout_s: float = 5) -> List[float]:
    """Return the compute capability of each NVIDIA GPU, or nothing where the driver does not answer."""
    program = shutil.which("nvidia-smi") or NVIDIA_SMI_IN_WSL
    command = [program, "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return read_capabilities(done.stdout.decode("utf-8", "replace"))


def can_use_cuda() -> bool:
    """Tell whether TensorFlow has a CUDA build for this computer."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64"


def detect_profile() -> str:
    """Choose the packages that fit the graphics cards of this computer."""
    if not can_use_cuda():
        return "cpu"
    capabilities = ask_nvidia_smi()
    if capabilities:
        return "cuda" if min(capabilities) >= OLDEST_CUDNN_CAPABILITY else "cuda-legacy"
    return "cuda" if NVIDIA_DRIVER.exists() else "cpu"


def wanted_profile() -> str:
    """Return the profile asked for in the environment, or an empty string."""
    wanted = os.environ.get("EPOCHMARK_ACCELERATOR", "")
    if wanted and wanted not in PROFILES:
        raise Fault(f"EPOCHMARK_ACCELERATOR is {wanted!r}; set it to cpu, cuda or cuda-legacy, or unset it.")
    if wanted.startswith("cuda") and not can_use_cuda():
        raise Fault("TensorFlow has CUDA builds for Linux on x86-64 only; unset EPOCHMARK_ACCELERATOR.")
    return wanted


def lock_files(profile: str, dev: bool) -> List[Path]:
    """Return the lock files of an installation; the tools that build the others come first."""
    return [LOCKS / name for name in ["build.txt", profile + ".txt", *["dev.txt"] * dev]]


def digest_locks(profile: str, dev: bool) -> str:
    """Sum up the lock files of an installation."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in lock_files(profile, dev))).hexdigest()


def read_stamp() -> Dict[str, Any]:
    """Return what the last set-up left in .venv; nothing if there was none."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp: Dict[str, Any]) -> None:
    """Record what is in .venv, whole or not at all."""
    draft = STAMP.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(stamp), encoding="utf-8")
    draft.replace(STAMP)


def has_python() -> bool:
    """Tell whether .venv has a Python and the Python that it was made from is still there."""
    try:
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    homes = [line.partition("=")[2].strip() for line in lines if line.startswith("home")]
    return PYTHON.exists() and all(Path(home).is_dir() for home in homes)


def is_current(stamp: Dict[str, Any], wanted: str) -> bool:
    """Tell whether .venv holds what the lock files say, without starting anything."""
    profile = stamp.get("profile")
    return (
        profile in PROFILES
        and wanted in ("", profile)
        and stamp.get("python") == MINOR
        and stamp.get("locks") == digest_locks(profile, bool(stamp.get("dev")))
        # A driver that came or went since: choose again.
        and stamp.get("driver") == NVIDIA_DRIVER.exists()
        and has_python()
    )


def is_whole() -> bool:
    """Tell whether packages can be put into .venv as it is."""
    test = "import sys, pip; sys.exit('{}.{}'.format(*sys.version_info) != sys.argv[1])"
    return STAMP.exists() and has_python() and succeeds([str(PYTHON), "-I", "-c", test, MINOR])


def child_environment() -> Dict[str, str]:
    """Return the environment without what would lead .venv's Python to other packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}


def try_lock(handle: IO[bytes]) -> bool:
    """Lock an open file against other processes, if none holds it. Closing it, or dying, unlocks it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other start is setting up this folder."""
    with (ROOT / ".start.lock").open("ab") as handle:
        if not try_lock(handle):
            say("Another start is setting up Epochmark; waiting for it ...")
            while not try_lock(handle):
                time.sleep(0.2)
        yield


def make_venv(profile: str) -> None:
    """Put a new, empty .venv in the place of whatever is there."""
    download_gb, disk_gb = PROFILES[profile]
    if importlib.util.find_spec("ensurepip") is None:
        raise Fault(f"This Python cannot make virtual environments; type: sudo apt-get install python{MINOR}-venv")
    if VENV.exists():
        shutil.rmtree(str(VENV))
    free_gb = shutil.disk_usage(str(ROOT)).free / 1e9
    if free_gb < disk_gb:
        raise Fault(f"Setting up needs {disk_gb} GB of disk and {free_gb:.1f} GB are free in {ROOT}; free some.")
    say(f"Setting up Epochmark in .venv (about {download_gb} GB to download the first time) ...")
    # The base: start.py may run in the very .venv that is replaced.
    command = [getattr(sys, "_base_executable", sys.executable), "-I", "-m", "venv", str(VENV)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=child_environment(), check=False
    )
    if done.returncode:
        say(done.stdout.decode("utf-8", "replace").strip())
        raise Fault(f"This Python could not make a virtual environment in {VENV}; the lines above say why.")
    packages = sysconfig.get_path("purelib", "venv", {"base": str(VENV)})
    # Makes `app` and `workloads` importable; relative, so that the folder can be moved.
    Path(packages, "epochmark.pth").write_text(os.path.relpath(str(ROOT), packages) + "\n", encoding="utf-8")
    write_stamp({"profile": profile})


def install(old: Dict[str, Any], wanted: str, dev: bool, repair: bool) -> Dict[str, Any]:
    """Bring .venv to what the lock files say; can be interrupted anywhere and goes on at the next start."""
    check_platform(sys.platform, platform.machine(), sysconfig.get_platform())
    profile = old["profile"] if is_current(old, wanted) else wanted or detect_profile()
    dev = dev or bool(old.get("dev"))
    # pip only adds: NVIDIA's libraries left behind would still be used.
    has_leftovers = profile == "cpu" and old.get("profile", "cpu") != "cpu"
    if repair or has_leftovers or not is_whole():
        make_venv(profile)
    else:
        say("Bringing Epochmark's packages in .venv up to date ...")
    write_stamp({"profile": profile})
    digest = digest_locks(profile, dev)
    locks = [str(path) for path in lock_files(profile, dev)]
    code = wait_for(["-I", str(ROOT / "packaging" / "install.py"), *locks], child_environment())
    if code:
        sys.exit(code)  # it has said why
    stamp: Dict[str, Any] = {"profile": profile, "dev": dev, "python": MINOR, "locks": digest, "qt": []}
    stamp["driver"] = NVIDIA_DRIVER.exists()
    write_stamp(stamp)
    say("Epochmark is set up.")
    return stamp


def set_up(dev: bool, repair: bool) -> Dict[str, Any]:
    """Return the stamp of a ready .venv; costs nothing when it is ready already."""
    wanted = wanted_profile()

    def is_ready(stamp: Dict[str, Any]) -> bool:
        return is_current(stamp, wanted) and (bool(stamp.get("dev")) or not dev)

    stamp = read_stamp()
    if repair or not is_ready(stamp):
        with alone():
            stamp = read_stamp()
            if repair or not is_ready(stamp):
                stamp = install(stamp, wanted, dev, repair)
    return stamp


def typed_command() -> str:
    """Return what was typed before the arguments, for hints that name a command."""
    words = list(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1])
    if Path(words[-1]).name != "start.py":
        return "py start.py" if os.name == "nt" else "python3 start.py"
    return join_for_windows(words) if os.name == "nt" else " ".join(map(shlex.quote, words))


def join_for_windows(words: List[str]) -> str:
    """Return a command line that cmd.exe and PowerShell take: the latter doesn't run a program in quotes."""
    program = subprocess.list2cmdline(words[:1])
    return subprocess.list2cmdline(["py" if program != words[0] else program, *words[1:]])


def has_own_console(programs: List[str]) -> bool:
    """Tell whether all programs in a console are Python's: then it was opened for us and closes after us."""
    return bool(programs) and all(re.match(r"(?i)pyw?(thon\S*)?\.exe$", name) for name in programs)


def programs_in_console() -> List[str]:
    """Name the programs that use this process's console; none outside Windows."""
    if sys.platform != "win32":
        return []
    import ctypes

    kernel = ctypes.windll.kernel32
    kernel.OpenProcess.restype = ctypes.c_void_p
    numbers = (ctypes.c_uint32 * 64)()
    names = []
    for number in numbers[: min(kernel.GetConsoleProcessList(numbers, 64), 64)]:
        handle = ctypes.c_void_p(kernel.OpenProcess(0x1000, False, number))  # PROCESS_QUERY_LIMITED_INFORMATION
        name, size = ctypes.create_unicode_buffer(1024), ctypes.c_uint32(1024)
        kernel.QueryFullProcessImageNameW(handle, 0, name, ctypes.byref(size))
        kernel.CloseHandle(handle)
        names.append(name.value.rpartition("\\")[2])
    return names


def leave_console(arguments: List[str], environment: Dict[str, str], watched_s: float = 5) -> int:
    """Open the window without a console, and return, so that ours closes, once it has not ended for a while."""
    command, errors = [str(PYTHON_WITHOUT_CONSOLE), *arguments], VENV / "window.log"
    with errors.open("wb") as log:
        child = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = child.wait(watched_s)
        say(errors.read_text(encoding="utf-8", errors="replace").strip())
        return code
    return 0


def check_qt(stamp: Dict[str, Any], for_tests: bool) -> bool:
    """See once to the system libraries that Qt needs on Linux; says what lacks and returns False."""
    screen = "offscreen" if for_tests else "wayland" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    if not sys.platform.startswith("linux") or screen in stamp["qt"]:
        return True
    command = [str(PYTHON), "-P", str(ROOT / "packaging" / "qt_libraries.py"), screen]
    # Its sentence goes to stderr; it prints nothing else.
    if for_tests:
        command.append("--install")
    if subprocess.call(command, env=child_environment()):
        return False
    with contextlib.suppress(OSError):
        write_stamp({**stamp, "qt": [*stamp["qt"], screen]})
    return True


def wait_for(arguments: List[str], environment: Dict[str, str]) -> int:
    """Run .venv's Python and return its exit code; Ctrl-C is for it to handle."""
    with subprocess.Popen([str(PYTHON), *arguments], env=environment) as child:
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                return child.wait()


def become(arguments: List[str], environment: Dict[str, str]) -> int:
    """Go on as .venv's Python where the system can: signals reach the app, no process is left over."""
    if os.name == "posix":
        os.execve(str(PYTHON), [str(PYTHON), *arguments], environment)
    return wait_for(arguments, environment)


def check(environment: Dict[str, str]) -> int:
    """Run everything that CI checks, the quick ones first, and end with what failed; returns 1 if anything did."""
    failed = []
    for name, arguments in CHECKS.items():
        say("== " + name)
        if subprocess.call([str(PYTHON), *arguments], env=environment):
            failed.append(name)
    say("== pytest")
    if wait_for(["-m", "tests.once_more", *PYTEST[2:], *SELECTIONS["--all"]], environment):
        failed.append("pytest")
    say("Failed: " + ", ".join(failed) if failed else "Everything passed.")
    return 1 if failed else 0


def start(arguments: List[str]) -> int:
    """Do what the command line says."""
    check_python(sys.version_info[:2])
    repair = arguments[:1] == ["--repair"]
    arguments = arguments[1:] if repair else arguments
    verb = arguments[0] if arguments[:1] in (["test"], ["check"]) else "app"
    stamp = set_up(dev=verb != "app", repair=repair)
    environment = child_environment()
    if verb == "app":
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if not arguments and has_display and not check_qt(stamp, for_tests=False):
            say(f"Until then: {typed_command()} run --preset quick runs in the terminal.")
            return 2
        environment["EPOCHMARK_STARTED_AS"] = typed_command()
        # -P: the folder that the user is in may have an `app` of its own.
        command = ["-P", "-m", "app", *arguments]
        leaves = not arguments and has_own_console(programs_in_console())
        return leave_console(command, environment) if leaves else become(command, environment)
    if not check_qt(stamp, for_tests=True):
        return 2
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    # With it, each of pytest's processes would prepare all the tests' code anew: twenty seconds.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    os.chdir(str(ROOT))
    if verb == "check":
        return check(environment)
    selection = [part for option in SELECTIONS if option in arguments for part in SELECTIONS[option]]
    return become([*PYTEST, *selection, *(each for each in arguments[1:] if each not in SELECTIONS)], environment)


def main(arguments: List[str]) -> int:
    """Start, and turns what can go wrong outside the program into one sentence."""
    try:
        return start(arguments)
    except Fault as fault:
        say(str(fault))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space" if is_full else "make the folder writable or move it"
        say(f"{error.strerror or error}{where}; {advice}, and start again.")
    except KeyboardInterrupt:
        say("Stopped; the next start goes on from here.")
        return 130
    return 2


def main_of_console(arguments: List[str]) -> int:
    """Start; after a fault, keep a console open that would close with this process, as after a double click."""
    code = main(arguments)
    if code and has_own_console(programs_in_console()):
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            input("Press Enter to close this window.")
    return code


if __name__ == "__main__":
    sys.exit(main_of_console(sys.argv[1:]))
