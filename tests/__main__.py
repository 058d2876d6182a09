"""Runs the tests for start.py: `test ARGS`, with pytest's, or `check`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A file of tests is one process's: what its tests share is made once.
# Files in the order that tests/conftest.py gives them, not by their number of tests.
# One process more than CPUs, as tests wait for a fifth of their time. Each may hold TensorFlow and a window, so
# there is a limit.
CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
PYTEST = ["-m", "pytest", "-n", str(min(CPUS + 1, 6)), "--dist", "loadfile", "--no-loadscope-reorder"]
WITHOUT_WINDOW = "EPOCHMARK_TESTS_WITHOUT_WINDOW" in os.environ  # tests/conftest.py leaves its tests out
PYTEST += ["-p", "no:pytest-qt", "-o", "required_plugins="] if WITHOUT_WINDOW else []
# pyproject.toml leaves the marks `engines` and `long` out; what is said last counts.
SELECTIONS = {
    "--fast": ["-m", "not (engine or engines or slow or long or packaging)"],
    "--all": ["-m", "not packaging"],
    "--packaging": ["-m", "packaging"],
}
CHECKS = {
    "ruff check": ["-m", "ruff", "check"],
    "ruff format --check": ["-m", "ruff", "format", "--check"],
    # NumPy's types for a newer Python cannot be read as the oldest one.
    "mypy": ["-m", "mypy", "--python-version", "{}.{}".format(*sys.version_info)],
    "lint-imports": ["-c", "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"],
}
# `check --again`, for CI on a shared computer, gives so many failed tests a second chance, and names them.
FEW = 3
FAILED = 1  # pytest's exit code if tests failed, and nothing worse happened
CACHE = Path(".pytest_cache/v/cache/lastfailed")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def call(arguments: list[str]) -> int:
    return subprocess.call([sys.executable, *arguments])


def become(arguments: list[str]) -> int:
    """Go on as pytest where the system can: no process is left over."""
    if os.name == "posix":
        os.execv(sys.executable, [sys.executable, *arguments])
    return call(arguments)


def run_again(arguments: list[str]) -> int:
    """Run pytest, then the few tests that failed again, alone; return FAILED only if a test failed twice."""
    code = call(["-m", "pytest", "--cache-clear", *arguments])
    names = sorted(json.loads(CACHE.read_text(encoding="utf-8"))) if code == FAILED and CACHE.is_file() else []
    if not 0 < len(names) <= FEW:
        return code
    say(f"\n== {len(names)} failed: again, alone")
    code = call(["-m", "pytest", "-m", "", *names])
    for name in names if not code else ():
        say(f"A fault to mend: {name} passed only alone.")
    return code


def check(*, again: bool) -> int:
    """Run everything that CI checks, the quick ones first, and end with what failed; return 1 if anything did."""
    failed = []
    for name, arguments in CHECKS.items():
        say("== " + name)
        if call(arguments):
            failed.append(name)
    say("== pytest")
    arguments = [*PYTEST[2:], *SELECTIONS["--all"]]
    if run_again(arguments) if again else call(["-m", "pytest", *arguments]):
        failed.append("pytest")
    say("Failed: " + ", ".join(failed) if failed else "Everything passed.")
    return 1 if failed else 0


def tests_of(path: str) -> list[str]:
    """Return the tests of a module or folder: test_y.py for y.py, all that import it, or those near its place."""
    *packages, name = Path(path).with_suffix("").parts
    folder = Path("tests", *packages[packages[:1] == ["app"] :])
    for own in (folder / name, folder / f"test_{name}.py"):
        if own.exists():
            return [str(own)]
    module = rf"{re.escape('.'.join(packages))}(\.| import .*\b){name}\b"
    imports = re.compile(rf"^(?:from|import) {module}", re.MULTILINE)
    files = sorted(Path("tests").rglob("test_*.py"))
    importing = [str(file) for file in files if imports.search(file.read_text(encoding="utf-8"))]
    if importing:
        return importing
    return [str(folder)] if folder.exists() else tests_of("/".join(packages))


def main(verb: str, *arguments: str) -> int:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # With it, each of pytest's processes would prepare all the tests' code anew: twenty seconds.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.chdir(ROOT)
    if verb == "check":
        return check(again="--again" in arguments)
    command = [*PYTEST, *(part for option in SELECTIONS if option in arguments for part in SELECTIONS[option])]
    for argument in arguments:
        path = argument.split("::")[0]
        is_ours = argument.startswith(("app/", "workloads/"))
        if (is_ours or argument.startswith("tests/")) and not Path(path).exists():
            say(f"There is no {path}; `tests/` has the folders of `app/` and `workloads/`.")
            return 4  # as pytest
        command += tests_of(path) if is_ours else [argument] if argument not in SELECTIONS else []
    return become(command)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
