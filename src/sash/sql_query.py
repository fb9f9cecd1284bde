"""`sash.sql`: a text → a Query, or a SqlQuery if SQL is evaluated before or after its windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.hints import list_names
from sash.query import Query

if TYPE_CHECKING:
    from sash.language.translate import Statement
    from sash.plan.explanation import Explanation


def sql(text: str, time: str | None = None) -> Query:
    """Return the query that a text asks for, in SQL or CQL.

    `text` is one SELECT over one table, with windows in one of these forms:

    - CQL: `SELECT max(load) FROM meters [RANGE 24 HOURS SLIDE 1 MINUTE ON ts] GROUP BY household`
    - table functions: `… FROM TABLE(HOP(TABLE meters, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start`
    - as in Spark: `… GROUP BY window(ts, '1 hour', '1 minute')`
    - standard SQL: `SELECT ts, max(load) OVER (PARTITION BY household ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING) FROM meters`

    `time` is the time column, if the text does not name it. If neither does, it is the only column of the data that holds times.
    FROM is the data that `run` gets, a table of a Spark session (`query.run(spark)`), or a file in quotes, as in
    `FROM 'data/*.parquet'` (`query.run()`). Sash evaluates windows and aggregates; the engine that holds the data evaluates the
    rest: Spark, or DuckDB for data in this process. The package sqlglot reads the text: pip install 'sash[sql]'.

    Nulls and NaN: as in Query.
    Result: a Query. If the text only names keys, windows and aggregates, it equals the Query with the same arguments. In CQL,
    results also have their keys, `window_start` and `window_end`, unless the select list names one of these.
    Errors: SqlError, a ValueError, if the text cannot be run: it shows the line and the column. TypeError if it is not a string.

    >>> import pyarrow as pa
    >>> import sash
    >>> meters = pa.table({"t": [1, 2, 7], "load": [3, 9, 4]})
    >>> sash.sql("SELECT max(load) AS peak, count(*) AS n FROM meters [RANGE 5 SLIDE 5 ON t]")
    Query(time="t", windows=time(5, slide=5), aggregates={"peak": max("load"), "n": count()})
    >>> sash.sql("SELECT t, load - avg(load) OVER (ORDER BY t ROWS 1 PRECEDING) AS rise FROM meters").run(meters)["rise"].to_pylist()
    [0.0, 3.0, -2.5]
    """
    if not isinstance(text, str):
        message = f'sql got {type(text).__name__}, but a query is text, as in sash.sql("SELECT max(load) FROM meters [ROWS 10]").'  # noqa: S608
        raise TypeError(message)
    statement = translate(text)
    time = time or statement.clause.time
    if statement.is_plain and (time is not None or not needs_time(statement)):
        return plain_query(statement, time)
    return SqlQuery(text, time)


def register(aggregate: Aggregate[Any], name: str | None = None) -> None:
    """Make an aggregate of your own available in the texts of queries.

    `aggregate` is what `sash.aggregate` returned. `name` is how texts call it, whatever the case. Default: its own name. A later
    registration of the same name replaces an earlier one.

    Nulls and NaN: as the aggregate itself.
    Result: None.
    Errors: TypeError if `aggregate` is none, ValueError if the name is that of a built-in one.

    >>> import pyarrow as pa
    >>> import sash
    >>> longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: length)
    >>> sash.register(longest)
    >>> rows = pa.table({"t": [1, 2, 3], "word": ["a", "window", "of"]})
    >>> sash.sql("SELECT *, LONGEST(word) AS n FROM rows [ROWS 2 ON t]").run(rows)["n"].to_pylist()
    [1, 6, 6]
    """
    _require_sqlglot()
    from sash.language.aggregate_names import register as add  # noqa: PLC0415 — sqlglot is optional

    add(aggregate, name)


def translate(text: str, quote: str = '"') -> Statement:
    """Return what a text asks for. Raise ImportError if sqlglot is missing."""
    _require_sqlglot()
    from sash.language.translate import translate as read  # noqa: PLC0415 — sqlglot is optional

    return read(text, quote)


def _require_sqlglot() -> None:
    try:
        import sqlglot  # noqa: F401, PLC0415 — optional
    except ImportError as error:
        message = "Queries as text need sqlglot. Install it: pip install 'sash[sql]'."
        raise ImportError(message) from error


def needs_time(statement: Statement) -> bool:
    """Return whether the windows or aggregates of a statement need a time column."""
    windows, aggregates = statement.clause.windows.values(), statement.aggregates.values()
    return any(one.needs_time for one in windows) or any(one.reads_time for one in aggregates)


def plain_query(statement: Statement, time: str | None) -> Query:
    """Return the query of a statement, without what is around it."""
    windows = statement.clause.windows
    single = next(iter(windows.values())) if [*windows] == [one.kind for one in windows.values()] else windows
    return Query(
        statement.aggregates, single, by=list(statement.by), time=time, order_by=list(statement.clause.order_by)
    )


class SqlQuery(Query):
    """A query with SQL before its windows (FROM, WHERE) or after them (expressions, HAVING, ORDER BY, LIMIT)."""

    def __init__(self, text: str, time: str | None = None) -> None:
        self._text = text
        self._time = time
        statement = translate(text)
        if time is None and needs_time(statement):
            self._cache = None  # the data will tell the time column
            return
        self.__dict__.update(plain_query(statement, time).__dict__)

    def run(self, data: Any = None, **options: Any) -> Any:  # type: ignore[override]  # FROM may name the data
        """Run the query and return the results; see `sash.sql` and `Query.run`.

        `data` is data of any kind that `Query.run` accepts, or a Spark session whose tables FROM names. It is left out if FROM
        names a file. `options` are those of `Query.run`.
        """
        kind, rows, statement, query = self._resolve(data)
        if statement.where is not None:
            rows = kind.rows_where(rows, statement.source.of(statement.where))
        if statement.columns is not None:
            rows = kind.only_columns(rows, [*statement.columns, *query._declared.columns])  # noqa: SLF001
        results = query.run(rows, **options)
        selection = statement.selection
        return kind.select(results, selection)

    def explain(self, data: Any = None, **options: Any) -> Explanation:  # type: ignore[override]  # as for run
        """Return the plan of the windows and aggregates; see `Query.explain`."""
        statement = translate(self._text)
        if data is None and not statement.is_path:
            return plain_query(statement, self._time or "time").explain(None, **options)
        kind, rows, _, query = self._resolve(data)  # noqa: RUF059
        return query.explain(rows, **options)

    def schema(self, data: Any = None, **options: Any) -> Any:  # type: ignore[override]  # as for run
        """Return the schema of the result; see `Query.schema`."""
        kind, rows, statement, query = self._resolve(data)
        return kind.schema_of(kind.select(query.run(kind.no_rows(rows), **options), statement.selection))

    def _resolve(self, data: Any) -> tuple[Any, Any, Statement, Query]:
        """Return the kind of data, the rows that FROM names, the statement for this engine, and the query over the rows."""
        from sash.data import kind_of, table_of  # noqa: PLC0415 — it imports Numba, which declaring a query does not need

        statement = translate(self._text)
        rows = table_of(data, statement.table, is_path=statement.is_path)
        kind = kind_of(rows)
        if kind.quote != statement.source.quote:
            statement = translate(self._text, kind.quote)
        return kind, rows, statement, plain_query(statement, self._time or self._only_time(kind, rows, statement))

    def _only_time(self, kind: Any, rows: Any, statement: Statement) -> str | None:
        """Return the time column if the text names none: the only one that holds times."""
        if not needs_time(statement):
            return None
        found = kind.time_columns(rows)
        if len(found) != 1:
            problem = (
                f"The data has the columns {list_names(found)} with times"
                if found
                else "No column of the data holds times"
            )
            message = f'{problem}, and the query does not name one. Name it, as in [RANGE 1 HOUR ON ts] or sash.sql(text, time="ts").'
            raise ValueError(message)
        return found[0]

    def to_sql(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        """Return the call that makes this query."""
        return f"sql({self._text!r})" if self._time is None else f"sql({self._text!r}, time={self._time!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared queries: compiled functions cannot be sent to another process."""
        return {**self.__dict__, "_cache": None}
