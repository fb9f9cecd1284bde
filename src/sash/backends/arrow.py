"""Arrow: a pyarrow Table or RecordBatch; or a Schema in place of data, as `explain`, `schema` and `warm` need no rows.

ArrowStream is a stream in this process: a RecordBatchReader, or any object with an Arrow C stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash.backends.base import Backend, FrameBackend, RunPlan, named_alike, no_data
from sash.backends.stream_start import start_stream, without_overlap
from sash.columns.read_column import readable, readable_schema
from sash.engine.bad_times import with_usable_times
from sash.engine.check_columns import check_columns, check_keys, check_result_names
from sash.engine.executors.bind import compile_ahead
from sash.engine.needed_columns import needed_columns, needed_schema, read_columns, with_computed
from sash.engine.prepare import PreparedCache, prepare
from sash.engine.select_sql import rows_where, select_from
from sash.engine.wide import check_known, is_wide, widen
from sash.expressions import Expression, Selection
from sash.memory_size import available_memory, read_size
from sash.options import ReaderOptions, TableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch
from sash.state.codec import as_schema
from sash.state.history import describe_history
from sash.state.key_epochs import read_forget
from sash.state.key_layout import KeyLayout
from sash.state.key_states import check_options, key_layout
from sash.state.reader import check_stream, read_results
from sash.workers.sorted_reader import sorted_reader


class ArrowTable(FrameBackend):
    """A pyarrow Table."""

    names = ("pyarrow", "Table")

    def to_table(self, data: Any) -> pa.Table:
        """Return the table."""
        return data

    def from_table(self, table: pa.Table, *sources: Any) -> Any:  # noqa: ARG002 — the table has types
        """Return the table."""
        return table

    def read(self, query: QuerySpec, data: Any) -> pa.Table:
        """Return the columns that a query reads."""
        return read_columns(query, self.to_table(data))

    def write(self, query: QuerySpec, data: Any, results: pa.Table, events: Any) -> Any:  # noqa: ARG002 — results have types
        """Return the results."""
        if not query.per_row:
            return self.from_table(results)
        rows = self.to_table(data)
        for name in results.column_names:
            rows = rows.append_column(results.field(name), results[name])
        return self.from_table(rows)

    def schema(self, query: QuerySpec, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return needed_schema(query, self.input_schema(data))


class ArrowBatch(ArrowTable):
    """A pyarrow RecordBatch."""

    names = ("pyarrow", "RecordBatch")

    def to_table(self, data: pa.RecordBatch) -> pa.Table:
        """Return the batch as a table."""
        return pa.Table.from_batches([data])

    def from_table(self, table: pa.Table, *sources: Any) -> pa.RecordBatch:  # noqa: ARG002 — the table has types
        """Return a table as one batch."""
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


class SchemaOnly(ArrowTable):
    """Stands for a table of this schema; None for one of assumed types."""

    names = ("pyarrow", "Schema")

    def accepts(self, data: Any) -> bool:
        """Return whether this is a schema, or None."""
        return data is None or super().accepts(data)

    def to_table(self, data: Any) -> pa.Table:
        """Return a table without rows; labels may be a table."""
        return no_rows(data) if isinstance(data, pa.Schema) else data

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the schema."""
        return self.to_table(data).schema

    def read_labels(self, query: QuerySpec, labels: Any, options: TableOptions) -> pa.Table:
        """Return the keys and times of labels, or of no labels if they are a schema."""
        return ArrowTable().read_labels(query, self.to_table(labels), options)

    def run(self, cache: PreparedCache, data: Any, options: TableOptions) -> Any:  # noqa: ARG002 — there is nothing to run on
        """Raise TypeError: a schema holds no rows."""
        raise no_data(data)

    def plan(self, query: QuerySpec, data: pa.Schema | None, options: TableOptions) -> RunPlan:
        """Return how a query runs on a table of this schema."""
        schema = assumed_schema(query) if data is None else data
        if data is None and options["at"] is None:
            return RunPlan(query, schema)  # its columns are those of the query, computed ones too
        check_keys(query, schema)  # some of these types have no empty arrays
        return super().plan(query, schema, options)

    def result_schema(self, cache: PreparedCache, data: pa.Schema | None, options: TableOptions) -> pa.Schema:
        """Return the schema of the results for a table of this schema."""
        if data is None:
            raise no_data(data)
        return super().result_schema(cache, data, options)

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:  # noqa: ARG002 — it was made to check the condition
        """Return the schema."""
        return data

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return the schema of some columns."""
        return ArrowTable().only_columns(self.to_table(data), names).schema


def assumed_schema(query: QuerySpec) -> pa.Schema:
    """Return the types to assume without data: times if there are durations, booleans for marks, numbers for the rest."""
    lengths = [window.length for window in query.windows.values()]
    durations = [aggregate.time.duration for aggregate in query.aggregates.values() if aggregate.time is not None]
    is_time = any(getattr(length, "is_time", False) for length in [*lengths, *durations, query.lateness])
    types = {name: pa.float64() for name in query.columns}
    for window in query.windows.values():
        marks = [name for name, rule in window.columns.items() if rule.holds == "mark"]
        types |= dict.fromkeys(marks, pa.bool_())
    if query.time is not None:
        zones = [window.clock.zone for window in query.windows.values() if window.clock.zone]
        types[query.time] = pa.timestamp("ns", zones[0] if zones else None) if is_time else pa.int64()
    return pa.schema(types)


def no_rows(schema: pa.Schema) -> pa.Table:
    """Return a table without rows; `empty_table` fails for unions, and imports pandas."""
    return pa.Table.from_arrays([pa.nulls(0, dtype) for dtype in schema.types], schema=schema)


class ArrowStream(Backend[ReaderOptions]):
    """A pyarrow RecordBatchReader, or any object with an Arrow C stream."""

    options = ReaderOptions
    names = ("pyarrow", "RecordBatchReader")
    is_stream, reads_cheaply = True, False

    def accepts(self, data: Any) -> bool:
        """Return whether data is an Arrow stream."""
        return super().accepts(data) or hasattr(data, "__arrow_c_stream__")

    def run(self, cache: PreparedCache, data: Any, options: ReaderOptions) -> pa.RecordBatchReader:
        """Return the results as a stream: each batch is computed on demand, or after all rows were sorted with order="any"."""
        query, reader = cache.query, self._reader(data)
        sorts = options["order"] == "any"
        if not sorts:
            check_stream(query)
        if options["history"] is data:
            raise ValueError(
                "history= and the stream are the same reader, whose rows can be read only once. Open it twice."
            )
        reader = self._rows_of(query, reader, options)
        prepared = prepare(
            in_sorted_rows(query) if sorts else query, readable_schema(reader.schema), compiled=options["compiled"]
        )
        if options["on_bad_time"] == "drop" and prepared.time is not None:
            reader = with_usable_times(reader, prepared.time.name)
        if sorts:
            reader, options = in_any_order(query, reader, options)
        stream, until = start_stream(prepared, options)
        if until is not None:
            reader = without_overlap(reader, stream, until)
        if stream.layout is not None:
            cache.headers[stream.layout.id] = stream.layout.header
        results = read_results(stream, reader)
        if not is_wide(options):
            return results
        check_known(query, "a stream")
        return mapped(results, lambda rows: widen(query, rows))

    def _rows_of(self, query: QuerySpec, reader: pa.RecordBatchReader, options: ReaderOptions) -> pa.RecordBatchReader:
        """Return the rows with computed columns; without the columns that neither the query nor its results need."""
        check_columns(query, reader.schema.names)
        if query.computed:
            reader = mapped(reader, lambda rows: with_computed(query, readable(rows)))
        if options["emit"] == "state":  # it emits no rows
            check_options(options)
        else:
            check_result_names(query, reader.schema.names)
        if options["emit"] == "state" or (not query.per_row and options["late"] != "keep"):
            reader = mapped(reader, lambda rows: needed_columns(query, rows))
        return reader

    def tables(self, data: Any) -> Iterator[pa.Table]:
        """Yield the rows of data, as the history of a stream."""
        yield from (pa.Table.from_batches([batch]) for batch in self._reader(data))

    def key_layout(self, cache: PreparedCache, data: Any, options: ReaderOptions) -> KeyLayout:
        """Return the layout of the states of keys. It reads no batch of the data."""
        check_options(options)
        schema = needed_schema(cache.query, self._reader(data).schema)
        prepared = compile_ahead(prepare(cache.query, schema, compiled=options["compiled"]))
        return key_layout(prepared, read_forget(prepared, options["forget"]))

    def plan(self, query: QuerySpec, data: Any, options: ReaderOptions) -> RunPlan:
        """Return how a query runs on data, with what it emits if these are no results, and how much history it needs."""
        schema = needed_schema(query, self._reader(data).schema)
        branches: tuple[Branch, ...] = ()
        if query.time is not None and options["order"] == "time":
            branches = (Branch("history", (describe_history(prepare(query, schema, compiled=False)),)),)
        if options["emit"] == "state":
            branches = (Branch("emits", (self.key_layout(PreparedCache(query), data, options).described,)), *branches)
        stores_all = query.per_row or options["late"] == "keep"
        return RunPlan(query, schema, branches, stored=self._reader(data).schema if stores_all else schema)

    def result_schema(self, cache: PreparedCache, data: Any, options: ReaderOptions) -> pa.Schema:
        """Return the schema of the results: that of a run over no rows. It reads no batch of the data."""
        no_rows = pa.RecordBatchReader.from_batches(self._reader(data).schema, [])
        starts: Any = {**options, "history": None, "until": None, "partial": False, "resume": None}
        return self.run(cache, no_rows, starts).schema

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


def in_sorted_rows(query: QuerySpec) -> QuerySpec:
    """Return a query for rows that were sorted: none is late, and what orders rows without a time has done so."""
    return replace(query, lateness=None, order_by=query.order_by if query.time is not None else ())


def in_any_order(
    query: QuerySpec, reader: pa.RecordBatchReader, options: ReaderOptions
) -> tuple[pa.RecordBatchReader, ReaderOptions]:
    """Return sorted rows, and the options for them. Rows stay as they arrive if nothing orders them."""
    if query.time is None and not query.order_by:
        return reader, {**options, "order": "time"}
    memory = available_memory() / 2 if options["memory"] is None else read_size(options["memory"])
    return sorted_reader(reader, query, memory), options


def mapped(reader: pa.RecordBatchReader, function: Callable[[pa.Table], pa.Table]) -> pa.RecordBatchReader:
    """Return a stream of what a function makes of each batch. It is called without rows first, so that errors show before a batch is read."""
    schema = function(pa.Table.from_batches([], reader.schema)).schema
    tables = (as_schema(function(pa.Table.from_batches([batch])), schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, (batch for table in tables for batch in table.to_batches()))
