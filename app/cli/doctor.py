"""The `doctor` command: shows whether engines can use this computer's devices and how to fix problems."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from app.cli.grammar import JSON, command, flag, option
from app.cli.terminal import Ink, is_terminal
from app.cli.text import complain, in_line, say, say_command, say_json, say_raw
from app.core.doctor.checks import Check
from app.core.doctor.diagnosis import DeviceDiagnosis, EngineDiagnosis
from app.core.doctor.examination import examine
from app.core.doctor.facts import system_name
from app.core.doctor.report import as_dict, log_as_dict, report_text
from app.core.known_lines.logs import MAX_BYTES, LogDiagnosis, LogFinding, decode_log, diagnose_log, read_log
from app.core.messages import Message, sentence, text
from app.core.messages.started_as import as_started
from app.core.paths import Paths
from app.core.plain_text import one_line

EXIT_HEALTHY, EXIT_FAULT = 0, 1
LINE_CHARS = 200
_MARKS = {"ok": "ok     ", "fault": "FAULT  ", "skipped": "-      "}
_INKS = {"ok": Ink.GOOD, "fault": Ink.BAD, "skipped": Ink.MUTED}


@command("doctor", option("--log", metavar="FILE"), flag("--report"), flag("--verbose"), JSON, folders=False)
def doctor(options: argparse.Namespace, paths: Paths) -> int:
    """Examine this computer or explain a log. Return 1 if a fault was found."""
    log = diagnose_log(_read(options.log)) if options.log is not None else None
    if log is not None and not options.report:
        return _explain(log, options)
    quiet = options.json or options.report
    diagnosis = examine(paths) if quiet else examine(paths, on_step=_say_step, on_check=_say_check)
    if options.report:
        say_raw(report_text(diagnosis, log))
    elif options.json:
        say_json(json.dumps(as_dict(diagnosis), indent=2))
    else:
        for device in diagnosis.devices:
            _say_device(device)
        for engine in diagnosis.engines:
            _say_engine(engine)
        _say_harmless(diagnosis.harmless, options)
        say(f"\n{diagnosis.overall}")
    return EXIT_FAULT if diagnosis.has_fault else EXIT_HEALTHY


def _read(name: str) -> str:
    if name != "-":
        return read_log(Path(name))
    return decode_log(sys.stdin.buffer.read(MAX_BYTES), sentence("doctor.standard_input"))


def _explain(log: LogDiagnosis, options: argparse.Namespace) -> int:
    if options.json:
        say_json(json.dumps(log_as_dict(log), indent=2))
        return EXIT_FAULT if log.faults else EXIT_HEALTHY
    system = system_name()
    for finding in log.findings:
        row = finding.signal
        line = one_line(finding.line, LINE_CHARS)
        code = "doctor.numbered_line" if finding.count == 1 else "doctor.at_lines"
        say(f"{row.severity.upper()}  {row.title}", lead=_INKS.get(row.severity, Ink.CAUTION))
        say("    " + sentence(code, number=finding.line_number, more=finding.count - 1, line=line))
        if finding.may_follow:
            say("    " + sentence("doctor.may_follow"))
        else:
            _say_advice(row.meaning, row.fix, row.commands.on(system), row.link)
        say()
    for number, line in log.unknown_lines:
        say(sentence("doctor.unknown_line", number=number, line=one_line(line, LINE_CHARS)))
    _say_harmless(log.harmless, options)
    if log.cut:
        say(sentence("doctor.log_cut"))
    say(log.summary)
    return EXIT_FAULT if log.faults else EXIT_HEALTHY


def _say_step(step: Message) -> None:
    # Progress is shown only on terminals. Results may also go to files and pipes.
    if is_terminal(sys.stderr):
        complain(f"... {in_line(text(step))}")


def _say_check(check: Check) -> None:
    line = f"{_MARKS[check.state]}{check.title}: {in_line(check.text)}"
    say(line, lead=_INKS.get(check.state), flush=True)


def _say_device(device: DeviceDiagnosis) -> None:
    name = device.id or sentence("doctor.device_not_listed")
    say(f"\n{name} · {one_line(device.name, LINE_CHARS)}: {device.state_text}")
    _say_advice(device.why, device.fix, device.commands, device.link)


def _say_engine(engine: EngineDiagnosis) -> None:
    say(f"\n{engine.name}" if engine.problem is None else f"\n{engine.name}: {in_line(text(engine.problem))}")
    for device in engine.devices:
        _say_device(device)


def _say_advice(why: str, fix: str, commands: Iterable[str], link: str | None) -> None:
    say(f"    {why}")
    if fix:
        say("    " + sentence("doctor.what_to_do", fix=fix))
    for fixing in commands:
        say_command(as_started(fixing))
    if link:
        say("    " + sentence("doctor.more", link=link))


def _say_harmless(harmless: tuple[LogFinding, ...], options: argparse.Namespace) -> None:
    if not harmless or not options.verbose:
        return
    say("\n" + sentence("doctor.harmless_heading"))
    for finding in harmless:
        say(f"    {finding.count} × {finding.signal.title}. {finding.signal.meaning}")
