"""Runs `start.py test` in fresh clones on one computer made to look like many, and prints a row for each.

    python -m tests.tools.surroundings NAME ... [-- ARGS]     ARGS go to `start.py test`, such as --fast
    python -m tests.tools.surroundings list

A name may combine several: dead-display+turkish+odd-path. Debian and root are needed for some: those that hide or
install libraries, make locales or become another user. Other Pythons are looked for on PATH.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.gui.shell.display import DEBIAN_PACKAGES
from tests.conftest import ROOT
from tests.tools.rewording import reword

DISPLAY = ":78"
USER = "nobody"
REASONS_LIMIT = 60
XCB = "libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-keysyms.so.1", "libxkbcommon-x11.so.0"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
_LANGUAGE = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES")
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass
class Run:
    """How the tests are started.

    Attributes:
        folder: Of the clone.
        environment: None removes a variable.
        wrap: Turns the command into another, the last one first.
        meanwhile: What goes on meanwhile.
        prepare: What is done with the clone first.
    """

    folder: str = "epochmark"
    python: str = "python3"
    environment: dict[str, str | None] = field(default_factory=dict)
    wrap: list[Callable[[list[str]], list[str]]] = field(default_factory=list)
    meanwhile: list[Callable[[], contextlib.AbstractContextManager[None]]] = field(default_factory=list)
    prepare: list[Callable[[Path], None]] = field(default_factory=list)
    from_folder: str | None = None
    closes_stdin: bool = False


def with_libraries(run: Run) -> None:
    """Qt's libraries for X11, as on any desktop."""
    run.prepare.append(lambda _: _do("apt-get", "install", "-y", "-q", *DEBIAN_PACKAGES.split()))


def without_libraries(run: Run) -> None:
    """None of them, as on a server: empty files take their places, for this run alone."""
    hidden = [path for name in XCB if (path := LIBRARIES / name).exists()]
    masks = "".join(f"mount --bind /dev/null {path.resolve()} && " for path in hidden)
    run.wrap.append(lambda command: ["unshare", "--mount", "sh", "-c", f"{masks}exec {shlex.join(command)}"])


def display(run: Run) -> None:
    """A display that answers, and Qt on it."""
    run.environment |= {"DISPLAY": DISPLAY}
    run.meanwhile.append(_xvfb)


def dead_display(run: Run) -> None:
    """A display that nobody answers for."""
    run.environment |= {"DISPLAY": ":9876", "WAYLAND_DISPLAY": None}


def no_display(run: Run) -> None:
    """None at all."""
    run.environment |= {"DISPLAY": None, "WAYLAND_DISPLAY": None}


def language(name: str | None) -> Callable[[Run], None]:
    """Return what sets the language."""

    def change(run: Run) -> None:
        run.environment |= dict.fromkeys(_LANGUAGE, None) | {"LANG": name}
        if name is not None and "_" in name:
            locale, charset = name.split(".")
            run.prepare.append(lambda _: _do("localedef", "-i", locale, "-f", charset, name))

    change.__doc__ = f"LANG={name}." if name else "No language set."
    return change


def kathmandu(run: Run) -> None:
    """A time zone that is not whole hours away from others."""
    run.environment |= {"TZ": "Asia/Kathmandu"}


def user(run: Run) -> None:
    """An ordinary user instead of root, with a home of their own."""
    run.python = "/usr/bin/python3"  # one that others may read
    as_user = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]

    def give(clone: Path) -> None:
        home = clone.parent / "home"
        home.mkdir()
        run.environment |= {"HOME": str(home), "TMPDIR": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        _do("chown", "-R", f"{USER}:nogroup", str(clone.parent))
        clone.parent.chmod(0o755)

    run.prepare.append(give)
    run.wrap.append(lambda command: [*as_user, *command])


def odd_path(run: Run) -> None:
    """A folder with a space and letters that are not ASCII."""
    run.folder = "ü 漢 epochmark"


def background(run: Run) -> None:
    """Started in the background by a shell: Ctrl+C ignored, no terminal."""
    run.wrap.append(lambda command: ["sh", "-c", f"{shlex.join(command)} & wait $!"])


def closed_stdin(run: Run) -> None:
    """No standard input at all."""
    run.closes_stdin = True


def elsewhere(run: Run) -> None:
    """Started from another folder."""
    run.from_folder = "/"


def one_core(run: Run) -> None:
    """A single core."""
    run.wrap.append(lambda command: ["taskset", "-c", "0", *command])


def busy(run: Run) -> None:
    """Two other jobs that use all they can get."""
    run.meanwhile.append(_two_jobs)


def reworded(run: Run) -> None:
    """Every sentence of the program in other words, as after a translation."""
    run.prepare.append(reword)


def python(version: str) -> Callable[[Run], None]:
    """Return what sets the Python."""

    def change(run: Run) -> None:
        run.python = f"python{version}"

    change.__doc__ = f"Python {version}."
    return change


SURROUNDINGS: dict[str, Callable[[Run], None]] = {
    "plain": lambda run: None,
    "xcb": with_libraries,
    "no-xcb": without_libraries,
    "display": display,
    "dead-display": dead_display,
    "no-display": no_display,
    "c": language("C"),
    "german": language("de_DE.UTF-8"),
    "turkish": language("tr_TR.UTF-8"),
    "no-language": language(None),
    "kathmandu": kathmandu,
    "user": user,
    "odd-path": odd_path,
    "background": background,
    "closed-stdin": closed_stdin,
    "elsewhere": elsewhere,
    "3.11": python("3.11"),
    "3.12": python("3.12"),
    "3.13": python("3.13"),
    "3.14": python("3.14"),
    "one-core": one_core,
    "busy": busy,
    "reworded": reworded,
}


def main(arguments: list[str]) -> int:
    """Run in each of the surroundings; return 1 if a test failed in any."""
    if arguments == ["list"]:
        for name, change in SURROUNDINGS.items():
            print(f"{name:14} {(change.__doc__ or 'As it is here.').strip()}")
        return 0
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:split], arguments[split + 1 :]
    unknown = {part for name in names for part in name.split("+")} - SURROUNDINGS.keys()
    if unknown or not names:
        sys.exit(f"Unknown surroundings: {', '.join(sorted(unknown)) or 'none named'}; `list` shows them all.")
    print(f"{'surroundings':40} passed failed skipped   set-up    tests  exit", flush=True)
    return max(run_in(name, options) for name in names)


def run_in(name: str, options: list[str]) -> int:
    """Run the tests in one of them, print its row, and return 0 if all passed."""
    run = Run()
    for part in name.split("+"):
        SURROUNDINGS[part](run)
    with tempfile.TemporaryDirectory(prefix="surroundings-", ignore_cleanup_errors=True) as parent:
        clone = Path(parent) / run.folder
        _do("git", "clone", "-q", str(ROOT), str(clone))
        for prepare in run.prepare:
            prepare(clone)
        with contextlib.ExitStack() as stack:
            for meanwhile in run.meanwhile:
                stack.enter_context(meanwhile())
            began_s = time.monotonic()
            _start(run, clone, ["test", "--version"])  # pytest's; sets up
            ready_s = time.monotonic()
            code, output = _start(run, clone, ["test", "-q", "--color=no", *options])
            over_s = time.monotonic()
    counts = {what.rstrip("s"): int(number) for number, what in _COUNT.findall(output.splitlines()[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    print(
        f"{name:40} {counts.get('passed', 0):6,} {failed:6} {counts.get('skipped', 0):7}"
        f" {ready_s - began_s:6.0f} s {over_s - ready_s:6.0f} s {code:5}",
        flush=True,
    )
    reasons = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E   "))]
    for line in reasons[:REASONS_LIMIT] if code else []:
        print(f"    {line[:200]}", flush=True)
    return int(code != 0)


def _start(run: Run, clone: Path, arguments: list[str]) -> tuple[int, str]:
    python = shutil.which(run.python)
    if python is None:
        sys.exit(f"There is no {run.python} on PATH.")
    command = [python, str(clone / "start.py"), *arguments]
    for wrap in reversed(run.wrap):
        command = wrap(command)
    environment = {**os.environ, **run.environment}
    # A shell closes the file, Python can't.
    command = ["sh", "-c", f"exec {shlex.join(command)} <&-"] if run.closes_stdin else command
    done = subprocess.run(
        command,
        cwd=run.from_folder or clone,
        env={name: value for name, value in environment.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


@contextlib.contextmanager
def _xvfb() -> Iterator[None]:
    with subprocess.Popen(["Xvfb", DISPLAY], stderr=subprocess.DEVNULL) as server:
        time.sleep(2)
        yield
        server.terminate()


@contextlib.contextmanager
def _two_jobs() -> Iterator[None]:
    jobs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for job in jobs:
            job.send_signal(signal.SIGKILL)
            job.wait()


def _do(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
