"""The standard files of a child process: kept for the protocol, out of reach of the libraries that work there."""

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

# The exit code of a child whose parent has ended.
EXIT_ORPHANED = 3


def take_stdin() -> int:
    """Keep standard input for the parent's requests; return its new descriptor.

    Descriptor 0 becomes the null device: on Windows, asking for the state of a pipe waits while another thread
    reads it, and NumPy's OpenBLAS asks for that of standard input as it is imported (numpy#24290, cpython#78961).
    """
    kept = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    _replace(0, nothing)
    os.close(nothing)
    return kept


def take_stdout() -> BinaryIO:
    """Keep standard output for the child's answers: whatever a library prints from now on goes to stderr."""
    stream = os.fdopen(os.dup(1), "wb")
    _replace(1, 2)
    return stream


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield lines straight from the descriptor, without a buffer object whose lock a dying thread could hold."""
    rest = b""
    while chunk := os.read(descriptor, 65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def end_as_orphan() -> NoReturn:
    """End this process at once, whatever its other threads are doing.

    On Windows, exiting waits for a library that another thread is loading, as engines do for seconds.
    """
    if sys.platform == "win32":
        os.kill(os.getpid(), EXIT_ORPHANED)  # TerminateProcess, with this exit code
    os._exit(EXIT_ORPHANED)


def _replace(number: int, source: int) -> None:
    """Put a copy of the source in the place of a standard file, for this process and its children."""
    os.dup2(source, number)
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        # The C library does this in console programs only, not in those of pythonw.exe: the handle would be stale.
        handles = (-10, -11, -12)  # STD_INPUT_HANDLE and so on, from winbase.h
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(number))
        ctypes.windll.kernel32.SetStdHandle(ctypes.c_ulong(handles[number] & 0xFFFFFFFF), handle)
