"""How many stretches of a column a kernel works on at once, and where they begin."""

from __future__ import annotations

from sash.kernels.read import AlgorithmSource

LANES = 2
"""Measured for max: one lane waits for its last combine (5.2 ns a row), two take 2.9 ns, four 2.3 ns if they fit the cache."""
LANES_OF_SMALL = 4
SMALL = 1 << 13
"""WindowSequence of so many rows have room for more lanes in the processor's cache, whatever they take."""
DEPENDS_ON_DATA = ("same(", "is_newer(", "is_above(", "same_key(")


def count_lanes(source: AlgorithmSource, length: int) -> int:
    """Return how many lanes suit an algorithm: all of them take the same way through it, in the memory of one.

    Columns that are read from the input leave the memory to another lane.
    """
    if any(call in source.text for call in DEPENDS_ON_DATA):
        return 1
    declared = source.attributes("Column[P]", "Array[P]")
    stored = [attribute for attribute in declared if attribute not in source.given]
    if length <= SMALL:
        return LANES_OF_SMALL
    return LANES if LANES * len(stored) <= len(declared) else 1


def cut_into_lanes(rows: int, length: int, lanes: int) -> tuple[int, list[int]]:
    """Return how many rows each lane runs over and where it begins, so that every full window is in one of them.

    A lane begins with the rows before its first full window. What it writes for these is overwritten by the lane before
    it, which gets there later.

    >>> cut_into_lanes(10, 3, 2)
    (6, [0, 4])
    """
    full = rows - length + 1
    if full < lanes:
        return rows, [0] * lanes
    share = -(-full // lanes)
    return length - 1 + share, [min(lane * share, full - share) for lane in range(lanes)]
