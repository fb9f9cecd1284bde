"""Windows of the states of many keys together: the evaluation driver, with one point per key.

    states ──► rows, or slices with each row as a slice ──► evaluate, at points ──► one result per key

It is the driver that labels use, with NumPy. It never compiles: a lookup cannot wait for a compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.columns.column_types import column_type, plain_type
from sash.columns.read_column import to_arrow
from sash.engine.assemble import row_columns
from sash.engine.evaluate import evaluate
from sash.engine.executors import PassFailedError
from sash.engine.executors.bind import Failures, bind, failures_of
from sash.engine.keys import KeyOrder
from sash.engine.partials import concat_partials
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock, RowSource
from sash.engine.slice_block import NO_KEYS, SliceBlock, concat_in_time, cut_each_row
from sash.state.key_layout import KeyLayout, KeySlices, KeyState
from sash.windows.arrays import sums_before
from sash.windows.base import Ints, Points
from sash.windows.numpy_forms import numpy_form
from sash.windows.time_loops import find_places


def evaluate_states(prepared: Prepared, layout: KeyLayout, states: Sequence[KeyState], now: Ints) -> pa.Table:
    """Return the results of some keys, each as of its own time, one row per key."""
    failures: Failures = frozenset()
    while True:
        bound = bind(prepared, failures, compiles=False, on_stream=bool(layout.shapes))
        try:
            return _evaluate(bound, layout, states, now)
        except PassFailedError as failed:
            new = failures_of(bound, failed)
            if new <= failures:
                raise
            failures |= new


def _evaluate(prepared: Prepared, layout: KeyLayout, states: Sequence[KeyState], now: Ints) -> pa.Table:
    rows = _row_block(prepared, layout, states)
    block = (
        rows if not layout.shapes else _with_slices(prepared, rows, [state.slices for state in states if state.slices])
    )
    counts = np.ones(len(states), np.int64)
    places = np.empty(len(states), np.int64)
    numpy_form(find_places)(block.times, block.firsts, now, counts, 1, places)
    return pa.table(row_columns(prepared, evaluate(prepared, block, points=Points(now, places, counts))))


def _row_block(prepared: Prepared, layout: KeyLayout, states: Sequence[KeyState]) -> RowBlock:
    """Return the rows of states, in order of key and time as they are stored."""
    assert prepared.time is not None
    times = np.concatenate([state.times for state in states])
    columns = {layout.time: prepared.time.write(times).cast(prepared.time.type)}
    for name in layout.names:
        column = pa.concat_arrays([state.columns[name] for state in states])
        columns[name] = as_declared(column, layout.schema.field(name).type)
    order = KeyOrder(None, sums_before(np.array([len(state.times) for state in states])))
    keyless = replace(prepared.layout, by=(), order_by=(), carried=())
    return RowBlock(RowSource(pa.table(columns)), keyless, order, times)


def as_declared(column: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Return a column of a stored type in the type that the stream has declared."""
    if column.type == dtype:
        return column
    if column_type(dtype).group == "dictionary":
        return as_declared(column, plain_type(dtype)).dictionary_encode()
    if column_type(dtype).group == "extension":
        return pa.ExtensionArray.from_storage(dtype, column)
    return to_arrow(column.cast(dtype))


def _with_slices(prepared: Prepared, rows: RowBlock, slices: Sequence[KeySlices]) -> SliceBlock:
    """Return slices with each row as a slice after those of its key."""
    of_rows = replace(cut_each_row(prepared, rows), row_counts=None)
    sizes = np.array([len(key_slices.times) for key_slices in slices])
    keys = pa.table({NO_KEYS: pa.nulls(rows.keys, pa.int8())})
    codes = np.repeat(np.arange(rows.keys), np.diff(rows.firsts))
    of_rows = replace(of_rows, keys=keys, codes=codes)
    partials = tuple(map(concat_partials, zip(*(key_slices.partials for key_slices in slices), strict=True)))
    stored = replace(
        of_rows,
        codes=np.repeat(np.arange(rows.keys), sizes),
        times=np.concatenate([key_slices.times for key_slices in slices]),
        partials=partials,
    )
    together = concat_in_time([stored, of_rows])
    order = np.argsort(together.codes, kind="stable")
    return together.arrange(KeyOrder(order, sums_before(np.bincount(together.codes, minlength=rows.keys))))
