"""Installs, updates, checks and removes engines.

A new installation is created next to the final location, verified, tested and then renamed. Until then, the old
installation remains usable.
"""

import contextlib
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from app.core.clock import now_text
from app.core.engines.builds import builds_for
from app.core.engines.cancellable import CancelCheck
from app.core.engines.contents import Contents, check_contents
from app.core.engines.fetching import fetch, sizes_of
from app.core.engines.folder import PACKAGES, EngineFolder, State
from app.core.engines.locations import engine_folder, exclusive
from app.core.engines.package_files import PackageFile, resolve
from app.core.engines.pip import run_pip
from app.core.engines.proving import try_card, try_import
from app.core.engines.stamp import FORMAT, Package, Stamp, this_python, write_stamp
from app.core.engines.variants import Variant
from app.core.errors import AppError, UsageError
from app.core.files import NO_SPACE
from app.core.messages import Message, message
from app.core.paths import Paths, make_folder
from app.core.plain_text import one_line
from workloads.engines.registry import ENGINES, engine_title, is_included
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine

Phase = Literal["resolve", "download", "unpack", "check", "try"]
Progress = Callable[[Phase, int, int], None]  # phase, bytes downloaded, total bytes; may raise to cancel
_NAMES_SHOWN = 3
_Files = Mapping[PackageFile, tuple[Path, str]]  # path and SHA-256 of each file
_UNPACKED = 4  # upper limit for the unpacked size as a multiple of the wheels' size, unless more is known


@dataclass(frozen=True, slots=True)
class EngineRemoval:
    """Result of removing an engine."""

    was_there: bool  # whether an installation or its remains existed
    freed_bytes: int  # size of the installation according to its stamp; 0 if unknown


@dataclass(frozen=True, slots=True)
class Checkup:
    """Result of checking an installed engine."""

    engine: str
    state: State
    stamp: Stamp | None
    problems: tuple[Message, ...]  # problems found; empty if there are none


def choose_variant(engine: str, machine: Machine, name: str | None = None) -> Variant:
    """Return the variant with this name, or the best one if `name` is None.

    Raises:
        UsageError: No such variant exists for this computer.
    """
    check_installable(engine)
    variants = {build.variant.name: build.variant for build in builds_for(engine, machine)}
    if not variants:
        system = one_line(f"{machine.os_name}, {machine.architecture}, Python {machine.python_version}", 120)
        raise UsageError(message("engines.not_for_this_system", title=engine_title(engine), system=system))
    if name is None:
        return next(iter(variants.values()))
    if name not in variants:
        raise UsageError(
            message("engines.unknown_variant", title=engine_title(engine), variant=one_line(name, 40)),
            message("engines.known_variants", variants=list(variants)),
        )
    return variants[name]


def check_installable(engine: str) -> None:
    """Raise UsageError if an engine is unknown or included in Epochmark."""
    if engine not in ENGINES:
        names = list(ENGINES)
        raise UsageError(message("engine.unknown", engine=one_line(engine, 60), engines=names))
    if is_included(engine):
        raise UsageError(message("engines.comes_with_epochmark", title=engine_title(engine)))


def install_engine(
    paths: Paths, variant: Variant, source: Path | None = None, progress: Progress = lambda *_: None
) -> Stamp:
    """Install a variant of an engine, replacing any installed variant; return the new stamp.

    Args:
        source: Folder that contains all required wheels, for installing offline; None to download them.
        progress: Called several times a second, in the caller's thread.

    Raises:
        AppError: The engine can't be installed. The old installation is unchanged, and downloads are kept for the
            next attempt.
    """
    title, place = engine_title(variant.engine), engine_folder(paths, variant.engine)
    if source is not None and not os.path.isdir(source):
        raise UsageError(message("engines.no_such_folder", folder=one_line(str(source), 300)))
    _check_engines_folder(paths)
    with exclusive(paths, variant.engine), _explained(title, place, "files.not_installed"):
        make_folder(paths.engines)
        place.tidy()
        place.check_replaceable()
        fresh = place.fresh()
        try:
            stamp = _fill(paths, variant, fresh, source, progress)
            place.put_in_place(fresh)
        finally:
            if fresh.exists():
                place.discard(fresh)
        _forget_downloads(paths, variant.engine)
    return stamp


def remove_engine(paths: Paths, engine: str) -> EngineRemoval:
    """Delete an engine and its downloads, and nothing else.

    Raises:
        UsageError: The engine is included in Epochmark, or its folder isn't ours and is kept.
        AppError: The engine can't be deleted.
    """
    check_installable(engine)
    _check_engines_folder(paths)
    place = engine_folder(paths, engine)
    with exclusive(paths, engine), _explained(engine_title(engine), place, "files.not_removed"):
        stamp = place.look().stamp
        left = place.tidy()
        was_there = place.remove()
        downloads = _forget_downloads(paths, engine)
        if paths.engines_folder is None:
            with contextlib.suppress(OSError):
                paths.engines.rmdir()  # succeeds only if it is empty
    return EngineRemoval(was_there or left or downloads, stamp.size_bytes if stamp is not None else 0)


def check_engine(paths: Paths, engine: str, progress: Progress = lambda *_: None) -> Checkup:
    """Verify the files of an installed engine against their checksums, and import the engine.

    Raises:
        UsageError: The engine isn't installed, or is included in Epochmark.
        AppError: Another instance of Epochmark is working on the engine, or its folder can't be read.
    """
    check_installable(engine)
    title, place = engine_title(engine), engine_folder(paths, engine)
    with exclusive(paths, engine), _explained(title, place, "engines.not_checked_because"):
        place.tidy()
        seen = place.look()
        if seen.state == "absent":
            raise UsageError(
                message("engines.not_installed", title=title), message("engines.install_it", engine=engine)
            )
        if seen.problem is not None or seen.stamp is None:
            problems = () if seen.problem is None else (seen.problem,)
            return Checkup(engine, seen.state, seen.stamp, problems)
        contents = check_contents(place.packages, _cancel_check(progress, "check"))
        problem = _content_problem(title, contents, seen.stamp.records_sha256)
        problem = problem or try_import(engine, place.packages, paths, _cancel_check(progress, "try"))
    return Checkup(engine, seen.state if problem is None else "damaged", seen.stamp, (problem,) if problem else ())


def _fill(paths: Paths, variant: Variant, fresh: Path, source: Path | None, progress: Progress) -> Stamp:
    """Fill a new folder: resolve, download, unpack, verify and test all packages; return the written stamp."""
    scratch, packages = fresh / "tmp", fresh / PACKAGES
    scratch.mkdir()
    downloads = _download_folder(paths, variant.engine)
    check = _cancel_check(progress, "resolve")
    check()
    wanted = resolve(variant, scratch, check, source)
    sizes = sizes_of(wanted, check)
    _check_room(paths, variant, sizes, downloads)
    files = fetch(wanted, sizes, downloads, scratch, partial(progress, "download"))
    _unpack(files, packages, scratch, _cancel_check(progress, "unpack"))
    contents = check_contents(packages, _cancel_check(progress, "check"))
    check = _cancel_check(progress, "try")
    problem = _content_problem(engine_title(variant.engine), contents, contents.records_sha256)
    problem = problem or try_import(variant.engine, packages, paths, check)
    if problem is not None:
        raise AppError(problem, message("engines.old_one_kept"))
    if variant.is_untried and (failed := try_card(variant, packages, paths, check)) is not None:
        raise AppError(failed, message("engines.install_for_cpu", engine=variant.engine))
    shutil.rmtree(scratch)
    stamp = _stamp(variant, files, contents)
    write_stamp(fresh, stamp)
    return stamp


def _unpack(files: _Files, packages: Path, scratch: Path, check: CancelCheck) -> None:
    """Unpack exactly these files with pip, without resolving dependencies."""
    wanted = scratch / "files.txt"
    lines = [
        f"{file.name} @ {path.absolute().as_uri()} --hash=sha256:{sha256}\n"
        for file, (path, sha256) in files.items()
    ]
    wanted.write_text("".join(lines), encoding="utf-8")
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--require-hashes", "--no-compile", "--no-user")
    arguments = ("install", *options, "--root-user-action=ignore", "--target", str(packages), "-r", str(wanted))
    run_pip(arguments, scratch, check, reads_settings=False)


def _stamp(variant: Variant, files: _Files, contents: Contents) -> Stamp:
    packages = [
        Package(file.name, file.version, sha256, bool(file.allowed)) for file, (_, sha256) in files.items()
    ]
    own = ENGINES[variant.engine].backend
    return Stamp(
        format=FORMAT,
        engine=variant.engine,
        variant=variant.name,
        version=next((package.version for package in packages if package.name == own), packages[0].version),
        python=this_python(),
        platform=sysconfig.get_platform(),
        packages=tuple(sorted(packages, key=lambda package: package.name)),
        records_sha256=contents.records_sha256,
        size_bytes=contents.size_bytes,
        installed_at=now_text(),
    )


def _content_problem(title: str, contents: Contents, records_sha256: str) -> Message | None:
    if contents.damaged:
        names = [one_line(name, 80) for name in contents.damaged[:_NAMES_SHOWN]]
        return message("engines.files_damaged", title=title, names=names, count=len(contents.damaged))
    if contents.records_sha256 != records_sha256:
        return message("engines.other_packages", title=title)
    return None


def _check_engines_folder(paths: Paths) -> None:
    """Raise UsageError if the user's own engines folder is missing, perhaps because its drive is unplugged."""
    folder = paths.engines_folder
    if folder is not None and not os.path.isdir(folder):
        raise UsageError(
            message("engines.folder_is_gone", folder=one_line(str(folder), 300)), message("engines.connect_drive")
        )


@contextlib.contextmanager
def _explained(title: str, place: EngineFolder, code: str) -> Iterator[None]:
    """Convert an OSError, or the error of an unresponsive engine, to an AppError with this message code."""
    try:
        yield
    except OSError as error:
        folder = one_line(str(place.path), 300)
        advice = "files.free_space" if error.errno in NO_SPACE else "engines.check_folder"
        reason = error.strerror or str(error)
        raise AppError(message(code, title=title, folder=folder, reason=reason), message(advice)) from error
    except WorkloadError as error:
        raise AppError(error.message) from error


def _download_folder(paths: Paths, engine: str) -> Path:
    return paths.downloads / "engines" / engine


def _forget_downloads(paths: Paths, engine: str) -> bool:
    folder = _download_folder(paths, engine)
    if not folder.is_dir() or folder.is_symlink():
        return False
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
    return True


def _cancel_check(progress: Progress, phase: Phase) -> CancelCheck:
    return lambda: progress(phase, 0, 0)


def _check_room(paths: Paths, variant: Variant, sizes: Mapping[PackageFile, int | None], downloads: Path) -> None:
    """Raise AppError if there isn't enough disk space for downloads or packages."""
    missing_bytes = sum(
        size or 0
        for file, size in sizes.items()
        if file.local is None and not (downloads / file.file_name).is_file()
    )
    all_bytes = sum(size or 0 for size in sizes.values())
    unpacked_bytes = variant.disk_bytes or _UNPACKED * (all_bytes or variant.download_bytes or 0)
    on_one_drive = _existing(downloads).stat().st_dev == _existing(paths.engines).stat().st_dev
    _check_free(paths.engines, unpacked_bytes + (missing_bytes if on_one_drive else 0))
    _check_free(downloads, missing_bytes)


def _check_free(folder: Path, need_bytes: int) -> None:
    """Raise AppError unless a folder's drive has enough free space."""
    free_bytes = shutil.disk_usage(_existing(folder)).free
    if free_bytes < need_bytes:
        place = one_line(str(folder), 300)
        no_room = message("engines.no_room", folder=place, need_bytes=need_bytes, free_bytes=free_bytes)
        raise AppError(no_room, message("files.free_space"))


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())
