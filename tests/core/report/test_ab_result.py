"""What the picture and the text of an A/B say."""

import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.groups import group_example
from app.core.errors import UsageError
from app.core.records import Group, Plan, Run, RunSummary
from app.core.report.ab_result import ab_card, ab_text
from app.core.report.share import card_of, text_of
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
SPECS = (WORKLOAD.default_spec(), WORKLOAD.default_spec(threads=1))
FASTER = ((107.0, 100.0), (107.5, 100.1), (106.8, 100.2))


def ab(run: Run, *pairs: tuple[float, float], b: dict[str, Any] | None = None, label_b: str = "") -> Group:
    """Return an A/B with these values, in which the runs of B are like the run but for some changes."""
    runs: list[RunSummary] = []
    for values in pairs:
        for side, value, changes in zip("AB", values, ({}, b or {}), strict=True):
            each = {"id": len(runs) + 1, "side": side, "value": value, "verdict": "valid", **changes}
            runs.append(dataclasses.replace(run.summary, **each))
    plan = Plan(kind="ab", specs=SPECS, times=len(pairs), label_b=label_b)
    ids = tuple(each.id for each in runs)
    return Group(id=7, created_at="2026-11-01T10:00:00Z", kind="ab", plan=plan, run_ids=ids, runs=tuple(runs))


def with_example(run: Run, group: Group) -> Run:
    """Return the whole run that an A/B is shown with."""
    return replace(run, summary=sure(group_example(group)))


def test_a_card_says_which_side_is_faster_and_what_both_did(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER, label_b="plugged in")
    card = ab_card(with_example(stored_run, group), group)
    assert card.title == "A/B test · CIFAR-10 CNN · batch 100 · float32"
    assert said("ab.faster_within", half="1.0", second="A", faster="7.0", first="B").is_all_of(card.headline)
    assert said("ab.interval_of_pairs", count="3").is_all_of(card.note)
    a, b = card.sides
    assert (a.name, a.settings, a.is_faster) == ("A", "threads automatic", False)
    assert (b.name, b.settings, b.is_faster) == ("B · plugged in", "1 thread", True)
    assert (a.value, a.low, a.high, a.text) == (107.0, 106.8, 107.5, "107 · 107 to 108 (75 %)")
    assert card.axis == "seconds per epoch (lower is better)"
    assert card.machine == "This computer: Intel Core i7-1165G7"
    assert card.details[0] == "4 cores · 15 GB · Test OS 1 · CPU run"
    assert card.details[1] == "TensorFlow 2.21.0 · real data"
    assert (card.level, card.badge[0]) == ("valid", "Valid · all 6 runs")
    assert card.footer == "2026-11-01 · Epochmark 0.1.0"


def test_sides_on_different_engines_and_devices_name_both(stored_run: Run) -> None:
    other = {"engine": "torch", "engine_version": "2.9", "device": "gpu:0", "device_name": "RTX 4090"}
    group = ab(stored_run, *FASTER, b=other | {"batch_size": 64})
    card = ab_card(with_example(stored_run, group), group)
    assert card.machine == "This computer: Intel Core i7-1165G7 · RTX 4090"
    assert "TensorFlow 2.21.0 · PyTorch 2.9" in card.details[1]
    assert "batch" not in card.title
    assert "run" not in card.details[0].split(" · ")[-1]
    assert said("group.other_work").is_in(card.details[2])


def test_the_worst_verdict_is_shown_with_its_cause(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER)
    doubtful = dataclasses.replace(group.runs[3], verdict="caution", basis="first_epoch", reasons="first_epoch")
    group = replace(group, runs=(*group.runs[:3], doubtful, *group.runs[4:]))
    assert group_example(group) == doubtful
    card = ab_card(with_example(stored_run, group), group)
    assert card.level == "caution"
    assert card.badge[0].startswith("Caution: ")
    assert card.badge[0].endswith(" · 1 of 6 runs")
    text = ab_text(with_example(stored_run, group), group)
    assert f"Verdict: caution ({card.badge[0].removeprefix('Caution: ')})" in text.splitlines()


def test_no_difference_and_few_pairs_say_so(stored_run: Run) -> None:
    level = ab(stored_run, (100.0, 101.0), (101.0, 100.0), (100.0, 100.5))
    card = ab_card(with_example(stored_run, level), level)
    assert said("ab.level").is_all_of(card.headline)
    assert card.note.startswith("B is 0.97 to 1.02")
    assert not any(side.is_faster for side in card.sides)
    once = ab(stored_run, (100.0, 80.0))
    card = ab_card(with_example(stored_run, once), once)
    assert said("ab.faster_once", second="A", faster="25.0", first="B").is_all_of(card.headline)
    assert card.note == "one pair, so there is no interval · more pairs are needed to be sure"
    assert card.sides[0].low is None


def test_the_text_has_the_same_in_a_few_lines(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER)
    lines = ab_text(with_example(stored_run, group), group).splitlines()
    assert lines[0] == ("B is 7.0 % faster than A (± 1.0 %) · A/B test · CIFAR-10 CNN · batch 100 · float32")
    assert lines[2] == "A (threads automatic): 107 · 107 to 108 (75 %) s per epoch"
    assert "Verdict: valid (all 6 runs)" in lines
    assert said("result.text_footer", date="2026-11-01", version="0.1.0").is_all_of(lines[-1])
    assert len(lines) <= 9


def test_without_a_pair_there_is_nothing_to_share(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER)
    alone = replace(group, runs=group.runs[:1])
    assert group_example(alone) is None
    with pytest.raises(UsageError, match=said("share.no_ab_result", group_id="7").pattern):
        ab_card(stored_run, alone)


def test_an_ab_has_its_own_picture_and_text(stored_run: Run) -> None:
    group = ab(stored_run, *FASTER)
    run = with_example(stored_run, group)
    assert card_of(run, group) == ab_card(run, group)
    assert text_of(run, group) == ab_text(run, group)
