"""LateRows: the late rows of a stream are counted, and then dropped, an error, or kept beside the results.

rows ──► watermark ──► rows in time ──► state ──► results ──┐
            └────────► LateRows ──── late="keep" ───────────┴──► results, then late rows in the column `late`
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.read_column import to_arrow
from sash.engine.failures import name_row
from sash.plan.query_spec import QuerySpec
from sash.state.codec import as_schema, nullable_schema
from sash.windows.base import Flags

LATE = "late"
"""The column of late rows: a struct of the input row, null beside ordinary results."""
CHOICES = ("drop", "error", "keep")


class LateRows:
    """The late rows of a stream, in the order of arrival.

    >>> from sash import agg, window
    >>> from sash.plan.query_spec import parse_query
    >>> query = parse_query({"n": agg.count()}, window.tumbling(10), time="at")
    >>> late = LateRows(query, pa.schema({"at": pa.int64()}), "keep")
    >>> late.add(pa.table({"at": [30, 4]}), np.array([False, True]))
    >>> late.count, late.beside(pa.table({"n": [7]})).to_pylist()
    (1, [{'n': 7, 'late': None}, {'n': None, 'late': {'at': 4}}])
    >>> late.beside(pa.table({"n": [8]})).to_pylist()
    [{'n': 8, 'late': None}]
    """

    def __init__(self, query: QuerySpec, schema: pa.Schema, choice: str = "drop") -> None:
        """`schema` has the columns of rows; expressions and filters of the query, which the user does not see, are left out."""
        self.query = query
        self.choice = choice
        self.count = 0
        hidden = {str(name) for name in query.computed}
        # All columns are null on some rows of the results, also those that are never null in the input.
        self._schema = nullable_schema(pa.schema([field for field in schema if field.name not in hidden]))
        self._kept: list[pa.Table] = []

    def add(self, table: pa.Table, late: Flags) -> None:
        """Count the late rows of a micro-batch. Raise ValueError if late rows are an error."""
        found = int(np.count_nonzero(late))
        if not found:
            return
        self.count += found
        if self.choice == "error":
            assert self.query.time is not None
            row = name_row(table, (*self.query.by, self.query.time), int(np.argmax(late)))
            more = f" Of the rows that arrived with it, {found - 1} more are late." if found > 1 else ""
            raise ValueError(
                f"A row ({row}) is late: all its windows are closed.{more} Increase the delay "
                'of the watermark to accept such rows, or run with late="drop" to drop and count them, or with late="keep" to get '
                f'them in the column {LATE!r}. A stream that restarts with late="error" reads the row again, and fails again.'
            )
        if self.choice == "keep":
            rows = table.select(self._schema.names).filter(as_arrow(late))
            self._kept.append(as_schema(rows, self._schema))

    def beside(self, results: pa.Table) -> pa.Table:
        """Return results with the late rows since the last call after them; as they are if late rows are not kept."""
        if self.choice != "keep":
            return results
        dtype = pa.struct(list(self._schema))
        results = pa.table(results.columns, schema=pa.schema([field.with_nullable(True) for field in results.schema]))
        tables = [results.append_column(pa.field(LATE, dtype), pa.nulls(len(results), dtype))]
        for rows in self._kept:
            columns = [to_arrow(column) for column in rows.columns]
            tables.append(pa.table({LATE: pa.StructArray.from_arrays(columns, fields=list(self._schema))}))
        self._kept = []
        return pa.concat_tables(tables, promote_options="default")


def check_late(query: QuerySpec, late: str | None, columns: Iterable[str], *, ignore_case: bool = False) -> None:
    """Raise ValueError if there is no such choice, or if results have a column `late` already. `columns` are those of the input."""
    if late is not None and late not in CHOICES:
        raise ValueError(
            f'late={late!r} is not valid. Use "drop" (late rows are dropped and counted), "error" (a late row stops the stream) or '
            f'"keep" (results have a column {LATE!r} with late rows).'
        )
    of_rows = [query.result_name(name, window) for name in query.aggregates for window in query.windows]
    names = [*columns, *of_rows] if query.per_row else [*query.by, *query.aggregates]
    taken = [name for name in names if (name.lower() if ignore_case else name) == LATE]
    if late == "keep" and taken:
        raise ValueError(
            f'late="keep" adds a column {LATE!r} to the results. Rename the column, key or aggregate {taken[0]!r}.'
        )
