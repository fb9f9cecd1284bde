"""`sash bench`: the same text in Sash and in DuckDB, over the same table in memory. Results are compared before times."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from sash.cli.inputs import open_input
from sash.cli.local_run import input_of, temporary_folder
from sash.cli.terminal import print_listing, say
from sash.cli.text_query import TextQuery
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
    return pa.table(
        {"ts": seconds, "key": random.integers(0, KEYS, rows), "value": random.normal(20, 5, rows).round(3)}
    )


def compare(
    text: str | None,
    source: str | None,
    input_format: str | None,
    time: str | None,
    rows: int,
    repeat: int,
    threads: int | None,
) -> None:
    """Time a text in Sash, and in DuckDB if it runs there, and print both."""
    query = TextQuery(text or DEFAULT_TEXT, time)
    if text is None or (source is None and query.path is None):
        table = generated(rows)
        say(f"no input, so the query runs on {rows:,} generated rows with the columns ts, key and value")
    else:
        with temporary_folder() as temporary:
            given = open_input(input_of(query, source), input_format, temporary)
            table = given.open(query.columns(given.schema)).read_all()
    query.declared(table.schema)
    timed = {"Sash": _timed(lambda: query.run(table, threads=threads), repeat)}
    try:
        timed["DuckDB"] = _timed(_in_duckdb(query, table, threads), repeat)
    except ValueError as error:
        say(str(error))
    if len(timed) > 1:
        _check_equal(timed["Sash"][0], timed["DuckDB"][0])
    lines = []
    for name, (_, first, best) in timed.items():
        lines.append(
            [name, f"{first:.3f} s", f"{best:.3f} s", f"{len(table) / best:,.0f}", f"{best / timed['Sash'][2]:.2f}"]
        )
    print_listing(("engine", "first run", "best run", "rows per second", "time beside Sash"), lines)
    sys.stdout.flush()


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
    connection = duckdb.connect(config={"threads": threads} if threads else {})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # it goes to standard output
    connection.register(translate(text, None).table, table)
    try:
        connection.sql(text)
    except duckdb.Error as error:
        message = f"DuckDB cannot run this text ({str(error).splitlines()[0]}), so only Sash is timed."
        raise ValueError(message) from error

    def run() -> pa.Table:
        return connection.sql(text).to_arrow_table()

    return run


def _check_equal(ours: pa.Table, theirs: pa.Table) -> None:
    """Raise ValueError if results differ in the number of rows, or in the numbers of a column, in any order."""
    if len(ours) != len(theirs):
        message = f"The results differ: Sash has {len(ours):,} rows, DuckDB {len(theirs):,}."
        raise ValueError(message)
    for name, column in zip(ours.column_names, ours.columns, strict=True):
        if name not in theirs.column_names or not (
            pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
        ):
            continue
        one, other = (np.sort(_numbers(part)) for part in (column, theirs[name]))
        if not np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True):
            message = f"The results of Sash and DuckDB differ in the column {name!r}."
            raise ValueError(message)


def _numbers(column: Any) -> Any:
    return column.cast(pa.float64()).to_numpy()
