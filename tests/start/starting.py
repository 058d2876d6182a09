"""What the tests of start.py share: a project of empty locks, so that nothing is downloaded."""

import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

COPIED = ["start.py", "packaging/install.py", "packaging/qt_libraries.py"]
LOCKS = ["build.txt", "cpu.txt", "cuda.txt", "cuda-legacy.txt", "dev.txt"]
APP = """
import json, os, sys
started_as = os.environ.get("EPOCHMARK_STARTED_AS")
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "python": sys.executable, "file": __file__,
                  "started_as": started_as}))
sys.exit(int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 0)
"""

Start = Callable[..., "subprocess.CompletedProcess[str]"]
on_posix = pytest.mark.skipif(os.name != "posix", reason="stands in for programs with shell scripts")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_under_test", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_project(folder: Path) -> Path:
    for name in COPIED:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (folder / "packaging" / "requirements").mkdir()
    for name in LOCKS:
        (folder / "packaging" / "requirements" / name).write_text(f"# {name}\n", encoding="utf-8")
    (folder / "app").mkdir()
    (folder / "app" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "app" / "__main__.py").write_text(APP, encoding="utf-8")
    (folder / "app" / "used_later.py").write_text("", encoding="utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    dropped = ("DISPLAY", "WAYLAND_DISPLAY", "EPOCHMARK_ACCELERATOR", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"EPOCHMARK_ACCELERATOR": "cpu", "PIP_NO_INDEX": "1"} | changes


def run_start(
    project: Path, *arguments: str, cwd: Path | None = None, **changes: str
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(project / "start.py"), *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, timeout=60, check=False
    )


def read_stamp(project: Path) -> dict[str, Any]:
    stamp: dict[str, Any] = json.loads((project / ".venv" / "start.json").read_text(encoding="utf-8"))
    return stamp


def put_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
