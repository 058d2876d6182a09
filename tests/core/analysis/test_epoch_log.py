"""Logs whose seconds count from the start of training are told from those of epochs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.epoch_log import epochs_of_totals
from tests.sure import sure


@pytest.mark.parametrize(
    ("seconds_s", "epochs_s"),
    [
        ((5.1, 10.2, 15.3, 20.4), (5.1, 5.1, 5.1, 5.1)),
        ((9.0, 12.0, 15.0, 18.5), (9.0, 3.0, 3.0, 3.5)),  # the first epoch includes startup
        ((10.0, 10.2, 10.4, 10.6), None),  # a computer that gets warm
        ((10.0, 12.0, 11.0, 13.0), None),
        ((5.0, 10.0), None),  # too few to tell
        ((5.0,), None),
        ((5.0, 5.0, 5.0), None),
        ((1.0, 2.0, 30.0), None),  # an interruption
    ],
)
def test_totals_are_told_from_epochs(seconds_s: tuple[float, ...], epochs_s: tuple[float, ...] | None) -> None:
    result = epochs_of_totals(seconds_s)
    assert result == (None if epochs_s is None else pytest.approx(epochs_s))


@given(st.lists(st.floats(1.0, 1.3), min_size=3, max_size=50))
def test_totals_of_any_epochs_are_noticed_and_epochs_never_are(epochs_s: list[float]) -> None:
    totals_s = [sum(epochs_s[: number + 1]) for number in range(len(epochs_s))]
    assert sure(epochs_of_totals(totals_s)) == pytest.approx(epochs_s)
    assert epochs_of_totals(sorted(epochs_s)) is None or max(epochs_s) > 1.2 * min(epochs_s)
