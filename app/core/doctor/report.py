"""Formats a diagnosis as text for a support question and as JSON types, without user or folder names."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

import app
from app.core.doctor.diagnosis import DeviceDiagnosis, Diagnosis
from app.core.doctor.facts import Facts
from app.core.known_lines.logs import LogDiagnosis, LogFinding, informative_lines
from app.core.messages import sentence, text
from app.core.plain_text import safe_text
from app.core.redaction.private_texts import private_texts
from app.core.redaction.scrubbing import scrub

_LINES_AT_MOST = 20
_STEP_CHARS = 300
# Texts of the table, which aren't redacted: a command without its paths would be useless.
_OF_THE_TABLE = frozenset({"commands", "fix", "link", "meaning", "title"})


def report_text(diagnosis: Diagnosis, log: LogDiagnosis | None = None) -> str:
    """Return a diagnosis as text: versions, checks, devices, findings and the most useful lines."""
    parts = ["", diagnosis.overall, "", sentence("doctor.report_checks")]
    parts += [f"- {check.title}: {check.state}. {check.text}" for check in diagnosis.checks]
    parts += ["", sentence("setting.devices")]
    parts += [_device_line(device) for device in diagnosis.devices]
    for engine in diagnosis.engines:
        problem = text(engine.problem) if engine.problem is not None else None
        parts += ["", " ".join(part for part in (engine.name, engine.variant, problem) if part)]
        parts += [_device_line(device) for device in engine.devices]
    parts += _trials(diagnosis)
    parts += _findings(sentence("doctor.report_in_output"), diagnosis.findings, diagnosis.unknown_lines)
    if log is not None:
        parts += _findings(sentence("doctor.report_in_log"), log.findings, tuple(informative_lines(log)))
        parts.append(log.summary)
    # The facts contain only versions and yes or no. Redaction would mistake a version for an address.
    head, body = "\n".join(_head(diagnosis.facts)), scrub("\n".join(parts)).rstrip()
    return safe_text(f"{head}\n{body}\n")


def _device_line(device: DeviceDiagnosis) -> str:
    row = f" [{device.signal_id}]" if device.signal_id else ""
    return f"- {device.id or '-'} {device.name}: {device.state}{row}. {device.why}"


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as plain JSON types, without the logs."""
    plain: dict[str, Any] = {
        "overall": diagnosis.overall,
        "complete": diagnosis.complete,
        "has_fault": diagnosis.has_fault,
        "checks": [
            {"id": check.id, "title": check.title, "state": check.state, "text": check.text}
            for check in diagnosis.checks
        ],
        "devices": [_device(device) for device in diagnosis.devices],
        "engines": [
            {
                "engine": engine.engine,
                "version": engine.version,
                "variant": engine.variant,
                "problem": None if engine.problem is None else text(engine.problem),
                "devices": [_device(device) for device in engine.devices],
            }
            for engine in diagnosis.engines
        ],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "harmless": [_finding(finding) for finding in diagnosis.harmless],
        "unknown_lines": list(diagnosis.unknown_lines),
        "trials": [
            {name: value for name, value in msgspec.to_builtins(trial).items() if name != "log"}
            for trial in diagnosis.trials
        ],
    }
    facts = asdict(diagnosis.facts) | {"packages": dict(diagnosis.facts.packages)}
    facts["nvml"]["text"] = scrub(diagnosis.facts.nvml.text)
    scrubbed: dict[str, Any] = _scrubbed(plain, private_texts())
    return scrubbed | {"facts": facts}


def log_as_dict(log: LogDiagnosis) -> dict[str, Any]:
    """Return the diagnosis of a log as plain JSON types."""
    plain = {
        "summary": log.summary,
        "has_fault": bool(log.faults),
        "unknown": log.unknown,
        "findings": [_finding(finding) for finding in log.findings],
        "harmless": [_finding(finding) for finding in log.harmless],
        "unknown_lines": [{"line_number": number, "line": line} for number, line in log.unknown_lines],
        "lines": log.lines,
        "cut": log.cut,
    }
    scrubbed: dict[str, Any] = _scrubbed(plain, private_texts())
    return scrubbed


def _head(facts: Facts) -> Iterator[str]:
    yield sentence("doctor.report_head", version=app.__version__, python=facts.python, system=facts.system)
    packages = [f"{name} {version}" for name, version in facts.packages]
    yield sentence("doctor.report_packages", packages=packages or "n/a")
    nvml = facts.nvml
    answer = " ".join(word for word in (nvml.state, nvml.driver, scrub(nvml.text)) if word)
    yield sentence("doctor.report_driver", answer=answer)
    for card in facts.nvidia_cards:
        yield sentence("doctor.report_gpu", name=card.name, capability=card.capability or "n/a")
    values = {
        "container": True if facts.container else None,
        "kernel driver": facts.kernel_driver,
        "device nodes": facts.device_nodes,
        "PCI": None if facts.pci is None else " ".join(facts.pci) or "no GPU",
        "libcuda": facts.libcuda,
        "/dev/dxg": facts.dxg,
        "libcuda in WSL": facts.wsl_libcuda,
        "nouveau": facts.nouveau,
        "secure boot": facts.secure_boot,
        "CUDA_VISIBLE_DEVICES": facts.visible_devices,
        "LD_LIBRARY_PATH to CUDA": facts.library_path_cuda,
        "AVX": facts.avx,
    }
    environment = [f"{name} {value}" for name, value in values.items() if value is not None]
    yield sentence("doctor.report_environment", facts=environment)


def _trials(diagnosis: Diagnosis) -> Iterator[str]:
    yield ""
    yield sentence("doctor.report_trials")
    for trial in diagnosis.trials:
        status = trial.status if trial.exit_code is None else f"{trial.status} ({trial.exit_code})"
        yield sentence("doctor.report_trial", target=trial.target, status=status, took_s=trial.duration_s)
        for step in trial.steps:
            result = step.error[:_STEP_CHARS] if step.error else "ok"
            yield sentence("doctor.report_step", step=step.name, result=result, took_s=step.duration_s)


def _findings(title: str, findings: tuple[LogFinding, ...], more: tuple[str, ...]) -> Iterator[str]:
    lines = [f"- [{finding.signal.id}] {finding.line}" for finding in findings]
    seen = {finding.line for finding in findings}
    lines += [f"- [unknown] {line}" for line in more if line not in seen]
    if lines:
        yield from ("", title, *lines[:_LINES_AT_MOST])


def _device(device: DeviceDiagnosis) -> dict[str, Any]:
    plain = asdict(device) | {"why": device.why}
    del plain["reasons"]
    return plain


def _finding(finding: LogFinding) -> dict[str, Any]:
    row = finding.signal
    return {
        "id": row.id,
        "severity": row.severity,
        "title": row.title,
        "meaning": row.meaning,
        "fix": row.fix,
        "link": row.link,
        "engine": finding.engine,
        "line_number": finding.line_number,
        "line": finding.line,
        "count": finding.count,
    }


def _scrubbed(value: Any, private: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return scrub(value, private)
    if isinstance(value, dict):
        return {
            name: inner if name in _OF_THE_TABLE else _scrubbed(inner, private) for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_scrubbed(inner, private) for inner in value]
    return value
