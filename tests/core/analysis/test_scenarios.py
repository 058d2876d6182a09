"""Quick on simulated machines whose true speed is known, and on traces from files."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np  # noqa: TID253 - traces come as arrays
import pytest

from tests.conftest import ROOT
from tests.replay import Replayed
from tests.simulated import FAMILIES, GUEST, SIGNS, watched


def replayed(family: str, count: int) -> list[tuple[Replayed, float]]:
    chance = random.Random(family)
    return [watched(family, chance) for _ in range(count)]


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
        assert sum(holds(each, true_s) for each, true_s in said) >= 8


@pytest.mark.slow
def test_on_a_quiet_machine_quick_is_valid_and_soon_over() -> None:
    said = [each for each, _ in replayed("settled_cpu", 12)]
    assert [each.verdict for each in said].count("valid") >= 11
    assert sorted(each.stopped_after_s for each in said)[6] <= 35


@pytest.mark.slow
@pytest.mark.parametrize("family", ["power_limit", "throttling", "charger", "neighbour"])
def test_a_speed_that_changes_after_half_a_minute_is_never_called_valid_and_wrong(family: str) -> None:
    for each, true_s in replayed(family, 4):
        assert each.verdict != "valid" or abs(each.step_s / true_s - 1) <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("family", ["bursts", "boost", "warming", "two_speeds"])
def test_a_machine_that_changes_its_speed_is_not_called_valid(family: str) -> None:
    said = [each for each, _ in replayed(family, 12)]
    assert [each.verdict for each in said].count("valid") <= 2
    assert all(each.reasons for each in said if each.verdict != "valid")


def scenario(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.benchmarks.scenarios", *arguments]
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
    assert 30 < said["stopped_after_s"] < 35
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
