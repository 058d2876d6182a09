"""What the tests of start.py share: a project whose locks hold two small packages; nothing is downloaded."""

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

APP = """
import json, os, sys
started_as = os.environ.get("EPOCHMARK_STARTED_AS")
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "python": sys.executable, "file": __file__,
                  "started_as": started_as}))
sys.exit(int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 0)
"""
DROPPED = ("DISPLAY", "WAYLAND_DISPLAY", "EPOCHMARK_ACCELERATOR", "PYTHONPATH", "UV_CACHE_DIR", "PIP_CONFIG_FILE")

on_posix = pytest.mark.skipif(os.name != "posix", reason="stands in for programs with shell scripts")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_under_test", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> str:
    folder.mkdir(exist_ok=True)
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = "".join(f"{member},,\n" for member in [*files, *metadata, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in {**files, **metadata, f"{info}/RECORD": listed}.items():
            entry = zipfile.ZipInfo(member)
            entry.external_attr = 0o100755 << 16  # a program
            wheel.writestr(entry, text)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def make_project(folder: Path) -> Path:
    locks, wheels = folder / "packaging" / "requirements", folder / "wheels"
    locks.mkdir(parents=True)
    requirements = ("packaging/requirements/uv.txt", "packaging/requirements/build.txt")
    for name in ("start.py", "packaging/qt_libraries.py", *requirements):
        shutil.copy(ROOT / name, folder / name)
    for name, package in {"cpu": "tiny", "cuda": "tiny", "cuda-legacy": "tiny", "dev": "tester"}.items():
        pin = make_wheel(wheels, package, "1.0", {f"{package}.py": ""})
        (locks / f"{name}.txt").write_text(f"# {name}\n{pin}", encoding="utf-8")
    (folder / "app").mkdir()
    for name, text in {"__init__": "", "__main__": APP, "used_later": ""}.items():
        (folder / "app" / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def environment(project: Path, **changes: str) -> dict[str, str]:
    """Return an environment without an index, in which uv is that of these tests."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    own = {"EPOCHMARK_ACCELERATOR": "cpu", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": (project / "wheels").as_uri()}
    return kept | own | {"PATH": path} | changes


def run_start(
    project: Path, *arguments: str, cwd: Path | None = None, **changes: str
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(project / "start.py"), *arguments]
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment(project, **changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",  # a console of Windows has a code page
        timeout=120,
        check=False,
    )


def read_stamp(project: Path) -> dict[str, Any]:
    stamp: dict[str, Any] = json.loads((project / ".venv" / "start.json").read_text(encoding="utf-8"))
    return stamp


def put_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@contextlib.contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """Serve a folder on this computer until the end of the block; yields its address."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
        pass


def pack_python(folder: Path) -> Path:
    """Pack this Python as one to download; return uv's list of Pythons, with ADDRESS for the server's."""
    archive, base, minor = folder / "python.tar.gz", Path(sys.base_prefix), sysconfig.get_python_version()
    left_out = ("site-packages", "dist-packages", "test", "idlelib", "ensurepip", "__pycache__")

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = Path(member.name).name
        is_debians = member.issym() and Path(member.linkname).is_absolute()
        return None if name in left_out or name.startswith("config-") or is_debians else member

    with tarfile.open(archive, "w:gz", compresslevel=1) as pack:
        pack.add(Path(sys._base_executable).resolve(), f"python/bin/python{minor}")  # type: ignore[attr-defined]
        pack.add(base / "lib" / f"python{minor}", f"python/lib/python{minor}", filter=keep)
        for library in (base / "lib").glob("libpython3.*.so*"):
            pack.add(library, f"python/lib/{library.name}")
    facts: dict[str, Any] = dict(zip(("major", "minor", "patch"), sys.version_info[:3], strict=True)) | {
        "name": "cpython",
        "arch": {"family": platform.machine(), "variant": None},
        "url": f"ADDRESS/{archive.name}",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }
    facts |= {"os": "linux", "libc": "gnu", "prerelease": "", "variant": None, "build": "20260101"}
    listed = folder / "pythons.json"
    key = f"cpython-{platform.python_version()}-linux-{platform.machine()}-gnu"
    listed.write_text(json.dumps({key: facts}), encoding="utf-8")
    return listed
