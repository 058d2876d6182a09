"""Plans of several runs on the command line wait until their device has cooled down, unless told not to."""

import io
import sys
import threading
from collections.abc import Generator
from typing import Any

import pytest

from app.cli import groups
from app.cli.arguments import make_parser
from app.cli.groups import TextPlanView
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.runs.cool_down import CoolDown, Cooling
from app.core.storage.database import Database
from app.core.storage.runs import list_runs, load_run
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import Telemetry

REPEAT = ("run", "demo", "--epochs", "1", "--repeat", "2", "--quiet")


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "expected"), [((), [(0.0, 50.0)] * 2), (("--no-cool-down",), [(None, None)] * 2)]
)
def test_runs_of_a_plan_wait_unless_told_not_to(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], expected: list[Any]
) -> None:
    def readings(_: threading.Event) -> Generator[Telemetry, None, None]:
        yield Telemetry(cpu_temperature_c=50.0)

    cool_down = CoolDown(lambda _: None, readings, lambda: 0.0)
    monkeypatch.setattr(groups, "cool_down_for", lambda plan, runner: cool_down)
    options = make_parser().parse_args([*REPEAT, *option])
    assert options.verb(options, paths) == 0
    with Database(paths.database) as database:
        kept = [load_run(database, run.id).metrics for run in list_runs(database)]
    assert [(each.get("cooled_s"), each.get("start_temperature_c")) for each in kept] == expected


@pytest.mark.parametrize(
    "command",
    ["run --repeat 2", "ab", "engine compare", "study run batch", "study resume 1", "suite", "suite resume 1"],
)
def test_every_command_for_several_runs_has_the_option(command: str) -> None:
    parser = make_parser()
    assert parser.parse_args(command.split()).no_cool_down is False
    assert parser.parse_args([*command.split(), "--no-cool-down"]).no_cool_down is True


def test_the_progress_line_shows_the_wait(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    plan = repeat_plan(CATALOGUE["demo"].default_spec(), 4)
    view = TextPlanView(plan, machine, plan.runs(), quiet=False)
    view.wait(plan.runs()[1], Cooling(71.2, 62.0))
    shown = terminal.getvalue()
    assert said("run.cooling_down", now_c="71", goal_c="62").is_in(shown)
    assert "25" in shown, "one of four runs is over"
