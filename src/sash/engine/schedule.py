"""The order in which one structure evaluates windows over slices, for one window of a query or for several.

A structure is queried while it slides, so windows are sorted by their ends. A slice is evicted when no later window begins before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.engine.partials import SliceCounts
from sash.kernels.kernel_io import Schedule, as_arrow
from sash.slices.cuts import SliceRefs
from sash.windows.base import Ints


@dataclass(frozen=True)
class SharedSchedule:
    """The schedule of several kinds of windows, and which entries belong to which kind."""

    entries: Schedule
    places: list[Ints | None]
    """For each kind, the entries of its windows; None if all are."""

    def of_kind(self, number: int, results: pa.Array) -> pa.Array:
        """Return the results of the windows of one kind."""
        places = self.places[number]
        return results if places is None else results.take(as_arrow(places))


def make_schedule(kinds: Sequence[SliceRefs], counts: SliceCounts) -> SharedSchedule:
    """Return windows in the order of their ends; among equal ends, the widest first, which needs the most slices."""
    every = [_entries(refs, counts) for refs in kinds]
    if len(every) == 1:
        return SharedSchedule(every[0], [None])
    longest = [int(entries.lasts.max(initial=1)) for entries in every]
    ascending = sorted(range(len(kinds)), key=lambda kind: (longest[kind], kind))
    number_of = {kind: number for number, kind in enumerate(ascending)}
    widest_first = ascending[::-1]
    joined = [np.concatenate([every[kind].columns[column] for kind in widest_first]) for column in range(6)]
    lengths = [len(every[kind].begins) for kind in widest_first]
    # The number of a kind is the place of its range among the structure's ranges, which ascend.
    joined[3] = np.repeat([number_of[kind] for kind in widest_first], lengths).astype(np.int64)
    order = np.argsort(joined[1], kind="stable")
    begins, ends, lasts, numbers, opens, held = (column[order] for column in joined)
    begins = np.minimum.accumulate(begins[::-1])[::-1]  # keep every slice that a later window needs
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    places: list[Ints | None] = [None] * len(kinds)
    first = 0
    for kind, count in zip(widest_first, lengths, strict=True):
        places[kind] = place[first : first + count]
        first += count
    ranges = tuple(longest[kind] for kind in ascending)
    return SharedSchedule(Schedule(np.ascontiguousarray(begins), ends, lasts, numbers, opens, held, ranges), places)


def _entries(refs: SliceRefs, counts: SliceCounts) -> Schedule:
    if counts.all_present:
        lasts = refs.ends - refs.begins
    else:
        lasts = counts.slices_before[refs.ends] - counts.slices_before[refs.begins]
    held = counts.values_before[refs.ends] - counts.values_before[refs.begins]
    opens = refs.opens
    if len(opens) and int(opens.max()) >= 0:
        of_open = np.where(opens >= 0, counts.values[opens], 0)
        held += of_open
        opens = np.where(of_open > 0, opens, -1)
    return Schedule(refs.begins, refs.ends, lasts, np.zeros(len(lasts), np.int64), opens, held)
