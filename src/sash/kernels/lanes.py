"""How many sections of a column a kernel processes at once (lanes), and where they begin."""

from __future__ import annotations

from typing import Any

from sash.algorithms.base import Algorithm
from sash.kernels.read import read_algorithm

LANES = 2
"""Measured for max: one lane waits for its last combine (5.2 ns per row); two take 2.9 ns, four 2.3 ns if they fit the cache."""
LANES_OF_SMALL = 4
SMALL = 1 << 13
"""Up to this many rows per window, more lanes fit into the processor's cache."""


def count_lanes(algorithm: type[Algorithm[Any]], length: int) -> int:
    """Return the best number of lanes: all lanes take the same branches and must fit into the cache together.

    Columns that are read from the input leave memory for another lane.
    """
    if algorithm.branches_on_data:
        return 1
    if length <= SMALL:
        return LANES_OF_SMALL
    source = read_algorithm(algorithm)
    declared = source.attributes("Column[P]", "Array[P]")
    stored = [attribute for attribute in declared if attribute not in source.from_input]
    return LANES if LANES * len(stored) <= len(declared) else 1


def cut_into_lanes(rows: int, length: int, lanes: int) -> tuple[int, list[int]]:
    """Return the number of rows per lane and the first row of each, so that every full window lies in one lane.

    A lane begins with the rows before its first full window. The results that it writes for these rows are overwritten
    by the lane before it, which gets there later.

    >>> cut_into_lanes(10, 3, 2)
    (6, [0, 4])
    """
    full = rows - length + 1
    if full < lanes:
        return rows, [0] * lanes
    share = -(-full // lanes)
    return length - 1 + share, [min(lane * share, full - share) for lane in range(lanes)]
