"""Logs that people posted, each with its expected diagnosis."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.core.known_lines.logs import LogDiagnosis, diagnose_log
from app.core.known_lines.signals import signals
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "data" / "doctor"
INDEX: list[dict[str, Any]] = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))["log"]
HEALTHY, UNKNOWN = "-", "?"


@cache
def diagnosed(file: str) -> LogDiagnosis:
    return diagnose_log((FOLDER / file).read_text(encoding="utf-8"))


def read(entry: dict[str, Any]) -> LogDiagnosis:
    return diagnosed(entry["file"])


def names(entry: dict[str, Any]) -> str:
    return Path(entry["file"]).stem


FAULTY = [entry for entry in INDEX if entry["id"] not in (HEALTHY, UNKNOWN)]
FINE = [entry for entry in INDEX if entry["id"] == HEALTHY]
STRANGE = [entry for entry in INDEX if entry["id"] == UNKNOWN]


@pytest.mark.parametrize("entry", FAULTY, ids=names)
def test_a_reported_log_is_diagnosed_correctly(entry: dict[str, Any]) -> None:
    found = read(entry)
    assert [finding.signal.id for finding in found.findings][:1] == [entry["id"]]
    assert found.findings[0].line
    assert "engine" not in entry or found.findings[0].engine == entry["engine"]
    assert not found.unknown


@pytest.mark.parametrize("entry", FINE, ids=names)
def test_a_healthy_log_gives_no_alarm(entry: dict[str, Any]) -> None:
    found = read(entry)
    assert [finding.signal.id for finding in found.findings] == []
    assert found.unknown_lines == ()
    shown = {each.signal.gpu for each in found.harmless}
    codes = (
        ("doctor.log_fault",)
        if "unused" in shown and "used" not in shown
        else ("doctor.log_harmless", "doctor.log_without_faults")
    )
    assert found.conclusion[0].code in codes


@pytest.mark.parametrize("entry", STRANGE, ids=names)
def test_new_wordings_are_reported_as_unknown(entry: dict[str, Any]) -> None:
    found = read(entry)
    assert found.unknown
    assert found.findings == ()
    assert found.conclusion[0].code == "doctor.log_unknown"
    assert str(found.unknown_lines[0][0]) in found.summary


def test_no_harmless_row_hides_the_telling_line() -> None:
    telling = {read(entry).findings[0].line for entry in FAULTY}
    harmless = {line: [one for one in diagnose_log(line).harmless if one.signal.gpu is None] for line in telling}
    assert {line: hiding for line, hiding in harmless.items() if hiding} == {}


def test_every_row_is_shown_by_a_recorded_log() -> None:
    seen = {
        finding.signal.id
        for entry in INDEX
        for found in [read(entry)]
        for finding in (*found.findings, *found.harmless)
    }
    assert {row.id for row in signals()} - seen == set()


def test_the_collection_is_large_enough_and_complete() -> None:
    assert len(FAULTY) + len(FINE) >= 50
    assert len(FINE) >= 10
    assert {entry["file"] for entry in INDEX} == {path.name for path in FOLDER.glob("*.log")}
    assert all(entry["source"].startswith("https://") for entry in INDEX)


def test_recordings_identify_nobody() -> None:
    signs = ("/home/", "/Users/", "C:\\", "/root", "@")
    texts = {entry["file"]: (FOLDER / entry["file"]).read_text(encoding="utf-8") for entry in INDEX}
    assert [(file, sign) for file, text in texts.items() for sign in signs if sign in text] == []
