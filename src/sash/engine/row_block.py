"""RowBlock: rows sorted by key and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import NO_BITS, as_arrow, as_numpy
from sash.columns.column_types import column_type
from sash.columns.read_column import Column, objects_of, plain_array, read_numbers, to_arrow
from sash.engine.check_columns import window_column
from sash.engine.group_ids import Codes, number_keys
from sash.engine.keys import KeyOrder, cut_evenly, is_in_time, order_rows
from sash.engine.time_column import TimeColumn
from sash.windows import Window
from sash.windows.arrays import is_sorted
from sash.windows.base import ALL_COLUMNS, NO_UNIT, Flags, Ints, Items, LoopCompiler, Span
from sash.windows.numpy_forms import numpy_form

FLIPPED = "flipped"
"""The coding of uint64 for aggregates that only compare values: int64 in the same order, without a dictionary."""
KEY_HASH = "sash_hash"
"""A column with the hash of the key, if rows have one. It goes with the keys that a stream stores, so that their state can be split."""
TICKS = "ticks"
"""The coding of the time column for aggregates that read the time: int64, in ticks."""

Coded = str | Callable[[Any], Any]
"""How integers stand for the values of a column, or what makes booleans of them (see `Coding.codes` and `Coding.reads`)."""


@dataclass(frozen=True)
class RowLayout:
    """The columns that order rows."""

    by: tuple[str, ...]
    time: TimeColumn | None
    order_by: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    """Columns that are computed for aggregates, which windows over whole rows do not see."""
    carried: tuple[str, ...] = ()
    """Columns that follow from the key, and that tables of keys have too."""

    @property
    def key_columns(self) -> list[str]:
        """The columns of a table of keys."""
        return [*self.by, *self.carried]


@dataclass(frozen=True)
class CodedColumn:
    """A column for kernels. If its values are not numbers, integers stand for them, and `values` is the dictionary."""

    column: Column
    values: pa.Array | None


class RowSource:
    """The columns of a table in input order, each converted once."""

    def __init__(self, table: pa.Table, first: int = 0) -> None:
        self.table = table
        self.first = first
        """The number of the first row in its stream, for error messages."""
        self._coded: dict[tuple[str, Coded], CodedColumn] = {}

    def coded(self, name: str, coding: Coded) -> CodedColumn:
        """Return a column for kernels."""
        known = self._coded.get((name, coding))
        if known is None:
            array, values = to_arrow(self.table[name]), None
            if coding and coding != FLIPPED:
                array, values = _encode(array, coding)
            known = CodedColumn(read_numbers(array, compared=coding == FLIPPED), values)
            self._coded[name, coding] = known
        return known


class RowBlock:
    """Rows of some keys, sorted by key and time.

    >>> from sash.engine.time_column import time_column
    >>> from sash.windows.numpy_forms import numpy_form
    >>> table = pa.table({"who": ["a", "b", "a"], "at": [7, 2, 3], "x": [1.0, 2.0, 3.0]})
    >>> layout = RowLayout(("who",), time_column("at", pa.int64()), ())
    >>> block = read_rows(table, layout, numpy_form).sorted(numpy_form)
    >>> block.coded("x").column.values.tolist(), block.firsts.tolist()
    ([3.0, 1.0, 2.0], [0, 2, 3])
    """

    def __init__(self, source: RowSource, layout: RowLayout, order: KeyOrder, times: Ints) -> None:
        self.source = source
        self.layout = layout
        self.order = order
        self.times = times
        self._objects: dict[str, list[Any]] = {}
        self._coded: dict[tuple[str, Coded], CodedColumn] = {}

    @property
    def table(self) -> pa.Table:
        """The input table, rows of other blocks included."""
        return self.source.table

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.firsts[-1])

    @property
    def keys(self) -> int:
        """The number of keys."""
        return len(self.firsts) - 1

    @property
    def firsts(self) -> Ints:
        """Where the rows of each key begin, and where those of the last key end."""
        return self.order.firsts

    @cached_property
    def key_table(self) -> pa.Table:
        """One row for each key."""
        return self.table.select(self.layout.key_columns).take(as_arrow(self.source_rows(self.firsts[:-1])))

    def regrouped(self, firsts: Ints) -> RowBlock:
        """Return the same rows, with other rows that begin a key."""
        return RowBlock(self.source, self.layout, KeyOrder(self.order.rows, firsts, self.order.begin), self.times)

    def sections(self, count: int) -> list[RowBlock]:
        """Return `count` or fewer blocks with about equally many rows, which together hold all keys in order."""
        return [self] if count == 1 else [self.section(first, last) for first, last in cut_evenly(self.firsts, count)]

    def section(self, first: int, last: int) -> RowBlock:
        """Return the keys from `first` on, without `last` and later ones."""
        begin, end = int(self.firsts[first]), int(self.firsts[last])
        section = RowBlock(self.source, self.layout, self.order.section(first, last), self.times[begin:end])
        for name, coded in self._coded.items():
            section._coded[name] = CodedColumn(coded.column.slice(begin, end - begin), coded.values)
        return section

    def coded(self, name: str, coding: Coded = "") -> CodedColumn:
        """Return a column for kernels; `coding` is how integers stand for other values (see `Coding.codes`).

        Sections that are cut later share it: a whole column is arranged faster than its sections.
        """
        if coding == TICKS:
            return CodedColumn(Column(self.times, NO_BITS, pa.int64()), None)
        known = self._coded.get((name, coding))
        if known is None:
            source = self.source.coded(name, coding)
            known = self._coded[name, coding] = CodedColumn(self.order.arrange_column(source.column), source.values)
        return known

    def drop_columns(self) -> None:
        """Free the memory of columns in this order."""
        self._coded.clear()
        self._objects.clear()

    def objects(self, name: str, dtype: pa.DataType | None = None) -> list[Any]:
        """Return a column as Python objects, cast to a type first if one is given."""
        known_as = f"{name} {dtype or ''}"
        if known_as not in self._objects:
            column = self.order.arrange_arrow(self.table[name])
            self._objects[known_as] = objects_of(column if dtype is None else column.cast(dtype))
        return self._objects[known_as]

    def source_rows(self, positions: Ints) -> Ints:
        """Return the input rows at some positions of the block."""
        rows = self.order.rows
        return positions + self.order.begin if rows is None else rows[positions]

    def items(self, windows: Iterable[Window], span: Span) -> Items:
        """Return the rows as windows see them."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for window in windows:
            for name in window.columns:
                if name not in columns:
                    columns[name] = self._window_column(name, window)
        unit = self.layout.time.unit if self.layout.time else NO_UNIT
        in_runs = any(window.frame and window.frame.in_runs for window in windows)
        differs = self._differs() if in_runs and self.layout.order_by else None
        return Items(self.times, self.firsts, span, unit, columns, differs=differs)

    def _differs(self) -> Flags:
        """Return which rows differ from the row before them in the columns that break ties."""
        codes, _ = number_keys(self.table, self.layout.order_by, numpy_form)
        ordered = self.order.arrange(codes)
        differs = np.ones(len(self), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=differs[1:])
        return differs

    def _window_column(self, name: str, window: Window) -> npt.NDArray[Any]:
        if name == ALL_COLUMNS:
            listed = np.empty(len(self), object)
            visible = self.table.drop_columns(list(self.layout.hidden)) if self.layout.hidden else self.table
            listed[:] = visible.take(as_arrow(self.source_rows(np.arange(len(self))))).to_pylist()
            return listed
        return read_numbers(window_column(window, name, self.order.arrange_arrow(self.table[name]))).values


@dataclass(frozen=True)
class InputRows:
    """Rows in input order, with the group ids of their keys and their times in ticks."""

    source: RowSource
    layout: RowLayout
    codes: Codes
    keys: int
    times: Ints

    def sorted(self, run: LoopCompiler, threads: int = 1) -> RowBlock:
        """Return the rows in order of key and time."""
        names = list(self.layout.order_by)
        ties = self.source.table.select(names) if names else None
        order, times = order_rows(self.codes, self.keys, self.times, run, ties, threads)
        return RowBlock(self.source, self.layout, order, times)


def rows_in_order(table: pa.Table, layout: RowLayout) -> RowBlock | None:
    """Return the rows of a table that is sorted by an integer key and time already; None for other tables.

    Such a table needs no group ids, which take longer than a fast kernel.
    """
    if layout.order_by or len(layout.by) != 1 or not len(table):
        return None
    keys = to_arrow(table[layout.by[0]])
    if column_type(keys.type).group != "int" or keys.null_count:
        return None
    values = as_numpy(keys)
    if not is_sorted(values):
        return None
    starts = np.flatnonzero(values[1:] != values[:-1]) + 1
    firsts = np.concatenate([np.zeros(1, np.int64), starts, np.array([len(values)], np.int64)])
    times = np.empty(0, np.int64) if layout.time is None else layout.time.read(table[layout.time.name])
    if not is_in_time(times, firsts):
        return None
    return RowBlock(RowSource(table), layout, KeyOrder(None, firsts), times)


def read_rows(table: pa.Table, layout: RowLayout, run: LoopCompiler, first: int = 0) -> InputRows:
    """Return the rows of a table with their keys and times; `first` is the number of the first row, in a stream."""
    codes, keys = number_keys(table, layout.by, run)
    times = np.empty(0, np.int64) if layout.time is None else layout.time.read(table[layout.time.name])
    return InputRows(RowSource(table, first), layout, codes, keys, times)


def _encode(array: pa.Array, coding: Coded) -> tuple[pa.Array, pa.Array | None]:
    """Return the codes of the values of a column, and the dictionary; an ordered dictionary stays as it is."""
    if callable(coding):
        return coding(plain_array(array)), None
    if getattr(array.type, "ordered", False):
        return array.indices.cast(pa.int32()), array.dictionary
    plain = plain_array(array)
    encoded = getattr(plain, "storage", plain).dictionary_encode()  # Arrow encodes no extension types
    codes, values = encoded.indices, encoded.dictionary
    if coding == "ordered":
        order = pc.sort_indices(values)
        ranks = np.empty(len(values), np.int32)
        ranks[as_numpy(order)] = np.arange(len(values), dtype=np.int32)
        codes, values = as_arrow(ranks).take(codes), values.take(order)
    return codes, values if values.type == plain.type else pa.ExtensionArray.from_storage(plain.type, values)
