"""The partials of windows by whole steps over columns.

Windows that overlap are combined from partials of 1, 2, 4, … neighbouring items. Windows apart are combined in pairs. Items stay in
order, so combine need not commute.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sash.kernels.kernel_arrays import Positions
from sash.kernels.partial_columns import Partial, empty_like, put, take

Merge = Callable[[Partial, Partial], Partial]
BLOCK = 1 << 14
"""The number of windows that are combined together, at least."""


def double_in_blocks(combine: Merge, items: Partial, begins: Positions, ends: Positions) -> Partial:
    """Return the partial of each window, for some windows after the other: their items stay in the processor cache."""
    lengths = ends - begins
    size = max(BLOCK, 4 * int(lengths.max(initial=0)))
    whole = empty_like(items, len(ends))
    for first in range(0, len(ends), size):
        block = slice(first, first + size)
        begin, end = int(begins[block].min()), int(ends[block].max())
        partials = double(combine, take(items, slice(begin, end)), ends[block] - begin, lengths[block])
        put(whole, block, partials)
    return whole


def double(combine: Merge, items: Partial, ends: Positions, lengths: Positions) -> Partial:
    """Return the partial of the newest lengths[n] items before ends[n], from partials of 1, 2, 4, … items."""
    whole = empty_like(items, len(ends))
    stops = ends.copy()
    longest = int(lengths.max(initial=0))
    size, partials = 1, items
    while size <= longest:
        chosen = np.flatnonzero(lengths & size)
        if len(chosen):
            starts = stops[chosen] - size
            older = take(partials, starts)
            newer_exists = (lengths[chosen] & (size - 1)) > 0
            if newer_exists.all():
                put(whole, chosen, combine(older, take(whole, chosen)))
            elif not newer_exists.any():
                put(whole, chosen, older)
            else:
                both = chosen[newer_exists]
                put(whole, chosen[~newer_exists], take(older, ~newer_exists))
                put(whole, both, combine(take(older, newer_exists), take(whole, both)))
            stops[chosen] = starts
        size *= 2
        if size <= longest:
            half = size // 2
            partials = combine(take(partials, slice(None, -half)), take(partials, slice(half, None)))
    return whole


def reduce_runs(combine: Merge, items: Partial, begins: Positions, lengths: Positions) -> Partial:
    """Return the partial of each run of items. Neighbours are combined in pairs until each run has one partial."""
    whole = empty_like(items, len(begins))
    runs = np.flatnonzero(lengths)
    left = lengths[runs]
    firsts = np.cumsum(left) - left
    in_order = len(runs) and bool((begins[runs] == firsts + begins[runs[0]]).all())
    if in_order:
        partials = take(items, slice(int(begins[runs[0]]), int(begins[runs[-1]] + left[-1])))
    else:
        partials = take(items, np.repeat(begins[runs] - firsts, left) + np.arange(int(left.sum())))
    while len(left) and left.max() > 1:
        numbers = np.arange(int(left.sum())) - np.repeat(np.cumsum(left) - left, left)
        older = np.flatnonzero(numbers % 2 == 0)
        has_newer = numbers[older] + 1 < np.repeat(left, (left + 1) // 2)
        kept = take(partials, older)
        if has_newer.all():
            partials = combine(kept, take(partials, older + 1))
        else:
            pairs = np.flatnonzero(has_newer)
            put(kept, pairs, combine(take(kept, pairs), take(partials, older[pairs] + 1)))
            partials = kept
        left = (left + 1) // 2
    put(whole, runs, partials)
    return whole
