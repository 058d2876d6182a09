"""Handles the storage test's files: checks free space, writes files, drops them from memory and removes them."""

import json
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import Message, message
from workloads.protocol.reporter import Reporter

PREFIX = "epochmark-storage-"
MARKER = "epochmark.json"
PICTURES, PACKED = "jpeg", "packed"
# Twice a JPEG of 110 kB, with some reserve, plus slightly more than 256 × 256 × 3 bytes of pixels.
SPACE_PER_IMAGE_BYTES = 2 * 120_000 + 200_000
FILES_PER_STEP = 32
_LOOKED_AT = 8
_MARKER_LIMIT_BYTES = 1_000

# Whether the system dropped files from memory when requested; "unknown" if it doesn't report this.
Dropped = Literal["dropped", "kept", "unknown"]
_DOUBTFUL: tuple[Dropped, ...] = ("kept", "unknown")


def check_space(parent: Path, images: int) -> None:
    """Raise WorkloadError unless a folder has enough space for the test's files."""
    need_bytes = images * SPACE_PER_IMAGE_BYTES
    try:
        free_bytes = shutil.disk_usage(parent).free
    except OSError as error:
        raise trouble(parent, error) from error
    if free_bytes < need_bytes:
        sizes = {"free_bytes": free_bytes, "images": images, "need_bytes": need_bytes}
        raise bad_parameters("storage.no_room", folder=str(parent), **sizes)


def trouble(parent: Path, error: OSError) -> WorkloadError:
    """Return the error to raise if a folder can't be used during the measurement."""
    reason = error.strerror or str(error)
    code = "storage.folder_failed"
    if not os.path.isdir(parent):
        code = "storage.folder_gone"
    elif isinstance(error, FileNotFoundError):
        code = "storage.files_gone"
    return bad_parameters(code, folder=str(parent), reason=reason)


@contextmanager
def own_folder(parent: Path, warn: Callable[[Message], None]) -> Iterator[Path]:
    """Create a subfolder for the test's files, and always remove it on exit, or warn.

    Raises WorkloadError with a message for the user if the folder can't be used.
    """
    import psutil

    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            process = psutil.Process()
            mark = {"pid": process.pid, "started_s": process.create_time(), "computer": platform.node()}
            (folder / MARKER).write_text(json.dumps(mark), encoding="utf-8")
            for name in (PICTURES, PACKED):
                (folder / name).mkdir()
            yield folder
        finally:
            _remove_own(folder, warn)
    except BrokenPipeError:  # the parent process has exited; the folder hasn't failed
        raise
    except OSError as error:
        raise trouble(parent, error) from error


def remove_leftovers(parent: Path) -> None:
    """Delete test files whose process has exited, and nothing else."""
    with suppress(OSError):
        for folder in list(parent.glob(f"{PREFIX}*")):
            with suppress(OSError):
                if _is_abandoned(folder):
                    _remove(folder)


def write_pictures(folder: Path, pictures: Sequence[bytes], images: int, reporter: Reporter) -> list[Path]:
    """Write `images` files, repeating the pictures if necessary, and wait until all are on the drive."""
    paths = [folder / PICTURES / f"{number:06d}.jpg" for number in range(images)]
    steps = [range(start, min(start + FILES_PER_STEP, images)) for start in range(0, images, FILES_PER_STEP)]
    for step in steps:
        for number in step:
            paths[number].write_bytes(pictures[number % len(pictures)])
        reporter.step_end()
    for step in steps:
        for number in step:
            flush(paths[number])
        reporter.step_end()
    return paths


def flush(path: Path) -> None:
    with path.open("r+b") as file:  # Windows flushes only writable files
        os.fsync(file.fileno())


def drop_from_memory(paths: Sequence[Path], check_cancel: Callable[[], None]) -> Dropped:
    """Ask the system to drop files from memory, so that they are read from the drive. Return their state."""
    if sys.platform != "linux":
        return "kept"
    for number, path in enumerate(paths):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
        if number % FILES_PER_STEP == 0:
            check_cancel()
    # Check only a few files, because checking makes the system read them.
    states = [_state(path) for path in paths[:: max(1, len(paths) // _LOOKED_AT)]]
    return next((state for state in _DOUBTFUL if state in states), "dropped")


def _state(path: Path) -> Dropped:
    """Check whether a file is in memory, by reading one byte without blocking."""
    assert sys.platform == "linux"
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return "dropped"
    except OSError:  # some file systems don't support this
        return "unknown"
    finally:
        os.close(descriptor)
    return "kept"


def _remove_own(folder: Path, warn: Callable[[Message], None]) -> None:
    try:
        _remove(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        warn(message("warning.leftovers", folder=str(folder), reason=error.strerror or str(error)))


def _remove(folder: Path) -> None:
    """Remove only files created by the test, the marker last, so that an interrupted removal can be resumed."""
    for name in (PICTURES, PACKED):
        with suppress(FileNotFoundError):
            shutil.rmtree(folder / name)  # doesn't follow links
    (folder / MARKER).unlink(missing_ok=True)
    folder.rmdir()


def _is_abandoned(folder: Path) -> bool:
    """Return whether a test of this user created the folder on this computer and its process has exited."""
    marker = folder / MARKER
    if not stat.S_ISDIR(folder.lstat().st_mode) or not stat.S_ISREG(marker.lstat().st_mode):
        return False
    if marker.lstat().st_size > _MARKER_LIMIT_BYTES:
        return False
    # Leave other users' folders in a shared folder alone.
    if sys.platform != "win32" and {folder.lstat().st_uid, marker.lstat().st_uid} != {os.getuid()}:
        return False
    try:
        owner = json.loads(marker.read_text(encoding="utf-8"))
        pid, started_s = int(owner["pid"]), float(owner["started_s"])
        return owner["computer"] == platform.node() and not _is_alive(pid, started_s)
    except (ValueError, TypeError, LookupError, OverflowError):  # not a marker written by this test
        return False


def _is_alive(pid: int, started_s: float) -> bool:
    import psutil

    try:
        return bool(abs(psutil.Process(pid).create_time() - started_s) < 2)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # exists, but belongs to another user
        return True
