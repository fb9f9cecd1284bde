"""Sessions with context and watermarks ≡ the items visited one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.items import items
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import window
from sash.windows import arrays
from sash.windows.base import Items, as_it_stands


@settings(max_examples=200)
@given(over=items(), gap=st.integers(1, 9), data=st.data())
def test_a_session_ends_where_the_next_item_is_further_away_than_the_gap(
    over: Items, gap: int, data: st.DataObject
) -> None:
    lasts = over.times.copy()
    if data.draw(st.booleans()):  # slices have a last time, which is not before those of earlier slices
        longer = data.draw(st.lists(st.integers(0, 9), min_size=len(lasts), max_size=len(lasts)))
        lasts += np.array(longer, np.int64)
        for first, last in pairwise(over.firsts):
            np.maximum.accumulate(lasts[first:last], out=lasts[first:last])
        over = replace(over, last_times=lasts)
    windows, keep = [], []
    limits = zip(over.span.after, over.span.now, over.span.closed, strict=True)
    for (first, last), (after, now, closed) in zip(pairwise(over.firsts.tolist()), limits, strict=True):
        begin = kept = first
        for row in range(first, last):
            stop = int(lasts[row]) + gap
            if row + 1 == last or over.times[row + 1] > stop:
                if after <= stop < now:
                    windows.append((begin, row + 1, over.times[begin], stop))
                begin = row + 1
                kept = begin if stop < closed else kept
        keep.append(kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK", 3)
        found = window.session(gap).bounds(over, {}, as_it_stands)
    assert found.starts is not None
    assert found.stops is not None
    assert list(zip(found.begins, found.ends, found.starts, found.stops, strict=True)) == windows
    assert found.keep.tolist() == keep
