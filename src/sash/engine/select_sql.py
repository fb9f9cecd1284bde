"""SQL around a query, for data in this process: the rows that WHERE keeps, and what a select list makes of results. DuckDB evaluates it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.computed import ROWS, database_of, duckdb_module, first_line, run_sql
from sash.expressions import Expression, Selection

READERS = {
    ".parquet": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
"""DuckDB's functions that read files, by the ending of the name without .gz and .zst."""


def rows_where(table: pa.Table, condition: str) -> pa.ChunkedArray:
    """Return whether each row is kept. Raise ValueError if the condition is wrong.

    >>> rows_where(pa.table({"x": [1, 2, None]}), "x > 1").to_pylist()
    [False, True, False]
    """
    expression = Expression(condition)
    mask = run_sql([expression], table, table.column_names)[expression]
    if not pa.types.is_boolean(mask.type):
        message = f"WHERE {condition} is of type {mask.type}, but a condition is true or false."
        raise TypeError(message)
    return pc.fill_null(mask, False)


def select_from(table: pa.Table, selection: Selection) -> pa.Table:
    """Return what a selection makes of a table. Raise ValueError if a text is wrong.

    >>> select_from(pa.table({"x": [1, 2, 3]}), Selection({"y": "x + 1"}, having="x > 1", order=("x DESC",)))["y"].to_pylist()
    [4, 3]
    """
    columns = (
        "*"
        if selection.outputs is None
        else ", ".join(
            f'{text} AS "{_escaped(name)}"' if name != "*" else "*" for name, text in selection.outputs.items()
        )
    )
    text = f"SELECT {columns} FROM {ROWS}"  # noqa: S608 — the parser has read the text; DuckDB has no access to files
    text += f" WHERE {selection.having}" if selection.having is not None else ""
    text += f" ORDER BY {', '.join(selection.order)}" if selection.order else ""
    text += f" LIMIT {selection.limit}" if selection.limit is not None else ""
    text += f" OFFSET {selection.offset}" if selection.offset else ""
    with database_of(os.getpid()).cursor() as cursor:
        cursor.register(ROWS, table)
        try:
            return cursor.sql(text).to_arrow_table()
        except duckdb_module().Error as error:
            message = f"DuckDB cannot evaluate the select list: {first_line(error)}"
            raise ValueError(message) from error


def _escaped(name: str) -> str:
    return name.replace('"', '""')


def reader_of(path: str) -> str:
    """Return DuckDB's function that reads a file, by its name. Raise ValueError for other files.

    >>> reader_of("data/*.parquet"), reader_of("log.csv.gz")
    ('read_parquet', 'read_csv')
    """
    name = Path(path).name
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    found = READERS.get(Path(name).suffix.lower())
    if found is None:
        message = f"{path!r} does not end in {', '.join(READERS)}, so its format is not known."
        raise ValueError(message)
    return found


def read_files(path: str) -> pa.Table:
    """Return the rows of files; `*` in the path stands for any letters. Raise FileNotFoundError if there are none."""
    duckdb = duckdb_module()
    with duckdb.connect() as connection:
        try:
            text = f"SELECT * FROM {reader_of(path)}($path)"  # noqa: S608 — the name of a function from a table
            return connection.sql(text, params={"path": path}).to_arrow_table()
        except duckdb.IOException as error:
            message = f"Cannot read {path!r}: {first_line(error)}"
            raise FileNotFoundError(message) from error
        except duckdb.Error as error:
            message = f"Cannot read {path!r}: {first_line(error)}"
            raise ValueError(message) from error
