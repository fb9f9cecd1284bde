"""Windows of rows with context ≡ the rows counted one by one."""

from __future__ import annotations

from helpers.items import items, memories
from hypothesis import given
from hypothesis import strategies as st

from sash import window
from sash.windows.base import Items, as_it_stands


@given(over=items(), length=st.integers(1, 9))
def test_the_window_of_each_new_row_holds_the_last_rows(over: Items, length: int) -> None:
    found = window.rows(length).bounds(over, {}, as_it_stands)
    windows, keep = [], []
    for first, done, final in zip(over.firsts.tolist(), over.span.done, over.span.final, strict=False):
        windows += [(max(first, row + 1 - length), row + 1) for row in range(first + done, first + final)]
        keep.append(max(first, first + final - length + 1))
    assert list(zip(found.begins, found.ends, strict=True)) == windows
    assert found.keep.tolist() == keep


@given(over=items(), length=st.integers(1, 9), data=st.data())
def test_a_window_ends_with_every_row_whose_number_is_a_multiple_of_the_slide(
    over: Items, length: int, data: st.DataObject
) -> None:
    slide = data.draw(st.integers(1, length))
    chosen = window.rows(length, slide=slide)
    memory = data.draw(memories(chosen, over))
    before = memory["seen"].tolist()
    found = chosen.bounds(over, memory, as_it_stands)
    windows, keep, seen = [], [], []
    keys = zip(over.firsts.tolist(), over.span.done, over.span.final, before, strict=False)
    for first, done, final, number in keys:
        rows = enumerate(range(first + done, first + final), number + 1)
        windows += [(max(first, row + 1 - length), row + 1) for counted, row in rows if counted % slide == 0]
        keep.append(max(first, first + final - length + 1))
        seen.append(number + final - done)
    assert list(zip(found.begins, found.ends, strict=True)) == windows
    assert (found.keep.tolist(), found.memory["seen"].tolist()) == (keep, seen)
    assert memory["seen"].tolist() == before
