"""Queries from texts, and what the page needs to know about a query: its keys, its time and its zooms."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.hints import list_names
from sash.query import Query
from sash.sql_query import sql


def query_of(text: str, schema: pa.Schema) -> Query:
    """Return the query of a text over rows of a schema. Raise SqlError or ValueError if it cannot run.

    >>> query_of("SELECT max(x) AS peak FROM rows [RANGE 5 SLIDE 5 ON t]", pa.schema({"t": pa.int64(), "x": pa.int64()}))
    Query(time="t", windows=time(5, slide=5), aggregates={"peak": max("x")})
    """
    query = sql(text)
    if hasattr(query, "_declared"):
        return query
    times = [one.name for one in schema if pa.types.is_timestamp(one.type) or pa.types.is_date(one.type)]
    if len(times) != 1:
        problem = (
            f"The data has the columns {list_names(times)} with times" if times else "No column of the data holds times"
        )
        message = f"{problem}, and the query does not name one. Name it, as in [RANGE 1 HOUR SLIDE 1 MINUTE ON ts]."
        raise ValueError(message)
    return sql(text, times[0])


def by_of(query: Query) -> list[str]:
    """Return the key columns of the results."""
    return [str(name) for name in _declared(query).by]


def time_of(query: Query) -> str | None:
    """Return the time column."""
    name: str | None = _declared(query).time
    return name


def zooms_of(query: Query) -> list[str]:
    """Return the names of the windows."""
    windows = _declared(query).windows
    if len(windows) > 1:
        return [*windows]
    return [repr(window) if name == window.kind else name for name, window in windows.items()]


def _declared(query: Query) -> Any:
    return query._declared  # noqa: SLF001 — the page shows queries, and queries have no public parts
