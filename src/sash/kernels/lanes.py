"""Where the sections of a column, or the keys, begin that a kernel processes at once (lanes)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_WASTE = 1.25
"""Keys are processed at once if this takes at most 1.25 times as long as their rows need: the longest key counts."""


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


def deal_to_lanes(firsts: npt.NDArray[np.int64], lanes: int) -> tuple[list[tuple[int, list[int]]], list[int]]:
    """Return which keys to process at once, one in each lane, and which alone afterwards; keys begin at `firsts`.

    Keys that are processed at once have a number of rows, that of the longest, and the first row of each. A lane whose key is
    shorter continues into the next keys and writes wrong results there. Each lane has consecutive keys and never leaves them, so
    these results are overwritten later.

    >>> deal_to_lanes(np.array([0, 3, 6, 8, 11, 14]), 2)
    ([(3, [0, 6]), (3, [3, 8])], [4])
    """
    keys = len(firsts) - 1
    share = keys // lanes
    if lanes == 1 or share == 0:
        return [], list(range(keys))
    numbers = np.arange(share * lanes).reshape(lanes, share)
    starts, lengths = firsts[numbers], np.diff(firsts)[numbers]
    steps = lengths.max(axis=0)
    stays = (starts + steps <= firsts[numbers[:, -1] + 1][:, None]).all(axis=0)
    together = stays & (steps * lanes <= MOST_WASTE * lengths.sum(axis=0))
    calls = [(int(steps[number]), starts[:, number].tolist()) for number in np.flatnonzero(together)]
    alone = [*numbers[:, ~together].ravel().tolist(), *range(share * lanes, keys)]
    return calls, sorted(alone)
