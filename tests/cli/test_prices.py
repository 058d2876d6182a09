"""`study prices`: sets and shows what the computer and its devices cost."""

import json

import pytest

from app.core.paths import Paths
from app.core.settings import load_settings
from tests.cli.commands import sentence_of
from tests.conftest import CommandLine
from tests.saying import Saying, said


@pytest.mark.slow
def test_prices_are_set_for_the_computer_and_for_a_device(epochmark: CommandLine, paths: Paths) -> None:
    assert epochmark("study", "prices", "--electricity", "0.3", "--power", "100").returncode == 0
    told = json.loads(epochmark("study", "prices", "--json").stdout)
    device = next(iter(told["devices"]))
    assert told["usd_per_hour"] == pytest.approx(0.03)
    done = epochmark("study", "prices", "--device", device, "--power", "500")
    assert "0.150 USD" in done.stdout
    assert load_settings(paths.settings).own_computer.devices[device].power_w == 500
    done = epochmark("study", "prices", "--device", device, "--power", "unknown")
    assert "0.150 USD" not in done.stdout
    assert load_settings(paths.settings).own_computer.devices == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("--power", "-1"), said("studies.bad_amount", value="-1.0", most="1,000,000", name="--power")),
        (
            ("--lifetime", "unknown"),
            said("prices.out_of_range", value="unknown", most="100", least="0.1", option="--lifetime"),
        ),
        (("--device", "Cray-1", "--power", "5"), said("prices.no_device", name="'Cray-1'")),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    epochmark: CommandLine, paths: Paths, given: tuple[str, ...], problem: Saying
) -> None:
    done = epochmark("study", "prices", *given)
    assert done.returncode == 2
    assert problem.is_in(sentence_of(done))
    assert not paths.settings.exists()
