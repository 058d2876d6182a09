"""Processes with a real engine, which find something out for a test and say it in JSON."""

import os
import subprocess
import sys

from tests.conftest import ROOT


def told_by(*arguments: str, hides_gpus: bool = True) -> str:
    """Return what Python prints, run with these arguments; it must end well."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"} if hides_gpus else {}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | hidden,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout
