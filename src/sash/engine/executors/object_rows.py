"""The rows that an interpreted pass reads, as Python objects."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.columns.buffers import unpack
from sash.columns.column_types import column_type, plain_type
from sash.columns.time_probes import gives_for
from sash.engine.check_columns import input_types
from sash.engine.row_block import RowBlock
from sash.kernels import CannotCompileError
from sash.windows.base import Flags


class ObjectRows:
    """The columns of an aggregate as rows of Python objects."""

    def __init__(self, aggregate: Aggregate[Any], schema: pa.Schema, block: RowBlock | None) -> None:
        self.aggregate = aggregate
        self.schema = schema
        self.block = block

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, with None for nulls."""
        if self.block is None:
            return []
        columns = [self._read(self.block, number) for number in range(len(self.aggregate.named_columns))]
        if self.aggregate.time is not None:
            columns.append(self.block.times.tolist())
        return list(zip(*columns, strict=True)) if columns else [()] * len(self.block)

    @cached_property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return np.array([None not in row for row in self.rows], np.bool_)

    @property
    def categories(self) -> pa.Array | None:
        """The values of an ordered dictionary if the aggregate reads their ranks in place of its last column."""
        names = self.aggregate.named_columns
        return self._categories(self.block, len(names) - 1) if names and self.block is not None else None

    def _read(self, block: RowBlock, number: int) -> list[Any]:
        """Return a column as Python objects; the values of an ordered dictionary as their ranks."""
        name = self.aggregate.named_columns[number]
        if self._categories(block, number) is None:
            return block.objects(name, self._cast_to(self.schema.field(name).type))
        coded = block.coded(name, "ordered")
        valid = unpack(coded.column.bits, len(coded.column))
        return [code if ok else None for code, ok in zip(coded.column.values.tolist(), valid, strict=True)]

    def _categories(self, block: RowBlock, number: int) -> pa.Array | None:
        """Return the values of an ordered dictionary if the aggregate reads their ranks in their place; None for other columns."""
        name = self.aggregate.named_columns[number]
        dtype = self.schema.field(name).type
        is_key = number < self.aggregate.inputs - self._innermost.inputs  # of a map
        is_ranked = plain_type(dtype) != dtype and dtype.ordered and self._innermost.coding.codes and not is_key
        return block.coded(name, "ordered").values if is_ranked else None

    def _cast_to(self, dtype: pa.DataType) -> pa.DataType | None:
        """Return the type that a column is cast to before it is read as Python objects; None for its own."""
        # Python compares and subtracts times of one zone by wall clock, which is wrong when clocks are set back.
        row = column_type(dtype)
        if row.group == "timestamp" and dtype.tz is not None and self._ignores_clocks:
            return pa.timestamp(dtype.unit, "UTC")
        # Python does not subtract times of day; their ticks are subtracted instead.
        if row.group == "time" and self._innermost.is_built_in and self._innermost.result.gives == "difference":
            return row.numbers
        return None

    @cached_property
    def _innermost(self) -> Aggregate[Any]:
        """The aggregate, or the one of the items if its results are maps."""
        aggregate = self.aggregate
        while aggregate.forms.inner is not None:
            aggregate = aggregate.forms.inner
        return aggregate

    @property
    def _ignores_clocks(self) -> bool:
        """Whether the aggregate reads times as points in time, so that the clock of their zone does not matter."""
        if self._innermost.is_built_in:
            return self._innermost.result.gives != "text"
        try:
            gives_for(self._innermost, input_types(self._innermost, self.schema))
        except CannotCompileError:
            return False
        return True
