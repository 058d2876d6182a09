"""Downloads and verifies the files of an engine, with progress and resumption."""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from functools import partial
from pathlib import Path

from app.core.datasets.downloads import RefusedError, download, stated_size
from app.core.engines.cancellable import CancelCheck, wait_for
from app.core.engines.contents import sha256_of
from app.core.engines.package_files import PIP_OPTIONS, PackageFile, WrongFileError
from app.core.engines.pip import run_pip
from app.core.errors import AppError
from app.core.hardware.blocking import call_in_thread
from app.core.messages import message
from app.core.paths import make_folder
from app.core.plain_text import one_line

Bytes = Callable[[int, int], None]  # bytes done, total bytes; called ten times a second; may raise to cancel
_PULSE_S, _PATIENCE_S, _GOODBYE_S = 0.1, 10.0, 1.0


class _GivenUpError(Exception):
    """The download was cancelled."""


def sizes_of(files: Sequence[PackageFile], check: CancelCheck) -> dict[PackageFile, int | None]:
    """Return the size of each file as stated by its server; None if it isn't stated in time."""
    outcomes = {file: call_in_thread(partial(_size, file), "engine sizes") for file in files}
    for _ in range(round(_PATIENCE_S / _PULSE_S)):
        if not wait(outcomes.values(), _PULSE_S).not_done:
            break
        check()
    return {file: outcome.result() if outcome.done() else None for file, outcome in outcomes.items()}


def _size(file: PackageFile) -> int | None:
    if file.local is None:
        return stated_size(file.url)
    with contextlib.suppress(OSError):
        return file.local.stat().st_size
    return None


def fetch(
    files: Sequence[PackageFile],
    sizes: Mapping[PackageFile, int | None],
    folder: Path,
    scratch: Path,
    progress: Bytes,
) -> dict[PackageFile, tuple[Path, str]]:
    """Download files that aren't on this computer yet; return the path and SHA-256 of each file.

    Args:
        files: The files.
        sizes: Sizes of the files; None where unknown.
        folder: Folder for files that aren't installed yet. Partial files are kept for the next attempt.
        progress: Callback that may raise an exception to cancel; nothing is written after that.

    Raises:
        AppError: A file can't be downloaded, saved or read, or isn't the expected one.
    """
    make_folder(folder)
    total_bytes = sum(size or 0 for size in sizes.values())
    done_bytes = 0

    def report(part_bytes: int) -> None:
        progress(done_bytes + part_bytes, max(total_bytes, done_bytes + part_bytes))

    fetched: dict[PackageFile, tuple[Path, str]] = {}
    for file in files:
        try:
            fetched[file] = _fetch_one(file, folder, scratch, report)
            done_bytes += fetched[file][0].stat().st_size
        except OSError as error:
            path = one_line(str(error.filename or folder), 300)
            raise AppError(message("files.unreadable", path=path, reason=error.strerror)) from error
    progress(done_bytes, done_bytes)
    return fetched


def _fetch_one(file: PackageFile, folder: Path, scratch: Path, report: Callable[[int], None]) -> tuple[Path, str]:
    target = file.local or folder / file.file_name
    # A link, which could point to one of the user's files, is refused by `download`.
    if file.local is None and (target.is_symlink() or not target.is_file()):
        try:
            _download(file, target, report)
        except RefusedError:
            report(0)
            _download_with_pip(file, folder, scratch, lambda: report(0))
    sha256 = sha256_of(target, report).hex()
    try:
        file.check(sha256)
    except WrongFileError:
        if file.local is None:
            target.unlink(missing_ok=True)  # otherwise every attempt would reject it
        raise
    return target, sha256


def _download(file: PackageFile, target: Path, report: Callable[[int], None]) -> None:
    """Download in a thread, so that the download can be cancelled even if the server doesn't respond."""
    arrived_bytes = 0
    given_up = threading.Event()

    def note(done_bytes: int, _: int) -> None:
        nonlocal arrived_bytes
        arrived_bytes = done_bytes

    def check() -> None:
        if given_up.is_set():
            raise _GivenUpError

    get = partial(download, file.url, target, None, None, note, check=check)
    outcome = call_in_thread(get, "engine download")
    try:
        wait_for(outcome, lambda: report(arrived_bytes))
    finally:
        given_up.set()
        wait([outcome], _GOODBYE_S)


def _download_with_pip(file: PackageFile, folder: Path, scratch: Path, check: CancelCheck) -> None:
    """Download with pip, which uses the user's logins and certificates but can't resume or report progress."""
    what = (*file.pip_options, f"{file.name}==={file.version}")
    run_pip(("download", "--no-deps", *PIP_OPTIONS, "--dest", str(folder), *what), scratch, check)
    if not (folder / file.file_name).is_file():
        raise AppError(message("engines.odd_offer", file=one_line(file.file_name, 100)))
