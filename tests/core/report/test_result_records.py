"""What a result file says of a stored run: all that is needed, nothing private, the code of the picture."""

import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.errors import UsageError
from app.core.records import Run
from app.core.report.export import format_of
from app.core.report.formats.result_document import enclosed_file, result_file, results_of
from app.core.report.result_records import result_of
from app.core.report.share import share_card
from app.core.result_file.canonical import decode
from app.core.result_file.record import EPOCHS_LIMIT, STEPS_LIMIT
from app.core.storage.database import Database
from app.core.verdict.judged_run import JudgedRun
from tests.broken import make_results
from tests.build import set_fields, telemetry_of
from tests.saying import Saying, said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Gpu, Machine


def changed(run: Run, **changes: Any) -> Run:
    return replace(run, summary=replace(run.summary, **changes))


def result_code(run: Run) -> str:
    return sure(result_of(run).digest)


def test_the_record_has_the_numbers_of_the_run(stored_run: Run) -> None:
    result = result_of(stored_run, {})
    assert (result.spec.workload, result.spec.batch_size) == ("cifar10_keras_cnn", 100)
    assert (result.statistics.value, result.statistics.spread_pct) == (66.3, 0.4)
    steps = sure(result.steps)
    assert (steps.count, [block.epoch for block in sure(steps.blocks)]) == (5_000, list(range(10)))
    assert result.machine.cpu_name == "Intel Core i7-1165G7"
    assert sure(result.verdict).level == "valid"


def test_blocks_that_go_on_are_one(stored_run: Run) -> None:
    blocks = tuple(
        events.Steps(phase="measure", epoch=0, first_index=first, durations_s=(0.1, 0.2)) for first in (0, 2, 5)
    )
    result = sure(result_of(replace(stored_run, steps=blocks), {}).steps)
    assert [(block.first_index, block.count) for block in sure(result.blocks)] == [(0, 4), (5, 2)]


def test_very_many_steps_and_epochs_are_left_out_and_counted(stored_run: Run) -> None:
    steps = events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.1,) * (STEPS_LIMIT + 1))
    epochs = tuple(events.Epoch(index=n, duration_s=66.3, train_s=60.0) for n in range(EPOCHS_LIMIT + 1))
    run = changed(replace(stored_run, steps=(steps,), epochs=epochs), epochs_done=len(epochs))
    result = result_of(run, {})
    assert (sure(result.steps).count, sure(result.steps).durations_s) == (STEPS_LIMIT + 1, None)
    assert (result.statistics.epochs_done, result.epochs) == (EPOCHS_LIMIT + 1, None)


def test_the_digest_is_of_the_result_whatever_the_run_is_called(stored_run: Run) -> None:
    code = result_code(stored_run)
    assert result_code(changed(stored_run, id=99, comment="other")) == code
    for other in (
        changed(stored_run, value=66.4),
        changed(stored_run, batch_size=101),
        changed(stored_run, cpu_name="Other CPU"),
        changed(stored_run, verdict="caution", reasons="drift"),
        replace(stored_run, environment=None),
        replace(stored_run, steps=stored_run.steps[:1]),
    ):
        assert result_code(other) != code


def test_telemetry_is_summed_up_for_the_gpu_that_trained(stored_run: Run) -> None:
    loads = [
        {"cpu_pct": pct, "gpus": [{"index": 0, "power_w": 1.0}, {"index": 1, "power_w": pct}]}
        for pct in (90.0, 10.0, 50.0)
    ]
    seconds = [events.TelemetryEvent(t_s=n, telemetry=telemetry_of(load)) for n, load in enumerate(loads)]
    run = changed(replace(stored_run, telemetry=tuple(seconds)), device="gpu:1")
    telemetry = sure(result_of(run, {}).telemetry)
    assert {name: (each.low, each.median, each.high) for name, each in telemetry.items()} == {
        "cpu_pct": (10.0, 50.0, 90.0),
        "gpu_power_w": (10.0, 50.0, 90.0),
    }


def test_nothing_private_is_inside(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "lab-rig-17.example.org")
    monkeypatch.setenv("LOGNAME", "penelope")
    machine = replace(stored_run.machine, machine_id="c0ffee", bios_version="B77", gpus=(Gpu("GPU", "nvidia"),))
    comment = f"penelope at lab-rig-17, {Path.home() / 'secret'}"
    folders = os.pathsep.join(["/srv/penelope", "/x"])
    spec = msgspec.structs.replace(stored_run.spec, workload="storage", parameters={"folders": folders})
    run = changed(replace(stored_run, machine=machine, spec=spec), comment=comment, workload="storage")
    out = msgspec.json.encode(result_of(run)).decode()
    for secret in (
        "lab-rig-17",
        "penelope",
        str(Path.home() / "secret"),
        "/srv",
        "c0ffee",
        "B77",
        platform.node(),
    ):
        assert secret not in out, secret


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"value": None}, said("share.no_result", run_id="7")),
        ({"workload": "n/a"}, said("result_file.unfit", run_id="7")),
        ({"status": "running"}, said("result_file.unfit", run_id="7")),
        ({"value_low": 99.0, "value_high": 100.0}, said("exchange.outside_range", low="99", high="66.3")),
    ],
)
def test_a_run_that_no_file_can_hold_is_refused_and_its_picture_has_no_code(
    stored_run: Run, changes: dict[str, Any], refusal: Saying
) -> None:
    run = changed(stored_run, **changes)
    with pytest.raises(UsageError, match=refusal.pattern):
        result_of(run, {})
    if run.summary.value is not None:
        assert share_card(JudgedRun(run)).short_form == ""


def test_an_export_has_the_runs_with_results_and_steps_that_fit(database: Database, machine: Machine) -> None:
    ids = make_results(database, machine)
    set_fields(database, f"id = {ids[1]}", value=None)
    stored = results_of(database, [])
    assert len(stored) == len(ids) - 1, "one has no result"
    assert decode(result_file(database, [])) == tuple(stored)
    assert json.loads(result_file(database, ids[:1]))["format"] == "epochmark-result"
    few = results_of(database, [], steps_limit=stored[0].steps.count if stored[0].steps else 0)
    shown = [each.steps.durations_s is not None for each in few if each.steps is not None]
    assert shown[0]
    assert not any(shown[1:])
    assert [each.digest for each in few] == [each.digest for each in stored]
    assert decode(enclosed_file(database, ids)) == tuple(stored)
    set_fields(database, value=None)
    with pytest.raises(UsageError, match=said("result_file.no_results").pattern):
        results_of(database, [])
    assert enclosed_file(database, ids) == b""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.json", "json"),
        ("a.epochmark.json", "result"),
        ("A.EPOCHMARK.JSON", "result"),
        ("a.csv", "csv"),
        ("a", "csv"),
    ],
)
def test_the_name_of_a_file_says_its_format(name: str, kind: str) -> None:
    assert format_of(Path(name)).name == kind
