"""Energy of processors from Linux's counters, and of runs and epochs from the looks that are stored with them."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.formats import format_energy
from app.core.hardware.telemetry.energy_counters import PackageEnergy
from app.core.hardware.telemetry.monitor import TelemetryReader
from app.core.messages import message, sentence, text
from app.core.records import Run, RunSummary
from app.core.report.formats.csv_table import csv_lines
from app.core.storage.database import Database
from app.core.storage.runs import list_runs, rows_for_export
from app.core.verdict.energy import Energy, energy_columns, energy_of, energy_used
from tests.build import environment_of, record, telemetry_of
from tests.core.hardware.made_up import write
from tests.saying import said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine

ZONE = "sys/class/powercap/intel-rapl:"
RANGE_UJ = 262_143_328_850  # of a Core i7-8550U


def package(number: int, energy_uj: object, range_uj: object = RANGE_UJ, zone: str = ZONE) -> dict[str, str]:
    folder = f"{zone}{number}"
    return {
        f"{folder}/name": f"package-{number}",
        f"{folder}/energy_uj": str(energy_uj),
        f"{folder}/max_energy_range_uj": str(range_uj),
        f"{folder}:0/name": "core",
        f"{folder}:0/energy_uj": "999999999",
    }


def test_packages_are_added_up_and_their_parts_are_not(tmp_path: Path) -> None:
    write(tmp_path, package(0, 1_000_000) | package(1, 5_000_000) | {f"{ZONE}2/name": "psys"})
    energy = PackageEnergy(tmp_path)
    assert energy.read_j(0.0) == 0.0
    write(tmp_path, package(0, 31_000_000) | package(1, 25_000_000))
    assert energy.read_j(1.0) == pytest.approx(50.0)


def test_a_reset_counter_continues(tmp_path: Path) -> None:
    energy = PackageEnergy(write(tmp_path, package(0, RANGE_UJ - 4_000_000)))
    energy.read_j(0.0)
    write(tmp_path, package(0, 6_000_000))
    assert energy.read_j(1.0) == pytest.approx(10.0)


@pytest.mark.parametrize("after", [RANGE_UJ // 2, "", "garbage", "-5", "9" * 30])
def test_growth_that_cannot_be_is_left_out(tmp_path: Path, after: object) -> None:
    energy = PackageEnergy(write(tmp_path, package(0, 10_000_000)))
    energy.read_j(0.0)
    write(tmp_path, package(0, after))
    assert energy.read_j(1.0) in (0.0, None)
    write(tmp_path, package(0, after) | package(0, 12_000_000))
    assert energy.read_j(1.0) in (0.0, 2.0)


def test_telemetry_has_power_and_energy(tmp_path: Path) -> None:
    reader = TelemetryReader(root=write(tmp_path, package(0, 1_000_000)))
    assert reader.read().cpu_power_w is None, "a counter that stood still is no power of zero"
    write(tmp_path, package(0, 1_000_500))
    look = reader.read()
    assert sure(look.cpu_power_w) > 0
    assert look.cpu_energy_j == pytest.approx(0.0005)


def epoch(index: int, end_s: float, duration_s: float = 10.0) -> events.Epoch:
    return events.Epoch(t_s=end_s, index=index, duration_s=duration_s, train_s=duration_s)


def with_samples(run: Run, looks: dict[float, dict[str, Any]], device: str = "gpu:0", **changes: Any) -> Run:
    """Return the run with three epochs of ten seconds from second 10 on, and these looks."""
    samples = tuple(
        events.TelemetryEvent(t_s=time_s, telemetry=telemetry_of(look)) for time_s, look in looks.items()
    )
    epochs = (epoch(0, 20.0), epoch(1, 30.0), epoch(2, 40.0))
    environment = environment_of(run, device=device)
    return replace(run, epochs=epochs, telemetry=samples, environment=environment, **changes)


def with_columns(run: Run) -> RunSummary:
    columns: dict[str, Any] = dict(energy_columns(run))
    return replace(run.summary, **columns)


def gpu_looks(every_s: float = 1.0, **curves: Any) -> dict[float, dict[str, Any]]:
    moments = [at * every_s for at in range(round(45 / every_s) + 1)]
    return {
        time_s: {"gpus": [{"index": 0, **{name: curve(time_s) for name, curve in curves.items()}}]}
        for time_s in moments
    }


def test_a_counter_gives_epochs_their_energy(stored_run: Run) -> None:
    run = with_samples(
        stored_run, gpu_looks(energy_j=lambda t_s: 100 * t_s + (50 * (t_s - 30) if t_s > 30 else 0))
    )
    energy = energy_of(run)["gpu"]
    assert energy.basis == "counter"
    assert energy.epochs_j == pytest.approx((1000.0, 1000.0, 1500.0))
    assert energy.per_epoch_j == pytest.approx(1250.0), "the first epoch is not typical"
    assert energy.total_j == pytest.approx(45 * 100 + 15 * 50)
    assert energy_of(run)["cpu"] == Energy()


def test_without_a_counter_the_power_is_integrated(stored_run: Run) -> None:
    run = with_samples(stored_run, gpu_looks(power_w=lambda t_s: 100.0 + 2 * t_s, energy_j=lambda t_s: None))
    energy = energy_of(run)["gpu"]
    assert energy.basis == "power"
    # The integral of 100 + 2 t is 100 t + t².
    assert energy.epochs_j == pytest.approx((1300.0, 1500.0, 1700.0))
    assert energy.total_j == pytest.approx(4500 + 45**2)
    told = text(energy_used(with_columns(with_samples(stored_run, gpu_looks(power_w=lambda _: 100.0)))))
    gpu = said("note.energy_of_gpu", energy_j="4.5 kJ (1.2 Wh)", source=said("note.energy_by_power"))
    assert said("note.energy", parts=gpu).is_all_of(told)


@pytest.mark.parametrize(
    "looks",
    [
        {},
        {5.0: {"gpus": [{"index": 0, "energy_j": 5.0}]}},
        gpu_looks(energy_j=lambda t_s: 7.0),  # it stands still
        gpu_looks(energy_j=lambda t_s: None, power_w=lambda t_s: None),
        {time_s: {"gpus": "none"} for time_s in range(45)},
        {time_s: {"gpus": [{"index": 1, "energy_j": time_s}]} for time_s in range(45)},
    ],
)
def test_unknown_energy_is_not_shown(stored_run: Run, looks: dict[float, dict[str, Any]]) -> None:
    run = with_samples(stored_run, looks)
    assert energy_of(run)["gpu"].total_j is None
    assert set(energy_columns(run).values()) == {None}
    assert text(energy_used(with_columns(run))) == ""


def test_power_is_not_known_over_a_gap(stored_run: Run) -> None:
    looks = {t_s: look for t_s, look in gpu_looks(power_w=lambda _: 100.0).items() if not 21 < t_s < 29}
    energy = energy_of(with_samples(stored_run, looks))["gpu"]
    assert list(energy.epochs_j) == [pytest.approx(1000.0), None, pytest.approx(1000.0)]
    assert energy.total_j is None
    assert energy.per_epoch_j == pytest.approx(1000.0)


def test_the_energy_of_several_computers_is_unknown(stored_run: Run) -> None:
    run = with_samples(stored_run, gpu_looks(energy_j=lambda t_s: 100 * t_s))
    assert energy_of(run)["gpu"].total_j is not None
    together = replace(run, summary=replace(run.summary, settings="machines=2"))
    assert energy_of(together) == {"cpu": Energy(), "gpu": Energy()}


def test_a_run_on_the_cpu_counts_no_gpu(stored_run: Run) -> None:
    looks = gpu_looks(energy_j=lambda t_s: t_s)
    for t_s, look in looks.items():
        look["cpu_energy_j"] = 20 * t_s
    run = with_samples(stored_run, looks, device="cpu")
    columns = energy_columns(run)
    assert columns["gpu_energy_j"] is None
    assert columns["cpu_energy_j"] == pytest.approx(900.0)
    assert columns["cpu_energy_per_epoch_j"] == pytest.approx(200.0)
    told = text(energy_used(with_columns(run)))
    each = message("note.energy_per_epoch", energy_j=200)
    assert told == sentence(
        "note.energy", parts=[message("note.energy_of_cpu", energy_j=900, each=each, source="")]
    )


def test_the_energy_of_several_gpus_is_unknown_instead_of_the_first_ones(stored_run: Run) -> None:
    looks = gpu_looks(energy_j=lambda t_s: t_s, power_w=lambda t_s: 100.0)
    several = replace(stored_run.summary, settings="devices=2")
    columns = energy_columns(with_samples(stored_run, looks, summary=several))
    assert columns["gpu_energy_j"] is None
    assert columns["gpu_energy_basis"] is None


def test_energies_for_people() -> None:
    assert format_energy(None) == "n/a"
    assert format_energy(12_345) == "12.3 kJ (3.4 Wh)"


def test_a_run_that_ends_is_stored_with_its_energy(database: Database, machine: Machine) -> None:
    environment = events.Environment(engine="tensorflow", device="gpu:0", precision="float32", jit=False)
    looks = [
        events.TelemetryEvent(seq=seq, t_s=t_s, telemetry=telemetry_of(look))
        for seq, (t_s, look) in enumerate(gpu_looks(energy_j=lambda t_s: 100 * t_s).items(), 1)
    ]
    record(database, machine, environment, *looks, *(epoch(index, 20.0 + 10 * index) for index in range(3)))
    summary = next(list_runs(database))
    (row,) = csv.DictReader("".join(csv_lines(rows_for_export(database))).splitlines())
    assert summary.gpu_energy_j == pytest.approx(4500.0)
    assert summary.gpu_energy_per_epoch_j == pytest.approx(1000.0)
    assert summary.gpu_energy_basis == "counter"
    assert (float(row["gpu_energy_j"]), row["cpu_energy_j"]) == (summary.gpu_energy_j, "")
