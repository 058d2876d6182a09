"""The ± of a headline: one figure and one rounding, wherever it is shown or judged."""

from dataclasses import replace

import pytest

from app.core.analysis.headline import half_interval_pct
from app.core.records import Run
from app.core.report.run_texts import interval_text
from app.core.report.share import share_card
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import judge
from tests.core.verdict.changes import QUICK, metrics, summarised
from tests.core.verdict.records import quiet_run, with_steps
from tests.saying import said


@pytest.mark.parametrize(
    ("metric", "ends", "half_pct"),
    [
        ("seconds_per_epoch_s", (97.0, 102.0), 3.0),
        ("seconds_per_epoch_s", (99.0, 104.0), 4.0),  # the farther end counts
        # A step that is known to ± 3 % is a rate between 97.1 and 103.1: no less certain.
        ("images_per_s", (100 / 1.03, 100 / 0.97), 3.0),
        ("images_per_s", (100 / 1.05, 100.0), 5.0),
        ("seconds_per_epoch_s", (0.0, 103.0), None),
        ("images_per_s", (None, 103.0), None),
    ],
)
def test_it_is_the_farther_end_in_time(
    metric: str, ends: tuple[float | None, float | None], half_pct: float | None
) -> None:
    assert half_interval_pct(metric, 100.0, *ends) == (None if half_pct is None else pytest.approx(half_pct))
    assert half_interval_pct(metric, None, *ends) is None


@pytest.mark.parametrize("half_pct", [2.94, 2.96, 3.0, 3.04, 3.049, 3.06, 3.1])
def test_what_is_shown_as_three_percent_is_within_three_percent(stored_run: Run, half_pct: float) -> None:
    ends = {"value_low": 100.0 - half_pct, "value_high": 100.0 + half_pct, "confidence_pct": 95.0}
    run = summarised(**QUICK, **ends)(quiet_run(stored_run, 0))
    shown = f"{half_pct:.1f}"
    is_within = float(shown) <= 3.0
    assert said("result.interval", half_pct=shown).is_all_of(interval_text(run.summary))
    assert said("share.estimate_within", half_pct=shown).is_all_of(share_card(JudgedRun(run)).notes[0])
    codes = [reason.code for reason in judge(run).reasons]
    assert ("interval_wide" in codes) != is_within
    texts = [reason.text for reason in judge(run).reasons if reason.code == "interval_wide"]
    assert all(said("verdict.interval_wide", half_pct=shown).begins(text) for text in texts)


def test_a_rate_that_quick_knows_well_enough_is_valid(stored_run: Run) -> None:
    ends = {"value_low": 100 / 1.03, "value_high": 100 / 0.97, "confidence_pct": 95.0}
    run = summarised(**QUICK, **ends, metric="images_per_s")(quiet_run(stored_run, 0))
    assert judge(run).level == "valid"


@pytest.mark.parametrize(
    ("warmup_s", "ends", "is_by_warmup"),
    [
        (6.0, (99.0, 106.0), True),
        (4.0, (99.0, 106.0), False),  # too short to be why
        (6.0, (95.0, 106.0), False),  # wide on both sides: noise
    ],
)
def test_a_long_warmup_is_named_as_the_reason(
    stored_run: Run, warmup_s: float, ends: tuple[float, float], is_by_warmup: bool
) -> None:
    steps_s = (1.0, *[warmup_s / 10] * 10, *[0.1] * 600)
    changes = QUICK | {"value_low": ends[0], "value_high": ends[1], "warmup_steps": 10}
    run = metrics(updates_done=611.0, updates_asked=611.0)(with_steps(quiet_run(stored_run, 0), steps_s))
    for metric in ("seconds_per_epoch_s", "images_per_s"):
        if metric == "images_per_s":
            changes |= {"value_low": 1e4 / ends[1], "value_high": 1e4 / ends[0]}
        judged = judge(replace(run, summary=replace(run.summary, **changes, metric=metric)))
        wide = next(reason for reason in judged.reasons if reason.code == "interval_wide")
        assert (said("verdict.interval_wide_by_warmup").is_in(wide.text)) == is_by_warmup
        assert (said("advice.whole_run").is_in(wide.advice)) == is_by_warmup
