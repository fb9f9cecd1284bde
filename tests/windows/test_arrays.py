from __future__ import annotations

import numpy as np
import pytest
from helpers.items import items
from hypothesis import given
from hypothesis import strategies as st

from sash.windows import arrays
from sash.windows.arrays import count_before, is_sorted, ranges, search_in_keys
from sash.windows.base import FOREVER, NEVER, Items


@given(st.lists(st.tuples(st.integers(-9, 99), st.integers(0, 4))), st.integers(1, 3))
def test_ranges_follow_each_other(given: list[tuple[int, int]], step: int) -> None:
    listed = [begin + step * place for begin, count in given for place in range(count)]
    begins, counts = (np.array([pair[part] for pair in given], np.int64) for part in (0, 1))
    assert ranges(begins, counts, step).tolist() == listed


@pytest.mark.parametrize("step", [2**58, 2**62 - 1])
@given(given=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 40))))
def test_ranges_with_large_steps_wrap_only_in_between(step: int, given: list[tuple[int, int]]) -> None:
    fitting = [(begin, min(count, (FOREVER - begin) // step + 1)) for begin, count in given]
    listed = [begin + step * place for begin, count in fitting for place in range(count)]
    begins, counts = (np.array([pair[part] for pair in fitting], np.int64) for part in (0, 1))
    assert ranges(begins, counts, step).tolist() == listed


@given(st.lists(st.integers(0, 3), max_size=9), st.integers(0, 3), st.integers(1, 3))
def test_ranges_that_continue_each_other_are_one(counts: list[int], begin: int, step: int) -> None:
    sizes = np.array(counts, np.int64)
    begins = begin + step * (np.cumsum(sizes) - sizes)
    assert ranges(begins, sizes, step).tolist() == [begin + step * place for place in range(sum(counts))]


@given(st.lists(st.integers(0, 5)))
def test_a_check_of_order_agrees_with_sorting(numbers: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK", 3)
        assert is_sorted(np.array(numbers, np.int64)) == (sorted(numbers) == numbers)


@pytest.mark.parametrize("scale", [1, 2**53, 2**56])  # all keys in one search, some, or each alone
@given(data=st.data())
def test_a_search_finds_the_first_item_of_the_key_that_is_not_earlier(scale: int, data: st.DataObject) -> None:
    over: Items = data.draw(items(scale=scale))
    times = st.integers(-60, 90).map(lambda time: time * scale) | st.sampled_from([NEVER, FOREVER])
    wanted = [sorted(data.draw(st.lists(times, max_size=4))) for _ in range(over.keys)]
    expected = [
        next((row for row in range(first, last) if over.times[row] >= time), last)
        for own, first, last in zip(wanted, over.firsts.tolist(), over.firsts[1:].tolist(), strict=False)
        for time in own
    ]
    together = np.array([time for own in wanted for time in own], np.int64)
    counts = np.array([len(own) for own in wanted], np.int64)
    assert search_in_keys(over.times, over.firsts, together, counts).tolist() == expected


@pytest.mark.parametrize("search", [0, 99])
@given(flags=st.lists(st.booleans()), data=st.data())
def test_flags_are_counted_before_each_place(search: int, flags: list[bool], data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(flags)), max_size=9)))
    marks = np.array(flags, np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "SEARCH", search)
        found = count_before(marks, np.flatnonzero(marks), np.array(places, np.int64))
    assert found.tolist() == [sum(flags[:place]) for place in places]
