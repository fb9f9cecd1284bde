"""Windows of one kind or several, in the order in which one structure answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.kernels.kernel_io import Schedule
from sash.slices.cuts import Reads
from sash.windows.base import Ints


@dataclass(frozen=True)
class Together:
    """The turns of several kinds of windows, and which turns are whose."""

    turns: Schedule
    places: list[Ints | None]
    """For each kind, the turns of its windows; None if all are."""

    def of_kind(self, number: int, results: pa.Array) -> pa.Array:
        """Return the results of the windows of one kind."""
        places = self.places[number]
        return results if places is None else results.take(pa.array(places))


@dataclass(frozen=True)
class Counts:
    """How many rows with a value are in each record of a slice, and before it in slices that closed."""

    values: Ints
    closes: npt.NDArray[np.bool_]
    """Whether the slice closes with the record."""

    @cached_property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which records are of closed slices with a value."""
        return self.closes & (self.values > 0)

    @cached_property
    def all_present(self) -> bool:
        """Whether all are."""
        return bool(self.present.all())

    @cached_property
    def slices_before(self) -> Ints:
        """How many slices with a value closed before each record."""
        return _before(self.present)

    @cached_property
    def values_before(self) -> Ints:
        """How many rows with a value slices had that closed before each record."""
        return _before(self.values if self.all_present else np.where(self.closes, self.values, 0))


def take_turns(kinds: Sequence[Reads], counts: Counts) -> Together:
    """Return windows in the order of their ends, the widest first."""
    every = [_turns(reads, counts) for reads in kinds]
    if len(every) == 1:
        return Together(every[0], [None])
    longest = [int(turns.lasts.max(initial=1)) for turns in every]
    ascending = sorted(range(len(kinds)), key=lambda kind: (longest[kind], kind))
    number_of = {kind: number for number, kind in enumerate(ascending)}
    widest_first = ascending[::-1]
    joined = [np.concatenate([every[kind].columns[column] for kind in widest_first]) for column in range(6)]
    lengths = [len(every[kind].begins) for kind in widest_first]
    joined[3] = np.repeat([number_of[kind] for kind in widest_first], lengths).astype(np.int64)
    order = np.argsort(joined[1], kind="stable")
    begins, ends, lasts, numbers, opens, held = (column[order] for column in joined)
    begins = np.minimum.accumulate(begins[::-1])[::-1]  # nothing is let go of that a later window needs
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    places: list[Ints | None] = [None] * len(kinds)
    first = 0
    for kind, count in zip(widest_first, lengths, strict=True):
        places[kind] = place[first : first + count]
        first += count
    ranges = tuple(longest[kind] for kind in ascending)
    return Together(Schedule(np.ascontiguousarray(begins), ends, lasts, numbers, opens, held, ranges), places)


def _turns(reads: Reads, counts: Counts) -> Schedule:
    if counts.all_present:
        lasts = reads.ends - reads.begins
    else:
        lasts = counts.slices_before[reads.ends] - counts.slices_before[reads.begins]
    held = counts.values_before[reads.ends] - counts.values_before[reads.begins]
    opens = reads.opens
    if len(opens) and int(opens.max()) >= 0:
        of_open = np.where(opens >= 0, counts.values[opens], 0)
        held += of_open
        opens = np.where(of_open > 0, opens, -1)
    return Schedule(reads.begins, reads.ends, lasts, np.zeros(len(lasts), np.int64), opens, held)


def _before(counts: npt.NDArray[np.generic]) -> Ints:
    before = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    return before
