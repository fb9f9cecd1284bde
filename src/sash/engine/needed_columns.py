"""The columns that a query reads of a table: plain ones, and those that are computed from others."""

from __future__ import annotations

import pyarrow as pa

from sash.columns.readable import readable, readable_schema
from sash.engine.check_columns import check_columns
from sash.engine.computed_columns import Values, source_columns, with_computed
from sash.plan.query_spec import QuerySpec
from sash.windows.base import ALL_COLUMNS


def read_columns(query: QuerySpec, table: pa.Table) -> pa.Table:
    """Return the columns that a query reads. Raise ValueError if one is missing."""
    check_columns(query, table.column_names)
    if query.computed:
        wanted = table if reads_all(query) else table.select(source_columns(query, table.column_names))
        return read_computed(query, readable(wanted), table.column_names)
    return readable(needed_columns(query, table))


def read_computed(query: QuerySpec, table: pa.Table, names: list[str], native: Values | None = None) -> pa.Table:
    """Return the columns that a query reads, with those that are computed from others."""
    return needed_columns(query, readable(with_computed(query, table, native, names)))


def needed_schema(query: QuerySpec, schema: pa.Schema) -> pa.Schema:
    """Return the types of the columns that a query reads. Raise ValueError if one is missing."""
    if query.computed:
        return read_columns(query, schema.empty_table()).schema
    check_columns(query, schema.names)
    needed = schema if reads_all(query) else pa.schema([schema.field(name) for name in query.columns])
    return readable_schema(needed)


def needed_columns(query: QuerySpec, table: pa.Table) -> pa.Table:
    """Return the columns of a table that a query reads: all, if windows read whole rows or no column is named."""
    return table if reads_all(query) else table.select(query.columns)


def reads_all(query: QuerySpec) -> bool:
    """Return whether a query needs all columns: windows read whole rows, or the query names no column."""
    return any(ALL_COLUMNS in window.columns for window in query.windows.values()) or not query.columns
