"""The results of DuckDB for a text, to compare with."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa


def in_duckdb(text: str, **tables: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a text over tables."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            database.register(name, table)
        rows: list[dict[str, Any]] = database.sql(text).to_arrow_table().to_pylist()
        return rows
