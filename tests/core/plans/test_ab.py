"""What the picture and the text of an A/B say."""

import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import message, sentence
from app.core.plans.ab import AbReport
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, Run, RunSummary
from app.core.report.card import Sides
from app.core.report.run_texts import plain_reason
from app.core.titles import workload_title
from app.core.verdict.judged_run import JudgedRun
from tests.build import telemetry_of
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol import events

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
SPECS = (WORKLOAD.default_spec(), WORKLOAD.default_spec(threads=1))
TITLE = " · ".join(
    (sentence("group.kind_ab"), workload_title(WORKLOAD.id), sentence("share.batch", batch_size=100), "float32")
)
FASTER = ((107.0, 100.0), (107.5, 100.1), (106.8, 100.2))
INTERVAL = f"107 · {sentence('group.interval', low='107', high='108', confidence_pct=75)}"


def ab(run: Run, *pairs: tuple[float, float], b: dict[str, Any] | None = None, label_b: str = "") -> Group:
    """Return an A/B with these values, in which the runs of B are like the run but for some changes."""
    runs: list[RunSummary] = []
    for values in pairs:
        for side, value, changes in zip("AB", values, ({}, b or {}), strict=True):
            each = {"id": len(runs) + 1, "side": side, "value": value, "verdict": "valid", **changes}
            runs.append(dataclasses.replace(run.summary, **each))
    plan = Plan(kind="ab", order="pairs", specs=SPECS, rounds=len(pairs), label_b=label_b)
    return Group(id=7, created_at="2026-11-01T10:00:00Z", plan=plan, runs=tuple(runs))


def with_example(run: Run, group: Group) -> Run:
    return replace(run, summary=sure(report_of(group).example))


def on(group: Group, run: JudgedRun | None = None) -> AbReport:
    return replace(only(AbReport, report_of(group)), run=run)


def test_a_card_says_which_side_is_faster_and_what_both_did(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER, label_b="plugged in")
    report = on(group, JudgedRun(with_example(stored_run, group)))
    card = report.card()
    assert card.title == TITLE
    assert said("ab.faster_within", half="1.0", second="A", faster="7.0", first="B").is_all_of(card.headline)
    assert said("ab.interval_of_pairs", count="3").is_all_of(card.notes[0])
    a, b = only(Sides, card.chart).sides
    assert (a.name, a.settings, a.is_faster) == ("A", "automatic threads", False)
    assert (b.name, b.settings, b.is_faster) == ("B · plugged in", "1 thread", True)
    assert (a.speed, a.low, a.high, a.text) == (1 / 107.0, 1 / 107.5, 1 / 106.8, INTERVAL)
    assert b.speed > a.speed, "longer is faster"
    assert only(Sides, card.chart).axis == f"seconds per epoch · {sentence('compare.longer_is_faster')}"
    assert card.machine == sentence("share.on_this_computer", name="Intel Core i7-1165G7")
    cores = sentence("share.cores", count=4)
    assert card.details[0] == f"{cores} · 15 GB · Test OS 1"
    assert card.details[1] == f"TensorFlow 2.21.0 · {sentence('setting_value.data_real')}"
    assert (card.level, card.badge[0]) == ("valid", f"Valid · {sentence('share.all_runs', count=6)}")
    assert card.footer == f"2026-11-01 · {sentence('share.version', version='0.1.0')}"
    lines = report.text().splitlines()
    faster = message("ab.faster_within", first="B", second="A", faster="7.0", half="1.0")
    assert lines[0] == sentence("ab.text_headline", headline=faster, title=TITLE)
    assert lines[2] == sentence("ab.text_side", side="A (automatic threads)", values=INTERVAL, unit="s per epoch")
    of_all = message("share.all_runs", count=6)
    assert sentence("result.text_verdict_because", verdict="Valid", causes=of_all) in lines
    assert said("result.text_footer", date="2026-11-01", version="0.1.0").is_all_of(lines[-1])


def test_sides_on_different_engines_and_devices_name_both(stored_run: Run) -> None:
    other = {"engine": "torch", "engine_version": "2.9", "device": "gpu:0", "device_name": "RTX 4090"}
    group = ab(stored_run, *FASTER, b=other | {"batch_size": 64})
    card = on(group, JudgedRun(with_example(stored_run, group))).card()
    assert card.machine == sentence("share.on_this_computer", name="Intel Core i7-1165G7 · RTX 4090")
    assert "TensorFlow 2.21.0 · PyTorch 2.9" in card.details[1]
    assert not said("share.batch").is_in(card.title.split(" · "))
    assert said("group.other_work").is_in(card.details[2])


def test_the_worst_verdict_is_shown_with_its_cause(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER)
    doubtful = dataclasses.replace(group.runs[3], verdict="caution", basis="first_epoch", reasons="first_epoch")
    group = replace(group, runs=(*group.runs[:3], doubtful, *group.runs[4:]))
    assert report_of(group).example == doubtful
    busy = [
        events.TelemetryEvent(t_s=second, telemetry=telemetry_of({"on_battery": True, "other_cpu_pct": 60.0}))
        for second in range(1, 300)
    ]
    judged = JudgedRun(replace(with_example(stored_run, group), telemetry=tuple(busy)))
    card = on(group, judged).card()
    assert card.level == "caution"
    first = next(reason.code for reason in judged.verdict.reasons if reason.level == "caution")
    words, of_runs = card.badge[0].split(" · ")
    assert words == sentence("result.verdict_because", verdict="Caution", causes=plain_reason(first))
    assert card.badge[1:] == (words, "Caution")
    assert said("share.of_runs", count="1", planned="6").is_all_of(of_runs)
    assert any(f" · {of_runs}" in line for line in on(group, judged).text().splitlines())


def test_no_difference_and_few_pairs_say_so(stored_run: Run) -> None:
    level = ab(stored_run, (100.0, 101.0), (101.0, 100.0), (100.0, 100.5))
    card = on(level, JudgedRun(with_example(stored_run, level))).card()
    assert said("ab.level").is_all_of(card.headline)
    assert said("ab.within", low="0.97", high="1.02").begins(card.notes[0])
    assert not any(side.is_faster for side in only(Sides, card.chart).sides)
    once = ab(stored_run, (100.0, 80.0))
    card = on(once, JudgedRun(with_example(stored_run, once))).card()
    assert said("ab.faster_once", second="A", faster="25.0", first="B").is_all_of(card.headline)
    assert card.notes[0] == f"{sentence('ab.interval_of_pairs', count=1)} · {sentence('ab.needs_more_pairs')}"
    assert only(Sides, card.chart).sides[0].low is None


def test_equal_sides_say_how_small_a_difference_can_be_shown(stored_run: Run) -> None:
    """In the picture, the text, the list, the exports and the heading."""
    group = ab(stored_run, (100.0, 101.0), (101.0, 100.0), (100.0, 100.5), (100.5, 100.0))
    equal = replace(group, plan=replace(group.plan, specs=(SPECS[0], SPECS[0])))
    smallest = on(equal).result_as_dict()["smallest_difference_pct"]
    assert smallest == pytest.approx(2.025, abs=0.001)
    run = JudgedRun(with_example(stored_run, equal))
    card = on(equal, run).card()
    assert card.title.startswith(sentence("group.kind_ab_check"))
    assert card.headline == sentence("ab.check_shortly", smallest="2.0")
    assert not any(side.is_faster for side in only(Sides, card.chart).sides)
    assert sentence("ab.check_shortly", smallest="2.0") in on(equal, run).text()
    assert on(equal).headline == "± 2.0 %"
    assert on(equal).sentence == sentence("ab.check", smallest="2.0", pairs=4)
    assert said("cli.check_title").is_in(on(equal).start_line(SPECS[0], 8))
    for other in (group, replace(equal, plan=replace(equal.plan, by_hand=True))):
        assert on(other).result_as_dict()["smallest_difference_pct"] is None
        assert on(other).headline == "1.00×"
        assert on(other).name == sentence("group.kind_ab")
    changed = replace(ab(stored_run, *FASTER), plan=equal.plan)
    assert on(changed).headline == "1.07×"
    assert on(changed).result_as_dict()["smallest_difference_pct"] is None
    assert said("ab.check_differs_shortly").is_all_of(on(changed, run).card().headline)
