"""A question over one table, in the words of each contestant, and the case that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from benchmarks.case import FASTEST_PEER, Case, Contestant, Target
from sash.aggregates.base import Aggregate
from sash.windows import Window

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Tables: TypeAlias = Callable[[int], pa.Table]
"""From a number of rows to a table of at most so many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryArguments:
    """The arguments of one `sash.Query`: Sash runs it, and the oracle recomputes it from raw rows."""

    aggregates: Mapping[str, Aggregate[Any]]
    windows: Window | Mapping[str, Window]
    by: str | None = None
    time: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableQuestion:
    """What is asked. Each contestant answers with the columns `identify` and `values`, in any order of rows."""

    name: str
    window: str
    """The window as people say it."""
    rows_of: Tables
    identify: tuple[str, ...]
    """The columns that tell one answer from another."""
    queries: tuple[QueryArguments, ...]
    """One after the other: each adds its columns to the rows, unless it is the only one."""
    sql: str
    """The rows are the table `x`."""
    polars: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    pandas: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    spark: str = ""
    """Spark's SQL, where it differs from DuckDB's."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """The contestants that have no way to answer, and why."""
    fewer: Mapping[str, int] = field(default_factory=dict)
    """How many rows the slow are asked for."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns of the answers."""
        return tuple(name for asked in self.queries for name in _names(asked))


def _names(asked: QueryArguments) -> Iterator[str]:
    windows = asked.windows
    several = not isinstance(windows, Window) and windows[next(iter(windows))].per_row
    for name in asked.aggregates:
        yield from (f"{name}_{label}" for label in windows) if several else (name,)  # type: ignore[union-attr]


@dataclass(frozen=True, kw_only=True)
class QuestionCase(Case):
    """A question, asked of all who can answer it."""

    question: TableQuestion
    tolerance: float = 1e-9
    peer_tolerance: float = 1e-6
    """Peers are checked to have done the same work, not to be as accurate."""
    targets: tuple[Target, ...] = (Target(against=FASTEST_PEER, at_least=1),)
    repeats: int = 5

    @property
    def range(self) -> str:
        """The window."""
        return self.question.window


PEERS = {"DuckDB": "duckdb", "Polars": "polars", "pandas": "pandas", "Spark": "pyspark"}
"""Their packages. Each answers every question that does not say that it cannot."""


def ask(question: TableQuestion, rows: int, **options: Any) -> QuestionCase:
    """Return the case of a question."""
    peers = [
        Contestant(name=name, package=package, rows=question.fewer.get(name))
        for name, package in PEERS.items()
        if name not in question.cannot
    ]
    return QuestionCase(
        name=question.name,
        aggregate=", ".join(dict.fromkeys(question.answers)),
        contestants=(Contestant(name="Sash", role="sash", algorithm="auto"), *peers),
        question=question,
        rows=rows,
        **options,
    )
