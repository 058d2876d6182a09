"""Sets up Epochmark in .venv beside this file, then starts it. Needs nothing but Python.

    python3 start.py [ARGS]         the window, or the terminal program with ARGS
    python3 start.py test [ARGS]    the test suite; ARGS go to pytest
    python3 start.py test --fast    only tests that train nothing, start no program and wait for nothing
    python3 start.py test --all     the long ones too, and those with PyTorch and JAX, installed in .engines
    python3 start.py check          everything that CI checks: all tests, types and style
    python3 start.py --repair ...   builds .venv anew first; --download-python: if need be, without asking

EPOCHMARK_ACCELERATOR=cpu|cuda|cuda-legacy overrides what is found out about the graphics card.
uv does the work; uv, its cache and a downloaded Python are in .uv. Indexes, proxies and certificates come from
pip's and uv's settings. The syntax stays that of Python 3.6, so that an old Python can find a newer one.
"""

import contextlib
import errno
import hashlib
import importlib.machinery
import itertools
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
from typing import Any, Dict, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parent
LOCKS = ROOT / "packaging" / "requirements"
OWN = ROOT / ".uv"
LOG = OWN / "start.log"
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "start.json"  # written last: says what is in .venv

OLDEST, NEWEST = (3, 11), (3, 14)  # with builds of TensorFlow
DOWNLOADED = "3.13"
MINOR = "{}.{}".format(*sys.version_info)
# Profile -> gigabytes to download, gigabytes of disk.
PROFILES = {"cpu": (0.8, 3), "cuda": (3.5, 8), "cuda-legacy": (3.5, 8)}
OLDEST_CUDNN_CAPABILITY = 7.5
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
NVIDIA_SMI_IN_WSL = "/usr/lib/wsl/lib/nvidia-smi"
# pip's settings, and the variables in which uv expects the same.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "PIP_NO_INDEX",  # uv has no variable for it
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
# They would change where pip installs, and what it says.
MISLEADING = [f"PIP_{name}" for name in ("DRY_RUN", "PREFIX", "PYTHON", "QUIET", "ROOT", "TARGET", "USER")]
MANAGERS = {
    "apt-get": f"apt-get install python{MINOR}-venv",
    "dnf": "dnf install python3-pip",
    "zypper": "zypper install python3-pip",
    "pacman": "pacman -S python-pip",
}
LOGGED = re.compile(rb"Installed|\berror\b")  # what uv prints from here on isn't shown
# Patterns of uv's and pip's output, with the sentence for the user. The first match counts.
FAULTS = {
    r"No space left|os error 28\b|Errno 28\b|os error 112\b|Disk quota exceeded": (
        "The disk became full; free some space and start again."
    ),
    "Hash mismatch|DO NOT MATCH THE HASHES": (
        "A downloaded package differs from the one that was tested; start again, and if this comes back, a proxy"
        " or mirror changes what it delivers."
    ),
    "(?i)certificate|SSLError": (
        "No trusted connection to the package index; check this computer's date and its proxy, then start again."
    ),
    r"\b[45]\d\d (?:[A-Z][a-z]+ ?)+|HTTP error [45]\d\d": (
        "The package index answered {found}; check its address and your access to it, then start again."
    ),
    "(?i)error sending request|connection|timed out|max retries|name resolution|failed to fetch": (
        "The package index cannot be reached; check the internet connection and start again."
    ),
    r"Read-only file system|Permission denied|Access is denied|os error (?:5|13|32)\b": (
        "A file in {root} cannot be written; close Epochmark if it is open, and start again."
    ),
    "unexpected JSON|Unsupported `Content-Type`|no version of|not found in the package registry|versions: none": (
        "The package index lacks a package, or is none; check its address and the connection, then start again."
    ),
    "(?i)no wheels|no usable wheels|only-binary|No matching distribution": (
        "A package has no build for Python {minor} on {system}; needed are Python 3.11 to 3.14 and Linux with"
        " glibc 2.34 (2021) or newer, Windows on x64, or macOS 14 or newer on Apple silicon."
    ),
}


class Fault(Exception):  # noqa: N818 -- it is a sentence for the user, not an error of the program
    """One sentence: what happened and what to do. Ends the start with exit code 2."""


def say(text: str) -> None:
    """Print to stderr: stdout belongs to the app."""
    print(text, file=sys.stderr, flush=True)


def answer_of(command: List[str], environment: Dict[str, str], timeout_s: float = 60) -> str:
    """Return what a command prints; "" if it fails or doesn't run."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        null = subprocess.DEVNULL
        output = subprocess.check_output(command, env=environment, stdin=null, stderr=null, timeout=timeout_s)
        return output.decode("utf-8", "replace").strip()
    return ""


# The graphics card


def ask_nvidia_smi(timeout_s: float = 5) -> List[float]:
    """Return the compute capability of each NVIDIA GPU, or nothing where the driver does not answer."""
    program = shutil.which("nvidia-smi") or NVIDIA_SMI_IN_WSL
    text = answer_of([program, "--query-gpu=compute_cap", "--format=csv,noheader"], dict(os.environ), timeout_s)
    return [float(line) for line in text.splitlines() if re.match(r"\s*\d+\.\d+\s*$", line)]


def detect_profile() -> str:
    """Choose the packages that fit the graphics cards of this computer."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return "cpu"  # TensorFlow has no other builds for CUDA
    capabilities = ask_nvidia_smi()
    if capabilities:
        return "cuda" if min(capabilities) >= OLDEST_CUDNN_CAPABILITY else "cuda-legacy"
    return "cuda" if NVIDIA_DRIVER.exists() else "cpu"


def wanted_profile() -> str:
    """Return the profile asked for in the environment, or an empty string."""
    wanted = os.environ.get("EPOCHMARK_ACCELERATOR", "")
    if wanted and wanted not in PROFILES:
        raise Fault(f"EPOCHMARK_ACCELERATOR is {wanted!r}; set it to cpu, cuda or cuda-legacy, or unset it.")
    return wanted


# uv and Python


def child_environment() -> Dict[str, str]:
    """Return the environment without what would lead .venv's Python to other packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}


def read_pip_settings() -> Dict[str, str]:
    """Return those of pip's settings that uv has too, by their names in pip's files."""
    import configparser  # as below: not at a start that sets up nothing

    home = Path(os.path.expanduser("~"))  # noqa: PTH111 -- Path's fails for a user without a home
    folders = [Path(os.environ[name], "pip") for name in ("PROGRAMDATA", "APPDATA") if name in os.environ]
    folders += [Path("/etc"), Path("/etc/xdg/pip"), Path("/Library/Application Support/pip")]
    folders += [home / ".pip", home / "pip", home / "Library" / "Application Support" / "pip"]
    folders += [Path(os.environ.get("XDG_CONFIG_HOME", str(home / ".config")), "pip")]
    files = [str(folder / name) for folder in folders for name in ("pip.conf", "pip.ini")]
    parser = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):  # pip would complain
        parser.read([*files, os.environ.get("PIP_CONFIG_FILE", os.devnull)], encoding="utf-8")
    settings = {}  # type: Dict[str, str]
    for section in ("global", "install"):
        settings.update(parser.items(section) if parser.has_section(section) else [])
    settings.update({name[4:].lower().replace("_", "-"): value for name, value in os.environ.items() if value})
    return {name: value for name, value in settings.items() if name in SETTINGS}


def uv_environment() -> Dict[str, str]:
    """Return an environment for uv and pip, with the user's settings of both."""
    environment = {SETTINGS[name]: value for name, value in read_pip_settings().items()}
    links = environment.get("UV_FIND_LINKS", "").split()  # pip ignores those that don't exist
    environment["UV_FIND_LINKS"] = ",".join(link for link in links if "://" in link or Path(link).exists())
    import ssl

    paths = ssl.get_default_verify_paths()
    if os.name == "nt" or paths.cafile or (paths.capath and list(Path(paths.capath).iterdir())):
        environment["UV_SYSTEM_CERTS"] = "1"  # uv's own don't know companies' proxies
    # Beside .venv, so that files are linked and not copied, and a read-only home doesn't matter.
    environment["UV_CACHE_DIR"] = str(OWN / "cache")
    environment["UV_PYTHON_INSTALL_DIR"] = str(OWN / "python")
    environment["NO_COLOR"] = "1"  # its output is cut
    return {**environment, **child_environment(), "PYTHONUTF8": "1"}  # on Windows, uv compiles by UTF-8 names


def explain(output: str) -> str:
    """Return the sentence for what uv or pip printed before it failed; "" for an unknown failure."""
    for pattern, sentence in FAULTS.items():
        match = re.search(pattern, output)
        if match:
            system, found = sysconfig.get_platform(), match.group().strip()
            return sentence.format(found=found, root=ROOT, minor=MINOR, system=system)
    return ""


def run(command: List[str], environment: Dict[str, str], lock: int, is_shown: bool = True) -> None:
    """Run uv or pip, which keeps the lock while it lives; show what it prints; raise the reason if it fails."""
    if os.name == "posix" and sys.stderr.isatty():
        import pty

        reader, writer = pty.openpty()  # uv draws its progress on terminals only
    else:
        reader, writer = os.pipe()
    inherited = {"close_fds": False} if os.name == "nt" else {"pass_fds": [lock]}  # type: Dict[str, Any]
    streams = {"stdin": subprocess.DEVNULL, "stdout": writer, "stderr": writer}  # type: Dict[str, Any]
    child = subprocess.Popen(command, env=environment, cwd=str(LOCKS), **streams, **inherited)
    os.close(writer)
    output = b""
    with child, contextlib.suppress(OSError):  # how a terminal ends
        for chunk in iter(lambda: os.read(reader, 65536), b""):
            begin, output = len(LOGGED.split(output)[0]), output + chunk
            if is_shown:
                sys.stderr.write(LOGGED.split(output)[0][begin:].decode("utf-8", "replace"))
                sys.stderr.flush()
    os.close(reader)
    text = output.decode("utf-8", "replace")
    with LOG.open("a", encoding="utf-8") as log:
        log.write(text)
    if child.returncode:
        last_lines = "\n".join(text.splitlines()[-8:])
        raise Fault(explain(text) or f"{last_lines}\nThe packages could not be installed; see {LOG}")


def fetch_pip(index: str) -> Path:
    """Download the locked pip from the user's index."""
    from urllib.parse import urljoin, urlsplit
    from urllib.request import urlopen

    pin = re.search(r"^pip==(\S+).*\n((?: .*\n)+)", (LOCKS / "cpu.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert pin
    page, name = index.rstrip("/") + "/pip/", f"pip-{pin.group(1)}-py3-none-any.whl"
    try:
        with urlopen(page, timeout=60) as answer:  # noqa: S310 -- an index may be a folder
            links = re.findall(r'href="([^"]+)"', answer.read().decode("utf-8", "replace"))
        link = next((link for link in links if urlsplit(link).path.endswith("/" + name)), name)
        with urlopen(urljoin(page, link), timeout=60) as answer:  # noqa: S310
            data = answer.read()
    except OSError as error:
        raise Fault(f"{page} offers no {name} ({error}); check the index and start again.") from error
    if hashlib.sha256(data).hexdigest() not in pin.group(2):
        raise Fault(explain("Hash mismatch"))
    (OWN / name).write_bytes(data)
    return OWN / name


find_module = importlib.machinery.PathFinder.find_spec  # without the hooks of setuptools


def find_pip(index: str) -> List[str]:
    """Return a command that runs pip, be it from a wheel."""
    if find_module("pip"):
        return [sys.executable, "-m", "pip"]
    spec = find_module("ensurepip")
    folders = [Path(spec.origin).parent / "_bundled"] if spec and spec.origin else []
    folders.append(Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"))
    wheels = [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]
    if not wheels and index:
        wheels = [fetch_pip(index)]
    if wheels:
        return [sys.executable, str(wheels[0] / "pip")]
    command = next((MANAGERS[name] for name in MANAGERS if shutil.which(name)), "")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    advice = f"type: {'' if is_root else 'sudo '}{command}" if command else "install uv or pip"
    raise Fault(f"This Python has no pip; {advice}, and start again.")


def find_uv(environment: Dict[str, str], lock: int) -> str:
    """Return the path of uv: ours, the user's, or a new one of ours."""
    pin = (LOCKS / "uv.txt").read_text(encoding="utf-8").splitlines()[1].split()[0]
    folder = OWN / pin.replace("==", "-")
    own = folder / "bin" / ("uv.exe" if os.name == "nt" else "uv")
    if own.exists():
        return str(own)
    installed = shutil.which("uv") or ""
    version = re.match(r"uv (\d+)\.(\d+)", answer_of([installed, "--version"], environment)) if installed else None
    if version and (int(version.group(1)), int(version.group(2))) >= (0, 9):
        return installed
    index = environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL", "")
    draft = OWN / "draft"
    shutil.rmtree(str(draft), ignore_errors=True)
    options = ["--no-user", "--no-input", "--only-binary=:all:", "--disable-pip-version-check", "-q"]
    options += ["--require-hashes", "-r", str(LOCKS / "uv.txt"), "--target", str(draft)]
    for_pip = {name: value for name, value in environment.items() if name not in MISLEADING}
    for_pip.update({"PIP_REQUIRE_VIRTUALENV": "0", **({"PIP_INDEX_URL": index} if index else {})})
    run([*find_pip(index), "install", *options], for_pip, lock, is_shown=False)
    shutil.rmtree(str(folder), ignore_errors=True)
    draft.replace(folder)
    return str(own)


def is_suitable() -> bool:
    """Tell whether there are builds of the packages for this Python."""
    is_usual = platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    return is_usual and sys.version_info[:2] >= OLDEST


def find_python(uv: str, environment: Dict[str, str], lock: int, may_download: bool) -> str:
    """Return the Python for .venv: this one, another one of this computer, or one to which the user agrees."""
    if is_suitable():
        # The base: start.py may run in the very .venv that is replaced.
        return getattr(sys, "_base_executable", sys.executable)
    find = [uv, "python", "find", "--system", "--no-project", "--no-python-downloads", "cpython>=3.11,<3.15"]
    found = answer_of(find, environment)
    if found:
        return found
    need = f"Epochmark needs Python 3.11 to 3.14 and this is {platform.python_implementation()} {MINOR}"
    command = f"py install {DOWNLOADED}" if os.name == "nt" else f"{typed_command()} --download-python"
    if not may_download and not (sys.stdin and sys.stdin.isatty()):
        raise Fault(f"{need}; type: {command}")
    if not may_download:
        source = environment.get("UV_PYTHON_INSTALL_MIRROR") or "github.com/astral-sh/python-build-standalone"
        say(f"{need}. Download Python {DOWNLOADED} (about 35 MB, 110 MB on disk) from {source} to {OWN}? [y/N] ")
        if not input().strip().lower().startswith("y"):
            raise Fault(f"Install Python {DOWNLOADED} and start again with it.")
    run([uv, "python", "install", DOWNLOADED, "--no-bin", "--no-registry"], environment, lock)
    return answer_of(find, environment)


def read_locks(profile: str, dev: bool) -> Tuple[List[str], str]:
    """Return the lock files of an installation, and a digest of them."""
    paths = [LOCKS / name for name in [profile + ".txt", *["dev.txt"] * dev]]
    return [str(path) for path in paths], hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def read_stamp() -> Dict[str, Any]:
    """Return what the last set-up left in .venv; nothing if there was none."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
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


def is_current(stamp: Dict[str, Any], wanted: str, dev: bool = False) -> bool:
    """Tell whether .venv holds what the lock files say, without starting anything."""
    profile, has_dev = stamp.get("profile"), bool(stamp.get("dev"))
    return (
        profile in list(PROFILES)  # whatever type it has
        and wanted in ("", profile)
        and stamp.get("python") == MINOR
        and stamp.get("locks") == read_locks(profile, has_dev)[1]
        and has_dev >= dev
        and stamp.get("driver") == NVIDIA_DRIVER.exists()  # if it came or went, choose again
        and isinstance(stamp.get("qt"), list)
        and has_python()
    )


def try_lock() -> int:
    """Lock this folder against other starts; -1 if one has it. Ends with the last process that inherits it."""
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateMutexW.restype = ctypes.c_void_p
        name = "epochmark-" + hashlib.sha256(str(ROOT).lower().encode()).hexdigest()
        mutex = kernel.CreateMutexW(None, False, name)
        if not mutex or ctypes.get_last_error() == 183:  # ERROR_ALREADY_EXISTS
            kernel.CloseHandle(ctypes.c_void_p(mutex))
            return -1
        os.set_handle_inheritable(mutex, True)
        return int(mutex)
    import fcntl

    handle = os.open(str(ROOT / ".start.lock"), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return -1
    return handle


@contextlib.contextmanager
def alone() -> Iterator[int]:
    """Wait until nobody sets up this folder: no other start, nor the uv that one left behind. Yields the lock."""
    lock = try_lock()
    if lock < 0:
        say("Another start is setting up Epochmark; waiting for it ...")
    while lock < 0:
        time.sleep(0.2)
        lock = try_lock()
    try:
        yield lock
    finally:
        if sys.platform == "win32":
            import _winapi

            _winapi.CloseHandle(lock)
        else:
            os.close(lock)


def install(old: Dict[str, Any], wanted: str, dev: bool, lock: int, may_download: bool = False) -> Dict[str, Any]:
    """Make .venv anew as the lock files say. Nothing is downloaded twice, however often this is interrupted."""
    profile = old["profile"] if is_current(old, wanted) else wanted or detect_profile()
    dev = dev or bool(old.get("dev"))
    download_gb, disk_gb = PROFILES[profile]
    if VENV.is_symlink():
        raise Fault(f"{VENV} is a link; remove the link, and start again.")
    free_gb = shutil.disk_usage(str(ROOT)).free / 1e9
    if free_gb < disk_gb and not OWN.exists():
        raise Fault(f"Setting up needs {disk_gb} GB of disk and {free_gb:.1f} GB are free in {ROOT}; free some.")
    say(f"Setting up Epochmark in .venv (about {download_gb} GB to download the first time) ...")
    OWN.mkdir(exist_ok=True)
    environment = uv_environment()
    uv = find_uv(environment, lock)
    python = find_python(uv, environment, lock, may_download)
    if sys.version_info[:2] > NEWEST:
        say(f"TensorFlow has no build for Python {MINOR} yet; the window's Settings offer other engines.")
    locks, digest = read_locks(profile, dev)
    if VENV.is_file() or not (VENV / "pyvenv.cfg").exists():  # uv refuses what it was removing when it was ended
        VENV.unlink() if VENV.is_file() else shutil.rmtree(str(VENV), ignore_errors=True)
    run([uv, "venv", "--quiet", "--clear", "--no-project", "--python", python, str(VENV)], environment, lock)
    options = ["--require-hashes", "--only-binary=:all:", "--no-binary=gputil", "--compile-bytecode"]
    options += ["--no-index"] * (environment.get("PIP_NO_INDEX", "").lower() in ("1", "true", "yes", "on"))
    build = ["--build-constraints", str(LOCKS / "build.txt")]
    run([uv, "pip", "sync", "--python", str(PYTHON), *options, *build, *locks], environment, lock)
    # Makes `app` and `workloads` importable; relative, so that the folder can be moved.
    packages = [*VENV.glob("lib/python*/site-packages"), *VENV.glob("Lib/site-packages")][0]
    (packages / "epochmark.pth").write_text(os.path.relpath(str(ROOT), str(packages)) + "\n", encoding="utf-8")
    # A start that compiles the app takes twice as long.
    compiling = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "app"), str(ROOT / "workloads")]
    answer_of(compiling, environment, timeout_s=600)
    stamp = {"profile": profile, "dev": dev, "python": MINOR, "locks": digest, "qt": []}  # type: Dict[str, Any]
    stamp["driver"] = NVIDIA_DRIVER.exists()
    write_stamp(stamp)
    say("Epochmark is set up.")
    return stamp


def set_up(dev: bool, repair: bool, may_download: bool = False) -> Dict[str, Any]:
    """Return the stamp of a ready .venv; costs nothing when it is ready already."""
    wanted, stamp = wanted_profile(), read_stamp()
    if repair or not is_current(stamp, wanted, dev):
        with alone() as lock:
            stamp = read_stamp()
            if repair or not is_current(stamp, wanted, dev):
                stamp = install(stamp, wanted, dev, lock, may_download)
    return stamp


def typed_command() -> str:
    """Return what was typed before the arguments, for hints that name a command."""
    words = list(getattr(sys, "orig_argv", sys.argv))[: 1 - len(sys.argv) or None]  # new in Python 3.10
    if Path(words[-1]).name != "start.py":
        return "py start.py" if os.name == "nt" else "python3 start.py"
    if os.name != "nt" and Path(words[0]).is_absolute() and shutil.which(Path(words[0]).name):
        words[0] = Path(words[0]).name  # pyenv, for example, starts it by its whole path
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
    command, errors = [str(PYTHON.with_name("pythonw.exe")), *arguments], VENV / "window.log"
    with errors.open("wb") as log:
        null = subprocess.DEVNULL
        child = subprocess.Popen(command, env=environment, stdin=null, stdout=null, stderr=log)
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


def start(arguments: List[str]) -> int:
    """Do what the command line says."""
    options = list(itertools.takewhile({"--repair", "--download-python"}.__contains__, arguments))
    arguments = arguments[len(options) :]
    verb = arguments[0] if arguments[:1] in (["test"], ["check"]) else "app"
    stamp = set_up(verb != "app", "--repair" in options, "--download-python" in options)
    environment = child_environment()
    if verb == "app":
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if not arguments and has_display and not check_qt(stamp, for_tests=False):
            say(f"Until then: {typed_command()} run runs in the terminal.")
            return 2
        environment["EPOCHMARK_STARTED_AS"] = typed_command()
        # -P: the folder that the user is in may have an `app` of its own.
        command = ["-P", "-m", "app", *arguments]
        leaves = not arguments and has_own_console(programs_in_console())
        return leave_console(command, environment) if leaves else become(command, environment)
    if not check_qt(stamp, for_tests=True):
        if verb == "check":
            return 2
        say("Until then, the tests of the window are left out.")
        environment["EPOCHMARK_TESTS_WITHOUT_WINDOW"] = "1"
    return become(["-P", str(ROOT / "tests" / "__main__.py"), *arguments], environment)


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
    except (EOFError, KeyboardInterrupt):
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
