"""SlicePartials: the partials of slices, as one pass stores them; and the order in which one structure evaluates windows over them.

A structure is queried while it slides, so windows are sorted by their ends. A slice is evicted when no later window begins before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import NO_BITS, Bits, as_arrow, pack
from sash.engine.failures import Where
from sash.engine.keys import KeyOrder
from sash.kernels.fused_partial import Shape
from sash.kernels.kernel_arrays import Schedule
from sash.slices.cuts import SliceRefs
from sash.windows.arrays import all_set, sums_before
from sash.windows.base import Flags, Ints


@dataclass(frozen=True)
class SliceCounts:
    """How many non-null rows each slice record holds."""

    values: Ints
    closes: Flags | None = None
    """Whether the slice closes with the record; None if all do."""

    @cached_property
    def present(self) -> Flags:
        """Which records are of closed slices with a value."""
        present: Flags = self.values > 0
        return present if self.closes is None else self.closes & present

    @cached_property
    def all_present(self) -> bool:
        """Whether every record is of a closed slice with a value."""
        return all_set(self.present)

    @property
    def bits(self) -> Bits:
        """The validity bitmap of `present`; empty if every record is."""
        return NO_BITS if self.all_present else pack(self.present)

    @cached_property
    def slices_before(self) -> Ints:
        """How many slices with a value closed before each record."""
        return sums_before(self.present)

    @cached_property
    def values_before(self) -> Ints:
        """How many non-null rows the slices held that closed before each record."""
        if self.closes is None or self.all_present:
            return sums_before(self.values)
        return sums_before(np.where(self.closes, self.values, 0))


@dataclass(frozen=True)
class SlicePartials:
    """The partials of slice records, as one pass stores them."""

    fields: Sequence[npt.NDArray[Any]]
    """One column per field of a partial; interpreted, one column of Python objects."""
    shape: Shape | None
    """The structure of a partial; None if the fields are Python objects, or the values of rows."""
    counts: SliceCounts
    dictionary: pa.Array | None = None
    """The values that the integers of a coded column stand for."""
    ends: Ints | None = None
    """The row after the last one of each record; None if the rows are not available any more."""
    where: Where | None = None
    """Names a record in error messages, if its rows are not available."""

    def take(self, order: KeyOrder) -> SlicePartials:
        """Return the partials of closed slices in another order."""
        fields = [order.arrange(field) for field in self.fields]
        return SlicePartials(fields, self.shape, SliceCounts(order.arrange(self.counts.values)), self.dictionary)

    def select(self, chosen: Flags | slice | Ints) -> SlicePartials:
        """Return the partials of the chosen closed slices."""
        counts = SliceCounts(self.counts.values[chosen])
        return SlicePartials([field[chosen] for field in self.fields], self.shape, counts, self.dictionary)


def concat_partials(blocks: Sequence[SlicePartials]) -> SlicePartials:
    """Return the partials of closed slices, one block after the other."""
    first, *others = blocks
    if not others:
        return first
    fields = [np.concatenate(columns) for columns in zip(*(block.fields for block in blocks), strict=True)]
    counts = SliceCounts(np.concatenate([block.counts.values for block in blocks]))
    return SlicePartials(fields, first.shape, counts, first.dictionary)


@dataclass(frozen=True)
class SharedSchedule:
    """The schedule of one or several windows of a query, and which entries belong to which."""

    entries: Schedule
    positions: list[Ints | None]
    """For each window, the positions of its entries; None if it has all."""


def taken(results: pa.Array, positions: Ints | None) -> pa.Array:
    """Return the results at some positions; all if there are none."""
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
