"""Real PyTorch and JAX, as `engine install` installs them."""

import json

from app.core.engines.install import check_engine
from app.core.engines.locations import installable
from app.core.paths import Paths
from tests.conftest import CommandLine
from tests.sure import sure


def test_both_are_installed_whole_and_can_be_imported(installed_engines: Paths) -> None:
    for engine in installable():
        checkup = check_engine(installed_engines, engine)
        assert (checkup.state, checkup.problems) == ("ready", ())
        noted = [package.name for package in sure(checkup.stamp).packages if not package.is_locked]
        assert noted in ([], ["torch"])


def test_the_command_line_lists_them(installed_engines: Paths, epochmark: CommandLine) -> None:
    rows = json.loads(epochmark("engine", "list", "--json").stdout)
    assert {row["engine"]: row["state"] for row in rows} == dict.fromkeys(("tensorflow", "torch", "jax"), "ready")
