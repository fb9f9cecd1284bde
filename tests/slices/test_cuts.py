"""Panes, pairs and Cutty ≡ no slices ≡ the oracle."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from helpers.items import items
from helpers.pairwise import FULL
from helpers.queries import Named, assert_agrees
from helpers.windows import PER_WINDOW, WINDOWS, slicings_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sash import agg, window
from sash.plan.slicing import cycle_of
from sash.slices.cuts import cut_by_edges
from sash.slices.edges import TECHNIQUES, Family, cut_edges
from sash.testing.strategies import streams
from sash.windows import Window
from sash.windows.base import FOREVER, Cycle, Items

IN_ORDER: Named = {"in_order": agg.concat("x", sep=" "), "values": agg.count("x"), "who": agg.arg_max("x", "y")}


@pytest.mark.parametrize(
    ("kind", "slicing"), [(kind, slicing) for kind in PER_WINDOW for slicing in slicings_of(WINDOWS[kind].example)]
)
@settings(max_examples=30 if FULL else 12)
@given(data=st.data())
def test_every_slicing_agrees_with_the_oracle(kind: str, slicing: str, data: st.DataObject) -> None:
    rows = data.draw(streams(keys=data.draw(st.sampled_from([1, 3]))))
    assert_agrees(rows, IN_ORDER, data.draw(PER_WINDOW[kind]), slicing=slicing)


@pytest.mark.parametrize("slicing", ["none", "panes", "pairs", "cutty"])
@settings(max_examples=40)
@given(data=st.data())
def test_windows_that_share_slices_agree_with_the_oracle(slicing: str, data: st.DataObject) -> None:
    kinds = {kind: WINDOWS[kind].example for kind in PER_WINDOW if slicing in slicings_of(WINDOWS[kind].example)}
    if data.draw(st.booleans()):  # periodic windows alone are cut without looking at windows
        kinds = {kind: one for kind, one in kinds.items() if one.is_time and cycle_of(one) is not None}
    drawn = st.one_of([PER_WINDOW[kind] for kind in kinds])
    windows = data.draw(st.lists(drawn, min_size=2, max_size=4))
    named = {f"w{number}": one for number, one in enumerate(windows)}
    assert_agrees(data.draw(streams()), IN_ORDER, named, slicing=slicing)


@pytest.mark.parametrize("slicing", ["auto", "none", "panes", "pairs", "cutty"])
def test_windows_of_slides_without_a_common_divisor_agree_with_the_oracle(slicing: str) -> None:
    rows = [{"t": 37 * number + number**2 % 19, "x": number, "y": -number} for number in range(40)]
    windows: dict[str, Window] = {
        f"every {b}": window.time(a, slide=b) for a, b in [(60, 1), (70, 7), (25, 11), (40, 13)]
    }
    schema = pa.schema({"t": pa.int64(), "x": pa.int64(), "y": pa.int64()})
    assert_agrees(rows, IN_ORDER, windows, by=(), schema=schema, slicing=slicing)


@settings(max_examples=200)
@given(over=items(), data=st.data())
def test_rows_are_cut_wherever_an_edge_or_a_gap_lies_between_two_rows_of_a_key(
    over: Items, data: st.DataObject
) -> None:
    drawn = st.builds(
        lambda period, longer, offset: Cycle(period + longer, period, period + longer, offset % period),
        st.integers(1, 9), st.integers(0, 9), st.integers(0, 8),
    )  # fmt: skip
    edges = cut_edges(data.draw(st.lists(drawn, max_size=3)), data.draw(st.sampled_from(TECHNIQUES)))
    gap = data.draw(st.sampled_from([FOREVER, 2]))
    positions, closes, times, firsts = [], [], [], [0]
    for first, last in pairwise(over.firsts.tolist()):
        for row in range(first, last):
            older = int(over.times[row])
            newer = int(over.times[row + 1]) if row + 1 < last else None
            is_last = newer is None or newer - older > gap or passes(edges.closing, older, newer)
            if is_last or (newer is not None and passes(edges.reading, older, newer)):
                positions.append(row + 1)
                closes.append(is_last)
                every = [*edges.closing, *edges.reading]
                times.append(max((older - (older - phase) % period for period, phase in every), default=0))
        firsts.append(len(positions))
    records = cut_by_edges(over, edges, gap)
    assert records.positions.tolist() == positions
    assert (records.closes.tolist(), records.times.tolist()) == (closes, times)
    assert records.firsts.tolist() == firsts


def passes(families: tuple[Family, ...], older: int, newer: int) -> bool:
    """Whether an edge is after one time, and not after another."""
    return any((edge - phase) % period == 0 for period, phase in families for edge in range(older + 1, newer + 1))
