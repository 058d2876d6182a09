"""A study's chart: which labels it has, as many as have room at equal steps, and how high it is."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from app.core.report.card import Figure, Series, Spot
from app.gui.charts.figure import SMALLEST_PX, ChartStyle, figure_height, largest_height
from app.gui.charts.figure_scale import LABELS_APART_PX, label_step
from app.gui.style.theme import Theme


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


def test_a_chart_of_few_rows_leaves_no_empty_room(application_theme: Theme) -> None:
    look = ChartStyle(application_theme.tokens)
    heights_px = []
    for rows in (1, 3, 8):
        series = Series("", tuple(Spot(0, 10.0 * number, text="10") for number in range(1, rows + 1)))
        figure = Figure(name="Speed", kind="rows", value_title="", series=(series,), rows=("TensorFlow",) * rows)
        most_px = largest_height(figure, 600, look)
        assert most_px is not None
        assert 0 < figure_height(figure, 600, look) <= most_px
        heights_px.append(most_px)
    assert heights_px[0] < SMALLEST_PX / 1.5
    assert heights_px == sorted(heights_px)
