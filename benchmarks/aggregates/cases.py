"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa

import sash
from benchmarks.aggregates.calls import CALLS
from benchmarks.aggregates.case import FRAME, HOPS, ROWS_OF_FRAME, AggregateCase, AggregateContestant
from benchmarks.case import Call, Case, Target
from sash import agg
from sash.aggregates.base import Aggregate
from sash.engine.executors.execute import Run
from sash.windows import Window

SASH, NUMPY, MAX, MAX_NUMPY, DUCKDB = "Sash", "with NumPy", "max", "max with NumPy", "DuckDB"
MOST, MOST_ROWS_OF_BATCH = 20, 10_000
"""Times max; rows of a micro-batch."""


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Run queries with NumPy, however many rows they have."""
    with patch.object(Run, "compiles", new=False):
        yield


def by_query(aggregate: Aggregate[Any], windows: Window, table: pa.Table, *, compiled: bool = True) -> Call:
    """Return the call of a query in one thread, declared once."""
    query = sash.Query({"answer": aggregate}, windows, by="k", time="ts")

    def with_numpy() -> Any:
        with nothing_compiled():
            return query.run(table, threads=1)

    return (lambda: query.run(table, threads=1, compiled=True)) if compiled else with_numpy


def by_stream(aggregate: Aggregate[Any], windows: Window, table: pa.Table) -> Call:
    """Return the call of a query over a stream of micro-batches."""
    query = sash.Query({"answer": aggregate}, windows, by="k", time="ts", lateness="0s")
    batches = table.to_batches(max_chunksize=MOST_ROWS_OF_BATCH)
    return lambda: query.run(pa.RecordBatchReader.from_batches(table.schema, batches), compiled=True).read_all()


def by_duckdb(expression: str, table: pa.Table) -> Call:
    """Return the call of DuckDB, in one thread and in the order of the rows."""
    connection = duckdb.connect(config={"threads": 1})
    connection.register("readings", table)
    connection.execute("CREATE TABLE copied AS SELECT * FROM readings")
    frame = f"(PARTITION BY k ORDER BY ts ROWS BETWEEN {ROWS_OF_FRAME - 1} PRECEDING AND CURRENT ROW)"
    over = expression if " OVER " in expression else f"{expression} OVER frame"
    text = f"SELECT k, ts, {over} AS answer FROM copied WINDOW frame AS {frame}"  # noqa: S608 — the expressions are those of calls.py
    return lambda: connection.sql(text).to_arrow_table()


def contestant(name: str, asked: str, prepare: Callable[[pa.Table], Call]) -> AggregateContestant:
    """Return a contestant of Sash."""
    return AggregateContestant(name=name, role="sash", algorithm="auto", prepare=prepare, asked=asked)


def cases() -> Iterator[AggregateCase]:
    """Yield every aggregate over a frame, over windows of time, and on a stream."""
    largest = agg.max("x")
    for name, (aggregate, expression) in CALLS.items():
        for shown, windows in (("rows(200)", FRAME), ("1d every 1h", HOPS)):
            peers: tuple[AggregateContestant, ...] = ()
            if expression and windows is FRAME:
                call = partial(by_duckdb, expression)
                peers = (AggregateContestant(name=DUCKDB, package="duckdb", prepare=call, asked=name),)
            yield AggregateCase(
                name=f"{name}, {shown}",
                aggregate=name,
                windows=windows,
                contestants=(
                    contestant(MAX, "", partial(by_query, largest, windows)),
                    contestant(SASH, name, partial(by_query, aggregate, windows)),
                    contestant(MAX_NUMPY, "", partial(by_query, largest, windows, compiled=False)),
                    contestant(NUMPY, name, partial(by_query, aggregate, windows, compiled=False)),
                    *peers,
                ),
                targets=(
                    Target(against=MAX, at_most=MOST),
                    Target(contestant=NUMPY, against=MAX_NUMPY, at_most=MOST),
                    *(Target(against=peer.name, at_least=1) for peer in peers),
                ),
            )
        yield AggregateCase(
            name=f"{name}, rows(200) on a stream",
            aggregate=name,
            windows=FRAME,
            contestants=(
                contestant(MAX, "", partial(by_stream, largest, FRAME)),
                contestant(SASH, name, partial(by_stream, aggregate, FRAME)),
            ),
            targets=(Target(against=MAX, at_most=MOST),),
        )


CASES: tuple[Case, ...] = tuple(cases())
