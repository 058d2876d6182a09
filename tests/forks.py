"""Real command lines without their start: forks of one process that has imported the app already.

Python's start and the imports are most of what a command costs, and a fork has everything else of a process: its
own environment, output, signals, threads and exit code. Only what starts Python in another way needs a real start.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

# What may differ between the process that forks and a command, as a fork can still change it.
OURS = "EPOCHMARK_HOME"
_OF_TESTS = "PYTEST_"


class Forks:
    """Command lines as forks of one process, which ends with this object or with the tests."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self._folder = environment, folder
        self._control, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forks", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
            cwd=folder,
            # Never read: Python's own files for output are made for pipes, which the forks have, too.
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._lock = threading.Lock()

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Return whether a fork is the same as a process with these variables, started now."""
        mine = self._environment
        changed = {name for name in mine.keys() | environment if mine.get(name) != environment.get(name)}
        return self._folder == Path.cwd() and all(name == OURS or name.startswith(_OF_TESTS) for name in changed)

    def run(self, command: list[str], environment: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
        """Run a command and return exit code, output and errors; raises TimeoutExpired after too long."""
        ours, theirs = socket.socketpair()
        read, write = zip(os.pipe(), os.pipe(), strict=True)
        with (
            ours,
            os.fdopen(read[0], encoding="locale") as output,
            os.fdopen(read[1], encoding="locale") as errors,
        ):
            with theirs, self._lock:
                socket.send_fds(self._control, [b"x"], [theirs.fileno(), *write])
            for end in write:
                os.close(end)
            ours.settimeout(timeout_s)
            ours.sendall(json.dumps({"command": command, "environment": dict(environment)}).encode() + b"\n")
            with ours.makefile("r", encoding="ascii") as answers:
                pid = int(answers.readline())
                if (texts := _read_all(output, errors, patience_s=timeout_s, pid=pid)) is None:
                    raise subprocess.TimeoutExpired(command, timeout_s)
                return int(answers.readline()), *texts

    def close(self) -> None:
        self._control.close()
        self._process.communicate()


def _read_all(output: IO[str], errors: IO[str], *, patience_s: float, pid: int) -> tuple[str, str] | None:
    """Return both texts once both have ended; None after too long, when the command is killed."""
    late = threading.Event()

    def kill() -> None:
        late.set()
        os.kill(pid, signal.SIGKILL)

    killer = threading.Timer(patience_s, kill)
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(errors.read()))
    killer.start()
    reader.start()
    try:
        text = output.read()
        reader.join()
    finally:
        killer.cancel()
    return None if late.is_set() else (text, said[0])


def serve(control: socket.socket) -> None:
    """Fork for each command until no one can ask any more; returns in the commands, and at the end."""
    while True:
        message, files, *_ = socket.recv_fds(control, 1, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            return keep(control, *files)
        for file in files:
            os.close(file)
        while _ended_keeper():
            pass


def keep(control: socket.socket, line: int, output: int, errors: int) -> None:
    """Fork once more, return in the command, and report its end from here."""
    control.close()
    with socket.socket(fileno=line) as connection:
        asked = json.loads(connection.makefile("r", encoding="utf-8").readline())
        if (pid := os.fork()) == 0:
            connection.close()
            os.dup2(output, 1)
            os.dup2(errors, 2)
            os.close(output)
            os.close(errors)
            os.environ.clear()
            os.environ.update(asked["environment"])
            sys.orig_argv = asked["command"]
            sys.argv = ["app", *asked["command"][3:]]
            return
        os.close(output)
        os.close(errors)
        connection.sendall(f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(f"{code}\n".encode())
    os._exit(0)


def _ended_keeper() -> bool:
    """Forget a keeper that has ended; returns False if there's none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


if __name__ == "__main__":
    import app.cli.run  # noqa: F401
    from app.__main__ import main

    gc.freeze()  # what is never collected is never copied
    serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())
