"""Fills .venv with locked packages. start.py runs this with .venv's Python: `install.py LOCK [LOCK ...]`.

The first lock contains the build tools for the only package without a wheel (GPUtil), so it is installed before
the others. One line per stage is printed to stderr, with percentage and rate for long stages: in place on a
terminal, otherwise a line every quarter. All output of pip is written to start.log in .venv. After a failure, the
last line is a sentence with advice, and the exit code is 2.
"""

import compileall
import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

LOG_NAME = "start.log"
SCRATCH_NAME = "tmp"
LARGE_MB = 50
LOOK_EVERY_S = 0.5
SETTLED_S = 1.0  # earlier rates aren't meaningful
# These settings would change where packages are installed, or suppress output that explain() needs.
MISLEADING_SETTINGS = ("DRY_RUN", "PREFIX", "PYTHON", "QUIET", "ROOT", "TARGET", "USER")
# Patterns of pip's output, with the sentence for the user. The first match counts.
FAULTS = (
    (
        r"No space left on device|Errno 28\b|not enough space on the disk|Disk quota exceeded",
        "The disk became full; free some space and start again.",
    ),
    (
        "DO NOT MATCH THE HASHES",
        "A downloaded package differs from the one that was tested; start again, and if this comes back, a"
        " proxy or mirror changes what it delivers.",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError",
        "No trusted connection to the package index; check this computer's date and its proxy, then start again.",
    ),
    (
        "NewConnectionError|NameResolutionError|Temporary failure in name resolution|getaddrinfo failed"
        "|Max retries exceeded|Timeout ?Error|Read timed out|ProxyError|ProtocolError|Connection broken"
        "|Connection refused|Connection reset|Network is unreachable|RemoteDisconnected|HTTP error [45]",
        "The package index cannot be reached; check the internet connection and start again.",
    ),
    (
        r"Read-only file system|Permission denied|Errno 13\b|WinError 5\b",
        "A file in .venv cannot be written; close Epochmark if it is open, then start again with --repair.",
    ),
    (
        "Windows Long Path",
        "A path became too long for Windows; move this folder to a short path such as C:\\epochmark.",
    ),
    (
        "No matching distribution found|Could not find a version that satisfies",
        "A package has no build for this computer; needed is Linux with glibc 2.34 (2021) or newer, Windows"
        " on x64, or macOS 14 or newer on Apple silicon.",
    ),
)


def say(text: str) -> None:
    """Print to stderr, because stdout is reserved for the app."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def explain(output: str) -> str:
    """Return the sentence that explains pip's output after a failure; "" for an unknown failure."""
    for pattern, sentence in FAULTS:
        if re.search(pattern, output):
            return sentence
    return ""


def progress_of(line: str) -> str:
    """Convert a line of pip's output to a line for the user; "" for most lines."""
    download = re.search(r"Downloading (?:\S*/)?([^\s/]+?)-\d\S* \((\d+)(?:\.\d+)? MB\)", line)
    if download and int(download[2]) >= LARGE_MB:
        return f"  downloading {download[1]} ({download[2]} MB) ..."
    return "  installing ..." if line.startswith("Installing collected packages: ") else ""


class Meter:
    """Shows the progress of a large download or of the installation. pip itself reports only when each begins.

    Args:
        scratch: Folder for pip's downloads, whose sizes show the progress.
        packages: Folder into which pip installs packages.
        out: Stream for the output; None for stderr.
        clock: Function that returns the time in seconds.
    """

    def __init__(
        self,
        scratch: Path,
        packages: Path,
        out: "TextIO | None" = None,
        clock: "Callable[[], float]" = time.monotonic,
    ) -> None:
        self._scratch, self._packages = scratch, packages
        self._out = out or sys.stderr
        self._clock = clock
        self._is_live = self._out.isatty()
        self._turn = threading.Lock()
        self._note = ""
        self._file, self._total = "", 0  # file being downloaded and its size, or number of packages to install
        self._begun_s = 0.0
        self._before: frozenset[str] = frozenset()
        self._quarter = self._width = 0

    def see(self, line: str) -> None:
        """Process a line of pip's output, and announce the stage that begins."""
        with self._turn:
            download = re.search(r"Downloading (?:\S*/)?(\S+\.(?:whl|tar\.gz)) \((\d+(?:\.\d+)?) MB\)", line)
            installing = re.match(r"Installing collected packages: (.+)", line)
            note = progress_of(line)
            if line and not note and not self._note:
                return
            self._end()
            if note:
                self._note, self._quarter, self._begun_s = note, 0, self._clock()
                self._file = download[1] if download else ""
                self._total = round(float(download[2]) * 1e6) if download else 0
                if installing:
                    self._total, self._before = installing[1].count(",") + 1, self._installed()
                self._write(note)

    def tick(self) -> None:
        """Show the current progress."""
        with self._turn:
            if not self._note or not self._total:
                return
            done = self._arrived() if self._file else len(self._installed() - self._before)
            percent = min(100, 100 * done // self._total)
            if not self._is_live and percent // 25 <= self._quarter:
                return
            self._quarter = percent // 25
            self._write(f"{self._note.removesuffix(' ...')}: {percent} %{self._rate(done)}")

    def close(self) -> None:
        """End the line."""
        with self._turn:
            self._end()

    def _rate(self, done: int) -> str:
        elapsed_s = self._clock() - self._begun_s
        if not self._file or elapsed_s < SETTLED_S or not done:
            return ""
        return f", {done / elapsed_s / 1e6:.1f} MB/s"

    def _write(self, text: str) -> None:
        if self._is_live:
            text = text[: shutil.get_terminal_size().columns - 1]
            # Overwrite longer text with spaces, because not every Windows console supports a sequence for this.
            self._out.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._out.write(text + "\n")
        self._out.flush()

    def _end(self) -> None:
        if self._note and self._is_live:
            self._out.write("\n")
            self._out.flush()
        self._note, self._width = "", 0

    def _arrived(self) -> int:
        """Return the number of bytes of the file received so far."""
        sizes = [0]
        for path in self._scratch.rglob(self._file):
            with contextlib.suppress(OSError):  # already removed
                sizes.append(path.stat().st_size)
        return max(sizes)

    def _installed(self) -> "frozenset[str]":
        """Return the complete installations of packages, each with its time. pip writes INSTALLER last."""
        stamps = set()
        for path in self._packages.glob("*.dist-info/INSTALLER"):
            with contextlib.suppress(OSError):
                stamps.add(f"{path.parent.name} {path.stat().st_mtime_ns}")
        return frozenset(stamps)


def drop_partial_packages(packages: Path) -> None:
    """Delete the records of partly copied packages. Otherwise, pip would consider them installed.

    pip writes INSTALLER after the package's own files.
    """
    for record in packages.glob("*.dist-info"):
        if not (record / "INSTALLER").exists():
            shutil.rmtree(record)


def pip_environment(scratch: Path) -> dict[str, str]:
    """Return an environment with the user's mirrors, proxies and cache. Temporary files go to `scratch`."""
    misleading = [f"PIP_{name}" for name in MISLEADING_SETTINGS]
    environment = {name: value for name, value in os.environ.items() if name not in misleading}
    return environment | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))


def run_pip(arguments: list[str], log: Path) -> bool:
    """Install locked packages, and return whether this succeeded. After a failure, print the reason."""
    options = ["--require-hashes", "--no-deps", "--no-user", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-I", "-m", "pip", "install", *options, "--progress-bar=off", *arguments]
    scratch = log.parent / SCRATCH_NAME
    scratch.mkdir(exist_ok=True)
    lines = []
    meter, is_over = Meter(scratch, Path(sysconfig.get_path("purelib"))), threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            meter.tick()

    threading.Thread(target=look, daemon=True).start()
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=pip_environment(scratch))
    with pip, log.open("a", encoding="utf-8") as writer:
        assert pip.stdout
        try:
            for raw in pip.stdout:
                line = raw.decode("utf-8", "replace").rstrip()
                writer.write(line + "\n")
                lines.append(line)
                meter.see(line)
        except KeyboardInterrupt:
            pip.communicate()  # Ctrl-C reached pip as well; the next start must not meet it
            raise
        finally:
            is_over.set()
            meter.close()
    if pip.returncode:
        last_lines = "\n".join(lines[-8:])
        say(explain("\n".join(lines)) or f"{last_lines}\nThe packages could not be installed; see {log}")
    return pip.returncode == 0


def compile_own() -> None:
    """Compile the app's own modules once, because a start that compiles them takes twice as long."""
    for name in ("app", "workloads"):  # ignores a folder that can't be written
        compileall.compile_dir(Path(__file__).parents[1] / name, quiet=2)


def main(locks: list[str]) -> int:
    """Install the build tools, then everything else, and compile the app."""
    drop_partial_packages(Path(sysconfig.get_path("purelib")))
    log = Path(sys.prefix) / LOG_NAME
    others = [part for lock in locks[1:] for part in ("-r", lock)]
    wheels_only = "--only-binary=:all:"
    try:
        tools_done = run_pip([wheels_only, "-r", locks[0]], log)
        done = tools_done and run_pip([wheels_only, "--no-binary=gputil", "--no-build-isolation", *others], log)
        if done:
            compile_own()
    except OSError as error:
        say(explain(str(error)) or f"The packages could not be installed: {error}")
        return 2
    except KeyboardInterrupt:
        say("Stopped; the next start goes on from here.")
        return 130
    finally:
        shutil.rmtree(log.parent / SCRATCH_NAME, ignore_errors=True)
    return 0 if done else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
