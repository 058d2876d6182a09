"""Ordinary, idle computers: their runs are valid. The benchmark of the same name has hundreds of them."""

import random

import pytest

from tests.benchmarks.ordinary import epochs_codes, quick_codes
from tests.ordinary import KINDS


@pytest.mark.long
@pytest.mark.parametrize(
    ("kinds", "share"),
    # A laptop's clock wanders within its whole minute: the interval says so, and is sometimes too wide.
    [(("desktop", "workstation"), 0.9), (("laptop", "small laptop"), 0.7)],
)
def test_quick_is_valid_on_ordinary_computers(kinds: tuple[str, ...], share: float) -> None:
    codes = [quick_codes(kind, random.Random(f"{kind} {number}")) for kind in kinds for number in range(10)]
    assert sum(not each for each in codes) >= share * len(codes), codes
    assert {code for each in codes for code in each} <= {"interval_wide"}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epochs", [3, 10])
def test_whole_epochs_are_valid_on_ordinary_computers(kind: str, epochs: int) -> None:
    codes = [epochs_codes(epochs)(kind, random.Random(number)) for number in range(3)]
    assert codes == [[]] * 3
