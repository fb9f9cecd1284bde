"""SlicePartials: the partials of slices, as one pass stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import NO_BITS, Bits
from sash.engine.failures import Where
from sash.engine.keys import KeyOrder
from sash.kernels.fused_partial import Shape
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
        return bool(self.present.all())

    @property
    def bits(self) -> Bits:
        """The validity bitmap of `present`; empty if every record is."""
        return NO_BITS if self.all_present else np.packbits(self.present, bitorder="little")

    @cached_property
    def slices_before(self) -> Ints:
        """How many slices with a value closed before each record."""
        return _before(self.present)

    @cached_property
    def values_before(self) -> Ints:
        """How many non-null rows the slices held that closed before each record."""
        if self.closes is None or self.all_present:
            return _before(self.values)
        return _before(np.where(self.closes, self.values, 0))


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

    def select(self, chosen: Flags | slice) -> SlicePartials:
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


def _before(counts: npt.NDArray[np.generic]) -> Ints:
    before = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=before[1:])
    return before
