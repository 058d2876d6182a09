"""What the tests of the command line share: starting commands and reading what they say."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.conftest import CommandLine, command

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and files")


def start(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    # On Windows, only a group of its own can be sent Ctrl+Break.
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    words = command(*arguments)
    return subprocess.Popen(words, env=environment, stdout=-1, stderr=-1, encoding="utf-8", creationflags=flags)


def ended(environment: dict[str, str], *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, with more options of subprocess.run: input, cwd, stdout."""
    usual: dict[str, Any] = {"stdout": -1, "stderr": -1, "encoding": "utf-8", "timeout": 60}
    done: subprocess.CompletedProcess[str]
    done = subprocess.run(command(*arguments), env=environment, check=False, **(usual | options))
    return done


def on_a_terminal(environment: dict[str, str], *arguments: str) -> bytes:
    """Run a command on a pseudo-terminal, to its good end; returns all that it shows."""
    import pty

    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"as in some containers: {error}")
    process = subprocess.Popen(command(*arguments), env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:
        pass  # how a pseudo-terminal ends
    os.close(ours)
    assert process.wait(20) == 0
    return shown


def read_until(process: "subprocess.Popen[str]", kind: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] == kind:
            return event
    raise AssertionError(kind)


def waiting_bytes(descriptor: int) -> int:
    import fcntl
    import struct
    import termios

    answer = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0")
    size_bytes: int = struct.unpack("i", answer)[0]
    return size_bytes


def runs(epochmark: CommandLine) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(epochmark("results", "list", "--json").stdout)
    return listed


def sentence_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the sentence on stderr, which must be one line without a traceback."""
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]
