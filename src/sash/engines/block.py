"""Rows sorted by key and time, as windows and passes take them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregator.columns import Column, read_numbers, to_arrow
from sash.engines.keys import Order, number_keys, order_rows
from sash.engines.times import TimeType
from sash.kernels.kernel import NO_BITS
from sash.windows import Window
from sash.windows.base import Ints, Rows, Run, whole_rows


@dataclass(frozen=True)
class Layout:
    """Which columns say how rows lie."""

    by: tuple[str, ...]
    time: TimeType | None
    order_by: tuple[str, ...]


@dataclass(frozen=True)
class Coded:
    """A column as a kernel takes it; `values`, where they are not numbers themselves, by the numbers that stand for them."""

    column: Column
    values: pa.Array | None


class Block:
    """Rows of some keys, in order.

    >>> from sash.engines.times import read_time_type
    >>> from sash.windows.base import as_it_stands
    >>> table = pa.table({"who": ["a", "b", "a"], "at": [7, 2, 3], "x": [1.0, 2.0, 3.0]})
    >>> block = Block(table, Layout(("who",), read_time_type("at", pa.int64()), ()), as_it_stands)
    >>> block.number("x").column.values.tolist(), block.firsts.tolist()
    ([3.0, 1.0, 2.0], [0, 2, 3])
    """

    def __init__(self, table: pa.Table, layout: Layout, run: Run) -> None:
        self.table = table
        self.layout = layout
        codes, self.keys = number_keys(table, layout.by)
        times = np.empty(0, np.int64) if layout.time is None else layout.time.read(table[layout.time.name])
        ties = table.select(list(layout.order_by)) if layout.order_by else None
        self.order: Order
        self.order, self.times = order_rows(codes, self.keys, times, run, ties)
        self._numbers: dict[tuple[str, str], Coded] = {}
        self._objects: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    @property
    def firsts(self) -> Ints:
        """Where the rows of each key begin, and where those of the last key end."""
        return self.order.firsts

    def number(self, name: str, how: str = "") -> Coded:
        """Return a column as a kernel takes it; `how` values that are no numbers may be replaced, see `Aggregate.codes`."""
        known = self._numbers.get((name, how))
        if known is None:
            known = self._numbers[name, how] = self._read(self.table[name], how)
        return known

    def ones(self) -> Column:
        """Return a column for an aggregate that reads none."""
        return Column(np.ones(len(self), np.bool_), NO_BITS, pa.bool_())

    def objects(self, name: str) -> list[Any]:
        """Return a column as Python's own objects."""
        if name not in self._objects:
            array = self.order.arrange_arrow(self.table[name])
            if pa.types.is_timestamp(array.type) and array.type.unit == "ns":  # Python's datetime ends at microseconds
                array = pc.cast(array, pa.int64())
            self._objects[name] = array.to_pylist()
        return self._objects[name]

    def rows(self, windows: Iterable[Window], **piece: Any) -> Rows:
        """Return what windows see; `piece` says which part of a stream this is, if it isn't all of it."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for window in windows:
            for name in window.columns:
                if name not in columns:
                    columns[name] = self._for_window(name, window)
        time = self.layout.time
        named: dict[str, Any] = {"tick": time.tick, "time": time.name} if time else {}
        whole = whole_rows(self.times, self.firsts, columns, **named)
        return replace(whole, **piece)

    def _for_window(self, name: str, window: Window) -> npt.NDArray[Any]:
        if name == "*":
            table = self.table if self.order.rows is None else self.table.take(pa.array(self.order.rows))
            listed = np.empty(len(table), object)
            listed[:] = table.to_pylist()
            return listed
        array = to_arrow(self.table[name])
        if window.kind == "punctuated":
            array = pc.fill_null(array, False)
        elif array.null_count or (pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py()):
            message = (
                f"{window}: column {name} has rows without a number (null or NaN), which are near nothing: drop them."
            )
            raise ValueError(message)
        return self.order.arrange(read_numbers(array).values)

    def _read(self, column: pa.ChunkedArray, how: str) -> Coded:
        array = to_arrow(column)
        values = None
        if how:
            array, values = _encode(array, how)
        read = read_numbers(array)
        bits = read.bits
        if len(bits) and self.order.rows is not None:
            valid = np.unpackbits(bits, count=len(read), bitorder="little")[self.order.rows]
            bits = np.packbits(valid, bitorder="little")
        return Coded(Column(self.order.arrange(read.values), bits, read.type), values)


def _encode(array: pa.Array, how: str) -> tuple[pa.Array, pa.Array]:
    """Return numbers that stand for the values of a column, and the values."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    encoded = array.dictionary_encode()
    codes, values = encoded.indices, encoded.dictionary
    if how == "ordered":
        order = pc.sort_indices(values)
        ranks = np.empty(len(values), np.int32)
        ranks[order.to_numpy()] = np.arange(len(values), dtype=np.int32)
        codes, values = pa.array(ranks).take(codes), values.take(order)
    return codes, values
