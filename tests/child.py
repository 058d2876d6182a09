"""Python processes that tests start and wait for: what they say, and how they end."""

import os
import subprocess
import sys
from typing import Any

from tests.conftest import ROOT


def python(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run Python in the project's folder to its end, with more options of subprocess.run: env, input, cwd."""
    usual: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "encoding": "utf-8", "timeout": 600}
    done: subprocess.CompletedProcess[str]
    done = subprocess.run([sys.executable, *arguments], check=False, **(usual | options))
    return done


def told_by(*arguments: str, hides_gpus: bool = True) -> str:
    """Return what Python prints, with a real engine, run with these arguments; it must end well."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"} if hides_gpus else {}
    done = python(*arguments, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | hidden)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout
