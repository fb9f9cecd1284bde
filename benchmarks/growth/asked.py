"""How each contestant is asked at a point: the last rows of each key, for each row. Each imports its own library only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from benchmarks.growth.case import SweepPoint
from benchmarks.growth.data import COLUMNS

HOW = ("max", "min", "mean", "stddev")
Call = Callable[[], Any]


def aggregates(point: SweepPoint) -> Iterator[tuple[str, str, str]]:
    """Yield name, function and column of each aggregate: four of the first column, then four of the next.

    >>> [name for name, _, _ in aggregates(SweepPoint(aggregates=5))]
    ['max_a', 'min_a', 'mean_a', 'stddev_a', 'max_b']
    """
    for number in range(point.aggregates):
        column, how = COLUMNS[number // len(HOW)], HOW[(HOW.index(point.first) + number) % len(HOW)]
        yield f"{how}_{column}", how, column


def answers(point: SweepPoint) -> Iterator[tuple[str, str, str, int]]:
    """Yield name, function, column and length of each answer."""
    for name, how, column in aggregates(point):
        for length in point.lengths:
            yield f"{name}_{length}", how, column, length


def columns_of(point: SweepPoint) -> list[str]:
    """Return the columns that are read."""
    return ["key", "ts", *dict.fromkeys(column for _, _, column in aggregates(point))]


def by_sash(point: SweepPoint, table: pa.Table) -> Call:
    """Return Sash's query, compiled by a run over few rows: otherwise, few rows would not be worth it."""
    import sash  # noqa: PLC0415
    from sash import agg, window  # noqa: PLC0415

    # Several windows are named by the query; the name of a single one is in the name of the aggregate.
    alone = f"_{point.lengths[0]}" if len(point.lengths) == 1 else ""
    query = sash.Query(
        {f"{name}{alone}": getattr(agg, how)(column) for name, how, column in aggregates(point)},
        {str(length): window.rows(length) for length in point.lengths},
        by="key",
        time="ts",
    )
    query.run(table.slice(0, 1_000), compiled=True)
    return lambda: query.run(table, threads=point.threads or None)


def by_duckdb(point: SweepPoint, table: pa.Table) -> Call:
    """Return frames of rows, over a table in DuckDB's memory."""
    import duckdb  # noqa: PLC0415

    functions = {"mean": "avg", "stddev": "stddev_samp"}
    columns = ", ".join(
        f'{functions.get(how, how)}({column}) OVER w{length} AS "{name}"'
        for name, how, column, length in answers(point)
    )
    windows = ", ".join(
        f"w{length} AS (PARTITION BY key ORDER BY ts ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW)"
        for length in point.lengths
    )
    connection = duckdb.connect(config={"threads": point.threads} if point.threads else {})
    connection.register("given", table)
    connection.sql("CREATE TABLE x AS SELECT * FROM given")
    connection.unregister("given")
    text = f"SELECT ts, {columns} FROM x WINDOW {windows}"  # noqa: S608
    return lambda: connection.sql(text).to_arrow_table()


def by_polars(point: SweepPoint, table: pa.Table) -> Call:
    """Return rolling expressions over the key."""
    if point.threads:
        os.environ["POLARS_MAX_THREADS"] = str(point.threads)  # read when it is imported
    import polars as pl  # noqa: PLC0415

    functions = {"stddev": "std"}
    frame: Any = pl.from_arrow(table)
    expressions = {
        name: getattr(pl.col(column), f"rolling_{functions.get(how, how)}")(length, min_samples=1).over("key")
        for name, how, column, length in answers(point)
    }
    return lambda: frame.select("ts", **expressions)


def by_pandas(point: SweepPoint, table: pa.Table) -> Call:
    """Return grouped windows, in the order of the rows."""
    from benchmarks.questions.in_pandas import of_rows  # noqa: PLC0415

    functions = {"stddev": "std"}
    frame = table.to_pandas()

    def run() -> Any:
        found: dict[str, Any] = {}
        for length in point.lengths:
            values = {
                name: (column, functions.get(how, how)) for name, how, column, of in answers(point) if of == length
            }
            found |= dict(of_rows(frame, length, values, by="key"))
        return frame[["ts"]].assign(**found)

    return run


ASK: dict[str, Callable[[SweepPoint, pa.Table], Call]] = {
    "Sash": by_sash,
    "DuckDB": by_duckdb,
    "Polars": by_polars,
    "pandas": by_pandas,
}
