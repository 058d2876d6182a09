"""Command lines that are forked are the same as those that are started."""

import os
import subprocess

import pytest

from tests.conftest import command
from tests.forks import Forks

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="forks")]


@pytest.mark.parametrize(
    "arguments",
    [["workloads"], ["run", "nonsense"], ["run", "demo", "--epochs", "0"], ["dance"], ["results", "list"]],
)
def test_a_fork_says_and_returns_what_a_start_does(
    forks: Forks, environment: dict[str, str], arguments: list[str]
) -> None:
    words = command(*arguments)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert forks.run(words, environment, 60) == (done.returncode, done.stdout, done.stderr)
