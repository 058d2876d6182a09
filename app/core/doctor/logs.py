"""Diagnoses a log: explains known lines, causes before consequences, and separates harmless ones."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from app.core.doctor.signals import Severity, Signal, signals
from app.core.doctor.which_engine import Mentions, tracker_of
from app.core.errors import UsageError
from app.core.messages import Message, message, text

MAX_CHARS = 2 << 20
# A character takes at most four bytes in any encoding; the extra character shows that the log is longer.
MAX_BYTES = 4 * (MAX_CHARS + 1)
MAX_LINE_CHARS = 2_000
_ORDER: dict[Severity, int] = {"fault": 0, "caution": 1, "harmless": 2}
_UNKNOWN_LINES = 5
# Terminal colours, cursor movements, window titles and the like.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|[\]PX^_][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\))")
# Lines that look like errors: TensorFlow's letters E and F, Python's exceptions, system messages.
_TROUBLE = re.compile(
    r"^[EF]\d{4} |: [EF] [\w/.]{1,120}:\d|\w(?-i:Error|Exception)\b"
    r"|\b(?:errors?|failed|failure|fatal|cannot|could not|couldn't|unable to|abort|aborted|exception|traceback)\b"
    r"|\b(?:core dumped|segmentation fault|not supported|unsupported|no such file or directory|undefined symbol)\b"
    r"|\b(?:killed|died|crashed|panic|hung|lockup|timed out|out of memory|corrupt|corrupted|assertion)\b"
    r"|\b(?:permission|access) (?:is )?denied\b|\bBUG: |\bRAW: "
    r"|\b(?:exit(?:ed)?|return(?:ed)?)[ -]?(?:with )?(?:code|status|value)\W{0,12}-?[1-9]\d{0,9}\b",
    re.IGNORECASE,
)
# Not errors: Python's location lines, its warnings (for programmers), TensorFlow's I lines (information), and the
# numeric "error" of a network.
_NO_TROUBLE = re.compile(
    r"^\s{0,20}File \"|During handling of the above|direct cause of the following|^Traceback"
    r"|\b[A-Z]\w{1,40}Warning: |\b[Ww]arning(?:: | \[)|^WARNING:\w{1,40}:|^I\d{4} |: I [\w/.]{1,120}:\d"
    r"|^(?:\[?\d[\d:., TZ/-]{5,40}\]? ?-? ?)?\[?(?:INFO|DEBUG)\b"
    r"| - (?:INFO|DEBUG) - |\| (?:INFO|DEBUG) {1,8}\||\bNCCL INFO\b"
    r"|\b(?i:0|no) (?i:errors?|failed|failures?|corrupt(?:ed)?)\b|\bfailed to allocate 0B\b"
    r"|\b(?i:errors?) {0,40}[:=] {0,4}(?:0|N/A)(?![.\w])"
    r"|: W [\w/.]{1,120}:\d|^W\d{4} |^\W{0,3}W(?:ARN|ARNING)?\b|^.{0,60}\bWARN(?:ING)?\b"
    r"|(?i:\bfall(?:ing|s)? ?back\b|\b(?:ignor|skipp)(?:ing|ed)\b|\b(?:safely|can be) ignored?\b|\bretrying\b)"
    r"|(?i:\b(?:not (?:an error|a failure|fatal)|non-fatal|harmless)\b)"
    r"|(?i:\berrors?(?: rate)?\s{0,2}[:=]?\s{0,2}(?:\d{0,6}\.\d|\d{1,6}\s?[%/]|(?:nan|inf)\b))"
)
# Progress of an epoch, as printed by Keras 2, Keras 3 and tqdm.
_PROGRESS = re.compile(
    r"^(\d{1,9})/(\d{1,9}) {0,3}(?:\[[=>.]{3,60}\]|[━─╸╺ ]{3,60})"
    r"|^.{0,120}\d%\|.{0,120}\| {0,9}(\d{1,9})/(\d{1,9}) \["
)
# Evidence that a program continued: a completed step or epoch with its loss, or a normal end.
_WENT_ON = re.compile(
    r"^[1-9]\d{0,8}/\d{1,9} {0,3}(?:\[[=>.]{3,60}\]|[━─╸╺ ]{3,60})"
    r"|\b(?i:loss)\b['\"]?(?: ?: {0,3}|=| )\d{1,9}\.\d"
    r"|^Epoch \[?(?:[2-9]|[1-9]\d{1,6})(?:/\d{1,7})?\]?(?:[:, ]|$)"
    r"|\b(?:exit(?:ed)?|finished) (?:with )?(?:exit )?(?:code|status) 0\b"
    r"|\b[Tt]raining (?:is |has )?(?:complete|completed|finished|done)\b|\b[Ff]inished [Tt]raining\b"
)
_IN_A_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):$|^File \".{1,400}\", line \d{1,9}")
# After a crash of the computer, its logs contain zero bytes.
_ZEROS = re.compile(r"\x00{16,}")
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a]")
_CONTROLS_PART = 0.05


@dataclass(frozen=True, slots=True)
class LogFinding:
    """A row of the table that matches the log, with the first matching line.

    Attributes:
        line_number: Number of the first matching line, from 1.
        count: Number of matching lines.
        engine: The engine that printed the line; None if the log doesn't name it.
        went_on: Whether work continued after the last matching line; if so, the row isn't a fault.
    """

    signal: Signal
    line_number: int
    line: str
    count: int
    engine: str | None = None
    went_on: bool = False


@dataclass(frozen=True, slots=True)
class LogDiagnosis:
    """The diagnosis of a log.

    Attributes:
        findings: Faults, then cautions; causes before their consequences.
        harmless: Matching rows that look bad but are harmless, in the order of the table.
        unknown_lines: The first few lines that look like errors but match no row, with their numbers.
        unknown: Whether no fault explains an apparent error or an unfinished log.
        cut: Whether the log or one of its lines was too long to be read completely.
        conclusion: One or two messages; the first is the headline.
    """

    findings: tuple[LogFinding, ...]
    harmless: tuple[LogFinding, ...]
    unknown_lines: tuple[tuple[int, str], ...]
    unknown: bool
    lines: int
    cut: bool
    conclusion: tuple[Message, ...]

    @property
    def summary(self) -> str:
        return " ".join(map(text, self.conclusion))

    @property
    def faults(self) -> tuple[LogFinding, ...]:
        return tuple(finding for finding in self.findings if finding.signal.severity == "fault")


def diagnose_log(log: str, engine: str | None = None) -> LogDiagnosis:
    """Diagnose a log. Only its first 2 million characters are read, and at most 2,000 per line.

    Args:
        log: The text.
        engine: The engine that wrote the log; None to infer it from the lines.
    """
    cut = len(log) > MAX_CHARS
    lines = _ESCAPES.sub("", log[:MAX_CHARS]).splitlines()
    cut = cut or any(len(line) > MAX_LINE_CHARS for line in lines)
    lines = [line[:MAX_LINE_CHARS].strip() for line in lines]
    whole = "\n".join(lines)
    findings: list[LogFinding] = []
    harmless: list[LogFinding] = []
    explained: set[int] = set()
    mentions = Mentions(lines)
    last_work = max((index for index, line in enumerate(lines) if _WENT_ON.search(line)), default=-1)
    for row in signals():
        hits = _hits(row, whole, lines)
        if not hits:
            continue
        explained.update(hits)
        went_on = row.severity == "fault" and hits[-1] < last_work
        whose = engine or mentions.nearest(hits[0])
        shown = row.of(whose)
        if went_on:
            shown = msgspec.structs.replace(shown, severity="caution")
        finding = LogFinding(shown, hits[0] + 1, lines[hits[0]], len(hits), whose, went_on)
        excused = any(compiled(expression).search(whole) for expression in row.unless)
        (harmless if excused or row.severity == "harmless" else findings).append(finding)
    findings.sort(key=lambda each: (_ORDER[each.signal.severity], each.signal.rank, each.line_number))
    strange = [] if _has_fault(findings) else list(_trouble(lines, explained, last_work + 1))
    stops = None if findings or strange else _stopping_line(lines)
    if stops is not None:
        strange.append((stops + 1, lines[stops]))
    return LogDiagnosis(
        findings=tuple(findings),
        harmless=tuple(harmless),
        unknown_lines=tuple(strange),
        unknown=bool(strange),
        lines=len(lines),
        cut=cut,
        conclusion=tuple(_conclusion(findings, harmless, strange, mentions, stops=stops is not None)),
    )


def read_log(path: Path) -> str:
    """Read the part of a log file to be diagnosed. Raises UsageError if the file can't be read."""
    try:
        if path.is_dir():
            raise UsageError(message("doctor.log_is_folder", path=str(path)), message("doctor.name_log"))
        # Opening a pipe waits for a writer. A pipe created by the shell's <(command) has one.
        if path.exists() and not path.is_file() and not str(path).startswith(("/dev/fd/", "/proc/self/fd/")):
            raise UsageError(message("doctor.log_is_no_file", path=str(path)), message("doctor.name_or_pipe_log"))
        with path.open("rb") as file:
            return decode_log(file.read(MAX_BYTES), str(path))
    except OSError as error:
        raise UsageError(
            message("files.unreadable", path=str(path), reason=error.strerror), message("doctor.name_log")
        ) from error


def decode_log(data: bytes, name: str) -> str:
    """Decode a log, including UTF-16 as written by PowerShell. Raises UsageError if the data isn't text."""
    log = _ZEROS.sub("", data.decode(_encoding(data), errors="replace"))
    if data and len(_CONTROLS.findall(log)) >= _CONTROLS_PART * len(log):
        raise UsageError(message("doctor.log_is_no_text", name=name), message("doctor.name_log"))
    return log.replace("\x00", "")


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # Some Windows programs omit the byte order mark. Every second byte of ASCII text is then zero.
    even, odd = data[:4096:2], data[1:4096:2]
    return "utf-16-le" if odd.count(0) > 0.8 * len(odd) and 0 not in even else "utf-8-sig"


def informative_lines(diagnosis: LogDiagnosis) -> Iterator[str]:
    """Yield the lines that are most useful for a diagnosis: the first line of each finding, then unknown lines."""
    for finding in diagnosis.findings:
        yield finding.line
    for _, line in diagnosis.unknown_lines:
        yield line


def _hits(row: Signal, whole: str, lines: Sequence[str]) -> list[int]:
    lines_hit: set[int] = set()
    for expression in row.patterns or row.together:
        pattern = compiled(expression)
        # Most rows match nothing; one search in the whole text detects this quickly.
        here = [index for index, line in enumerate(lines) if pattern.search(line)] if pattern.search(whole) else []
        if row.together and not here:
            return []
        lines_hit.update(here)
    return sorted(lines_hit)


@cache
def compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.MULTILINE)


def _has_fault(findings: Sequence[LogFinding]) -> bool:
    return any(finding.signal.severity == "fault" for finding in findings)


def _trouble(lines: Sequence[str], explained: set[int], start: int) -> Iterator[tuple[int, str]]:
    """Yield the first few distinct lines, beginning at `start`, that look like errors but match no row."""
    seen: set[str] = set()
    for index, line in enumerate(lines):
        if (
            index < start
            or index in explained
            or line in seen
            or not _TROUBLE.search(line)
            or _NO_TROUBLE.search(line)
        ):
            continue
        seen.add(line)
        yield index + 1, line
        if len(seen) == _UNKNOWN_LINES:
            return


def _stopping_line(lines: Sequence[str]) -> int | None:
    """Return the index of the last line if a log ends abruptly, as if the process had been killed, or None."""
    last = next((index for index in range(len(lines) - 1, -1, -1) if lines[index]), None)
    if last is None:
        return None
    progress = _PROGRESS.search(lines[last])
    if progress:
        done, total = (int(number) for number in progress.groups() if number is not None)
        return last if done < total else None
    return last if _IN_A_TRACEBACK.search(lines[last]) else None


def _conclusion(
    findings: Sequence[LogFinding],
    harmless: Sequence[LogFinding],
    strange: Sequence[tuple[int, str]],
    mentions: Mentions,
    *,
    stops: bool,
) -> Iterator[Message]:
    if _has_fault(findings):
        yield message("doctor.log_fault", title=findings[0].signal.title, line=findings[0].line_number)
    elif stops:
        yield message("doctor.log_stops", line=strange[0][0])
        yield message("doctor.log_stops_why")
    elif strange:
        yield message("doctor.log_unknown", line=strange[0][0])
        tracker = tracker_of(mentions.nearest(strange[0][0] - 1))
        yield message("doctor.log_ask_maker") if tracker is None else message("doctor.log_ask", address=tracker)
    elif findings and findings[0].went_on:
        title = findings[0].signal.title
        yield message("doctor.log_went_on", title=title, line=findings[0].line_number)
    elif findings:
        yield message("doctor.log_caution", title=findings[0].signal.title)
    else:
        yield message("doctor.log_harmless" if harmless else "doctor.log_without_faults")
        signals = (finding.signal for finding in harmless)
        without_driver = next((signal for signal in signals if signal.id == "no_cuda_driver"), None)
        if without_driver is not None:
            row = {"title": without_driver.title, "meaning": without_driver.meaning, "fix": without_driver.fix}
            yield message("doctor.row", **row)
