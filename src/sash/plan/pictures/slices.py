"""The slices of a picture: where they lie, and which of them each window is combined of."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from sash.plan.pictures.stretch import Stretch
from sash.plan.slicing import regular_slices
from sash.slices.cuts import Records, cut_by_bounds, cut_by_edges
from sash.slices.edges import Edges, Family
from sash.windows import Window
from sash.windows.base import Bounds, as_it_stands, whole_rows

MOST_LINES = 60
"""More lines make a picture dark."""
WRITTEN = 4
"""Of more slices, only the first and the last are written."""


@dataclass(frozen=True)
class DrawnSlice:
    """A slice that holds rows."""

    letter: str
    begin: float
    end: float
    """Where it is cut, as windows tell it: in rows, or in time if they are intervals of time."""
    left: float
    right: float
    """Where it lies on the axis."""
    part: int
    """The part of the picture that it is in."""


@dataclass(frozen=True)
class DrawnSlices:
    """Slices, and the places on the axis where they end and where they are read while they are open."""

    slices: list[DrawnSlice]
    closes: list[float]
    reads: list[float]

    def combined(self, begin: float, end: float) -> str:
        """Return what a window is combined of: a slice that is read while it is open has a prime."""
        inside = [one for one in self.slices if one.begin < end and one.end > begin]
        letters = [one.letter + "′" * (one.end > end) for one in inside]
        if len(letters) > WRITTEN or len({one.part for one in inside}) > 1:
            letters = [letters[0], "…", letters[-1]]
        return " ⊕ ".join(letters) if all(letters) else ""


def find_slices(
    window: Window, stretch: Stretch, bounds: Bounds, technique: str, rows: list[int]
) -> DrawnSlices | None:
    """Return the slices of these rows of a stretch, cut as a query cuts them; None if they are too many to draw."""
    regular = regular_slices({"": window}, technique)
    if regular is None:
        found = _cut_by_bounds(stretch, bounds, technique)
    else:
        every = regular.edges.closing + regular.edges.reading
        lines = sum((end - begin) // family.period for family in every for begin, end in stretch.parts)
        if lines > MOST_LINES:
            return None
        found = _cut_by_edges(stretch, regular.edges, rows)
    return found if len(found.closes) + len(found.reads) <= MOST_LINES else None


def _cut_by_edges(stretch: Stretch, edges: Edges, rows: list[int]) -> DrawnSlices:
    """Cut where families of edges say, which lie on the axis as they are."""
    places = [int(stretch.place(row)) for row in rows]
    slices = []
    for number, (first, last) in enumerate(_closed(cut_by_edges(whole_rows(places), edges, as_it_stands))):
        begin = max(_edge_by(family, places[first]) for family in edges.closing)
        end = min(_edge_by(family, places[last]) + family.period for family in edges.closing)
        part = stretch.part_of(places[first])
        from_, to = stretch.parts[part]
        slices.append(DrawnSlice(_letter(number), begin, end, max(begin, from_), min(end, to), part))
    closes = _edges_in(edges.closing, stretch)
    reads = [place for place in _edges_in(edges.reading, stretch) if place > places[0] and place not in closes]
    return DrawnSlices(slices, closes, reads)


def _cut_by_bounds(stretch: Stretch, bounds: Bounds, technique: str) -> DrawnSlices:
    """Cut between the rows where windows begin, which on an axis of time lies between their times."""
    records, _ = cut_by_bounds(stretch.rows, [bounds], early=technique == "cutty")
    slices = []
    for number, (first, last) in enumerate(_closed(records)):
        left = stretch.before(first) if first else stretch.parts[0][0]
        right = stretch.before(last + 1) if last + 1 < records.positions[-1] else stretch.parts[-1][1]
        slices.append(DrawnSlice(_letter(number), first, last + 1, left, right, 0))
    inner = records.positions[:-1].tolist()
    closes = [stretch.before(row) for row, closed in zip(inner, records.closes, strict=False) if closed]
    reads = [stretch.before(row) for row, closed in zip(inner, records.closes, strict=False) if not closed]
    return DrawnSlices(slices, closes, reads)


def _closed(records: Records) -> list[tuple[int, int]]:
    """Return the first and the last row of each slice."""
    ends = records.positions[records.closes].tolist()
    return list(zip([0, *ends], [end - 1 for end in ends], strict=False))


def _edge_by(family: Family, place: int) -> int:
    """Return the last edge of a family up to a place."""
    return (place - family.phase) // family.period * family.period + family.phase


def _edges_in(families: tuple[Family, ...], stretch: Stretch) -> list[float]:
    """Return the edges of families that lie in the picture."""
    found: set[float] = set()
    for family in families:
        for begin, end in stretch.parts:
            found |= set(np.arange(_edge_by(family, begin - 1) + family.period, end + 1, family.period).tolist())
    return sorted(found)


def _letter(number: int) -> str:
    return ascii_lowercase[number] if number < len(ascii_lowercase) else ""
