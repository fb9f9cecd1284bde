"""Results in block order → columns and tables.

`evaluate` returns results in block order. Results per row return to input order afterwards: in `with_input_rows`, or, for a whole
table, in `run_table`, which does it once for all parts of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow, as_numpy, binary_array
from sash.columns.lists import ListColumn, join_lists
from sash.columns.read_column import to_arrow
from sash.engine.evaluate import Block, Evaluated, replaced_windows
from sash.engine.executors import Results
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.time_column import TimeColumn
from sash.engine.window_bounds import WindowResults
from sash.windows.arrays import ranges
from sash.windows.base import NEVER, Ints, Span

CHANGE = "change"
"""The column of update mode: "upsert", or "delete" for a window that another one has replaced."""


def window_tables(prepared: Prepared, block: Block, evaluated: Evaluated) -> dict[str, pa.Table]:
    """Return one row per window, by the names of windows, in order of key and time."""
    return {name: _window_table(prepared, block, name, results) for name, results in evaluated.windows.items()}


def _window_table(prepared: Prepared, block: Block, name: str, results: WindowResults) -> pa.Table:
    query = prepared.query
    columns: dict[str, pa.Array] = {}
    if query.by:
        keys = as_arrow(np.arange(len(results.counts)).repeat(results.counts))
        columns |= {key: to_arrow(block.key_table[key]).take(keys) for key in query.by}
    if query.several:
        names = query.window_names
        number = np.full(int(results.counts.sum()), names.index(name), np.int32)
        texts = binary_array([name.encode() for name in names], pa.string())
        columns["window"] = pa.DictionaryArray.from_arrays(as_arrow(number), texts)
    if prepared.time is not None and results.starts is not None and results.stops is not None:
        columns["window_start"] = prepared.time.write(results.starts)
        columns["window_end"] = prepared.time.write(results.stops)
    columns |= {key: results.columns[key] for key in query.aggregates if key in results.columns}
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def join_windows(prepared: Prepared, blocks: Sequence[Mapping[str, pa.Table]]) -> pa.Table:
    """Return the windows of several blocks as one table: by window, then key, then time."""
    tables = [block[name] for name in prepared.query.windows for block in blocks]
    # A block may hold nulls only, which have no type, or integers where others hold floats.
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")


def with_changes(prepared: Prepared, before: Block, block: Block, upserts: pa.Table) -> pa.Table:
    """Return the results of update mode, with the column `change`: deleted windows first, their aggregates null.

    `before` are the stored rows or slices, and `block` has the new ones too.
    """
    replaced = replaced_windows(prepared, before, block)
    deleted = join_windows(prepared, [window_tables(prepared, block, replaced)])
    changes = []
    for table, change in ((deleted, "delete"), (upserts, "upsert")):
        changes.append(table.append_column(CHANGE, pa.array([change] * len(table), pa.string())))
    return pa.concat_tables(changes, promote_options="permissive").select([*upserts.column_names, CHANGE])


def in_order_of_time(table: pa.Table) -> pa.Table:
    """Return the results of windows in the order of their ends."""
    if "window_end" not in table.column_names or not len(table):
        return table
    ends = table["window_end"].combine_chunks()
    ticks = ends.cast(pa.int64()) if ends.type.bit_width == 64 else ends.cast(pa.int32())  # noqa: PLR2004
    return table.take(as_arrow(np.argsort(as_numpy(ticks), kind="stable")))


def row_columns(prepared: Prepared, evaluated: Evaluated) -> Results:
    """Return a column for each aggregate and window, one result per row, in block order; before them the bounds of windows that have any."""
    columns: Results = {}
    for window, results in evaluated.windows.items():
        ticks = (results.starts, results.stops)
        for name, of_each in zip(prepared.query.bound_names.get(window, ()), ticks, strict=False):
            assert prepared.time is not None
            assert of_each is not None
            columns[name] = _written(prepared.time, of_each)
    return columns | {
        prepared.query.result_name(aggregate, window): results.columns[aggregate]
        for aggregate in prepared.query.aggregates
        for window, results in evaluated.windows.items()
    }


def _written(time: TimeColumn, ticks: Ints) -> pa.Array:
    """Return times as a column; null where there is none."""
    is_known = ticks != NEVER
    if is_known.all():
        return time.write(ticks)
    column = time.write(np.where(is_known, ticks, 0))
    return pc.if_else(as_arrow(is_known.view("u1")).cast(pa.bool_()), column, pa.scalar(None, column.type))


def join_rows(sections: Sequence[Any]) -> Any:
    """Return the sections of a column as one column, in their common type."""
    if isinstance(sections[0], ListColumn):
        return join_lists(sections)
    if len(sections) == 1:
        return pa.chunked_array(sections)
    schemas = [pa.schema({"": section.type}) for section in sections]
    dtype = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    return pa.chunked_array([section if section.type == dtype else section.cast(dtype) for section in sections])


def with_input_rows(
    prepared: Prepared,
    block: RowBlock,
    span: Span,
    evaluated: Evaluated,
    rows: pa.Table | None = None,
    *,
    by_keys: bool = False,
) -> pa.Table:
    """Return the rows that a span emits, each beside its results: by key and time, or in order of time, or else in input order.

    `rows` are the input rows with all their columns, if the block has only those that the query reads.
    """
    fresh = runs_of(block.firsts[:-1] + span.done, block.firsts[:-1] + span.final)
    if by_keys:
        table = (block.table if rows is None else rows).take(as_arrow(block.source_rows(fresh)))
        for name, column in row_columns(prepared, evaluated).items():
            table = table.append_column(name, column)
        return table
    order = block.times[fresh] if len(block.times) else block.source_rows(fresh)
    positions = np.argsort(order, kind="stable")
    table = (block.table if rows is None else rows).take(as_arrow(block.source_rows(fresh[positions])))
    for name, column in row_columns(prepared, evaluated).items():
        table = table.append_column(name, column.take(as_arrow(positions)))
    return table


def runs_of(begins: Ints, ends: Ints) -> Ints:
    """Return the numbers begins[i] … ends[i] - 1 for each i, one run after the other.

    >>> runs_of(np.array([2, 9]), np.array([4, 10])).tolist()
    [2, 3, 9]
    """
    return ranges(begins, ends - begins)
