"""Carries attacks out: see the package."""

import logging
import sys
import tempfile
import time
from pathlib import Path

from tests.tools.attacks import crowds, faults, files, inputs, processes, records
from tests.tools.attacks.report import Attack, carry_out

# Each with the number of tries that the project promises.
ATTACKS: dict[str, tuple[Attack, int]] = {
    "cells": (records.break_cell, 3_000),
    "damage": (records.damage_file, 500),
    "worker-kills": (processes.kill_worker, 200),
    "kills": (processes.kill_command, 200),
    "storms": (processes.storm, 100),
    "stopped-workers": (processes.stop_worker, 50),
    "crowds": (crowds.crowd, 30),
    "resumes": (crowds.resumes, 20),
    "imports": (crowds.imports, 20),
    "disks": (crowds.full_disk, 30),
    "full-disks": (faults.no_room, 50),
    "driver-libraries": (faults.driver_library, 20),
    "floods": (faults.flood, 20),
    "command-lines": (inputs.command_line, 900),
    "logs": (inputs.log, 2_000),
    "files": (files.damaged_file, 100_000),
    "large-files": (files.large_file, len(files.LARGE)),
}


def main() -> int:
    """Carry out what the arguments ask for; returns 1 if anything failed."""
    logging.disable(logging.CRITICAL)
    kind, count, seed = (*sys.argv[1:], *("", "", "")[len(sys.argv) - 1 :])
    failed = 0
    for name, (attack, usual) in ATTACKS.items():
        if kind not in ("", "all", name):
            continue
        begin_s = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            report = carry_out(attack, Path(folder), int(count or usual), int(seed or 1))
        took_s = time.monotonic() - begin_s
        print(f"{name}: tried {report.tried}, failed {len(report.failed)} ({took_s:.0f} s)", flush=True)
        for line in report.failed[:20]:
            print(f"    {line}")
        failed += len(report.failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
