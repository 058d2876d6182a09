"""Decides what to start, worker, command line or window, before importing any of them."""

import os
import sys
from importlib.util import find_spec


def main() -> int:
    """Start what the arguments and the surroundings ask for; returns the exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--worker"]:
        from workloads.__main__ import start

        start()
    from app.cli import main as run_command

    if arguments:
        return run_command(arguments)
    print(f"{_why_no_window()} The standard benchmark runs here in the terminal.", flush=True)
    return run_command(["run", "cifar10_keras_cnn", "--preset", "quick"])


def _why_no_window() -> str:
    if find_spec("app.gui") is None:
        return "Epochmark's window is not built yet."
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "There is no display."
    return "The window cannot be opened."


if __name__ == "__main__":
    sys.exit(main())
