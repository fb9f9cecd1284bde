"""Arrow: a pyarrow Table or RecordBatch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.backends.frames import FrameBackend
from sash.engine.needed_columns import needed_schema, read_columns
from sash.plan.declared import Declared


class ArrowTable(FrameBackend):
    """A pyarrow Table."""

    names = ("pyarrow", "Table")
    column_names = ("Array", "ChunkedArray")

    def to_table(self, data: Any) -> pa.Table:
        """Return the table."""
        return data

    def from_table(self, table: pa.Table) -> Any:
        """Return the table."""
        return table

    def read(self, query: Declared, data: Any) -> pa.Table:
        """Return the columns that a query reads."""
        return read_columns(query, self.to_table(data))

    def write(self, query: Declared, data: Any, results: pa.Table, events: Any) -> Any:  # noqa: ARG002 — results have types
        """Return the results."""
        if not query.per_row:
            return self.from_table(results)
        rows = self.to_table(data)
        for name in results.column_names:
            rows = rows.append_column(name, results[name])
        return self.from_table(rows)

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return needed_schema(query, data.schema)


class ArrowBatch(ArrowTable):
    """A pyarrow RecordBatch."""

    names = ("pyarrow", "RecordBatch")

    def to_table(self, data: pa.RecordBatch) -> pa.Table:
        """Return the batch as a table."""
        return pa.Table.from_batches([data])

    def from_table(self, table: pa.Table) -> pa.RecordBatch:
        """Return a table as one batch."""
        made = table.combine_chunks()
        empty = [pa.array([], field.type) for field in made.schema]
        return next(iter(made.to_batches()), pa.RecordBatch.from_arrays(empty, schema=made.schema))
