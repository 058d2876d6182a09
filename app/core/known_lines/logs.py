"""Diagnoses a log: explains known lines, causes before consequences, and separates harmless ones."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from app.core.errors import UsageError
from app.core.known_lines.signals import Severity, Signal, signals
from app.core.known_lines.which_engine import TRACKERS, Mentions
from app.core.messages import Message, message, text

MAX_CHARS = 2 << 20
# A character takes at most four bytes in any encoding; the extra character shows that the log is longer.
MAX_BYTES = 4 * (MAX_CHARS + 1)
MAX_LINE_CHARS = 2_000
_ORDER: dict[Severity, int] = {"fault": 0, "caution": 1, "harmless": 2}
_UNKNOWN_LINES = 5
# Lines of a worker's log that are shown for a failed run.
_TELLING_LINES = 5
# Rows about GPUs that can't be used at all.
_RANKS_OF_UNUSED_GPUS = range(20, 50)
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
    # Values in the output of nvidia-smi.
    r"|^ECC Errors$|^\|.{0,120}\bNot Supported\b|\[Not Supported\]"
    r"| : {1,3}(?:No|None|N/A|Not Active|Not Supported|\d{1,9})$"
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
    """A row of the table that matches the log, with its first line, preferably one that names the cause."""

    signal: Signal
    line_number: int  # number of that line, from 1
    line: str
    count: int  # number of matching lines
    engine: str | None = None  # the engine that printed the line; None if the log doesn't name it
    went_on: bool = False  # whether work continued after the last matching line; if so, the row isn't a fault
    is_symptom: bool = False  # whether no matching line names a cause
    may_follow: bool = False  # whether it is a symptom in a log that names the cause of a fault


@dataclass(frozen=True, slots=True)
class LogDiagnosis:
    """The diagnosis of a log."""

    findings: tuple[LogFinding, ...]  # faults, then cautions; causes before symptoms
    harmless: tuple[LogFinding, ...]  # matching rows that look bad but are harmless
    # The first few lines that look like errors but match no row, with their numbers.
    unknown_lines: tuple[tuple[int, str], ...]
    unknown: bool  # whether no fault explains an apparent error or an unfinished log
    lines: int
    cut: bool  # whether the log or one of its lines was too long to be read completely
    conclusion: tuple[Message, ...]  # the messages to show; the first is the headline

    @property
    def summary(self) -> str:
        return " ".join(map(text, self.conclusion))

    @property
    def faults(self) -> tuple[LogFinding, ...]:
        return tuple(finding for finding in self.findings if finding.signal.severity == "fault")


def diagnose_log(log: str, engine: str | None = None) -> LogDiagnosis:
    """Diagnose a log written by an engine, which the lines name if it is None.

    Only the first 2 million characters are read, and at most 2,000 per line.
    """
    cut = len(log) > MAX_CHARS
    lines = _ESCAPES.sub("", log[:MAX_CHARS]).splitlines()
    cut = cut or any(len(line) > MAX_LINE_CHARS for line in lines)
    lines = [line[:MAX_LINE_CHARS].strip() for line in lines]
    whole = "\n".join(lines)
    explained: set[int] = set()
    mentions = Mentions(lines)
    last_work = max((index for index, line in enumerate(lines) if _WENT_ON.search(line)), default=-1)
    matches: list[LogFinding] = []
    for row in signals():
        hits = _Hits.of(row, whole, lines)
        if hits is None:
            continue
        explained.update(hits.lines)
        whose = engine or mentions.nearest(hits.first)
        shown = row.of(whose)
        went_on = row.severity == "fault" and hits.lines[-1] < last_work
        if any(compiled(expression).search(whole) for expression in row.unless):
            shown = msgspec.structs.replace(shown, severity="harmless")
        elif went_on:
            shown = msgspec.structs.replace(shown, severity="caution")
        line = lines[hits.first]
        matches.append(LogFinding(shown, hits.first + 1, line, len(hits.lines), whose, went_on, hits.is_symptom))
    ordered = sorted(_with_reasons(matches), key=lambda finding: (importance(finding), finding.line_number))
    has_cause = any(finding.signal.severity == "fault" and not finding.is_symptom for finding in ordered)
    findings = [
        replace(finding, may_follow=has_cause and finding.is_symptom)
        for finding in ordered
        if finding.signal.severity != "harmless"
    ]
    harmless = [finding for finding in ordered if finding.signal.severity == "harmless"]
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
        # Opening a pipe waits for a writer. A pipe created by the shell's <(command) has one.
        if path.exists() and not path.is_file() and not str(path).startswith(("/dev/fd/", "/proc/self/fd/")):
            raise UsageError(message("doctor.log_is_no_file", path=str(path)), message("doctor.name_or_pipe_log"))
        with path.open("rb") as file:
            return decode_log(file.read(MAX_BYTES), str(path))
    except OSError as error:
        raise UsageError(
            message("files.unreadable", path=str(path), reason=error.strerror), message("doctor.name_or_pipe_log")
        ) from error


def decode_log(data: bytes, name: str) -> str:
    """Decode a log, including UTF-16 as written by PowerShell. Raises UsageError if the data isn't text."""
    log = _ZEROS.sub("", data.decode(_encoding(data), errors="replace"))
    if data and len(_CONTROLS.findall(log)) >= _CONTROLS_PART * len(log):
        raise UsageError(message("doctor.log_is_no_text", name=name), message("doctor.name_or_pipe_log"))
    return log.replace("\x00", "")


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # Some Windows programs omit the byte order mark. Every second byte of ASCII text is then zero.
    even, odd = data[:4096:2], data[1:4096:2]
    return "utf-16-le" if odd.count(0) > 0.8 * len(odd) and 0 not in even else "utf-8-sig"


def telling_lines(lines: Sequence[str]) -> list[str]:
    """Return the line that names the cause of a crash, or else the first lines of its report, or the last lines.

    Harmless lines are left out.
    """
    causes = [finding.line for finding in diagnose_log("\n".join(lines)).faults if not finding.is_symptom]
    if causes:
        return causes[:1]
    rows = [row for row in signals() if row.severity == "harmless"]
    harmless = [compiled(each) for row in rows for each in (*row.patterns, *row.symptoms)]
    telling = [line for line in lines if not any(each.search(line) for each in harmless)]
    telling = [line for line in telling if not line.startswith("I0000")]
    # The first lines of Python's crash report are the most informative: the error and the function.
    crashes = [index for index, line in enumerate(telling) if line.startswith("Fatal Python error")]
    return telling[crashes[-1] :][:_TELLING_LINES] if crashes else telling[-_TELLING_LINES:]


def informative_lines(diagnosis: LogDiagnosis) -> Iterator[str]:
    """Yield the lines that are most useful for a diagnosis: the first line of each finding, then unknown lines."""
    for finding in diagnosis.findings:
        yield finding.line
    for _, line in diagnosis.unknown_lines:
        yield line


@dataclass(frozen=True, slots=True)
class _Hits:
    """Indexes of the lines that match a row, and of the first one, preferably one that names the cause."""

    lines: Sequence[int]
    first: int
    is_symptom: bool

    @classmethod
    def of(cls, row: Signal, whole: str, lines: Sequence[str]) -> "_Hits | None":
        each = [_matching(expression, whole, lines) for expression in row.patterns or row.together]
        if row.together and not all(each):
            return None
        causes = {index for indexes in each for index in indexes}
        symptoms = {index for expression in row.symptoms for index in _matching(expression, whole, lines)}
        hits = sorted(causes | symptoms)
        return cls(hits, min(causes or symptoms), not causes) if hits else None


def _matching(expression: str, whole: str, lines: Sequence[str]) -> list[int]:
    pattern = compiled(expression)
    # Most rows match nothing; one search in the whole text detects this quickly.
    return [index for index, line in enumerate(lines) if pattern.search(line)] if pattern.search(whole) else []


def _with_reasons(matches: Sequence[LogFinding]) -> Iterator[LogFinding]:
    """Yield the findings. A row that explains another row's fault is a fault itself."""
    failed = {each.signal.id for each in matches if each.signal.severity == "fault" and each.is_symptom}
    for each in matches:
        if each.is_symptom or failed.isdisjoint(each.signal.explains):
            yield each
        else:
            yield replace(each, signal=msgspec.structs.replace(each.signal, severity="fault"))


def importance(finding: LogFinding) -> tuple[int, bool, int]:
    return _ORDER[finding.signal.severity], finding.is_symptom, finding.signal.rank


@cache
def compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.MULTILINE)


def _has_fault(findings: Sequence[LogFinding]) -> bool:
    return any(finding.signal.severity == "fault" for finding in findings)


def _trouble(lines: Sequence[str], explained: set[int], start: int) -> Iterator[tuple[int, str]]:
    """Yield the first few distinct lines, beginning at `start`, that look like errors but match no row."""
    seen: set[str] = set()
    for index, line in enumerate(lines[start:], start):
        is_new = index not in explained and line not in seen
        if is_new and _TROUBLE.search(line) and not _NO_TROUBLE.search(line):
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
    unused = _unused(harmless)
    if _has_fault(findings):
        first = findings[0]
        yield message("doctor.log_fault", title=first.signal.title, line=first.line_number)
        if first.is_symptom:
            yield message("doctor.log_usual_cause" if first.signal.patterns else "doctor.log_no_cause")
    elif stops:
        yield message("doctor.log_stops", line=strange[0][0])
        yield message("doctor.log_stops_why")
    elif strange:
        yield message("doctor.log_unknown", line=strange[0][0])
        tracker = TRACKERS.get(mentions.nearest(strange[0][0] - 1) or "")
        yield message("doctor.log_ask_maker") if tracker is None else message("doctor.log_ask", address=tracker)
    elif findings:
        yield _caution(findings[0], harmless)
    elif unused is None:
        yield message("doctor.log_harmless" if harmless else "doctor.log_without_faults")
    if unused is not None and not findings:
        yield message("doctor.log_fault", title=unused.signal.title, line=unused.line_number)
        if unused.is_symptom:
            yield message("doctor.log_no_cause")
        else:
            yield message("doctor.log_reason", meaning=unused.signal.meaning, fix=unused.signal.fix)


def _caution(finding: LogFinding, harmless: Sequence[LogFinding]) -> Message:
    title = finding.signal.title
    if not finding.went_on:
        return message("doctor.log_caution", title=title)
    is_used = any(each.signal.gpu == "used" for each in harmless)
    may_be_why = finding.signal.rank in _RANKS_OF_UNUSED_GPUS and not is_used
    code = "doctor.log_went_on" if may_be_why else "doctor.log_survived"
    return message(code, title=title, line=finding.line_number)


def _unused(harmless: Sequence[LogFinding]) -> LogFinding | None:
    """Return the row that shows that the GPU wasn't used, preferably one that names the reason; None if it was."""
    if any(each.signal.gpu == "used" for each in harmless):
        return None
    return next((each for each in harmless if each.signal.gpu == "unused"), None)
