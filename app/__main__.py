"""Decides what to start, worker, command line or window, before importing any of them."""

import sys


def main() -> int:
    """Start what the arguments and the surroundings ask for; returns the exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--worker"]:
        from workloads.__main__ import start

        start()
    from app.cli import main as run_command

    if arguments:
        return run_command(arguments)
    print("Epochmark's window is not built yet. The standard benchmark runs here in the terminal.", flush=True)
    return run_command(["run", "cifar10_keras_cnn", "--preset", "quick"])


if __name__ == "__main__":
    sys.exit(main())
