"""`sash bench`: the same text in Sash and in DuckDB, over the same table in memory. Results are compared before times."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from sash.cli.display import is_number, print_listing
from sash.cli.inputs import connect_duckdb
from sash.cli.local_run import RunOptions, temporary_folder
from sash.cli.terminal import say
from sash.cli.text_query import TextQuery, read_text
from sash.sql_query import translate

DEFAULT_TEXT = """SELECT
  max(value) OVER hundred AS peak, avg(value) OVER hundred AS mean, median(value) OVER hundred AS middle
FROM generated WINDOW hundred AS (PARTITION BY key ORDER BY ts ROWS 99 PRECEDING)"""
KEYS = 10


def generated(rows: int) -> pa.Table:
    """Return rows with the columns ts, key and value.

    >>> generated(1000).column_names
    ['ts', 'key', 'value']
    """
    random = np.random.default_rng(0)
    seconds = pa.array(1_767_225_600 + np.arange(rows)).cast(pa.timestamp("s"))
    keys, values = random.integers(0, KEYS, rows), random.normal(20, 5, rows).round(3)
    return pa.table({"ts": seconds, "key": keys, "value": values})


def compare(options: RunOptions, rows: int, repeat: int) -> None:
    """Time a text in Sash, and in DuckDB if it runs there, and print both. Without a text or an input, rows are generated."""
    query, threads = TextQuery(read_text(options.text or DEFAULT_TEXT), options.time), options.threads
    if not options.text or (options.source is None and query.path is None):
        table = generated(rows)
        say(f"no input, so the query runs on {rows:,} generated rows with the columns ts, key and value")
    else:
        with temporary_folder() as folder:
            data = query.open_rows(options.source, options.input_format, Path(folder))
            table = data.open(query.columns(data.schema)).read_all()
    query.checked(table.schema)
    timed = {"Sash": _timed(lambda: query.run(table, threads=threads), repeat)}
    try:
        timed["DuckDB"] = _timed(_in_duckdb(query, table, threads), repeat)
    except ValueError as error:
        say(str(error))
    if len(timed) > 1:
        _check_equal(timed["Sash"][0], timed["DuckDB"][0])
    lines = [
        [name, f"{first:.3f} s", f"{best:.3f} s", f"{len(table) / best:,.0f}", f"{best / timed['Sash'][2]:.2f}"]
        for name, (_, first, best) in timed.items()
    ]
    print_listing(("engine", "first run", "best run", "rows per second", "time beside Sash"), lines)


def _timed(run: Callable[[], pa.Table], repeat: int) -> tuple[pa.Table, float, float]:
    """Return the results, the time of the first run, and the shortest time."""
    times = []
    for _ in range(repeat):
        begin = clock.perf_counter()
        results = run()
        times.append(clock.perf_counter() - begin)
    return results, times[0], min(times)


def _in_duckdb(query: TextQuery, table: pa.Table, threads: int | None) -> Callable[[], pa.Table]:
    """Return a function that runs the text in DuckDB. Raise ValueError if DuckDB cannot run it."""
    import duckdb  # noqa: PLC0415 — few commands need it

    text = query.to_sql()
    connection = connect_duckdb(**({"threads": threads} if threads else {}))
    connection.register(translate(text, None).table, table)
    try:
        connection.sql(text)
    except duckdb.Error as error:
        problem = str(error).splitlines()[0]
        raise ValueError(f"DuckDB cannot run this text ({problem}), so only Sash is timed.") from error
    return lambda: connection.sql(text).to_arrow_table()


def _check_equal(ours: pa.Table, theirs: pa.Table) -> None:
    """Raise ValueError if results differ in the number of rows, or in the numbers of a column, in any order."""
    if len(ours) != len(theirs):
        raise ValueError(f"The results differ: Sash has {len(ours):,} rows, DuckDB {len(theirs):,}.")
    for name, column in zip(ours.column_names, ours.columns, strict=True):
        if name in theirs.column_names and is_number(column.type):
            mine, duckdbs = (np.sort(values.cast(pa.float64()).to_numpy()) for values in (column, theirs[name]))
            if not np.allclose(mine, duckdbs, rtol=1e-9, atol=1e-9, equal_nan=True):
                raise ValueError(f"The results of Sash and DuckDB differ in the column {name!r}.")
