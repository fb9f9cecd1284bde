"""The order in which one structure evaluates windows over slices, for one window of a query or for several.

A structure is queried while it slides, so windows are sorted by their ends. A slice is evicted when no later window begins before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.engine.partials import SliceCounts
from sash.kernels.kernel_arrays import Schedule
from sash.slices.cuts import SliceRefs
from sash.windows.base import Ints


@dataclass(frozen=True)
class SharedSchedule:
    """The schedule of one or several windows of a query, and which entries belong to which."""

    entries: Schedule
    positions: list[Ints | None]
    """For each window, the positions of its entries; None if it has all."""

    def of_window(self, number: int, results: pa.Array) -> pa.Array:
        """Return the results of one window."""
        positions = self.positions[number]
        return results if positions is None else results.take(as_arrow(positions))


def make_schedule(windows: Sequence[SliceRefs], counts: SliceCounts) -> SharedSchedule:
    """Return windows in the order of their ends; among equal ends, the widest first, which needs the most slices."""
    schedules = [_entries(refs, counts) for refs in windows]
    if len(schedules) == 1:
        return SharedSchedule(schedules[0], [None])
    longest = [int(entries.lasts.max(initial=1)) for entries in schedules]
    ascending = sorted(range(len(windows)), key=lambda window: (longest[window], window))
    number_of = {window: number for number, window in enumerate(ascending)}
    widest_first = ascending[::-1]
    columns = zip(*(schedules[window][:6] for window in widest_first), strict=True)
    joined = [np.concatenate(parts) for parts in columns]
    lengths = [len(schedules[window].begins) for window in widest_first]
    # The number of a window is the position of its range among the structure's ranges, which ascend.
    joined[3] = np.repeat([number_of[window] for window in widest_first], lengths).astype(np.int64)
    order = np.argsort(joined[1], kind="stable")
    begins, ends, lasts, numbers, opens, held = (column[order] for column in joined)
    begins = np.minimum.accumulate(begins[::-1])[::-1]  # keep every slice that a later window needs
    position_of = np.empty(len(order), np.int64)
    position_of[order] = np.arange(len(order))
    positions: list[Ints | None] = [None] * len(windows)
    first = 0
    for window, count in zip(widest_first, lengths, strict=True):
        positions[window] = position_of[first : first + count]
        first += count
    ranges = tuple(longest[window] for window in ascending)
    return SharedSchedule(Schedule(np.ascontiguousarray(begins), ends, lasts, numbers, opens, held, ranges), positions)


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
