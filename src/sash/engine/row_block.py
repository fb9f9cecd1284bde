"""Rows sorted by key and time, as windows and passes take them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregator.columns import Column, objects_of, read_numbers, to_arrow
from sash.engine.kernel_pool import Kernels
from sash.engine.keys import Order, cut_evenly, number_keys, order_rows
from sash.engine.nested_keys import Codes
from sash.engine.time_column import TimeType
from sash.kernels.kernel_io import NO_BITS
from sash.windows import Window
from sash.windows.base import Ints, Rows, Run, whole_rows


@dataclass(frozen=True)
class Layout:
    """Which columns say how rows lie."""

    by: tuple[str, ...]
    time: TimeType | None
    order_by: tuple[str, ...]
    kernels: Kernels = field(default_factory=Kernels, compare=False, repr=False)
    """Those of all blocks that lie so: pieces of a stream are many, and a kernel takes milliseconds to be found."""


@dataclass(frozen=True)
class Coded:
    """A column as a kernel takes it; `values`, where they are not numbers themselves, by the numbers that stand for them."""

    column: Column
    values: pa.Array | None


class Source:
    """The columns of a table as they were given, each read once."""

    def __init__(self, table: pa.Table, kernels: Kernels, first: int = 0) -> None:
        self.table = table
        self.kernels = kernels
        self.first = first
        """The number of its first row, in a stream."""
        self._numbers: dict[tuple[str, str], Coded] = {}

    def number(self, name: str, how: str) -> Coded:
        """Return a column as a kernel takes it."""
        known = self._numbers.get((name, how))
        if known is None:
            array, values = to_arrow(self.table[name]), None
            if how:
                array, values = _encode(array, how)
            known = self._numbers[name, how] = Coded(read_numbers(array), values)
        return known


class Block:
    """Rows of some keys, in order.

    >>> from sash.engine.time_column import read_time_type
    >>> from sash.windows.base import as_it_stands
    >>> table = pa.table({"who": ["a", "b", "a"], "at": [7, 2, 3], "x": [1.0, 2.0, 3.0]})
    >>> block = make_block(table, Layout(("who",), read_time_type("at", pa.int64()), ()), as_it_stands)
    >>> block.number("x").column.values.tolist(), block.firsts.tolist()
    ([3.0, 1.0, 2.0], [0, 2, 3])
    """

    def __init__(self, source: Source, layout: Layout, order: Order, times: Ints) -> None:
        self.source = source
        self.layout = layout
        self.order = order
        self.times = times
        self._objects: dict[str, list[Any]] = {}

    @property
    def table(self) -> pa.Table:
        """The rows as they were given, those of other blocks of the same table too."""
        return self.source.table

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.firsts[-1])

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self.firsts) - 1

    @property
    def firsts(self) -> Ints:
        """Where the rows of each key begin, and where those of the last key end."""
        return self.order.firsts

    def parts(self, count: int) -> list[Block]:
        """Return blocks of about equally many rows, that together have all keys, in order."""
        return [self._part(first, last) for first, last in cut_evenly(self.firsts, count)]

    def _part(self, first: int, last: int) -> Block:
        begin, end = int(self.firsts[first]), int(self.firsts[last])
        rows = None if self.order.rows is None else self.order.rows[begin:end]
        order = Order(rows, self.firsts[first : last + 1] - begin, self.order.begin + begin)
        return Block(self.source, self.layout, order, self.times[begin:end])

    def number(self, name: str, how: str = "") -> Coded:
        """Return a column as a kernel takes it; `how` values that are no numbers may be replaced, see `Aggregate.codes`."""
        given = self.source.number(name, how)
        return Coded(self.order.arrange_column(given.column), given.values)

    def ones(self) -> Column:
        """Return a column for an aggregate that reads none."""
        return Column(np.ones(len(self), np.bool_), NO_BITS, pa.bool_())

    def objects(self, name: str, kind: pa.DataType | None = None) -> list[Any]:
        """Return a column as Python's own objects, cast to a type before if one is given."""
        known_as = f"{name} {kind or ''}"
        if known_as not in self._objects:
            column = self.order.arrange_arrow(self.table[name])
            self._objects[known_as] = objects_of(column if kind is None else column.cast(kind))
        return self._objects[known_as]

    def given(self, places: Ints) -> Ints:
        """Return the rows at some places, as numbers of the rows that were given."""
        return places + self.order.begin if self.order.rows is None else self.order.rows[places]

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
            listed = np.empty(len(self), object)
            listed[:] = self.table.take(pa.array(self.given(np.arange(len(self))))).to_pylist()
            return listed
        array = self.order.arrange_arrow(self.table[name])
        if window.kind == "punctuated":
            array = pc.fill_null(array, False)
        elif array.null_count or (pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py()):
            message = (
                f"{window}: column {name} has rows without a number (null or NaN), which are near nothing: drop them."
            )
            raise ValueError(message)
        return read_numbers(array).values


@dataclass(frozen=True)
class Given:
    """Rows as they were given, with the numbers of their keys and their times in ticks."""

    source: Source
    layout: Layout
    codes: Codes
    keys: int
    times: Ints

    def in_order(self, run: Run) -> Block:
        """Return the rows in order."""
        names = list(self.layout.order_by)
        ties = self.source.table.select(names) if names else None
        order, times = order_rows(self.codes, self.keys, self.times, run, ties)
        return Block(self.source, self.layout, order, times)


def read_given(table: pa.Table, layout: Layout, run: Run, first: int = 0) -> Given:
    """Return the rows of a table with their keys and times."""
    codes, keys = number_keys(table, layout.by, run)
    times = np.empty(0, np.int64) if layout.time is None else layout.time.read(table[layout.time.name])
    return Given(Source(table, layout.kernels, first), layout, codes, keys, times)


def make_block(table: pa.Table, layout: Layout, run: Run, first: int = 0) -> Block:
    """Return the rows of a table in order; `first` is the number of the first one, in a stream."""
    return read_given(table, layout, run, first).in_order(run)


def _encode(array: pa.Array, how: str) -> tuple[pa.Array, pa.Array]:
    """Return numbers that stand for the values of a column, and the values; a dictionary may have an order of its own."""
    if pa.types.is_dictionary(array.type):
        if array.type.ordered:
            return array.indices.cast(pa.int32()), array.dictionary
        array = array.dictionary_decode()
    encoded = array.dictionary_encode()
    codes, values = encoded.indices, encoded.dictionary
    if how == "ordered":
        order = pc.sort_indices(values)
        ranks = np.empty(len(values), np.int32)
        ranks[order.to_numpy()] = np.arange(len(values), dtype=np.int32)
        codes, values = pa.array(ranks).take(codes), values.take(order)
    return codes, values
