"""The columns that a pass reads, as kernels take them."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from sash.columns.buffers import Bits, unpack
from sash.columns.column_types import column_type
from sash.columns.read_column import nulls, ones, present_in_all, types_of
from sash.engine.row_block import FLIPPED, TICKS, RowBlock
from sash.kernels.kernel_arrays import Columns
from sash.plan.sharing import Pass
from sash.windows.base import Flags


class PassColumns:
    """The columns of a pass, from the rows of a block; without a block, without rows."""

    def __init__(self, plan_pass: Pass, schema: pa.Schema, block: RowBlock | None) -> None:
        self.rows = 0 if block is None else len(block)
        self.dictionary: pa.Array | None = None
        """The values that the integers of the last column stand for, if it is coded."""
        self.columns = []
        first = next(iter(plan_pass.aggregates.values()))
        for name, coding in codings(plan_pass, schema):
            if block is None:
                dtype = schema.field(name).type if coding in ("", FLIPPED) else pa.int32()
                dtype = pa.int64() if coding == TICKS else dtype
                self.columns.append(nulls(0, dtype, compared=coding == FLIPPED))
            else:
                coded = block.coded(name, coding)
                self.columns.append(coded.column)
                self.dictionary = coded.values
        if not first.columns:
            self.columns = [ones(self.rows)]
        self.dtypes: tuple[str, ...] = types_of(first, self.columns)

    @property
    def values(self) -> Columns:
        """The values of each column; undefined at nulls."""
        return tuple(column.values for column in self.columns)

    @cached_property
    def bits(self) -> Bits:
        """Arrow's validity bitmap of rows that have a value in all columns; empty if all have."""
        return present_in_all(self.columns)

    @cached_property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return unpack(self.bits, self.rows)


def codings(plan_pass: Pass, schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the columns of a pass, and how each is coded; "" if it holds numbers."""
    first = next(iter(plan_pass.aggregates.values()))
    compared = all(aggregate.only_compares for aggregate in plan_pass.aggregates.values())

    def coding(dtype: pa.DataType, number: int) -> str:
        if column_type(dtype).numbers is None:
            return first.coding.codes[number]
        return FLIPPED if compared and dtype == pa.uint64() else ""

    coded = [(name, coding(schema.field(name).type, number)) for number, name in enumerate(first.named_columns)]
    return [*coded, (first.columns[-1], TICKS)] if first.time is not None else coded
