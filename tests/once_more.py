"""Runs pytest, then the few tests that failed once more, alone.

A test computer may stand still for seconds, and then a test fails that measures or waits. What passes alone is
named at the end, for someone to look at; what fails again fails. `python -m tests.once_more ARGS`, with pytest's.
"""

import json
import subprocess
import sys
from pathlib import Path

FEW = 3
FAILED = 1  # pytest's exit code if tests failed, and nothing worse happened
CACHE = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """Run the tests and return pytest's exit code; FAILED only if a test failed twice, or more than FEW did."""
    code = run("--cache-clear", *arguments)
    names = sorted(json.loads(CACHE.read_text(encoding="utf-8"))) if code == FAILED and CACHE.is_file() else []
    if not 0 < len(names) <= FEW:
        return code
    print(f"\n== {len(names)} failed: once more, alone", flush=True)  # noqa: T201 - for whoever reads the log
    code = run("-m", "", *names)
    if not code:
        print("Passed only alone, look at: " + ", ".join(names), flush=True)  # noqa: T201
    return code


def run(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
