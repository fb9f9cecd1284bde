"""Windows have as many slices as the papers say, and edges are counted as if they were listed."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import Counter
from helpers.windows import with_gaps
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.slices.edges import TECHNIQUES, count_together, cut_edges
from sash.windows.base import Cycle


def edges_by_hand(technique: str, length: int, slide: int, until: int) -> set[int]:
    """Where slices end that windows `[begin, begin + length)` are made of, as the papers put them."""
    begins = set(range(-(until + length) // slide * slide, until + length, slide))
    ends = {begin + length for begin in begins}
    panes = set(range(-until - length, until + length))
    return {
        "cutty": begins,
        "pairs": begins | ends,
        "panes": {edge for edge in panes if edge % gcd(length, slide) == 0},
    }[technique]


def slices_by_hand(edges: Iterable[int], begin: int, end: int) -> int:
    """How many slices lie in `[begin, end)`, a part of one counted as one."""
    return len({edge for edge in edges if begin < edge < end}) + 1


@pytest.mark.parametrize(
    ("length", "slide", "panes", "pairs", "cutty"),
    [
        (9, 6, 3, 3, 2),  # ⌊9/6⌋ + 1
        (7, 3, 7, 5, 3),
        (10, 4, 5, 5, 3),
        (100, 7, 100, 29, 15),
        (12, 6, 2, 2, 2),  # a multiple of the slide: the slice that is open when a window ends is empty
        (24 * 60, 1, 24 * 60, 24 * 60, 24 * 60),
        (5, 5, 1, 1, 1),
    ],
)
def test_a_window_is_combined_of_as_many_slices_as_the_papers_say(
    length: int, slide: int, panes: int, pairs: int, cutty: int
) -> None:
    counted = {technique: cut_edges([Cycle(length, slide, length, 0)], technique) for technique in TECHNIQUES}
    assert panes == length // gcd(length, slide)
    assert pairs == (2 * (length // slide) + 1 if length % slide else length // slide)
    assert cutty == (length // slide + 1 if length % slide else length // slide)
    for start in (0, slide, -5 * slide):
        assert counted["panes"].slices_of(start, length) == panes
        assert counted["pairs"].slices_of(start, length) == pairs
        assert counted["cutty"].slices_of(start, length) == cutty


def test_a_slide_has_as_many_slices_as_the_papers_say() -> None:
    cycle = Cycle(9, 6, 9, 0)
    assert per_composite_slide([cycle], "pairs") == 2
    assert per_composite_slide([cycle], "panes") == 6 // gcd(9, 6)
    assert per_composite_slide([cycle], "cutty") == 1


def per_composite_slide(cycles: list[Cycle], technique: str) -> int:
    """How many partials a composite slide has, which is the least common multiple of the slides (FlatFIT, section 2.3)."""
    edges = cut_edges(cycles, technique)
    composite = lcm(*(cycle.period for cycle in cycles))
    assert composite % edges.cycle == 0
    assert edges.per_cycle() * (composite // edges.cycle) == count_together(edges.closing, 0, composite)
    return count_together(edges.closing, 0, composite)


@pytest.mark.parametrize("technique", TECHNIQUES)
@settings(max_examples=40)
@given(pair=with_gaps(), offset=st.integers(-9, 9))
def test_partials_that_are_combined_are_as_many_as_counted(technique: Any, pair: tuple[int, int], offset: int) -> None:
    """A row for every tick: a slice of r rows takes r - 1 combines, a window of s slices s - 1, recalculated."""
    length, slide = pair
    ticks = 40
    counter = Counter(agg.concat("x"))
    table = pa.table({"t": range(offset, offset + ticks), "x": range(ticks)})
    windows = window.time(length, slide=slide, offset=offset)
    query = sash.Query({"joined": counter.aggregate}, windows, time="t", slicing=technique, algorithm="recalculate")
    starts = [start - offset for start in query.run(table)["window_start"].to_pylist()]
    edges = edges_by_hand(technique, length, slide, ticks)
    for_slices = ticks - slices_by_hand(edges, 0, ticks)
    counted = cut_edges([Cycle(length, slide, length, offset)], technique)
    for_windows = 0
    for start in starts:
        for_windows += slices_by_hand(edges, max(start, 0), min(start + length, ticks)) - 1
        assert counted.slices_of(start + offset, length) == slices_by_hand(edges, start, start + length)
    assert counter.take() == for_slices + for_windows


def test_flatfit_section_2_3_example_1() -> None:
    first, second = Cycle(6, 2, 6, 0), Cycle(8, 4, 8, 0)
    for technique in TECHNIQUES:
        shared = cut_edges([first, second], technique)
        assert per_composite_slide([first, second], technique) == 2  # of 4 tuples: one every 2, for both
        assert shared.slices_of(0, 6) == 3
        assert shared.slices_of(0, 8) == 4


@pytest.mark.parametrize("slicing", ["panes", "pairs"])
def test_flatfit_section_2_3_example_1_over_tuples(slicing: Any) -> None:
    counter = Counter(agg.max("price"))
    windows = {"first": window.rows(6, slide=2), "second": window.rows(8, slide=4)}
    prices = pa.table({"price": [(7 * number) % 11 for number in range(24)]})
    query = sash.Query({"top": counter.aggregate}, windows, slicing=slicing, algorithm="recalculate")
    query.run(prices)
    partials = 24 - 12  # a partial aggregate every 2 tuples, once for both
    first = 0 + 1 + 10 * 2  # the last three, two combines; the first two windows are still filling
    second = 1 + 5 * 3  # the last four
    assert counter.take() == partials + first + second


MINUTE = 60 * 10**9


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_edges_of_slides_without_a_common_divisor_are_counted_and_not_listed(technique: str) -> None:
    """7, 11 and 13 minutes, in nanoseconds: a table of their edges would have a place for each of 6 · 10¹³ ticks."""
    minutes = [(60, 1), (70, 7), (25, 11), (40, 13)]
    cycles = [Cycle(a * MINUTE, b * MINUTE, a * MINUTE, 0) for a, b in minutes]
    assert per_composite_slide(cycles, technique) == 7 * 11 * 13  # a slide of one minute has all the edges
    for length, slide in minutes:
        assert cut_edges(cycles, technique).slices_of(5 * slide * MINUTE, length * MINUTE) == length
    uneven = cut_edges(cycles[1:], technique)
    listed: set[int] = set()
    for length, slide in minutes[1:]:
        listed |= edges_by_hand(technique, length, slide, 2 * 7 * 11 * 13)
    in_a_cycle = len({edge for edge in listed if 0 < edge <= 7 * 11 * 13})
    assert per_composite_slide(cycles[1:], technique) == in_a_cycle
    assert uneven.slices_of(0, 70 * MINUTE) == slices_by_hand(listed, 0, 70)


@settings(max_examples=50)
@given(
    pairs=st.lists(with_gaps(), min_size=1, max_size=4), offsets=st.lists(st.integers(0, 11), min_size=4, max_size=4)
)
@pytest.mark.parametrize("technique", ["pairs", "cutty"])
def test_edges_of_many_windows_are_counted_as_listed(
    technique: str, pairs: list[tuple[int, int]], offsets: list[int]
) -> None:
    cycles = [Cycle(a, b, a, offset % b) for (a, b), offset in zip(pairs, offsets, strict=False)]
    edges = cut_edges(cycles, technique)
    listed: set[int] = set()
    for length, slide, _, offset in cycles:
        listed |= {edge + offset for edge in edges_by_hand(technique, length, slide, edges.cycle + 60)}
    assert edges.per_cycle() == len({edge for edge in listed if 0 < edge <= edges.cycle})
    for start in range(6):
        assert edges.slices_of(start, 30) == slices_by_hand(listed, start, start + 30)
