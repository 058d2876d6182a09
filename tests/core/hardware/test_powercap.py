"""Power limits of CPU packages, from Linux's files as computers have them."""

from pathlib import Path

import pytest

from app.core.hardware.machine import detect_machine
from app.core.hardware.powercap import CpuLimits
from app.core.hardware.telemetry.monitor import TelemetryReader
from tests.core.hardware.made_up import write
from tests.core.hardware.packages import FOLDER, MMIO, package, run_command


def limit_file(number: int, folder: str = FOLDER) -> str:
    return f"{folder}{number}/constraint_0_power_limit_uw"


def test_the_limits_of_all_packages_are_added_up(tmp_path: Path) -> None:
    first = package(0, 250_000_000) | {f"{FOLDER}0/constraint_0_name": "peak_power"}
    first |= {f"{FOLDER}0/constraint_1_name": "long_term", f"{FOLDER}0/constraint_1_power_limit_uw": "125000000"}
    first |= {f"{FOLDER}0/constraint_1_max_power_uw": "65000000"}
    psys = {f"{FOLDER}2/name": "psys", f"{FOLDER}2/enabled": "1", limit_file(2): "1"}
    part = {
        f"{FOLDER}0:0/name": "core",
        f"{FOLDER}0:0/enabled": "1",
        f"{FOLDER}0:0/constraint_0_name": "long_term",
    }
    write(tmp_path, first | package(1, 95_500_000) | psys | part)
    limits = CpuLimits(tmp_path)
    assert (limits.read_w(), limits.rated_w()) == (220.5, 130.0)


def test_the_lowest_limit_of_a_package_that_is_shown_twice_is_in_force(tmp_path: Path) -> None:
    write(tmp_path, package(0, 45_000_000) | package(0, 28_000_000, folder=MMIO))
    limits = CpuLimits(tmp_path)
    assert limits.read_w() == 28.0
    write(tmp_path, {limit_file(0, MMIO): "60000000"})
    assert limits.read_w() == 45.0
    write(tmp_path, {f"{FOLDER}0/enabled": "0"})
    assert limits.read_w() == 60.0


@pytest.mark.parametrize(
    "changes",
    [
        {f"{FOLDER}1/enabled": "0"},
        {f"{FOLDER}1/enabled": "garbage"},
        {limit_file(1): "garbage"},
        {limit_file(1): "0"},
        {f"{FOLDER}1/constraint_0_name": "short_term"},
    ],
)
def test_a_package_without_a_limit_makes_the_total_unknown(tmp_path: Path, changes: dict[str, str]) -> None:
    write(tmp_path, package(0, 65_000_000) | package(1, 65_000_000) | changes)
    assert CpuLimits(tmp_path).read_w() is None


def test_a_computer_without_limits_has_none_and_no_command(tmp_path: Path) -> None:
    limits = CpuLimits(tmp_path)
    assert (limits.read_w(), limits.rated_w(), limits.command(45.0), limits.command(None)) == (None,) * 4
    assert CpuLimits(write(tmp_path, package(0, 65_000_000, rated_uw="0"))).rated_w() is None


def test_the_command_sets_every_package_and_the_way_back_is_exact(tmp_path: Path) -> None:
    mixed = package(0, 45_000_000) | package(0, 28_000_000, folder=MMIO) | package(1, 45_000_000)
    limits = CpuLimits(write(tmp_path, mixed))
    back = limits.command(None) or ""
    command = limits.command(50.0) or ""
    paths = [tmp_path / limit_file(0), tmp_path / limit_file(1), tmp_path / limit_file(0, MMIO)]
    assert command == f"echo 25000000 | sudo tee {' '.join(map(str, paths))}"
    run_command(command)
    assert limits.read_w() == 50.0
    run_command(back)
    assert [path.read_text().strip() for path in paths] == ["45000000", "45000000", "28000000"]


def test_machine_and_telemetry_have_the_limit(tmp_path: Path) -> None:
    write(tmp_path, package(0, 65_000_000))
    machine = detect_machine(tmp_path)
    reader = TelemetryReader(root=tmp_path)
    assert (machine.cpu_power_limit_w, machine.cpu_power_rated_w) == (65.0, 65.0)
    assert reader.read().cpu_power_limit_w == 65.0
    write(tmp_path, {limit_file(0): "44875000"})
    assert reader.read().cpu_power_limit_w == 44.875
