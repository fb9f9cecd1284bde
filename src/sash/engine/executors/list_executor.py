"""ListExecutor: runs a pass whose results are lists of rows (`Listing`). They follow from the bounds of windows: nothing is combined.

    collect, first_n, last_n, concat    runs of the column
    top_k, bottom_k                     the smallest ranks of a window, where the column is sorted once
    collect_distinct                    the rows that are the first of their value in a window
    per_value                           the same rows are the keys; the inner aggregate slides over the rows of each value

    rows      a b a a b          by value    a a a b b          for per_value: the rows of `a` in a window are a run of rows by value,
    window      b a a b                        ─── ───          so another pass computes the items; as long as no row of a value enters
                                                                or leaves, windows share an item

Its loops are compiled, or have a NumPy form. Windows of several runs of rows (`exclude=`) are interpreted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.aggregates.parts import Listing
from sash.columns.buffers import as_arrow, as_numpy, binary_array
from sash.columns.column_types import column_type
from sash.columns.lists import ListColumn, plain_lists, text_of
from sash.columns.read_column import plain_array
from sash.engine.executors.executor import Results
from sash.engine.executors.interpreted_executor import InterpretedExecutor
from sash.engine.keys import KeyOrder
from sash.engine.prepare import Prepared, prepare
from sash.engine.row_block import FLIPPED, RowBlock
from sash.kernels import lists
from sash.kernels.ranks.smallest import list_smallest
from sash.plan.sharing import COMPILED
from sash.windows import Window, rows
from sash.windows.base import Bounds, Flags, Ints

EACH_ROW = {"rows": rows(1)}
"""Stands for the windows of the inner aggregate, whose bounds are known. It needs no more than one row."""

ListParts = tuple[tuple[pa.Array, ...], Ints, lists.Entries]
"""Values, or keys and items; how many of them each window has; and their numbers, window by window."""


class ListExecutor(InterpretedExecutor):
    """Lists rows of windows. What it does not define is interpreted."""

    seconds_per_row = 0.5e-6
    """The expected time of a row with NumPy."""

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        [name], [aggregate] = self.named, self.for_window(window)
        listing = aggregate.laws.listed
        assert listing is not None
        begins, ends = bounds.begins, bounds.ends
        if not self.present.all():
            begins, ends = self._values_before[begins], self._values_before[ends]
        enough = ends - begins >= max(1, aggregate.result.at_least)
        windows = (begins, ends) if enough.all() else (begins[enough], ends[enough])
        if listing.separator is not None:
            return {name: self._join(listing.separator, begins, ends, enough)}
        if not (listing.distinct or listing.sort):
            return {name: self._take_runs(listing, begins, ends, enough)}
        if listing.sort:
            values, held, entries = self._sort(listing, *windows)
        elif aggregate.forms.inner is None:
            values, held, entries = self._distinct(*windows)
        else:
            values, held, entries = self._by_value(name, aggregate.forms.inner, *windows)
        counts = np.zeros(len(begins), np.int64)
        counts[enough] = held
        return {name: ListColumn(values, np.cumsum(counts) - counts, counts, enough, entries, self.prepared.loops)}

    # -- columns -----------------------------------------------------------------------------------------------------

    @cached_property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        present = np.ones(len(self.block), np.bool_)
        for name in self.aggregates[0].named_columns:
            if self.block.table[name].null_count:
                present &= as_numpy(self.block.order.arrange_arrow(self.block.table[name]).is_valid())
        return present

    @cached_property
    def _values(self) -> pa.Array:
        """The first column, without rows that lack a value."""
        name = self.aggregates[0].named_columns[0]
        values = plain_array(self.block.order.arrange_arrow(self.block.table[name]))
        return values if self.present.all() else values.filter(as_arrow(self.present))

    def _numbers(self, coding: str) -> Any:
        """Return the first column as numbers, without rows that lack a value; those of other types are codes."""
        name = self.aggregates[0].named_columns[0]
        dtype = self.prepared.schema.field(name).type
        if column_type(dtype).numbers is not None:
            coding = FLIPPED if dtype == pa.uint64() else ""
        values = self.block.coded(name, coding).column.values
        return values if self.present.all() else values[self.present]

    # -- runs of rows ------------------------------------------------------------------------------------------------

    def _take_runs(self, listing: Listing, begins: Ints, ends: Ints, valid: Flags) -> ListColumn:
        """Return a list for each window: its values, or the first or last of them."""
        if listing.first is not None:
            ends = np.minimum(ends, begins + listing.first)
        if listing.last is not None:
            begins = np.maximum(begins, ends - listing.last)
        return ListColumn((self._values,), begins, np.where(valid, ends - begins, 0), valid)

    def _join(self, separator: str, begins: Ints, ends: Ints, valid: Flags) -> pa.Array:
        """Return the text of each window: the values, with a separator between two of them."""
        values = self._values
        if column_type(values.type).group != "string":
            objects = [text for text, present in zip(self._read(0), self.present, strict=True) if present]
            values = binary_array([str(value).encode() for value in objects], pa.string())
        ends_with = [pa.scalar(text, values.type) for text in ("", separator)]
        joined = pc.binary_join_element_wise(values, *ends_with) if separator else values
        return text_of(joined, begins, ends, len(separator.encode()), valid)

    # -- sorted and distinct values ----------------------------------------------------------------------------------

    def _sort(self, listing: Listing, begins: Ints, ends: Ints) -> ListParts:
        """Return the first values of each window in sorted order."""
        assert listing.first is not None
        order = sort_stable(self._numbers("ordered"), descending=listing.sort == "descending")
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        sorted_values = self._values.take(as_arrow(order))
        return (sorted_values,), *list_smallest(ranks, begins, ends, listing.first, self.prepared.loops)

    def _distinct(self, begins: Ints, ends: Ints) -> ListParts:
        """Return the different values of each window, in the order in which they first occur."""
        runs = lists.windows_of_rows(begins, ends, len(self._values))
        entry = lists.first_rows(lists.sort_equals(self._numbers("any")), runs)
        values = self._values.take(as_arrow(entry.rows))
        return (values,), *lists.list_entries(entry, len(begins), self.prepared.loops)

    def _by_value(self, name: str, inner: Aggregate[Any], begins: Ints, ends: Ints) -> ListParts:
        """Return the different values of each window, and the results of the inner aggregate for them."""
        runs = lists.windows_of_rows(begins, ends, len(self._values))
        equals = lists.sort_equals(self._numbers("any"))
        entry, first, after = lists.runs_of_equals(equals, runs, len(begins), self.prepared.loops)
        items = self._slide_inner(name, inner, equals.order, Bounds(first, after, None, None, np.zeros(1, np.int64)))
        by_row = np.argsort(entry.rows, kind="stable")
        entry = lists.Entry(*(column[by_row] for column in entry))
        keys = self._values.take(as_arrow(entry.rows))
        return (keys, items.take(as_arrow(by_row))), *lists.list_entries(entry, len(begins), self.prepared.loops)

    def _slide_inner(self, name: str, inner: Aggregate[Any], order: Ints, bounds: Bounds) -> pa.Array:
        """Return the results of the inner aggregate for runs of rows in another order."""
        from sash.engine.executors import open_pass  # noqa: PLC0415 — these two import this module
        from sash.engine.executors.bind import bind  # noqa: PLC0415

        prepared = inner_query(self.prepared, name, inner)
        bound = bind(prepared, compiles=self.plan_pass.executor == COMPILED)
        present = order if self.present.all() else np.flatnonzero(self.present)[order]
        times = self.block.times[present] if len(self.block.times) else self.block.times
        in_order = KeyOrder(self.block.source_rows(present), np.array([0, len(order)]))
        block = RowBlock(self.block.source, self.block.layout, in_order, times)
        results = open_pass(bound, bound.plan.passes[0], block).slide_rows(EACH_ROW["rows"], bounds)
        return plain_lists(results[name])


def inner_query(prepared: Prepared, name: str, inner: Aggregate[Any]) -> Prepared:
    """Return the query of the inner aggregate of a map, over rows."""

    def make() -> Prepared:
        choices: dict[str, Any] = {"by": (), "order_by": (), "algorithm": "auto", "slicing": "none", "lateness": None}
        windows: dict[str, Any] = {"windows": EACH_ROW, "window_names": tuple(EACH_ROW)}
        query = replace(prepared.query, aggregates={name: inner}, **windows, **choices)
        return prepare(query, prepared.schema, compiled=prepared.compiled)

    return prepared.once(("inner", name), make)


def sort_stable(values: Any, *, descending: bool) -> Ints:
    """Return rows in the order of their values; equal ones stay in the order of rows. NaN is the largest, and -0.0 equals 0.0.

    >>> sort_stable(np.array([2.0, np.nan, 3.0, 2.0]), descending=True).tolist()
    [1, 2, 0, 3]
    """
    if not descending:
        return np.argsort(values, kind="stable")
    # Backwards, the newest of equal rows comes first; so the order of rows is reversed twice.
    return len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
