"""Standard streams of a child process, reserved for the protocol and hidden from libraries."""

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

# Exit code of a child whose parent has exited.
EXIT_ORPHANED = 3


def take_stdin() -> int:
    """Reserve standard input for the parent's requests, and return its new file descriptor.

    Descriptor 0 is redirected to the null device. On Windows, querying a pipe's state blocks while another thread
    reads from it, and NumPy's OpenBLAS queries standard input during import (numpy#24290, cpython#78961).
    """
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    _replace(0, nothing)
    os.close(nothing)
    return kept


def take_stdout() -> BinaryIO:
    """Reserve standard output for the child's answers. Output from libraries is redirected to stderr."""
    stream = os.fdopen(os.dup(1), "wb")
    _replace(1, 2)
    return stream


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield lines directly from a file descriptor, without a buffer whose lock might be held by a dying thread."""
    rest = b""
    while chunk := os.read(descriptor, 65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def end_as_orphan() -> NoReturn:
    """End this process immediately, whatever its other threads are doing.

    On Windows, a normal exit waits while another thread is loading a library. Loading an engine can take seconds.
    """
    if sys.platform == "win32":
        os.kill(os.getpid(), EXIT_ORPHANED)  # calls TerminateProcess with this exit code
    os._exit(EXIT_ORPHANED)


def _replace(number: int, source: int) -> None:
    """Replace a standard stream with a copy of another one, for this process and its children."""
    os.dup2(source, number)
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        # The C library does this only in console programs. In pythonw.exe, the handle would be stale.
        handles = (-10, -11, -12)  # STD_INPUT_HANDLE etc., from winbase.h
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(number))
        ctypes.windll.kernel32.SetStdHandle(ctypes.c_ulong(handles[number] & 0xFFFFFFFF), handle)
