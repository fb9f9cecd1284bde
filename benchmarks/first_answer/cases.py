"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.case import Contestant, Target
from benchmarks.first_answer import ask_sash
from benchmarks.first_answer.case import LARGE, MEDIUM, SMALL, FirstCase, say_rows
from benchmarks.first_answer.processes import (
    DIFFERENCE,
    EMPTY,
    FURTHER,
    RUNS,
    STREAM,
    STREAMS,
    WARM,
    answers,
    first_batch,
    on_cluster,
)

PEERS = {
    "pandas": [name for name in ask_sash.QUESTIONS if "1h/1m" not in name and "user" not in name],
    "Polars": [name for name in ask_sash.QUESTIONS if "user" not in name],
    "DuckDB": [name for name in ask_sash.QUESTIONS if "user" not in name],
}
"""The queries that each can express simply."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SECONDS: dict[str, dict[str, float]] = {
    EMPTY: {SMALL: 0.6, MEDIUM: 1.2, LARGE: 2},
    FURTHER: {SMALL: 0.1, MEDIUM: 0.5, LARGE: 1},
    WARM: {SMALL: 0.45, MEDIUM: 0.5, LARGE: 0.7},
    DIFFERENCE: {SMALL: 2, MEDIUM: 2, LARGE: 3},
    STREAM: {SMALL: 0.6},
}
"""The targets."""
DEMANDING: dict[str, float] = {MEDIUM: 2, LARGE: 3}
"""For the first result of five aggregates, or of a user-written one, from an empty cache."""
ON_EXECUTORS = ("max over 1h/1m", "five over rows(1000)")
"""One query whose slices Spark makes, and one whose rows all go to Python."""


def aggregates_of(query: str) -> str:
    """Return the names of the aggregates of a query.

    >>> aggregates_of("count and max, sessions")
    'count, max'
    """
    aggregates, _ = ask_sash.STREAMED[query]()
    return ", ".join(one.name for one in aggregates.values())


def in_process() -> Iterator[FirstCase]:
    """Yield ten common queries in a process of their own."""
    sash = tuple(Contestant(name=name, role="sash", algorithm="auto") for name in (EMPTY, WARM, FURTHER))
    for rows in SIZES:
        for query in ask_sash.QUESTIONS:
            peers = [name for name, queries in PEERS.items() if query in queries]
            yield FirstCase(
                name=f"{query}, {say_rows(rows)}",
                query=query,
                aggregate=aggregates_of(query),
                rows=rows,
                contestants=(*sash, *(Contestant(name=name, package=name.lower()) for name in peers)),
                round=answers,
                targets=tuple(_target(name, query, rows) for name in (EMPTY, FURTHER, WARM)),
            )


def _target(contestant: str, query: str, rows: int) -> Target:
    column = FirstCase(name="", query=query, contestants=(), round=answers, rows=rows).column
    limit = SECONDS[contestant][column]
    if contestant == EMPTY and query.startswith(("five", "user")):
        limit = DEMANDING.get(column, limit)
    return Target(contestant=contestant, at_most=limit)


def of_readers() -> Iterator[FirstCase]:
    """Yield a stream of 1,000 rows in a process of its own, for the ten queries and three that NumPy cannot evaluate alone."""
    for query in ask_sash.STREAMED:
        yield FirstCase(
            name=f"a stream, {query}, {say_rows(SIZES[0])}",
            query=query,
            aggregate=aggregates_of(query),
            rows=SIZES[0],
            contestants=(Contestant(name=STREAM, role="sash", algorithm="auto"),),
            round=answers,
            targets=(_target(STREAM, query, SIZES[0]),),
        )


def of_executors() -> Iterator[FirstCase]:
    """Yield the first runs of a query on new executors that an identity job has warmed."""
    for rows in SIZES[1:]:
        for query in ON_EXECUTORS:
            yield FirstCase(
                name=f"new executors, {query}, {say_rows(rows)}",
                query=query,
                aggregate=aggregates_of(query),
                rows=rows,
                contestants=tuple(Contestant(name=name, role="sash") for name in (*RUNS, DIFFERENCE)),
                round=on_cluster,
                targets=(_target(DIFFERENCE, query, rows),),
                at_any_rows=(rows, query) == (SIZES[1], ON_EXECUTORS[0]),
            )


def of_streams() -> Iterator[FirstCase]:
    """Yield the first micro-batch of a stream beside that of Spark's own aggregation."""
    yield FirstCase(
        name=f"first micro-batch, max over 1h/1m, {say_rows(SIZES[1])}",
        query="max over 1h/1m",
        aggregate="max",
        rows=SIZES[1],
        contestants=tuple(
            Contestant(
                name=name, role="sash" if name == "Sash" else "peer", package="sash" if name == "Sash" else "pyspark"
            )
            for name in STREAMS
        ),
        round=first_batch,
        is_compared=False,
        at_any_rows=True,
    )


CASES: tuple[FirstCase, ...] = (*in_process(), *of_readers(), *of_executors(), *of_streams())
