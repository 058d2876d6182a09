"""What all tests share: folders of their own, a machine that is always the same, and the command line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from app.core.paths import Paths, default_paths
from app.core.records import Machine

# Examples may take long on a machine that freezes for seconds; that says nothing about them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# Before Qt starts; a developer who wants to look sets another platform.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

ROOT = Path(__file__).resolve().parents[1]
MACHINE = Machine(
    cpu_name="Test CPU",
    physical_cores=4,
    logical_cores=8,
    memory_bytes=16_000_000_000,
    os_name="Test OS 1",
    architecture="x86_64",
    python_version="3.11.7",
    virtual_machine=False,
)
CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Epochmark's folders, made below the test's own."""
    found = default_paths({"EPOCHMARK_HOME": str(tmp_path / "home")})
    found.create()
    return found


@pytest.fixture
def machine() -> Machine:
    return MACHINE


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The surroundings of a command: this process's, with Epochmark's folders below the test's own."""
    return {**os.environ, "EPOCHMARK_HOME": str(tmp_path / "home")}


@pytest.fixture
def epochmark(environment: dict[str, str]) -> CommandLine:
    """Run a real command line to its end: epochmark("results", "list")."""

    def run(*arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*arguments),
            env=environment | changes,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def command(*arguments: str) -> list[str]:
    """Return the command that starts Epochmark's command line."""
    return [sys.executable, "-m", "app", *arguments]
