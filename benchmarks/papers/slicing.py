"""Panes, pairs and Cutty over rows, one per tick: the partials of a window, and the combines that all windows need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from benchmarks.papers.counting import Counter
from sash import agg
from sash.algorithms import Algorithm, FlatFAT, Recalculate
from sash.slices.cuts import cut_by_edges
from sash.slices.edges import TECHNIQUES, cut_edges
from sash.slices.open_slice import OpenSlice
from sash.windows.base import Cycle, whole_items

PANES, PAIRS, CUTTY, NO_SLICES = "panes", "pairs", "cutty", "no slices"
SLICINGS = (PANES, PAIRS, CUTTY)
assert set(SLICINGS) == set(TECHNIQUES)


@dataclass(frozen=True)
class SlicingCounts:
    """What a stream of windows needed."""

    partials: float
    """The mean number of partials that a window combines; an open slice is one of them."""
    combines: float
    """Per row: those within slices, those of the algorithm over slices, and one for each open slice that is read."""


def partials_in_theory(length: int, slide: int, technique: str) -> int:
    """Return the partials of a window: range/gcd, 2⌊range/slide⌋ + 1, or ⌊range/slide⌋ + 1.

    A range that is a multiple of the slide has no second kind of slice: range/slide for pairs and Cutty.

    >>> [partials_in_theory(10, 3, technique) for technique in SLICINGS]
    [10, 7, 4]
    """
    if technique == NO_SLICES:
        return length
    if technique == PANES:
        return length // gcd(length, slide)
    if length % slide == 0:
        return length // slide
    return (2 if technique == PAIRS else 1) * (length // slide) + 1


def count_windows(
    length: int, slide: int, technique: str, algorithm: type[Algorithm[Any]], values: Sequence[int]
) -> SlicingCounts:
    """Count over all complete windows after the first one; each is compared with the maximum of its raw rows.

    >>> count_windows(10, 3, "cutty", Recalculate, list(range(100)))
    SlicingCounts(partials=4.0, combines=1.6666666666666667)
    """
    counter = Counter(agg.max().of_kind("int"))
    window: Any = algorithm(counter.aggregate, (length,))
    ends = range(length, len(values) + 1, slide)
    values = values[: ends[-1]]
    partials = 0
    for end, closed, opened in _windows(length, slide, technique, window, values, OpenSlice(counter.aggregate), ends):
        answer = opened
        if closed:
            answer = window.query_last(closed)
            answer = answer if opened is None else counter.aggregate.combine(answer, opened)
        partials += closed + (opened is not None)
        if answer != max(values[end - length : end]):
            message = f"{technique} of {length} every {slide}: the window that ends at {end} is {answer}."
            raise AssertionError(message)
        if end == length:
            counter.take()  # the rows before the first window ends have no windows of their own
    return SlicingCounts(partials / len(ends), counter.take() / (ends[-1] - length))


def _windows(
    length: int,
    slide: int,
    technique: str,
    window: Algorithm[Any],
    values: Sequence[int],
    open_slice: OpenSlice[Any],
    ends: Sequence[int],
) -> Iterator[tuple[int, int, Any]]:
    """Yield each window when it ends, with its number of closed slices in `window` and the partial of the open one, if it reads it."""
    edges = cut_edges([Cycle(length, 1 if technique == NO_SLICES else slide, length, 0)], _of(technique))
    records = cut_by_edges(whole_items(range(len(values))), edges)
    row, begin, held = 0, 0, []
    for position, closes in zip(records.positions.tolist(), records.closes.tolist(), strict=True):
        for value in values[row:position]:
            open_slice.insert(value)
        row = position
        if closes:
            window.insert(open_slice.query())
            held.append(begin)
            begin = position
            open_slice.evict()
        while held and held[0] < row - length:
            held.pop(0)
            window.evict()
        if row in ends:
            yield row, sum(start >= row - length for start in held), None if closes else open_slice.query()


def _of(technique: str) -> str:
    return PANES if technique == NO_SLICES else technique


OVER_SLICES: dict[str, type[Algorithm[Any]]] = {"recalculate": Recalculate, "flatfat": FlatFAT}
"""What combines the slices of a window: all again, or Cutty's choice."""
