"""What the tests of streams share: rows as tables and in micro-batches, windows of every kind, alone and combined."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from helpers.windows import examples
from sash import agg, window
from sash.windows import Window

COMBINED: dict[str, dict[str, Window]] = {
    "sessions": {"short": window.session(2), "long": window.session(9), "middle": window.session(4)},
    "several": {"a": window.time(10, slide=5), "b": window.time(9, slide=3), "c": window.tumbling(4)},
    "mixed_time": {"a": window.time(10, slide=4), "b": window.session(2), "c": window.session(6)},
    "mixed": {"a": window.time(10, slide=4), "b": window.session(2), "c": window.rows(3, slide=2)},
    "right_and_left": {"a": window.time(10, slide=5, closed="right"), "b": window.tumbling(5)},
    "apart": {"a": window.time(2, slide=7), "b": window.time(3, slide=5, closed="right"), "c": window.session(2)},
    "rows_mixed": {"a": window.time(4), "b": window.rows(2), "c": window.delta("v", 1)},
}
WINDOWS: dict[str, dict[str, Window]] = {
    **{name: {"w": one} for name, one in examples().items() if not one.emits_empty},
    **COMBINED,
}
OF_TIME = [
    name for name, windows in WINDOWS.items() if all(one.is_time and not one.per_row for one in windows.values())
]
"""Windows whose slices a stream stores, if their aggregates commute and compile."""
COMMUTE = {"peak": agg.max("x"), "total": agg.sum("x"), "rows": agg.count()}
ORDERED = {"first": agg.first("x"), "everything": agg.collect("id")}
COLUMNS = {"id": "bigint", "k": "bigint", "t": "bigint", "x": "bigint", "v": "bigint", "mark": "boolean"}
"""The columns of `table_of`, as Spark names their types."""


def table_of(rows: Iterable[tuple[int, int, int | None, bool]]) -> pa.Table:
    """Rows of (key, time, x, mark), numbered in order of time; `v` is x, or 0 where that is null."""
    ordered = sorted(rows, key=lambda row: row[1])
    columns = list(zip(*ordered, strict=True)) or [(), (), (), ()]
    kinds = (pa.int64(), pa.int64(), pa.int64(), pa.bool_())
    keys, times, values, marks = (pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True))
    ids = pa.array(range(len(ordered)), pa.int64())
    return pa.table([ids, keys, times, values, values.fill_null(0), marks], list(COLUMNS))


def rows_of(table: pa.Table) -> list[str]:
    """The rows of a table in an order that depends on nothing but their values."""
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def batches_of(table: pa.Table, size: int) -> pa.RecordBatchReader:
    """A table as a stream of batches."""
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size))
