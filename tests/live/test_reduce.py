from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sash.live.messages import highest, last, lowest, pixel_starts, visible

POINTS = st.lists(st.tuples(st.floats(0, 1000, width=32), st.floats(-1e6, 1e6) | st.just(math.nan)), max_size=200)


@given(POINTS, st.integers(1, 40))
def test_each_pixel_keeps_its_lowest_highest_and_last_value(points: list[tuple[float, float]], width: int) -> None:
    points.sort(key=lambda point: point[0])
    x, y = (np.array([point[place] for point in points], np.float64) for place in (0, 1))
    starts = pixel_starts(x, 0, 1000, width)
    low, final, high = lowest(y, starts), last(y, starts), highest(y, starts)
    if len(x) <= width:
        np.testing.assert_array_equal(final, y)
        return
    assert len(starts) <= width + 2
    pixels: dict[int, list[float]] = {}
    for at, value in points:
        pixels.setdefault(min(width, math.floor(at * (width / 1000))), []).append(value)
    for place, values in enumerate(pixels.values()):
        known = [value for value in values if not math.isnan(value)]
        expected = (min(known, default=math.nan), values[-1], max(known, default=math.nan))
        np.testing.assert_array_equal([low[place], final[place], high[place]], expected)


@given(st.lists(st.integers(0, 50), unique=True).map(sorted), st.integers(-5, 55), st.integers(0, 20))
def test_visible_points_are_those_between_two_times_and_a_neighbour_on_each_side(
    x: list[int], begin: int, width: int
) -> None:
    end = begin + width
    shown = x[visible(np.array(x, np.float64), begin, end)]
    inside = [one for one in x if begin <= one <= end]
    before, after = [one for one in x if one < begin][-1:], [one for one in x if one > end][:1]
    assert shown == before + inside + after


def test_no_points_are_no_pixels() -> None:
    none = np.empty(0)
    starts = pixel_starts(none, 0, 1, 10)
    assert len(lowest(none, starts)) == len(last(none, starts)) == len(highest(none, starts)) == 0
