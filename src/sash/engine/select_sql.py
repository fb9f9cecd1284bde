"""SQL around a query, for data in this process: the rows that WHERE keeps, and what a select list makes of results.

DuckDB evaluates expressions, without access to files. Columns that are only moved or renamed stay as they are in Arrow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.readable import readable
from sash.engine.duckdb_sql import ROWS, database_of, duckdb_module, first_line, register_rows, run_sql
from sash.expressions import Expression, Order, Selection, in_case

READERS = {
    ".parquet": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
"""DuckDB's functions that read files, by the ending of the name without that of its compression."""
PACKED = (".gz", ".zst")
"""Endings of compressed files, after that of the format."""


def rows_where(table: pa.Table, condition: Expression) -> pa.ChunkedArray:
    """Return whether each row is kept. Raise ValueError if the condition is wrong.

    >>> rows_where(pa.table({"x": [1, 2, None]}), Expression("x > 1")).to_pylist()
    [False, True, False]
    """
    mask = _evaluate(table, [condition])[0]
    if mask.type == pa.null():
        mask = mask.cast(pa.bool_())
    if mask.type != pa.bool_():
        raise TypeError(f"The condition {condition.text} is of type {mask.type}, but a condition is true or false.")
    return pc.fill_null(mask, False)


def select_from(table: pa.Table, selection: Selection) -> pa.Table:
    """Return what a selection makes of a table. Raise ValueError if a text is wrong.

    >>> table = pa.table({"x": [1, 2, 3]})
    >>> select_from(table, Selection({"y": Expression("x + 1")}, having=Expression("x > 1"), order=(Order("x", True),)))["y"].to_pylist()
    [4, 3]
    """
    if selection.having is not None:
        table = table.filter(rows_where(table, selection.having))
    if selection.order:
        table = table.take(_sorted_rows(table, selection.order))
    if selection.limit is not None or selection.offset:
        table = table.slice(selection.offset, selection.limit)
    if selection.outputs is None:
        return table
    columns = selection.columns(table.column_names)
    arrays = _evaluate(table, [value for _, value in columns])
    return pa.table(arrays, names=[name for name, _ in columns])


def _evaluate(table: pa.Table, values: list[Any]) -> list[pa.ChunkedArray]:
    """Return columns, structs of columns, and the values of SQL."""
    texts = list(dict.fromkeys(value for value in values if isinstance(value, Expression)))
    computed = run_sql(texts, readable(table), table.column_names)
    return [computed[value] if isinstance(value, Expression) else _stored(table, value) for value in values]


def _stored(table: pa.Table, value: Any) -> pa.ChunkedArray:
    if isinstance(value, str):
        return table[in_case(value, table.column_names)]
    columns = [table[column].combine_chunks() for column in value.values()]
    return pa.chunked_array([pa.StructArray.from_arrays(columns, names=list(value))])


def _sorted_rows(table: pa.Table, order: tuple[Order, ...]) -> pa.ChunkedArray:
    """Return the rows in an order; rows that are equal in it stay as they are."""
    columns = _evaluate(table, [key.value for key in order])
    names = [str(number) for number in range(len(order))]
    keys = pa.table([*columns, pa.array(range(len(table)), pa.int64())], names=[*names, "row"])
    words = ", ".join(f'"{name}" {key.words()}' for name, key in zip(names, order, strict=True))
    with database_of(os.getpid()).cursor() as cursor:
        register_rows(cursor, readable(keys))
        return cursor.sql(f'SELECT "row" FROM {ROWS} ORDER BY {words}, "row"').to_arrow_table()["row"]  # noqa: S608 — numbers and fixed words


def ending_of(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, without that of its compression.

    >>> ending_of("data/*.parquet"), ending_of("log.CSV.gz")
    ('.parquet', '.csv')
    """
    name = Path(path).name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def format_of(path: str, formats: Mapping[str, str]) -> str:
    """Return the format of a file by the ending of its name. Raise ValueError for other files.

    >>> format_of("data/*.parquet", READERS), format_of("log.csv.gz", READERS)
    ('read_parquet', 'read_csv')
    """
    ending = ending_of(path)
    if ending not in formats:
        raise ValueError(f"{path!r} does not end in {', '.join(formats)}, so its format is not known.")
    return formats[ending]


def read_files(path: str) -> pa.Table:
    """Return the rows of files; `*` in the path stands for any letters. Raise FileNotFoundError if there are none."""
    duckdb = duckdb_module()
    with duckdb.connect() as connection:
        try:
            return connection.table_function(format_of(path, READERS), [path]).to_arrow_table()
        except duckdb.IOException as error:
            raise FileNotFoundError(f"Cannot read {path!r}: {first_line(error)}") from error
        except duckdb.Error as error:
            raise ValueError(f"Cannot read {path!r}: {first_line(error)}") from error
