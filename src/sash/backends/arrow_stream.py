"""Streams in this process: a pyarrow RecordBatchReader, or any object with an Arrow C stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash.backends.base import InProcess, RunPlan, named_alike
from sash.columns.readable import readable, readable_schema
from sash.engine.check_columns import check_columns
from sash.engine.computed_columns import with_computed
from sash.engine.needed_columns import needed_schema
from sash.engine.prepare import PreparedCache, prepare
from sash.engine.select_sql import rows_where, select_from
from sash.expressions import Expression, Selection
from sash.options import ReaderOptions
from sash.plan.query_spec import QuerySpec
from sash.state.codec import as_schema
from sash.state.reader import Stream, check_stream, read_results


class ArrowStream(InProcess[ReaderOptions]):
    """A pyarrow RecordBatchReader, or any object with an Arrow C stream."""

    options = ReaderOptions
    names = ("pyarrow", "RecordBatchReader")

    def accepts(self, data: Any) -> bool:
        """Return whether data is an Arrow stream."""
        return super().accepts(data) or hasattr(data, "__arrow_c_stream__")

    def run(self, cache: PreparedCache, data: Any, options: ReaderOptions) -> pa.RecordBatchReader:
        """Return the results as a stream: each batch is computed on demand."""
        check_stream(cache.query)
        reader = self._reader(data)
        check_columns(cache.query, reader.schema.names)
        if cache.query.computed:
            reader = mapped(reader, lambda rows: with_computed(cache.query, readable(rows)))
        prepared = prepare(cache.query, readable_schema(reader.schema), compiled=options["compiled"])
        return read_results(Stream(prepared, **options), reader)

    def plan(self, query: QuerySpec, data: Any, options: ReaderOptions) -> RunPlan:  # noqa: ARG002 — no option changes it
        """Return how a query runs on data."""
        return RunPlan(query, needed_schema(query, self._reader(data).schema))

    def result_schema(self, cache: PreparedCache, data: Any, options: ReaderOptions) -> pa.Schema:
        """Return the schema of the results: that of a run over no rows. It reads no batch of the data."""
        no_rows = pa.RecordBatchReader.from_batches(self._reader(data).schema, [])
        return self.run(cache, no_rows, options).schema

    def rows_where(self, data: Any, condition: Expression) -> pa.RecordBatchReader:
        """Return the rows for which a condition in SQL is true, batch by batch."""
        return mapped(self._reader(data), lambda rows: rows.filter(rows_where(rows, condition)))

    def select(self, data: pa.RecordBatchReader, selection: Selection) -> pa.RecordBatchReader:
        """Return what SQL makes of results, batch by batch. Raise ValueError for ORDER BY and LIMIT, which need all rows."""
        if not selection.by_rows:
            raise ValueError(
                "ORDER BY, LIMIT and OFFSET need all results, but a stream has no end. Leave them out, or run on a table."
            )
        return mapped(data, lambda results: select_from(results, selection))

    def only_columns(self, data: Any, names: list[str]) -> pa.RecordBatchReader:
        """Return some columns, if the data has them."""
        reader = self._reader(data)
        kept = named_alike(names, reader.schema.names)
        return mapped(reader, lambda rows: rows.select(kept))

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return self._reader(data).schema

    def _reader(self, data: Any) -> pa.RecordBatchReader:
        return data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)


def mapped(reader: pa.RecordBatchReader, function: Callable[[pa.Table], pa.Table]) -> pa.RecordBatchReader:
    """Return a stream of what a function makes of each batch. It is called without rows first, so that errors show before a batch is read."""
    schema = function(pa.Table.from_batches([], reader.schema)).schema
    tables = (as_schema(function(pa.Table.from_batches([batch])), schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, (batch for table in tables for batch in table.to_batches()))
