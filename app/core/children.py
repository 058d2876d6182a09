"""Runs child processes in their own process groups, so that all their descendants can be terminated."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import psutil

from workloads.protocol.streams import EXIT_ORPHANED

# From winnt.h: JobObjectExtendedLimitInformation, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE.
_EXTENDED_LIMITS, _KILL_ON_CLOSE = 9, 0x2000
_EXIT_KILLED = 1


class _BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class _ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("most_process_memory", ctypes.c_size_t),
        ("most_job_memory", ctypes.c_size_t),
    )


class Job:
    """A Job object that only this process has open. Windows ends its processes when this process ends.

    Args:
        process: Handle of the process to add. Processes that it starts later are also added.

    Raises:
        OSError: The Job object can't be created or used.
    """

    def __init__(self, process: int) -> None:
        windows: Any = ctypes  # these names exist only on Windows
        self._kernel = windows.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateJobObjectW.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self._kernel.CreateJobObjectW(None, None))
        limits = _ExtendedLimits()
        limits.basic.flags = _KILL_ON_CLOSE
        size = ctypes.c_uint32(ctypes.sizeof(limits))
        if not (
            self._handle.value
            and self._kernel.SetInformationJobObject(self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), size)
            and self._kernel.AssignProcessToJobObject(self._handle, ctypes.c_void_p(process))
        ):
            raise windows.WinError(windows.get_last_error())

    def end(self) -> None:
        self._kernel.TerminateJobObject(self._handle, ctypes.c_uint32(_EXIT_KILLED))

    def __del__(self) -> None:
        self._kernel.CloseHandle(self._handle)


_CREATE_SUSPENDED = 0x4  # from winbase.h


class Command(Protocol):
    """The command that starts a child."""

    @property
    def arguments(self) -> Sequence[str]:
        """The program and its arguments."""

    @property
    def environment(self) -> Mapping[str, str]:
        """All environment variables of the child."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line and its environment."""

    arguments: Sequence[str]
    environment: Mapping[str, str]


class Child(subprocess.Popen[bytes]):
    """A child process in its own group. When this process ends, the child and all its descendants end, too.

    The child's stdin, stdout and stderr are pipes; stdout and stderr may share one.

    Raises:
        OSError: The process can't be started.
    """

    def __init__(self, command: Command, *, errors_in_output: bool = False) -> None:
        self._job: Job | None = None
        super().__init__(
            command.arguments,
            env=command.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors_in_output else subprocess.PIPE,
            **_own_group(),
            **_mortal(),
        )
        if sys.platform == "win32":
            with contextlib.suppress(OSError):  # without a job, the child still ends when its stdin is closed
                self._job = Job(int(self._handle))  # type: ignore[attr-defined,unused-ignore]
            try:
                psutil.Process(self.pid).resume()
            except psutil.Error as error:
                self.kill()
                raise OSError(str(error)) from error

    def end(self, *, force: bool) -> None:
        """Terminate the process and all its children, or kill them if `force` is set, without waiting."""
        if self._job is not None:
            self._job.end()
            return
        children: list[psutil.Process] = []
        if self.poll() is None:  # otherwise its process ID may have been reused
            with contextlib.suppress(psutil.Error):
                children = psutil.Process(self.pid).children(recursive=True)
        if hasattr(os, "killpg"):
            # The child leads its own session, so the group keeps its ID even after the child has ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL if force else signal.SIGTERM)
        else:
            self.kill()
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill() if force else child.terminate()


def _mortal() -> dict[str, Any]:
    """Make Linux kill the child when the parent thread ends, even before the child runs any code."""
    # The call must happen between fork and exec. The function uses only the C library, which is already loaded, so
    # it can't block on a lock held by another thread.
    if not sys.platform.startswith("linux"):
        return {}
    library, parent = ctypes.CDLL(None), os.getpid()

    def die_with_parent() -> None:
        library.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, from linux/prctl.h
        if os.getppid() != parent:  # the parent has already ended
            os._exit(EXIT_ORPHANED)

    return {"preexec_fn": die_with_parent}


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        # Started suspended, so that all its descendants belong to its job.
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW | _CREATE_SUSPENDED
        return {"creationflags": flags}
    return {"start_new_session": True}
