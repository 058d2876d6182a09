"""Windows Job objects, which end their processes when the owner ends for any reason."""

import ctypes
from typing import Any

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
