"""Punctuated windows with context ≡ the rows visited one by one."""

from __future__ import annotations

from helpers.items import items, memories
from hypothesis import given
from hypothesis import strategies as st

from sash import window
from sash.windows.base import Items, as_it_stands


@given(over=items(), data=st.data())
def test_a_window_ends_with_each_marked_row(over: Items, data: st.DataObject) -> None:
    chosen = window.punctuated("mark")
    memory = data.draw(memories(chosen, over))
    found = chosen.bounds(over, memory, as_it_stands)
    windows, keep, behind = [], [], []
    keys = zip(over.firsts.tolist(), over.span.done, over.span.final, memory["behind"], strict=False)
    for first, done, final, already in keys:
        begin = first + done - already
        for row in range(first + done, first + final):
            if over.columns["mark"][row]:
                windows.append((begin, row + 1))
                begin = row + 1
        keep.append(begin)
        behind.append(first + final - begin)
    assert list(zip(found.begins, found.ends, strict=True)) == windows
    assert (found.keep.tolist(), found.memory["behind"].tolist()) == (keep, behind)
