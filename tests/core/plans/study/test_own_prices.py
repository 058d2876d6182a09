"""A row of prices for each of the user's own devices."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.study.costs import Costs, bundled_prices, cost_findings, own_usd_per_hour
from app.core.plans.study.own_prices import device_named, device_rows, prices_on, with_device
from app.core.plans.study.planning import plan_preset
from app.core.plans.study.points import load_study
from app.core.runs.runner import Runner
from app.core.settings import OwnComputer, OwnDevice, Settings, load_settings, save_settings
from app.core.storage.database import Database
from tests.core.plans.study.storing_studies import Store
from tests.saying import said
from workloads.protocol.machine import Gpu, Machine

CARD = "NVIDIA GeForce RTX 5070"
OWN = OwnComputer(power_w=100.0, electricity_usd_per_kwh=0.3, purchase_usd=960.0, hours_per_month=40.0)
PRICED = with_device(OWN, CARD, OwnDevice(power_w=400.0, purchase_usd=1_920.0))
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
    assert prices_on(OWN, CARD).usd_per_hour == pytest.approx(0.03 + 0.5)
    assert prices_on(PRICED, CARD).usd_per_hour == pytest.approx(0.12 + 1.0)
    assert prices_on(PRICED, "GeForce RTX 5070").usd_per_hour == pytest.approx(0.12 + 1.0), "without its vendor"
    assert prices_on(PRICED, "Desktop CPU").usd_per_hour == pytest.approx(0.03 + 0.5)
    only_power = with_device(OWN, CARD, OwnDevice(power_w=400.0))
    assert prices_on(only_power, CARD).usd_per_hour == pytest.approx(0.12 + 0.5)


def test_an_empty_row_is_forgotten() -> None:
    assert with_device(PRICED, CARD, OwnDevice()) == OWN


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
    own = OWN
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
