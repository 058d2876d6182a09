"""Charts of studies as data, tables, texts and files: the same numbers everywhere."""

import csv
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.paths import Paths
from app.core.plans.study.figures import figures, published_lines
from app.core.plans.study.points import StudyResult
from app.core.plans.study.tables import study_table
from app.core.plans.study.units import Unit, count_text
from app.core.report.card import Figure, Series, Spot
from app.core.report.export import plan_lines
from app.core.runs.runner import Runner
from app.gui.charts.figure_scale import value_axis, x_axis
from tests.build import Store, plan_preset, study_report
from tests.saying import said
from tests.sure import only


@pytest.fixture
def threads(runner: Runner, stored: Store) -> StudyResult:
    plan = plan_preset("threads", runner)
    times = {1: 400.0, 2: 200.0, 4: 100.0, 8: 50.0, 16: 55.0}
    return stored(plan, lambda spec: times[spec.threads or 0])


def test_cpu_cores_are_a_line_beside_the_ideal_with_physical_cores_marked(threads: StudyResult) -> None:
    speed, steps = figures(threads)
    own, ideal = speed.series[:2]
    assert [spot.x for spot in own.spots if spot] == [1, 2, 4, 8, 16]
    assert [round(spot.value) for spot in own.spots if spot] == [125, 250, 500, 1_000, 909]
    assert [round(spot.value) for spot in ideal.spots if spot] == [125, 250, 500, 1_000, 2_000]
    assert [spot.x for spot in own.spots if spot and spot.is_marked] == [8]
    assert speed.marks == ((8.0, sentence("studies.physical_cores", count=8)),)
    assert speed.x_title == study_table(threads).headings[0] == sentence("setting.cpus")
    assert speed.value_title.casefold() == headline_kind("images_per_s").unit.casefold()
    assert said("studies.step_title").is_all_of(steps.value_title)
    assert f"8: 1,000 {headline_kind('images_per_s').unit}" in speed.description
    assert value_axis(speed).low == value_axis(steps).low == 0, "heights must be comparable"


def test_what_is_not_measured_has_no_place_on_the_axis(runner: Runner, stored: Store) -> None:
    plan = plan_preset("batch", runner)
    done = stored(plan, lambda spec: 100.0 if spec.batch_size in (16, 256) else None)
    speed = figures(done)[0]
    assert speed.ticks == ((16.0, "16"), (256.0, "256"))
    axis = x_axis(speed)
    assert all(axis.low < x < axis.high for x, _ in speed.ticks)


def test_published_measurements_along_an_axis_stand_beside_it() -> None:
    lines = published_lines(["mnist_cnn"], "threads", Unit("images per second", "Images per second"))
    assert lines
    assert all(not line.is_own for line in lines)
    assert {spot.x for line in lines for spot in line.spots if spot} <= {8, 16, 32, 64}
    assert (
        published_lines(["cifar10_keras_cnn"], "batch_size", Unit("images per second", "Images per second")) == []
    )


def test_published_numbers_of_gpus_are_lines() -> None:
    lines = published_lines(["resnet_50"], "devices", Unit("images per second", "Images per second"))
    assert lines
    for line in lines:
        xs = [spot.x for spot in line.spots if spot is not None]
        rates = [spot.value for spot in line.spots if spot is not None]
        assert xs == sorted(set(xs)) == [1, 2, 4, 8]
        assert rates == sorted(rates)


def test_table_text_card_and_files_say_the_same(threads: StudyResult) -> None:
    table = study_table(threads)
    rates = [row[1] for row in table.rows]
    assert rates == ["125", "250", "500", "1,000", "909"]
    text = study_report(threads).text()
    assert all(rate in text for rate in rates)
    card = study_report(threads).card()
    assert card.headline in text
    assert only(Figure, card.chart).series[0].spots[3] is not None
    plain = json.loads("".join(plan_lines(study_report(threads).export(), "json")))
    rows = list(csv.DictReader("".join(plan_lines(study_report(threads).export(), "csv")).splitlines()))
    assert [float(row["per_s"]) for row in rows] == [point["per_s"] for point in plain["points"]]
    assert [f"{float(row['per_s']):,.0f}" for row in rows] == rates
    assert [int(row["threads"]) for row in rows] == [1, 2, 4, 8, 16]


_VALUES = st.floats(min_value=1e-6, max_value=1e9)


@given(st.lists(_VALUES, min_size=1, max_size=20), st.booleans(), st.sampled_from(["lines", "rows"]))
def test_every_value_has_a_place_on_its_axis(values: list[float], is_log: bool, kind: str) -> None:
    spots = tuple(Spot(number + 1, value, text=count_text(value)) for number, value in enumerate(values))
    figure = Figure(
        name="x",
        kind=kind,
        value_title=sentence("studies.chart_speed"),
        series=(Series("", spots),),
        is_log_value=is_log,
        is_log_x=True,
    )
    for axis, places in ((value_axis(figure), values), (x_axis(figure), [spot.x for spot in spots])):
        shares = [axis.share(place) for place in places]
        assert all(0 <= share <= 1 for share in shares)
        order = sorted(range(len(places)), key=lambda each: places[each])
        assert [shares[each] for each in order] == sorted(shares)
        ticks = axis.ticks()
        assert all(axis.low * 0.999999 <= tick <= axis.high * 1.000001 for tick in ticks)
        assert len(ticks) <= 14


@pytest.mark.parametrize(("key", "has_published"), [("scaling", False), ("weak_scaling", True)])
def test_only_where_batches_grow_with_the_devices_are_published_lines_comparable(
    with_card: Runner, stored: Store, paths: Paths, key: str, has_published: bool
) -> None:
    four = Runner(paths, replace(with_card.machine, gpus=with_card.machine.gpus * 4))
    plan = plan_preset(key, four, workloads=["resnet_50"], choice={"device": "gpu:0"})
    figure = study_report(stored(plan, lambda spec: 400.0 * spec.device_count)).figures()[0]
    assert any(series.is_dashed for series in figure.series)
    assert any(not series.is_own for series in figure.series) == has_published
