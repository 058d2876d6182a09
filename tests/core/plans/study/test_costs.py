"""Prices, costs and break-even: by hand, and what makes no sense."""

import csv
import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.study.costs import (
    Costs,
    break_even_hours,
    bundled_prices,
    cost_findings,
    epoch_cost,
    load_prices,
    own_usd_per_hour,
    read_prices,
    relative_rows,
)
from app.core.plans.study.figures import figures
from app.core.plans.study.own_prices import device_named, device_rows, prices_on, with_device
from app.core.plans.study.planning import plan_preset
from app.core.plans.study.points import load_study
from app.core.plans.study.report import StudyReport
from app.core.plans.study.tables import study_as_dict
from app.core.report.export import plan_lines
from app.core.runs.runner import Runner
from app.core.settings import OwnComputer, OwnDevice, Settings, load_settings, save_settings
from app.core.storage.database import Database
from tests.core.plans.study.storing_studies import Store, store_study
from tests.saying import said
from workloads.protocol.machine import Gpu, Machine

OWN = OwnComputer(
    power_w=200.0, electricity_usd_per_kwh=0.3, purchase_usd=1_200.0, lifetime_years=5.0, hours_per_month=40.0
)


def test_an_hour_is_electricity_and_its_part_of_the_purchase() -> None:
    assert OWN.electricity_usd_per_hour == pytest.approx(0.06)
    assert OWN.purchase_usd_per_month == pytest.approx(20.0)
    assert OWN.usd_per_hour == pytest.approx(0.56)
    assert OwnComputer().usd_per_hour is None
    assert OwnComputer(purchase_usd=480.0).usd_per_hour == pytest.approx(0.25)
    assert epoch_cost(1_800.0, 0.5) == pytest.approx(0.25)
    assert epoch_cost(1.0, None) is None


@given(st.floats(1, 1e4), st.floats(0.1, 30), st.floats(0, 1_000), st.floats(0.01, 10), st.floats(0.1, 100))
def test_at_the_break_even_both_cost_the_same(
    purchase_usd: float, years: float, power_w: float, rented: float, times: float
) -> None:
    own = OwnComputer(
        purchase_usd=purchase_usd, lifetime_years=years, power_w=power_w, electricity_usd_per_kwh=0.3
    )
    hours = break_even_hours(own, rented, times)
    electricity = own.electricity_usd_per_hour or 0.0
    assert hours is not None
    if math.isinf(hours):
        assert rented / times <= electricity
        return
    buying = (own.purchase_usd_per_month or 0.0) + hours * electricity
    assert math.isclose(buying, hours * rented / times, rel_tol=1e-6)


def test_without_a_purchase_there_is_no_break_even() -> None:
    assert break_even_hours(OwnComputer(power_w=200.0, electricity_usd_per_kwh=0.3), 1.46) is None


def test_the_studies_prices_are_bundled_with_their_dates() -> None:
    prices = {price.device: price for price in bundled_prices()}
    assert (prices["Tesla P100"].usd_per_hour, prices["Tesla P100"].date) == (1.46, "2020")
    assert (prices["Tesla K80"].usd_per_hour, prices["Tesla K80"].date) == (0.745, "2017")
    assert all(price.source for price in prices.values())


@pytest.mark.parametrize("typed", ["-1", "nan", "inf", "1e999", "", "a lot", "0x10", "1,5"])
def test_a_price_that_makes_no_sense_is_named_with_its_line(typed: str) -> None:
    with pytest.raises(UsageError, match=said("studies.price_in_line", line="3").pattern):
        read_prices(f'device,usd_per_hour\nA,1\nB,"{typed}"\n')


@given(st.text(max_size=200))
def test_any_table_is_read_or_refused(text: str) -> None:
    try:
        read_prices(text)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - anything else would be raised


def test_the_users_table_replaces_the_bundled_one(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    assert load_prices(path) == bundled_prices()
    path.write_text("\ufeffdevice,usd_per_hour,date\nTesla P100,0.9,2026\n", encoding="utf-8")
    assert [price.usd_per_hour for price in load_prices(path)] == [0.9]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=said("studies.prices_unreadable").pattern):
        load_prices(path)
    path.write_text("name,price\n")
    with pytest.raises(UsageError, match=said("studies.prices_without_columns").pattern):
        load_prices(path)


def test_time_and_cost_are_relative_to_the_studys_k80_beside_its_rows(
    runner: Runner, database: Database, eight_cores: Machine
) -> None:
    plan = plan_preset("cost", runner)
    result = store_study(
        database, eight_cores, plan, lambda spec: 14.2736 / 2 if spec.workload == "mnist_cnn" else 9.0
    )
    costs = Costs(OWN, bundled_prices())
    time = {row.workload: row for row in relative_rows(result, costs, "time")}["mnist_cnn"]
    own = next(iter(time.own))
    assert time.values[own] == pytest.approx(0.5)
    assert time.values["Tesla K80"] == 1.0
    # As the study's own logs have it: 6.46 with 8 vCPU, 2.92 with 64 compiled ones.
    assert time.values["Xeon Skylake, 8 vCPU"] == pytest.approx(6.5, abs=0.1)
    cost = {row.workload: row for row in relative_rows(result, costs, "cost")}["mnist_cnn"]
    assert cost.values[own] == pytest.approx(0.5 * 0.56 / 0.745)
    assert cost.values["Xeon Skylake, 8 vCPU"] == pytest.approx(0.55, abs=0.02)
    charts = figures(result, costs=costs)
    assert [chart.baseline for chart in charts[:2]] == [(1.0, "Tesla K80")] * 2
    assert len(charts[0].rows) == 7
    assert "Tesla K80" not in {series.name for series in charts[0].series}, "it is the dashed line"


def test_what_costs_say(runner: Runner, stored: Store) -> None:
    plan = plan_preset("cost", runner, workloads=["mnist_cnn"])
    result = stored(plan, lambda _: 14.2736)
    lines = cost_findings(result, Costs(OWN, bundled_prices()))
    assert said("studies.against_time", baseline="Tesla K80", times="1.00").is_all_of(lines[0])
    assert said("studies.cost_per_hour", price="0.560").is_in(lines)
    # 20 USD a month against 1.46 USD/h at 14.27 / 5.05 times the speed, less 0.06 USD of electricity.
    hours = 20 / (1.46 / (14.2736 / 5.05247) - 0.06)
    rent = said("studies.rent_below", date=2020, price=1.46, device="Tesla P100", hours=f"{hours:,.0f}")
    assert rent.is_all_of(lines[-1])
    assert not said("studies.cost_no_price").is_in(StudyReport(result, costs=Costs()).text())
    assert said("studies.cost_no_price").is_all_of(cost_findings(result, Costs())[-1])


def test_measured_power_stands_for_one_that_nobody_told(runner: Runner, stored: Store) -> None:
    plan = plan_preset("cost", runner, workloads=["cifar10_cnn"])
    energy: dict[str, Any] = {"cpu_energy_per_epoch_j": 1_000.0, "gpu_energy_per_epoch_j": 7_000.0}
    result = stored(plan, lambda _: 80.0, **energy)
    unpriced = Costs(OwnComputer(electricity_usd_per_kwh=0.5))
    assert own_usd_per_hour(result.points[0], unpriced.own) == pytest.approx(0.05)  # 100 W
    lines = cost_findings(result, unpriced)
    assert said("studies.cost_measured_power", power_w="100").is_in(lines)
    # What the user says counts, and without a price nothing does.
    assert own_usd_per_hour(result.points[0], OWN) == OWN.usd_per_hour
    assert own_usd_per_hour(result.points[0], OwnComputer()) is None
    assert not any("as measured" in line for line in cost_findings(result, Costs(OWN)))


def test_files_of_a_study_of_costs_have_them(runner: Runner, stored: Store) -> None:
    result = stored(plan_preset("cost", runner), lambda _: 36.0)
    plain = study_as_dict(result, costs=Costs(OWN))
    assert [point["usd_per_hour"] for point in plain["points"]] == [0.56] * 7
    assert [point["usd_per_epoch"] for point in plain["points"]] == pytest.approx([0.0056] * 7)
    assert any(said("studies.cost_per_hour").is_in(line) for line in plain["findings"])
    table = StudyReport(result, costs=Costs(OWN)).export()
    rows = list(csv.DictReader(io.StringIO("".join(plan_lines(table, "csv")))))
    assert [float(row["usd_per_epoch"]) for row in rows] == pytest.approx([0.0056] * 7)
    other = stored(plan_preset("batch", runner), lambda _: 36.0)
    assert {point["usd_per_epoch"] for point in study_as_dict(other, costs=Costs(OWN))["points"]} == {None}


CARD = "NVIDIA GeForce RTX 5070"
OWN_PRICES = OwnComputer(power_w=100.0, electricity_usd_per_kwh=0.3, purchase_usd=960.0, hours_per_month=40.0)
PRICED = with_device(OWN_PRICES, CARD, OwnDevice(power_w=400.0, purchase_usd=1_920.0))
amounts = st.none() | st.floats(0, 1e6)


@pytest.fixture
def desktop(machine: Machine) -> Machine:
    return replace(machine, cpu_name="Desktop CPU", gpus=(Gpu(CARD, "nvidia"), Gpu(CARD, "nvidia")))


def test_cpu_and_each_kind_of_card_have_a_row(desktop: Machine) -> None:
    own = with_device(PRICED, "GeForce GTX 1060", OwnDevice(purchase_usd=50.0))
    assert [row.name for row in device_rows(desktop, own)] == ["Desktop CPU", CARD, "GeForce GTX 1060"]
    assert [row.prices.power_w for row in device_rows(desktop, own)] == [None, 400.0, None]
    assert [row.name for row in device_rows(None, PRICED)] == [CARD]


def test_what_was_not_told_of_a_device_is_the_computers() -> None:
    assert prices_on(OWN_PRICES, CARD).usd_per_hour == pytest.approx(0.03 + 0.5)
    assert prices_on(PRICED, CARD).usd_per_hour == pytest.approx(0.12 + 1.0)
    assert prices_on(PRICED, "GeForce RTX 5070").usd_per_hour == pytest.approx(0.12 + 1.0), "without its vendor"
    assert prices_on(PRICED, "Desktop CPU").usd_per_hour == pytest.approx(0.03 + 0.5)
    only_power = with_device(OWN_PRICES, CARD, OwnDevice(power_w=400.0))
    assert prices_on(only_power, CARD).usd_per_hour == pytest.approx(0.12 + 0.5)


def test_an_empty_row_is_forgotten() -> None:
    assert with_device(PRICED, CARD, OwnDevice()) == OWN_PRICES


@pytest.mark.parametrize(("typed", "name"), [("5070", CARD), (CARD.lower(), CARD), ("desktop", "Desktop CPU")])
def test_a_part_of_the_name_is_enough(typed: str, name: str) -> None:
    assert device_named(typed, ["Desktop CPU", CARD]) == name


@pytest.mark.parametrize("typed", ["", "e", "4090"])
def test_a_name_of_none_or_several_is_answered_with_all(typed: str) -> None:
    with pytest.raises(UsageError, match="Desktop CPU, NVIDIA GeForce RTX 5070"):
        device_named(typed, ["Desktop CPU", CARD])


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.tuples(amounts, amounts), max_size=5))
def test_rows_come_back_from_the_settings(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, tuple[float | None, float | None]]
) -> None:
    own = OWN_PRICES
    for name, (power_w, purchase_usd) in rows.items():
        own = with_device(own, name, OwnDevice(power_w=power_w, purchase_usd=purchase_usd))
    path = tmp_path_factory.mktemp("settings") / "settings.json"
    save_settings(path, Settings(own_computer=own))
    assert load_settings(path).own_computer == own


def test_settings_of_an_older_version_have_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"own_computer": {"power_w": 200}}')
    assert load_settings(path).own_computer == OwnComputer(power_w=200.0)


def test_each_device_has_its_own_cost_and_break_even(
    runner: Runner, stored: Store, database: Database, eight_cores: Machine
) -> None:
    plan = plan_preset("cost", runner, workloads=["mnist_cnn"], rounds=2)
    group_id = stored(plan, lambda _: 14.2736).group.id
    result = load_study(database, group_id)
    (point,) = result.points
    costs = Costs(PRICED, bundled_prices())
    assert own_usd_per_hour(point, PRICED) == pytest.approx(0.53)
    on_card = [replace(run, device="gpu:0", device_name=CARD) for run in point.runs]
    card = replace(point, runs=tuple(on_card), place=("GPU 0",))
    both = replace(result, points=(point, card))
    assert own_usd_per_hour(card, PRICED) == pytest.approx(1.12)
    lines = cost_findings(both, costs)
    cpu = str(eight_cores.cpu_name)
    for device, price in ((cpu, 0.53), (CARD, 1.12)):
        assert f"{device}: {sentence('studies.cost_per_hour', price=price)}" in lines
    rents = [line for line in lines if said("studies.rent_below").is_in(line)]
    assert [line.partition(":")[0] for line in rents] == [cpu, CARD]
    # 20 and 40 USD a month against 1.46 USD/h at 14.27 / 5.05 times the speed, less the electricity.
    for line, month, hour in zip(rents, (20, 40), (0.03, 0.12), strict=True):
        assert said("studies.rent_below", hours=f"{month / (1.46 / (14.2736 / 5.05247) - hour):,.0f}").is_in(line)
    assert not any(cpu in line for line in cost_findings(result, costs)), "one device needs no name"
