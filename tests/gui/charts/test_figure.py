"""Which labels a study's chart has: as many as have room, at equal steps."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from app.gui.charts.figure_scale import LABELS_APART_PX, label_step


def test_labels_are_left_out_at_equal_steps() -> None:
    """Of 0, 500, 1,000, 1,500 and 2,000, once only 1,500 was missing."""
    places = [(-4.0, 4.0), (24.0, 46.0), (53.0, 85.0), (87.0, 119.0), (122.0, 154.0)]
    assert label_step(places) == 2
    assert label_step(places[:3]) == 1
    assert label_step([]) == label_step(places[:1]) == 1


@given(some.lists(some.tuples(some.floats(0, 60), some.floats(1, 90)), max_size=12))
def test_no_label_touches_the_next(gaps: list[tuple[float, float]]) -> None:
    places, left = list[tuple[float, float]](), 0.0
    for gap, width in gaps:
        left += gap
        places.append((left, left + width))
    kept = places[:: label_step(places)]
    assert kept[:1] == places[:1]
    assert all(after[0] - before[1] > LABELS_APART_PX for before, after in pairwise(kept))
