"""A study of power limits on the command line says what to run, waits, and says how to go back."""

import io
import sys
import threading
from collections.abc import Generator
from dataclasses import replace

import pytest

from app.cli import groups, run, study
from app.cli.arguments import make_parser
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.runs import power_limit
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

STUDY = "study run --workload demo --axis power-limit=370,230"
RUN = "run demo --epochs 1 --power-limit 230"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "limits_w", "runs"),
    [
        (STUDY, (370.0, 370.0, 370.0, 230.0), 2),
        (f"{STUDY} --json", (370.0, 370.0, 230.0), 2),
        (RUN, (370.0, 230.0), 1),
    ],
)
def test_a_power_limit_is_waited_for(
    paths: Paths,
    machine: Machine,
    command: str,
    limits_w: tuple[float, ...],
    runs: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    card = Gpu("NVIDIA GeForce RTX 3090", "nvidia", power_limit_w=370.0, power_default_w=370.0)
    with_card = replace(machine, os_name="Linux 6.1", gpus=(card,))
    script = list(limits_w)

    def readings(stop: threading.Event) -> Generator[Telemetry, None, None]:
        while not stop.is_set():
            yield Telemetry(gpus=(GpuTelemetry(0, power_limit_w=script.pop(0)),))

    def limits(plan: object, runner: object) -> power_limit.PowerLimits:
        return power_limit.PowerLimits(with_card, lambda _: 0, readings)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("app.core.runs.plan_session.power_limits_for", limits)
    for module in (groups, study, run):
        monkeypatch.setattr(module, "detect_machine", lambda **_: with_card)
    asked = make_parser().parse_args(command.split())
    assert asked.verb(asked, paths) == 0
    assert capsys.readouterr().err.splitlines() == [
        sentence("run.set_limit", limit_w=230, now_w=370.0),
        "    sudo nvidia-smi -i 0 -pl 230",
        sentence("run.restore_limit"),
        "    sudo nvidia-smi -i 0 -pl 370",
    ]
    with Database(paths.database) as database:
        assert len([each for each in list_runs(database) if each.status == "completed"]) == runs


def test_the_progress_line_shows_the_wait(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    plan = repeat_plan(CATALOGUE["demo"].default_spec(), 4)
    view = groups.TextPlanView(plan, machine, plan.runs(), quiet=False)
    view.wait(plan.runs()[1], power_limit.LimitWait(230.0, None, None))
    shown = terminal.getvalue()
    assert said("run.set_unknown_limit", limit_w="230").is_in(shown)
    assert "25" in shown, "one of four runs is over"
