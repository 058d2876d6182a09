"""Ordinary, idle computers: their runs are valid. The benchmark of the same name has hundreds of them."""

import random

import pytest

from tests.benchmarks.ordinary import epochs_codes, quick_codes
from tests.ordinary import KINDS


@pytest.mark.long
@pytest.mark.slow
def test_quick_is_valid_on_ordinary_computers() -> None:
    codes = [quick_codes(kind, random.Random(f"{kind} {number}")) for kind in KINDS for number in range(10)]
    assert sum(not each for each in codes) >= 0.9 * len(codes), codes


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epochs", [3, 10])
def test_whole_epochs_are_valid_on_ordinary_computers(kind: str, epochs: int) -> None:
    codes = [epochs_codes(epochs)(kind, random.Random(number)) for number in range(3)]
    assert codes == [[]] * 3
