"""Arrow: a pyarrow Table or RecordBatch; or a Schema in place of data, as `explain`, `schema` and `warm` need no rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.backends.base import InProcess, RunPlan, no_data
from sash.backends.frames import FrameBackend
from sash.engine.column_types import check_keys
from sash.engine.needed_columns import needed_schema, read_columns
from sash.engine.prepare import PreparedCache
from sash.expressions import Expression, Selection
from sash.options import TableOptions
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


class SchemaOnly(InProcess[TableOptions]):
    """Stands for a table of this schema; None for one of assumed types."""

    options = TableOptions
    names = ("pyarrow", "Schema")

    def accepts(self, data: Any) -> bool:
        """Return whether this is a schema, or None."""
        return data is None or super().accepts(data)

    def input_schema(self, data: pa.Schema | None) -> pa.Schema:
        """Return the schema."""
        return pa.schema([]) if data is None else data

    def run(self, cache: PreparedCache, data: Any, options: TableOptions) -> Any:  # noqa: ARG002 — there is nothing to run on
        """Raise TypeError: a schema holds no rows."""
        raise no_data(data)

    def plan(self, query: Declared, data: pa.Schema | None, options: TableOptions) -> RunPlan:
        """Return how a query runs on a table of this schema."""
        schema = assumed_schema(query) if data is None else data
        if data is None and options["at"] is None:
            return RunPlan(query, schema)  # its columns are those of the query, computed ones too
        check_keys(query, schema)  # some of these types have no empty arrays
        return ArrowTable().plan(query, no_rows(schema), self._with_table(options))

    def result_schema(self, cache: PreparedCache, data: pa.Schema | None, options: TableOptions) -> pa.Schema:
        """Return the schema of the results for a table of this schema."""
        if data is None:
            raise no_data(data)
        return ArrowTable().result_schema(cache, data.empty_table(), self._with_table(options))

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the schema. Raise ValueError if the condition is wrong."""
        ArrowTable().rows_where(data.empty_table(), condition)
        return data

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return the schema of some columns."""
        return ArrowTable().only_columns(data.empty_table(), names).schema

    def select(self, data: Any, selection: Selection) -> Any:  # noqa: ARG002 — there are no results
        """Raise TypeError: a schema has no results."""
        raise no_data(data)

    def _with_table(self, options: TableOptions) -> TableOptions:
        """Return options with a table in place of the schema of labels."""
        at = options["at"]
        return {**options, "at": at.empty_table() if isinstance(at, pa.Schema) else at}


def assumed_schema(query: Declared) -> pa.Schema:
    """Return the types to assume without data: times if there are durations, booleans for marks, numbers for the rest."""
    lengths = [window.length for window in query.windows.values()]
    durations = [aggregate.duration for aggregate in query.aggregates.values()]
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
