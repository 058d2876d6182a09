"""Writes the locks in packaging/requirements and resources/engines, or checks whether they match pyproject.toml.

`python packaging/lock.py` keeps the pins that are still valid, `--upgrade` uses the newest versions, and `--check`
needs no network. The locks apply to Linux, Windows, macOS and every supported Python. uv is in dev.txt.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("packaging", "requirements")
ENGINES = Path("resources", "engines")  # locks of packages that the app itself installs
BASE = FOLDER / "cpu.txt"
# Lock -> what goes in. All others take their pins from cpu.txt: every installation runs the same versions.
SOURCES = {
    BASE: ["pyproject.toml", "--group=engine-tensorflow-cpu"],
    FOLDER / "cuda.txt": ["pyproject.toml", "--group=engine-tensorflow-cuda"],
    FOLDER / "cuda-legacy.txt": ["pyproject.toml", "--group=engine-tensorflow-cuda-legacy"],
    FOLDER / "app.txt": ["pyproject.toml"],  # what packages ship: no engine
    FOLDER / "dev.txt": ["--group=test", "--group=lint", "--group=lock"],
    FOLDER / "build.txt": ["-"],
    FOLDER / "uv.txt": ["--group=lock"],
    **{
        ENGINES / f"{name}.txt": [f"--group=engine-{name}"]
        for name in (
            *("torch-base", "torch-cpu", "torch-mps", "torch-cuda", "torch-cuda-windows"),
            *("tensorflow-cpu", "tensorflow-cuda", "tensorflow-cuda-legacy"),
            *("jax-cpu", "jax-cuda12", "jax-cuda13"),
        )
    },
}
BUILD_TOOLS = "setuptools\nwheel\n"  # build GPUtil, which ships no wheel


def fingerprint(pyproject: str) -> str:
    """Return a digest of everything in pyproject.toml that determines the locks."""
    tables = tomllib.loads(pyproject)
    project = tables["project"]
    deciding = {
        "requires-python": project["requires-python"],
        "dependencies": project["dependencies"],
        "optional-dependencies": project.get("optional-dependencies", {}),
        "dependency-groups": tables.get("dependency-groups", {}),
    }
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()


def first_line(root: Path) -> str:
    """Return the first line of every lock made from the current pyproject.toml."""
    pyproject = (root / "pyproject.toml").read_text(encoding="utf-8")
    return f"# Written by packaging/lock.py; SHA-256 of the dependencies: {fingerprint(pyproject)}"


def stale_locks(root: Path) -> list[str]:
    """Return the names of locks that are missing or were made from other dependencies."""
    expected = first_line(root)
    paths = [root / lock for lock in SOURCES]
    return [
        path.name
        for path in paths
        if not path.is_file() or path.read_text(encoding="utf-8").partition("\n")[0] != expected
    ]


def find_uv() -> list[str]:
    """Return the command that runs uv, from PATH or else from this Python's packages."""
    uv = shutil.which("uv")
    return [uv] if uv else [sys.executable, "-m", "uv"]


def write_lock(lock: Path, upgrade: bool) -> None:
    """Resolve one lock, and write the fingerprint in its first line."""
    options = ["--universal", "--generate-hashes", "--python-version=3.11"]
    options += ["--no-header", "--no-annotate", "--quiet"]
    options += ["--upgrade"] if upgrade else []
    options += [] if lock == BASE else ["--constraints", str(BASE)]
    command = [*find_uv(), "pip", "compile", *options, f"--output-file={lock}", *SOURCES[lock]]
    subprocess.run(command, cwd=ROOT, check=True, text=True, input=BUILD_TOOLS)
    path = ROOT / lock
    pins = path.read_text(encoding="utf-8")
    path.write_text(f"{first_line(ROOT)}\n{pins}", encoding="utf-8", newline="\n")


def main() -> int:
    """Write or check the locks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the locks fit pyproject.toml")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions allowed")
    arguments = parser.parse_args()
    if not arguments.check:
        for lock in SOURCES:
            write_lock(lock, arguments.upgrade)
    stale = stale_locks(ROOT)
    if stale:
        sys.exit(f"Out of date with pyproject.toml: {', '.join(stale)}. Run: python packaging/lock.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
