"""Queries from texts, and what the page needs to know about a query: its time, its zooms and the layout of its results."""

from __future__ import annotations

import pyarrow as pa

from sash.backends.arrow import ArrowTable
from sash.live.result_layout import Layout, layout_of
from sash.query import Query
from sash.sql_query import only_time, sql


def query_of(text: str, schema: pa.Schema) -> Query:
    """Parse a query over rows of a schema. Raise SqlError or ValueError if it cannot run.

    >>> query_of("SELECT max(x) AS peak FROM rows [RANGE 5 SLIDE 5 ON t]", pa.schema({"t": pa.int64(), "x": pa.int64()}))
    Query(time="t", windows=time(5, slide=5), aggregates={"peak": max("x")})
    """
    query = sql(text)
    if hasattr(query, "_declared"):
        return query
    return sql(text, only_time(ArrowTable().time_columns(schema.empty_table())))


def time_of(query: Query) -> str | None:
    """Return the time column."""
    time: str | None = query._declared.time  # noqa: SLF001 — the page shows queries, and queries have no public members
    return time


def layout_of_query(query: Query, results: pa.Schema) -> Layout:
    """Return the layout of the results of a query. Raise ValueError if the page cannot draw them."""
    return layout_of(results, [str(name) for name in query._declared.by], time_of(query))  # noqa: SLF001 — as above


def zooms_of(query: Query) -> list[str]:
    """Return the names of the windows."""
    windows = query._declared.windows  # noqa: SLF001 — as above
    if len(windows) > 1:
        return [*windows]
    return [repr(window) if name == window.kind else name for name, window in windows.items()]
