"""The estimator on recorded and on simulated traces: is its interval honest, and what do disturbances change?"""

import json
import math
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np  # noqa: TID253 - traces come as arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.estimator import Estimation, estimate_steps, find_interruptions, half_width, warmup_end
from app.core.analysis.student_t import student_t
from tests.conftest import ROOT
from tests.replay import Replayed
from tests.simulated import BOOSTED, FAMILIES, GUEST, SETTLED, SIGNS, Signs, watched
from tests.sure import sure

TRACES = ROOT / "tests" / "data" / "traces"
NAMES = ("quiet", "busy", "frozen", "warm_up_heavy", "drifting", "two_speed")
RESAMPLINGS = 1_000
STEPS_S = {0.001: 6_000, 0.13: 150, 10.0: 150}  # and how many of them there are
Simulated = Callable[[random.Random, int], list[float]]


def trace(name: str) -> list[list[float]]:
    """The usual steps of a recorded run, epoch by epoch: without the first one of each."""
    epochs_s: list[list[float]] = json.loads((TRACES / f"{name}.json").read_text())["epochs_s"]
    return [steps_s[1:] for steps_s in epochs_s]


def estimated(steps_s: list[float]) -> Estimation:
    return sure(estimate_steps(steps_s))


def independent(noise: random.Random, count: int) -> list[float]:
    return [1 + 0.06 * noise.gauss() for _ in range(count)]


def related(noise: random.Random, count: int, share: float = 0.5) -> list[float]:
    """Noise of which each value takes over a share from the one before."""
    value, values = noise.gauss(), []
    for _ in range(count):
        value = share * value + math.sqrt(1 - share * share) * noise.gauss()
        values.append(1 + 0.06 * value)
    return values


def skewed(noise: random.Random, count: int) -> list[float]:
    return [0.9 + noise.gammavariate(2, 0.05) for _ in range(count)]


def coverage_pct(simulate: Simulated, count: int, true_s: float) -> tuple[float, float]:
    """How many of a thousand intervals hold the truth, and the mean error, both in percent."""
    noise = random.Random(5)
    found = [estimated(simulate(noise, count)) for _ in range(RESAMPLINGS)]
    held = sum(1 for each in found if each.low_s is not None and each.low_s <= true_s <= (each.high_s or 0))
    return 100 * held / RESAMPLINGS, 100 * (statistics.fmean(each.step_s for each in found) / true_s - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulate", "step_s"),
    [
        (independent, 0.13),
        *(pytest.param(independent, step_s, marks=pytest.mark.long) for step_s in (0.001, 10.0)),
        *(pytest.param(each, step_s, marks=pytest.mark.long) for each in (related, skewed) for step_s in STEPS_S),
    ],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(simulate: Simulated, step_s: float) -> None:
    count = STEPS_S[step_s]

    def steps_of(noise: random.Random, wanted: int) -> list[float]:
        if step_s < 0.1:  # a hundred of them are one block, whose noise is that of the machine, not of a step
            return [step_s * value for value in simulate(noise, wanted // 100) for _ in range(100)]
        return [step_s * value for value in simulate(noise, wanted)]

    held_pct, bias_pct = coverage_pct(steps_of, count, step_s)
    assert held_pct >= 92
    assert abs(bias_pct) < 1
    # What it costs to look at long scales too: twice the width that independent steps would need.
    ideal_s = step_s * 0.06 * student_t(count - 1) / math.sqrt(60 if step_s < 0.1 else count)
    found = [estimated(steps_of(random.Random(seed), count)) for seed in range(20)]
    widths = [(each.high_s - each.low_s) / 2 / ideal_s for each in found if each.low_s and each.high_s]
    assert statistics.median(widths) < (4.5 if simulate is related else 3)


@pytest.mark.slow
def test_the_interval_holds_the_mean_of_a_recorded_trace_that_is_resampled() -> None:
    """Pieces of a real trace, put together at random: their mean is known, and neighbours stay neighbours."""
    calm = [step_s for epoch_s in trace("quiet") for step_s in epoch_s]
    limit_s = 1.5 * statistics.median(calm)
    calm = [step_s for step_s in calm if step_s < limit_s]

    def pieces(noise: random.Random, count: int) -> list[float]:
        steps_s: list[float] = []
        while len(steps_s) < count:
            start = noise.randrange(len(calm))
            steps_s += (calm + calm)[start : start + 5]
        return steps_s[:count]

    held_pct, bias_pct = coverage_pct(pieces, 200, statistics.fmean(calm))
    assert held_pct >= 92
    assert abs(bias_pct) < 1


def measured_until_enough(steps_s: list[float]) -> Estimation:
    """What a Quick run would answer: it looks every second, twice, and ends with the trace at the latest."""
    narrow, count = 0, 8
    while True:
        found = estimated(steps_s[:count])
        narrow = narrow + 1 if found.is_enough else 0
        if narrow >= 2 or count >= len(steps_s):
            return found
        count = min(len(steps_s), count + 8)


@pytest.mark.long
@pytest.mark.parametrize("simulate", [independent, related, skewed])
def test_stopping_when_it_is_narrow_enough_does_not_spoil_the_interval(simulate: Simulated) -> None:
    noise = random.Random(6)
    found = [
        measured_until_enough([0.13 * value for value in simulate(noise, 400)]) for _ in range(RESAMPLINGS // 4)
    ]
    held = sum(1 for each in found if each.low_s is not None and each.low_s <= 0.13 <= (each.high_s or 0))
    # 250 runs: three standard errors are 4 %.
    assert held / len(found) >= 0.91
    assert statistics.fmean(each.step_s for each in found) == pytest.approx(0.13, rel=0.01)
    assert max(abs(each.step_s / 0.13 - 1) for each in found) < 0.05


def calm(count: int = 300) -> list[float]:
    noise = random.Random(7)
    return [0.13 * value for value in independent(noise, count)]


@pytest.mark.parametrize("freezes_s", [(5.0,), (2.0, 30.0), (0.5, 1.0, 8.0)])
def test_a_few_interruptions_do_not_move_it_but_are_in_its_interval(freezes_s: tuple[float, ...]) -> None:
    steps_s = calm()
    for number, freeze_s in enumerate(freezes_s):
        steps_s[50 + 90 * number] += freeze_s
    found, without = estimated(steps_s), estimated(calm())
    assert found.step_s == pytest.approx(without.step_s, rel=0.005)
    assert [each.steps for each in found.interruptions] == [1] * len(freezes_s)
    assert math.fsum(each.excess_s for each in found.interruptions) == pytest.approx(sum(freezes_s), rel=0.02)
    assert sure(found.low_s) < found.step_s
    assert sure(found.high_s) > statistics.fmean(steps_s)


@pytest.mark.parametrize(("every", "longer"), [(3, 2.0), (5, 2.0), (10, 3.0), (40, 10.0)])
def test_what_happens_again_and_again_is_how_the_machine_runs(every: int, longer: float) -> None:
    steps_s = calm()
    steps_s[every::every] = [longer * step_s for step_s in steps_s[every::every]]
    assert estimated(steps_s).step_s == pytest.approx(statistics.fmean(steps_s), rel=0.02)


@pytest.mark.parametrize("slowdown", [1.6, 3.0])
@pytest.mark.parametrize(("share", "is_left_out"), [(0.08, True), (0.3, False)])
def test_a_burst_of_another_program_is_left_out_only_if_it_is_short(
    slowdown: float, share: float, is_left_out: bool
) -> None:
    steps_s, begin = calm(), 120
    end = begin + int(300 * share)
    steps_s[begin:end] = [slowdown * step_s for step_s in steps_s[begin:end]]
    found = estimated(steps_s)
    expected_s = estimated(calm()).step_s if is_left_out else statistics.fmean(steps_s)
    assert found.step_s == pytest.approx(expected_s, rel=0.02)
    assert sum(each.steps for each in found.interruptions) == pytest.approx(end - begin, abs=3)
    assert sure(found.high_s) > statistics.fmean(steps_s)
    assert not found.is_enough


def test_the_end_of_the_warm_up_is_found_in_the_steps() -> None:
    noise = random.Random(9)
    for length in (5, 15, 30):
        steps_s = [
            0.13 * value * (1 + 2 * math.exp(-number / length))
            for number, value in enumerate(independent(noise, 400))
        ]
        found = estimated(steps_s)
        assert found.step_s == pytest.approx(0.13, rel=0.02)
        assert found.warmup_steps >= length
    assert estimated([0.13 * value for value in independent(noise, 400)]).warmup_steps < 40


def test_a_warm_up_is_slower_than_what_follows() -> None:
    assert warmup_end([0.1] * 30 + [0.2] * 70) == 0
    assert warmup_end([0.2] * 20 + [0.1] * 80) == 20
    assert warmup_end([0.2]) == 0
    assert warmup_end([9.0, 0.1, 0.1]) == 1


def test_a_long_slow_beginning_is_a_warm_up_only_if_it_is_as_slow_as_an_interruption() -> None:
    assert warmup_end([1.4] * 4 + [1.0] * 56, at_most_s=6) == 4
    assert warmup_end([1.4] * 10 + [1.0] * 50, at_most_s=6) == 0
    assert warmup_end([1.6] * 10 + [1.0] * 50, at_most_s=6) == 10
    settling = [1 + 2 * math.exp(-number / 8) for number in range(60)]
    assert 10 < warmup_end(settling, at_most_s=6) <= warmup_end(settling)


@given(st.floats(1.06, 1.45), st.integers(80, 180), st.integers(0, 99))
def test_a_slow_stretch_counts_alike_at_the_beginning_and_the_end(slower: float, length: int, seed: int) -> None:
    noise = random.Random(seed)
    steps_s = [0.1 * (slower if number < length else 1) * noise.gauss(1, 0.01) for number in range(500)]
    first, last = estimated(steps_s), estimated(steps_s[::-1])
    assert first.step_s == pytest.approx(last.step_s, rel=1e-9)
    assert (first.warmup_steps, last.warmup_steps) == (0, 0)


@pytest.mark.parametrize("name", ["quiet", "busy", "frozen", "warm_up_heavy"])
def test_a_quick_estimate_of_a_recorded_trace_agrees_with_all_of_it(name: str) -> None:
    for epoch_s in trace(name):
        found = measured_until_enough(epoch_s)
        later_s = epoch_s[found.warmup_steps :]
        calm_s = statistics.fmean(step_s for step_s in later_s if step_s <= 1.5 * statistics.median(later_s))
        own = (sure(found.high_s) - sure(found.low_s)) / 2 / found.step_s
        assert abs(found.step_s / calm_s - 1) <= max(0.03, own)


def test_freezes_are_found_where_they_were_and_counted() -> None:
    steps_s = [step_s for epoch_s in trace("frozen") for step_s in epoch_s]
    frozen = [number for number, step_s in enumerate(steps_s) if step_s > 2.0]
    found = find_interruptions(steps_s)
    covered = {number for each in found for number in range(each.first, each.first + each.steps)}
    assert frozen
    assert covered >= set(frozen)
    assert sum(each.excess_s for each in found) >= 4.5 * len(frozen)


@pytest.mark.parametrize("name", ["two_speed", "drifting"])
def test_a_speed_that_changes_makes_the_interval_wide(name: str) -> None:
    assert not estimated([step_s for epoch_s in trace(name) for step_s in epoch_s]).is_enough


def test_neighbouring_slow_steps_are_one_interruption() -> None:
    found = find_interruptions([0.2] * 20 + [1.2, 2.2] + [0.2] * 20 + [5.2] + [0.2] * 9)
    assert [(each.first, each.steps) for each in found] == [(20, 2), (42, 1)]
    assert [each.excess_s for each in found] == [pytest.approx(3.0), pytest.approx(5.0)]


def test_jitter_of_even_steps_is_not_an_interruption() -> None:
    assert find_interruptions([0.2] * 50 + [0.21] + [0.2] * 50) == ()
    assert find_interruptions([]) == ()


def test_too_few_blocks_have_no_interval() -> None:
    assert estimate_steps([]) is None
    one = estimated([10.0, 10.2])
    assert (one.low_s, one.is_enough) == (None, False)
    assert half_width([1.0]) is None
    assert half_width([10.2, 9.8]) == pytest.approx(
        12.706 * 0.2, rel=0.01
    )  # Student's t for one degree of freedom
    # The first step compiles, and two or four steps show too little of how they vary.
    assert [estimated([12.0, *[10.2, 9.8] * 3][:count]).low_s is None for count in (3, 5, 6)] == [
        True,
        True,
        False,
    ]


def test_never_enough_before_a_minimum_of_evidence() -> None:
    assert not estimated([0.4] * 72).is_enough, "less than half a minute, and its second look"
    assert not estimated([1.0] * 40).is_enough, "too few blocks"
    assert estimated([0.4] * 74).is_enough


def test_few_batches_are_believed_where_they_differ_from_what_many_let_expect() -> None:
    noise = random.Random(7)
    even = [noise.gauss(1, 0.05) for _ in range(300)]
    waves = [value + 0.03 * math.sin(2 * math.pi * number / 200) for number, value in enumerate(even)]
    means = [statistics.fmean(waves[start : start + 100]) for start in (0, 100, 200)]
    of_three = student_t(2) * statistics.stdev(means) / math.sqrt(3)
    assert half_width(waves) == pytest.approx(of_three), "a slow wave: three batches are right"
    widths = [half_width([noise.gauss(1, 0.05) for _ in range(300)]) or 0.0 for _ in range(200)]
    usual = 1.96 * 0.05 / math.sqrt(300)
    # With three batches alone, and their Student's t of 4.3, one in five is more than 2.8 times as wide as usual.
    assert sorted(widths)[160] < 2.2 * usual
    assert statistics.fmean(width >= usual for width in widths) > 0.9


def test_a_long_warm_up_is_left_out_and_in_the_interval() -> None:
    short, long = [0.3] * 10 + [0.1] * 500, [0.3] * 30 + [0.1] * 500
    assert estimated(short).is_enough
    found = estimated(long)
    assert found.warmup_steps == 30
    assert found.step_s == pytest.approx(0.1)
    assert found.high_s == pytest.approx(statistics.fmean(long))
    assert not found.is_enough


def test_changes_of_the_speed_over_a_third_of_the_time_make_the_interval_hold_both() -> None:
    found = estimated([0.1] * 100 + [0.12] * 200)
    assert sure(found.low_s) < 0.1
    assert sure(found.high_s) > 0.12
    assert not found.is_enough


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=300))
def test_whatever_was_measured_has_an_estimate(steps_s: list[float]) -> None:
    found = estimated(steps_s)
    assert min(steps_s) * (1 - 1e-9) <= found.step_s <= max(steps_s) * (1 + 1e-9)
    assert 0 <= found.warmup_steps < len(steps_s)
    assert found.low_s is None or found.high_s is None or 0 <= found.low_s <= found.step_s <= found.high_s
    assert all(each.excess_s >= 0 for each in found.interruptions)


def replayed(family: str, count: int, signs: Signs | None = None) -> list[tuple[Replayed, float]]:
    chance = random.Random(family)
    return [watched(family, chance, signs) for _ in range(count)]


def holds(said: Replayed, true_s: float) -> bool:
    return said.low_s is not None and said.high_s is not None and said.low_s <= true_s <= said.high_s


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_a_valid_number_is_seldom_wrong_and_an_interval_mostly_holds(family: str) -> None:
    # The benchmark asks for 5 % and 90 % of a thousand; of a dozen, this much is more than chance.
    said = replayed(family, 12)
    assert sum(each.verdict == "valid" and abs(each.step_s / true_s - 1) > 0.05 for each, true_s in said) <= 2
    if SIGNS.get(family) == GUEST:  # nothing in a guest shows what others will do: no run there is valid
        assert all(each.verdict != "valid" for each, _ in said)
    else:
        held = [holds(each, true_s) for each, true_s in said if each.low_s is not None]
        assert held  # a handful of steps has no interval
        assert sum(held) >= 8 / 12 * len(held)


@pytest.mark.slow
def test_a_quiet_machine_is_valid() -> None:
    said = [each for each, _ in replayed("quiet", 12)]
    assert [each.verdict for each in said].count("valid") >= 11


@pytest.mark.slow
@pytest.mark.parametrize("signs", [None, SETTLED, BOOSTED], ids=["own", "base clock", "boost"])
@pytest.mark.parametrize("family", ["power_limit", "throttling", "charger", "neighbour"])
def test_a_speed_that_changes_after_half_a_minute_is_never_called_valid_and_wrong(
    family: str, signs: Signs | None
) -> None:
    for each, true_s in replayed(family, 4, signs):
        assert each.verdict != "valid" or abs(each.step_s / true_s - 1) <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("family", ["bursts", "boost", "warming", "two_speeds"])
def test_a_machine_that_changes_its_speed_is_not_called_valid(family: str) -> None:
    said = [each for each, _ in replayed(family, 12)]
    assert [each.verdict for each in said].count("valid") <= 2
    assert all(each.reasons for each in said if each.verdict != "valid")


def scenario(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.tools.scenarios", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_a_trace_from_a_file_gets_quicks_answer(tmp_path: Path) -> None:
    noise = random.Random(1)
    steps_s = [0.1 * noise.gauss(1, 0.02) for _ in range(600)]
    text, array = tmp_path / "steps.txt", tmp_path / "steps.npy"
    text.write_text("\n".join(map(str, steps_s)))
    np.save(array, np.array(steps_s))
    done = scenario("--steps", str(text), "--json")
    said = json.loads(done.stdout)
    assert said == json.loads(scenario("--steps", str(array), "--json").stdout)
    assert set(said) == {"step_s", "low_s", "high_s", "stopped_after_s", "verdict", "reasons"}
    assert said["step_s"] == pytest.approx(0.1, rel=0.01)
    assert said["low_s"] < said["step_s"] < said["high_s"]
    assert 55 < said["stopped_after_s"] <= 60
    assert (said["verdict"], said["reasons"]) == ("valid", [])
    assert "valid" in scenario("--steps", str(text)).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("0.1\n0.2", "at least 4 steps"),
        ("0.1\n" * 9 + "-1", "above zero"),
        ("0.1\nfast", "fast"),
        (None, "No such"),
    ],
)
def test_a_file_without_steps_is_refused_in_a_sentence(tmp_path: Path, content: str | None, problem: str) -> None:
    path = tmp_path / "steps.txt"
    if content is not None:
        path.write_text(content)
    done = scenario("--steps", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
