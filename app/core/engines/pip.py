"""Runs pip as a child process with the user's mirrors and proxies, but without settings that would break it."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.children import CommandLine
from app.core.engines.cancellable import CancelCheck, run_child
from app.core.errors import AppError
from app.core.messages import Message, message
from app.core.plain_text import joined, one_line

_LINES_SHOWN = 3
# These settings would change where or what pip installs, or suppress output that `_explain` needs.
_MISLEADING = frozenset(
    """
    ABI DRY_RUN EDITABLE FORCE_REINSTALL IGNORE_REQUIRES_PYTHON IMPLEMENTATION NO_BINARY NO_DEPS ONLY_BINARY
    PLATFORM PRE PREFIX PYTHON PYTHON_VERSION QUIET REPORT REQUIREMENT ROOT TARGET USE_FEATURE
    """.split()  # noqa: SIM905 - lines of words are easier to read
)
# These override the user's settings files.
_OVERRIDES = {
    "PIP_CONSTRAINT": os.devnull,
    "PIP_REQUIRE_HASHES": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
}


def _status(codes: str) -> str:
    """Return a pattern of how pip and its libraries report these HTTP status codes."""
    return rf"(?:HTTP error |too many |(?=\d+ (?:Client|Server) Error))(?P<status>{codes})\b"


# Patterns of pip's output, the corresponding messages and advice; the first match is used.
_FAULTS = (
    ("No space left on|not enough space on the disk|Disk quota", "engines.disk_full", "files.free_space"),
    ("DO NOT MATCH THE HASHES", "engines.hashes_differ", "engines.check_connection"),
    (r"CERTIFICATE_VERIFY_FAILED|SSL\w*Error", "engines.no_trust", "engines.check_date_and_proxy"),
    (_status("40[13]") + r"|User for \S+:|EOFError: EOF when", "engines.login_needed", "engines.check_pip_login"),
    (_status("404"), "engines.index_lacks_it", "engines.check_connection"),
    (_status(r"[45]\d\d"), "engines.index_answered", "engines.check_connection"),
    (
        "NewConnectionError|NameResolutionError|Temporary failure in name resolution|getaddrinfo failed"
        "|Max retries exceeded|Timeout ?Error|timed out|ProxyError|ProtocolError|Connection broken"
        "|Connection (?:refused|reset|aborted)|Network is unreachable|RemoteDisconnected"
        "|not an index page|JSONDecodeError|RecursionError|failed to decode it|Exceeded 30 redirects",
        "engines.index_unreachable",
        "engines.check_connection",
    ),
    (r"No matching distribution found for (?P<package>\S+)", "engines.not_on_offer", "engines.check_connection"),
)
# Only pip's detailed log explains why an index page couldn't be read; its output only reports no match.
_PAGE_FAILED = re.compile(r"Could not fetch URL \S+: (.{1,1000}) - skipping")
_PAGE_WITHOUT_LINKS = re.compile(r"Fetched page http|Skipping page \S+ because")
_PAGE_READ = re.compile(r"(?:Found|Skipping) link .*\(from http")
_DETAILS_LIMIT_BYTES = 64 << 20


def run_pip(arguments: Sequence[str], scratch: Path, check: CancelCheck, *, reads_settings: bool = True) -> None:
    """Run pip to its end.

    Args:
        check: Called repeatedly while pip runs. If it raises an exception, pip is terminated.
        reads_settings: Whether pip reads the user's settings.

    Raises:
        AppError: Pip failed or couldn't be started; the message contains the reason.
    """
    details = scratch / "pip.log"
    details.unlink(missing_ok=True)
    common = ("--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off", "--log")
    command = (sys.executable, "-I", "-m", "pip", *arguments, *common, str(details))
    code, text = run_child(CommandLine(command, _environment(scratch, reads_settings=reads_settings)), check)
    if code:
        raise AppError(*_explain(text + _failed_pages(details)))


def _environment(scratch: Path, *, reads_settings: bool) -> dict[str, str]:
    """Return an environment with settings for mirrors, proxies and cache. Temporary files go to `scratch`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PIP_") or (reads_settings and name.removeprefix("PIP_") not in _MISLEADING)
    }
    kept |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)) | {"PYTHONUTF8": "1"}
    return kept | (_OVERRIDES if reads_settings else {"PIP_CONFIG_FILE": os.devnull})


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


def _explain(text: str) -> tuple[Message, Message | None]:
    """Return the message that explains pip's output, and advice."""
    for pattern, code, advice in _FAULTS:
        if fault := re.search(pattern, text):
            package, status = ((fault.groupdict().get(name) or "") for name in ("package", "status"))
            shown = {"package": one_line(package.replace("===", " "), 80), "status": status or "401"}
            return message(code, **shown), message(advice)
    lines = [line.strip() for line in text.splitlines() if line.strip() and "[notice]" not in line]
    return message("engines.pip_failed", reason=one_line(joined(lines[-_LINES_SHOWN:]), 400)), None
