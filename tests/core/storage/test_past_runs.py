"""Past runs with what surrounded them, whatever their records hold."""

from dataclasses import replace

import pytest

from app.core.storage.database import Database
from app.core.storage.past_runs import past_runs
from app.core.storage.recording import RunWriter
from tests.conftest import MACHINE
from tests.core.storage.storing import store
from tests.telemetry import telemetry_of
from workloads.protocol import events
from workloads.protocol.machine import Gpu

WORKLOAD = "cifar10_keras_cnn"


def test_what_surrounded_a_run_is_read(database: Database) -> None:
    machine = replace(MACHINE, kernel="6.1.0", bios_version="F12", gpus=(Gpu("RTX", "nvidia", driver="560.2"),))
    first = store(database, machine, 2.0, 2.0)
    writer = RunWriter(database, first)
    for plan, on_battery in (("balanced", True), ("performance", False)):
        telemetry = telemetry_of({"power_plan": plan, "on_battery": on_battery})
        writer.add(events.TelemetryEvent(t_s=1.0, telemetry=telemetry))
    writer.flush()
    second = store(database, MACHINE, 2.0, 2.0)
    store(database, MACHINE, 2.0, workload="mnist_mlp")
    store(database, MACHINE, status="failed")
    new, old = past_runs(database, WORKLOAD)
    assert (old.run.id, old.gpu_driver, old.kernel) == (first, "560.2", "6.1.0")
    assert (old.bios_version, new.bios_version) == ("F12", None)
    assert (old.power_plan, old.on_battery) == ("balanced", True)
    assert (new.run.id, new.gpu_driver, new.kernel, new.power_plan, new.on_battery) == (second, *[None] * 4)


@pytest.mark.parametrize("broken", ["{", "null", "[]", '{"gpus": 3, "kernel": [1]}', '{"gpus": [{"driver": 5}]}'])
def test_broken_surroundings_are_unknown(database: Database, broken: str) -> None:
    run_id = store(database, MACHINE, 2.0, 2.0)
    database.connection.execute("UPDATE machines SET machine = ?", (broken,))
    database.connection.execute("UPDATE machine_parts SET parts = ?", (broken,))
    sql = "INSERT INTO samples VALUES (?, 1.0, ?)"
    database.connection.execute(sql, (run_id, '{"power_plan": {}, "on_battery": 7}'))
    (past,) = past_runs(database, WORKLOAD)
    assert (past.gpu_driver, past.kernel, past.power_plan, past.on_battery) == (None,) * 4
