"""Runs pip as a child process with the user's mirrors and proxies, but without settings that would break it."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.core.children import Child, CommandLine
from app.core.engines.cancellable import CancelCheck, wait_for
from app.core.errors import AppError, refusal
from app.core.hardware.blocking import call_in_thread
from app.core.messages import Message, message
from app.core.plain_text import one_line

_LINES_SHOWN = 3
_TEXT_LIMIT_BYTES = 4 << 20
# These settings would change where or what pip installs, or suppress output that `_explain` needs.
_MISLEADING = frozenset(
    """
    ABI CONSTRAINT DRY_RUN EDITABLE FORCE_REINSTALL IGNORE_REQUIRES_PYTHON IMPLEMENTATION NO_BINARY NO_DEPS
    ONLY_BINARY PLATFORM PRE PREFIX PYTHON PYTHON_VERSION QUIET REPORT REQUIREMENT REQUIRE_HASHES
    REQUIRE_VIRTUALENV ROOT TARGET USER USE_FEATURE
    """.split()  # noqa: SIM905 - lines of words are easier to read
)
# Patterns of pip's output and the corresponding messages; the first match is used.
_FAULTS = (
    (
        re.compile(r"No space left on device|Errno 28\b|not enough space on the disk|Disk quota exceeded"),
        "engines.disk_full",
        "files.free_space",
    ),
    (
        re.compile(r"Windows Long Path|File name too long|WinError 206\b"),
        "engines.path_too_long",
        "folders.choose_shorter",
    ),
    (re.compile("DO NOT MATCH THE HASHES"), "engines.hashes_differ", "engines.ask_for_the_mirror"),
    (
        re.compile("CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError"),
        "engines.no_trust",
        "engines.check_date_and_proxy",
    ),
    (
        re.compile(r"HTTP error 40[13]|40[13] Client Error|User for \S+:|EOFError: EOF when reading a line"),
        "engines.login_needed",
        "engines.check_pip_login",
    ),
    (re.compile("No module named pip"), "engines.no_pip", "engines.repair"),
    (
        re.compile("not an index page|JSONDecodeError|RecursionError|failed to decode it|Exceeded 30 redirects"),
        "engines.odd_index",
        "engines.check_connection",
    ),
    (re.compile(r"HTTP error 404|404 Client Error"), "engines.index_lacks_it", "engines.check_index"),
    (
        re.compile(r"HTTP error (?:429|5\d\d)|429 Client Error|5\d\d Server Error|too many (?:429|5\d\d) error"),
        "engines.index_failing",
        "engines.try_later",
    ),
    (re.compile(r"HTTP error 4\d\d|4\d\d Client Error"), "engines.index_answered", "engines.check_connection"),
)
_UNREACHABLE = re.compile(
    "NewConnectionError|NameResolutionError|Temporary failure in name resolution|getaddrinfo failed"
    "|Max retries exceeded|Timeout ?Error|Read timed out|timed out|ProxyError|ProtocolError|Connection broken"
    "|Connection refused|Connection reset|Connection aborted|Network is unreachable|RemoteDisconnected"
)
_STATUS = re.compile(r"\b(?:HTTP error |too many )?([45]\d\d)(?: Client Error| Server Error| error|\b)")
# Only pip's detailed log explains why an index page couldn't be read; its output only reports no match.
_PAGE_FAILED = re.compile(r"Could not fetch URL \S+: (.{1,1000}) - skipping")
_PAGE_WITHOUT_LINKS = re.compile(r"Fetched page http|Skipping page \S+ because")
_PAGE_READ = re.compile(r"(?:Found|Skipping) link .*\(from http")
_DETAILS_LIMIT_BYTES = 64 << 20
_NOTHING_FITS = re.compile(r"No matching distribution found for (\S+)")


class PipError(AppError):
    """Pip failed or couldn't be started."""


def run_pip(
    arguments: Sequence[str],
    scratch: Path,
    check: CancelCheck,
    *,
    find_links: str | None = None,
    reads_settings: bool = True,
) -> None:
    """Run pip to its end.

    Args:
        arguments: Pip's command and options.
        scratch: Existing folder for temporary files.
        check: Called repeatedly while pip runs. If it raises an exception, pip is terminated.
        find_links: Address of a folder to install packages from; None for the user's own settings.
        reads_settings: Whether pip reads the user's settings.

    Raises:
        PipError: Pip failed; the message contains the reason.
    """
    environment = _environment(scratch, os.environ, reads_settings=reads_settings)
    if find_links is not None:
        environment["PIP_FIND_LINKS"] = find_links
    common = ("--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off")
    details = scratch / "pip.log"
    details.unlink(missing_ok=True)
    logged = ("--log", str(details)) if find_links is None else ()
    command = (sys.executable, "-I", "-m", "pip", *arguments, *common, *logged)
    code, text = run_child(CommandLine(command, environment), check)
    if code:
        raise PipError(*_explain(text + _failed_pages(details)))


def _failed_pages(details: Path) -> str:
    """Return the reasons in pip's log for not reading index pages. If pip could read one, others may lack it."""
    try:
        with details.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_DETAILS_LIMIT_BYTES)
    except OSError:
        return ""
    has_read = _PAGE_READ.search(lines) is not None
    reasons = [failed[1] for failed in _PAGE_FAILED.finditer(lines)]
    reasons = [reason for reason in reasons if not (has_read and reason.startswith("404"))]
    if not reasons and not has_read and _PAGE_WITHOUT_LINKS.search(lines):
        reasons = ["not an index page"]
    return "".join(f"\n{reason}" for reason in reasons)


def run_child(command: CommandLine, check: CancelCheck, *, closes_input: bool = True) -> tuple[int, str]:
    """Run a process to its end; return its exit code and output. If `check` raises, the process is terminated.

    Args:
        command: The command.
        check: Called while it runs.
        closes_input: Whether to close its input immediately. Some processes exit when their input is closed.

    Raises:
        PipError: The process can't be started.
    """
    try:
        process = Child(command, errors_in_output=True)
    except OSError as error:
        reason = error.strerror or str(error)
        said = message("engines.not_started", program=command.arguments[0], reason=reason)
        refused = refusal(error)
        raise PipError(said if refused is None else refused.message) from error
    try:
        assert process.stdin is not None
        if closes_input:
            process.stdin.close()
        reading = call_in_thread(lambda: _read(process), "engine child")
        text = wait_for(reading, check)
        return process.wait(), text
    finally:
        if process.poll() is None:
            process.end(force=True)
            process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _read(process: "subprocess.Popen[bytes]") -> str:
    """Return the end of a process's output. The pipe closes when the process group ends."""
    assert process.stdout is not None
    kept = bytearray()
    with process.stdout as pipe:
        while chunk := os.read(pipe.fileno(), 1 << 16):
            kept += chunk
            del kept[:-_TEXT_LIMIT_BYTES]
    return kept.decode("utf-8", "replace")


def _environment(scratch: Path, environment: Mapping[str, str], *, reads_settings: bool) -> dict[str, str]:
    """Return an environment with settings for mirrors, proxies and cache. Temporary files go to `scratch`."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.upper().startswith("PIP_") or (reads_settings and name.upper()[4:] not in _MISLEADING)
    }
    kept |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)) | {"PYTHONUTF8": "1"}
    if not reads_settings:
        return kept | {"PIP_CONFIG_FILE": os.devnull}
    # These also override settings files.
    return kept | {
        "PIP_CONSTRAINT": os.devnull,
        "PIP_REQUIRE_HASHES": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PIP_USER": "0",
    }


def _explain(text: str) -> tuple[Message, Message | None]:
    """Return the message that explains pip's output, and advice."""
    for pattern, code, advice in _FAULTS:
        if fault := pattern.search(text):
            status = _STATUS.search(fault[0])
            return message(code, status=status[1] if status else "401"), message(advice)
    nothing = _NOTHING_FITS.search(text)
    if _UNREACHABLE.search(text):
        return message("engines.index_unreachable"), message("engines.check_connection")
    if nothing is not None:
        package = one_line(nothing[1].replace("===", " "), 80)
        return message("engines.not_on_offer", package=package), message("engines.check_index")
    lines = [line.strip() for line in text.splitlines() if line.strip() and "[notice]" not in line]
    last = one_line(" · ".join(lines[-_LINES_SHOWN:]), 400)
    return message("engines.pip_failed", reason=last), None
