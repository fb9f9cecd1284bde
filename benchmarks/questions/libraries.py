"""How each contestant is asked. Loading the rows is not timed; the answer is computed to the last row."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.questions.case import QueryArguments, TableQuestion, Tables
from sash.testing import recompute_query

TABLE = "x"


class Library(ABC):
    """One contestant."""

    @abstractmethod
    def load(self, rows_of: Tables, rows: int) -> Any:
        """Return the rows in the form that the library reads fastest."""

    @abstractmethod
    def compute(self, question: TableQuestion, loaded: Any) -> Any:
        """Compute all answers: this is what is timed."""

    @abstractmethod
    def answers(self, question: TableQuestion, loaded: Any) -> pa.Table:
        """Return the answers."""


class BySash(Library):
    """`Query.run` over an Arrow table."""

    compiled: bool | None = None
    """As `Query.run` takes it."""

    @lru_cache(maxsize=4)  # noqa: B019 — there is one object of each library
    def load(self, rows_of: Tables, rows: int) -> pa.Table:
        """Return the table."""
        return rows_of(rows)

    def compute(self, question: TableQuestion, loaded: pa.Table) -> pa.Table:
        """Run the queries, one after the other."""
        for query in _queries(question.queries):
            loaded = query.run(loaded, compiled=self.compiled)
        return loaded

    answers = compute

    def compile(self, question: TableQuestion, few: pa.Table) -> None:
        """Compile what the queries need: few rows alone would not be worth it."""
        for query in _queries(question.queries):
            few = query.run(few, compiled=True)


@cache
def _queries(asked: tuple[QueryArguments, ...]) -> tuple[sash.Query, ...]:
    return tuple(sash.Query(one.aggregates, one.windows, by=one.by or (), time=one.time) for one in asked)


class ByDuckDB(Library):
    """SQL over a table in DuckDB's memory."""

    @lru_cache(maxsize=4)  # noqa: B019
    def load(self, rows_of: Tables, rows: int) -> duckdb.DuckDBPyConnection:
        """Return a connection with the table."""
        connection = duckdb.connect()
        connection.register("given", rows_of(rows))
        connection.sql(f"CREATE TABLE {TABLE} AS SELECT * FROM given")  # noqa: S608 — the name is our own
        connection.unregister("given")
        return connection

    def compute(self, question: TableQuestion, loaded: duckdb.DuckDBPyConnection) -> pa.Table:
        """Run the SQL."""
        return loaded.sql(question.sql).to_arrow_table()

    answers = compute


class ByPolars(Library):
    """A plan over a DataFrame."""

    @lru_cache(maxsize=4)  # noqa: B019
    def load(self, rows_of: Tables, rows: int) -> Any:
        """Return the frame."""
        return pl.from_arrow(rows_of(rows))

    def compute(self, question: TableQuestion, loaded: pl.DataFrame) -> pl.DataFrame:
        """Run the plan."""
        if question.polars is None:
            raise NotImplementedError
        return question.polars(loaded)

    def answers(self, question: TableQuestion, loaded: pl.DataFrame) -> pa.Table:
        """Return the answers."""
        return self.compute(question, loaded).to_arrow()


class ByPandas(Library):
    """Calls over a DataFrame."""

    @lru_cache(maxsize=4)  # noqa: B019
    def load(self, rows_of: Tables, rows: int) -> pd.DataFrame:
        """Return the frame."""
        return rows_of(rows).to_pandas()

    def compute(self, question: TableQuestion, loaded: pd.DataFrame) -> pd.DataFrame:
        """Make the calls."""
        if question.pandas is None:
            raise NotImplementedError
        return question.pandas(loaded)

    def answers(self, question: TableQuestion, loaded: pd.DataFrame) -> pa.Table:
        """Return the answers; NaN is pandas' null."""
        return pa.Table.from_pandas(self.compute(question, loaded), preserve_index=False)


class BySpark(Library):
    """SQL over a Parquet file, on two cores, with the segment tree; timed without collecting the answers."""

    @lru_cache(maxsize=4)  # noqa: B019
    def load(self, rows_of: Tables, rows: int) -> Any:
        """Return the frame."""
        from benchmarks.spark_batch.data import folder  # noqa: PLC0415 — Java starts only if Spark is asked
        from benchmarks.spark_batch.native import SEGMENT_TREE  # noqa: PLC0415
        from benchmarks.spark_batch.session import spark  # noqa: PLC0415

        spark().conf.set(SEGMENT_TREE, "true")  # it is off by default, and the fastest for frames that slide
        path = Path(tempfile.mkdtemp(dir=folder())) / "rows.parquet"
        pq.write_table(rows_of(rows), path, coerce_timestamps="us")
        return spark().read.parquet(str(path))

    def ask(self, question: TableQuestion, loaded: Any) -> Any:
        """Return the frame of answers, not computed yet."""
        return loaded.sparkSession.sql(
            (question.spark or question.sql).replace(f"FROM {TABLE}", "FROM {" + TABLE + "}"), **{TABLE: loaded}
        )

    def compute(self, question: TableQuestion, loaded: Any) -> None:
        """Compute the answers, and drop them."""
        self.ask(question, loaded).write.format("noop").mode("overwrite").save()

    def answers(self, question: TableQuestion, loaded: Any) -> pa.Table:
        """Return the answers."""
        return self.ask(question, loaded).toArrow()


SASH = BySash()
LIBRARIES: dict[str, Library] = {
    "Sash": SASH,
    "DuckDB": ByDuckDB(),
    "Polars": ByPolars(),
    "pandas": ByPandas(),
    "Spark": BySpark(),
}


def recomputed(question: TableQuestion, rows: int) -> pa.Table:
    """Return the right answers, recomputed from the raw rows of each window by plain Python."""
    table = question.rows_of(rows)
    found = table.to_pylist()
    for asked in question.queries:
        by = [asked.by] if asked.by else []
        found = recompute_query(found, asked.aggregates, asked.windows, by=by, time=asked.time)
    return pa.table({name: [row[name] for row in found] for name in (*question.identify, *question.answers)})
