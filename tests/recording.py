"""A real run, recorded: its events as `run --json` printed them, for pictures and tests that need a whole one."""

import gzip
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from app.core.records import PlanPlace, Run
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import Preset, RunSpec
from workloads.protocol.telemetry import GpuTelemetry

SECONDS: dict[Preset, float] = {"quick": 60.0, "sustained": 600.0}
FILE = Path(__file__).parent / "data" / "cifar10_standard.jsonl.gz"


def recorded_events() -> list[events.AnyEvent]:
    with gzip.open(FILE) as file:
        return [event for line in file if (event := events.decode(line)) is not None]


def until_epoch(recorded: Sequence[events.AnyEvent], epochs: int, more_steps: int = 0) -> list[events.AnyEvent]:
    """Return the events up to a number of whole epochs and of steps of the next one."""
    found: list[events.AnyEvent] = []
    for event in recorded:
        found.append(event)
        if isinstance(event, events.Steps) and event.epoch == epochs and event.first_index >= more_steps:
            break
        if isinstance(event, events.Epoch) and event.index + 1 == epochs and not more_steps:
            break
    return found


def as_preset(recorded: Sequence[events.AnyEvent], preset: Preset) -> list[events.AnyEvent]:
    """Return the same run as if it had been asked for with a preset that trains for a time."""
    found: list[events.AnyEvent] = []
    for event in recorded:
        if isinstance(event, events.Run):
            spec = msgspec.structs.replace(event.spec, preset=preset, epochs=1)
            found.append(msgspec.structs.replace(event, spec=spec))
        elif isinstance(event, events.Phase) and event.name == "measure":
            found.append(events.Phase(seq=event.seq, t_s=event.t_s, name="measure", budget_s=SECONDS[preset]))
        elif not isinstance(event, events.Epoch) or preset == "sustained":
            found.append(event)
    if preset == "quick":  # what an epoch has beside its steps
        found.append(events.Metric(t_s=found[-1].t_s, key="epoch_rest_s", value=0.4))
    return found


def on_card(
    recorded: Sequence[events.AnyEvent], limit_w: float, default_w: float = 370.0
) -> list[events.AnyEvent]:
    """Return the same run as if it had been on a card at this limit of 370 W, which it drew to within 2 W."""
    found: list[events.AnyEvent] = []
    for event in recorded:
        if isinstance(event, events.Run):
            card = Gpu("NVIDIA GeForce RTX 3090", "nvidia", 24 * 2**30, "580.65", power_limit_w=limit_w)
            card = replace(card, power_default_w=370.0, power_min_w=100.0, power_max_w=390.0)
            machine = replace(event.machine, gpus=(card,), virtual_machine=False, virtualization=None)
            found.append(msgspec.structs.replace(event, machine=machine))
        elif isinstance(event, events.Environment):
            found.append(msgspec.structs.replace(event, device="gpu:0", device_name="NVIDIA GeForce RTX 3090"))
        elif isinstance(event, events.TelemetryEvent):
            gpu = GpuTelemetry(0, 97.0, 2**33, 66.0, limit_w - 2, 1700.0, ("power cap",), power_limit_w=limit_w)
            found.append(msgspec.structs.replace(event, telemetry=replace(event.telemetry, gpus=(gpu,))))
        else:
            found.append(event)
    return found


def asked(recorded: Sequence[events.AnyEvent]) -> tuple[RunSpec, Machine]:
    first = recorded[0]
    assert isinstance(first, events.Run)
    return first.spec, first.machine


def store_recording(
    database: Database,
    recorded: Sequence[events.AnyEvent],
    status: str = "completed",
    error: events.Error | None = None,
    place: PlanPlace | None = None,
) -> int:
    """Store the run as a session does; returns its number."""
    spec, machine = asked(recorded)
    run_id = begin_run(database, spec, CATALOGUE[spec.workload], machine, place=place)
    writer = RunWriter(database, run_id)
    for event in recorded:
        writer.add(event)
    writer.finish(status, error)
    return run_id


def recorded_run() -> Run:
    run = pickle.loads(_recorded_run())
    assert isinstance(run, Run)
    return run


@cache
def _recorded_run() -> bytes:
    """Return the run as pickle keeps it, which copies it in a tenth of the time."""
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder, "runs")) as database:
        return pickle.dumps(load_run(database, store_recording(database, recorded_events())))
