"""`sash.sql`: text → a SqlQuery, which is a Query with SQL before and after its windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.expressions import Selection
from sash.hints import list_names
from sash.language import require_sqlglot
from sash.nested_query import NestedQuery
from sash.options import with_options
from sash.query import Query

if TYPE_CHECKING:
    from sash.backends.base import Backend
    from sash.language.translate import Statement, WindowQuery
    from sash.plan.explanation import Explanation

CHANGE = "change"
"""The column of results in update mode that tells upserts from deletes."""
LATE = "late"
"""The column of results with `late="keep"` that holds late rows."""


def sql(text: str, time: str | None = None) -> SqlQuery | NestedQuery:
    """Parse a query in SQL or CQL.

    `text` is a SELECT with windows in one of these forms, with any SQL in and around it (WITH, subqueries, joins, UNION):

    - CQL: `SELECT max(load) FROM meters [RANGE 24 HOURS SLIDE 1 MINUTE ON ts] GROUP BY household`
    - table functions: `… FROM TABLE(HOP(TABLE meters, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start`
    - as in Spark: `… GROUP BY window(ts, '1 hour', '1 minute')`
    - standard SQL: `SELECT ts, max(load) OVER (PARTITION BY household ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING) FROM meters`

    `time` is the time column, if the text does not name it. If neither does, it is the only column of the data that holds times.
    FROM is the data that `run` gets (a dictionary of tables by name if there are several), a table of a Spark session (`query.run(spark)`), or a file in quotes, as in
    `FROM 'data/*.parquet'` (`query.run()`). Sash evaluates windows and aggregates; the engine that holds the data evaluates the
    rest: Spark, or DuckDB for data in this process. The package sqlglot reads the text: pip install 'sash[sql]'.

    Nulls and NaN: as in Query.
    Result: a Query whose `run` also takes a Spark session, or nothing if FROM names a file. If the text only has keys, windows and
    aggregates, it shows as the Query with the same arguments. In CQL, results also have their keys, `window_start` and `window_end`,
    unless the select list names one of the bounds; a list of aggregates alone over a window per row gives the rows with new columns.
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
        raise TypeError(f"sql got {type(text).__name__}, but a query is a string in SQL or CQL.")
    if time is not None and (not isinstance(time, str) or not time):
        advice = 'Name the column that orders the rows, as in time="ts".'
        raise TypeError(f"time={time!r} is not the name of a column. {advice}")
    try:
        return query_of_text(text, time)
    except (TypeError, ValueError) as error:  # windows and aggregates that do not fit together
        from sash.language.sql_error import SqlError  # noqa: PLC0415 — sqlglot is optional

        if isinstance(error, SqlError):
            raise
        raise SqlError(str(error), text, 0, 0) from error


def query_of_text(text: str, time: str | None) -> SqlQuery | NestedQuery:
    """Return the query of a text: of one SELECT, or of several. Raise ImportError if sqlglot is missing."""
    require_sqlglot()
    from sash.language.around import is_one_select  # noqa: PLC0415 — sqlglot is optional

    if is_one_select(text, time):
        return SqlQuery(text, translate(text, time), time)
    return NestedQuery(text, time, lambda number: InnerQuery(text, number, time))


def register(aggregate: Aggregate[Any], name: str | None = None) -> None:
    """Make an aggregate of your own available in the texts of queries.

    `aggregate` is what `sash.aggregate` returned. `name` is how texts call it, whatever the case. Default: its own name. A later
    registration of the same name replaces an earlier one.

    Nulls and NaN: as the aggregate itself.
    Result: None.
    Errors: TypeError if `aggregate` is not an aggregate, ValueError if the name is that of a built-in one.

    >>> import pyarrow as pa
    >>> import sash
    >>> longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: length)
    >>> sash.register(longest)
    >>> rows = pa.table({"t": [1, 2, 3], "word": ["a", "window", "of"]})
    >>> sash.sql("SELECT *, LONGEST(word) AS n FROM rows [ROWS 2 ON t]").run(rows)["n"].to_pylist()
    [1, 6, 6]
    """
    from sash.language.aggregate_names import register as add  # noqa: PLC0415 — few programs need it

    add(aggregate, name)


def translate(text: str, time: str | None, quote: str = '"') -> Statement:
    """Parse a text for an engine that quotes names so. Raise ImportError if sqlglot is missing."""
    require_sqlglot()
    from sash.language.translate import translate as read  # noqa: PLC0415 — sqlglot is optional

    return read(text, time, quote)


def plain_query(declared: WindowQuery) -> Query:
    """Return the query over windows, without the SQL around it."""
    windows = declared.windows
    has_names = [*windows] != [window.kind for window in windows.values()]
    single = windows if has_names else next(iter(windows.values()))
    order_by = list(declared.order_by)
    return Query(declared.aggregates, single, by=list(declared.by), time=declared.time, order_by=order_by)


class SqlQuery(Query):
    """Queries with SQL before their windows (FROM, WHERE) and after them (expressions, HAVING, ORDER BY, LIMIT).

    There are several queries if OVER names several keys, orders, or sets of aggregates. They run one after the other: each adds columns.
    """

    def __init__(self, text: str, statement: Statement, time: str | None = None) -> None:
        self._text = text
        self._given_time = time
        self._statements = {'"': statement}
        """The text for each engine, by its quote around names."""
        self._queries: dict[tuple[Any, ...], list[Query]] = {}
        """The queries over rows, by what they depend on: they keep what was compiled."""
        if not statement.needs_time:  # otherwise the data will tell
            self.__dict__.update(self._queries_of(statement, '"')[0].__dict__)

    @with_options
    def run(self, data: Any = None, **options: Any) -> Any:  # FROM may name the data
        """Run the query and return the results; see `sash.sql` and `Query.run`.

        `data` is data of any kind that `Query.run` accepts, or a Spark session whose tables FROM names. It is left out if FROM
        names a file. `options` are those of `Query.run`.
        """
        backend, rows, statement, queries = self._resolve(data)
        selection = _selection_of(statement, options)
        options = self._of_stream(statement, options)
        results = rows = self._before(backend, rows, statement)
        for query in queries:
            has_labels = options.get("at") is not None
            results = query.run(rows if has_labels else results, **options)
            if has_labels:
                options = {**options, "at": results}
        return results if selection is None else backend.select(results, selection)

    @with_options
    def explain(self, data: Any = None, **options: Any) -> Explanation:
        """Return the plan of the windows and aggregates; see `Query.explain`. It has the plans of all queries."""
        statement, rows = self._statement('"'), None
        if data is None and not statement.is_path:
            queries = self._queries_of(statement.with_time("time") if statement.needs_time else statement, '"')
        else:
            _, rows, statement, queries = self._resolve(data)
        if options.get("emit") == "state":
            _check_features(statement)
        plans = [query.explain(rows, **options) for query in queries]
        return replace(plans[0], following=tuple(plans[1:]))

    @with_options
    def schema(self, data: Any = None, **options: Any) -> Any:  # as for run
        """Return the schema of the result; see `Query.schema`."""
        backend, rows, statement, queries = self._resolve(data)
        selection = _selection_of(statement, options)
        before = self._before(backend, rows, statement)
        schemas = [query.schema(before, **options) for query in queries]
        results = schemas[0] if len(schemas) == 1 else backend.join_schemas(schemas)
        return results if selection is None else backend.select_schema(rows, results, selection)

    @with_options
    def state_header(self, data: Any = None, **options: Any) -> bytes:
        """Return what the states of all keys have in common; see `Query.state_header`."""
        backend, rows, statement, [query, *_] = self._resolve(data)
        _check_features(statement)
        return query.state_header(self._before(backend, rows, statement), **options)

    def lookup(self, state: Any, *, now: Any, header: bytes | None = None) -> Any:
        """Return the features of a key at a time; see `Query.lookup`."""
        statement = self._statement('"')
        _check_features(statement)
        if statement.needs_time:
            raise ValueError('lookup: the text does not name its time column. Name it: sash.sql(text, time="ts").')
        return self._queries_of(statement, '"')[0].lookup(state, now=now, header=header)

    def to_sql(self) -> str:
        """Return the text."""
        return self._text

    def _statement(self, quote: str) -> Statement:
        if quote not in self._statements:
            self._statements[quote] = translate(self._text, self._given_time, quote)
        return self._statements[quote]

    def _queries_of(self, statement: Statement, quote: str, zone: str | None = None) -> list[Query]:
        """Return the queries of a statement, for an engine and the time zone of its session."""
        key = (quote, statement.time, zone, len(statement.queries))
        if key not in self._queries:
            self._queries[key] = [plain_query(declared) for declared in statement.queries]
        return self._queries[key]

    def _resolve(self, data: Any) -> tuple[Backend[Any], Any, Statement, list[Query]]:
        """Return the kind of data, the rows that FROM names, the statement for this engine and its time column, and the queries."""
        from sash.backends.registry import backend_of, table_of  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

        statement = self._statement('"')
        rows = table_of(data, statement.table, is_path=statement.is_path)
        backend = backend_of(rows)
        statement = self._statement(backend.quote)
        if statement.needs_time:
            statement = statement.with_time(only_time(backend.time_columns(rows)))
        if not backend.reads_cheaply:
            statement = statement.with_fewest_queries()
        if backend.is_stream:
            statement.check_one_query()
        zone = backend.session_zone(rows, statement.time) if statement.time is not None else None
        if zone is not None:
            statement = statement.with_zone(zone)
        return backend, rows, statement, self._queries_of(statement, backend.quote, zone)

    def _of_stream(self, statement: Statement, options: dict[str, Any]) -> dict[str, Any]:
        """Return options in which WHERE applies to the history of a stream, and is known to the file that a stream continues from."""
        path, history = options.get("resume"), options.get("history")
        if history is not None:
            from sash.backends.registry import backend_of  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

            options = {**options, "history": self._before(backend_of(history), history, statement)}
        if isinstance(path, str | PathLike) and statement.where is not None:
            from sash.state.resume_file import resume_file  # noqa: PLC0415 — as above

            options = {**options, "resume": resume_file(path, where=statement.where.text)}
        return options

    def _before(self, backend: Backend[Any], rows: Any, statement: Statement) -> Any:
        """Return the rows that WHERE keeps, with the columns that the query needs."""
        if statement.where is not None:
            rows = backend.rows_where(rows, statement.where)
        if statement.columns is not None:
            rows = backend.only_columns(rows, [*statement.columns, statement.time or ""])
        return rows

    def __repr__(self) -> str:
        """Return the call that makes this query; that of a Query if both are the same."""
        if self._statement('"').is_plain and "_declared" in self.__dict__:
            return super().__repr__()
        return f"sql({self._text!r})" if self._given_time is None else f"sql({self._text!r}, time={self._given_time!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared queries: compiled functions cannot be sent to another process."""
        return {**self.__dict__, "_cache": None}


class InnerQuery(SqlQuery):
    """A SELECT with windows of a text that has several SELECTs. It runs over the rows of its FROM and WHERE."""

    def __init__(self, text: str, number: int, time: str | None) -> None:
        self._number = number
        super().__init__(text, self._read(text, number, time, '"'), time)

    def _statement(self, quote: str) -> Statement:
        if quote not in self._statements:
            self._statements[quote] = self._read(self._text, self._number, self._given_time, quote)
        return self._statements[quote]

    @staticmethod
    def _read(text: str, number: int, time: str | None, quote: str) -> Statement:
        from sash.language.around import around_text  # noqa: PLC0415 — sqlglot is optional

        return around_text(text, time, quote).windowed[number].statement


def _check_features(statement: Statement) -> None:
    """Raise ValueError if a lookup would not return the results of the statement."""
    statement.check_one_query()
    if statement.selection is not None and statement.selection.changes_results:
        raise ValueError(
            'emit="state" and lookup give the aggregates over the windows, without SQL around them. Select all aggregates under their names, '
            "without expressions of them, HAVING, QUALIFY, ORDER BY and LIMIT, and compute the rest from the features."
        )


def _selection_of(statement: Statement, options: Mapping[str, Any]) -> Selection | None:
    """Return the selection from results, with the columns that options add. Raise ValueError if it would lose some of them."""
    if options.get("emit") == "state":
        _check_features(statement)
        return None
    selection = statement.selection
    if selection is not None and options.get("wide"):
        problem = "wide=True does not apply to a text with a select list of its own"
        raise ValueError(f"{problem}. Name the entries, as in quantile_cont(load, 0.9) AS p90.")
    mode, late = options.get("mode"), options.get("late")
    if selection is None or (mode != "update" and late != "keep"):
        return selection
    if mode == "update" and (selection.having is not None or not selection.by_rows):
        problem = 'HAVING, ORDER BY and LIMIT do not apply with mode="update"'
        raise ValueError(f"{problem}, because a window may change after it was emitted.")
    if selection.having is not None:
        problem = 'HAVING does not apply with late="keep", because it would drop the late rows.'
        raise ValueError(f"{problem} Filter the results instead.")
    outputs = selection.outputs
    if outputs is None or None in outputs.values():  # all columns
        return selection
    added = [CHANGE] * (mode == "update") + [LATE] * (late == "keep")
    return replace(selection, outputs={**outputs, **{name: name for name in added}})


def only_time(columns: list[str]) -> str:
    """Return the time column if the text names none: the only one that holds times."""
    if len(columns) == 1:
        return columns[0]
    several = f"The data has the columns {list_names(columns)} with times"
    problem = several if columns else "No column of the data holds times"
    advice = 'Name it, as in [RANGE 1 HOUR ON ts] or sash.sql(text, time="ts").'
    if not columns:
        from sash.engine.time_column import how_to_convert  # noqa: PLC0415 — declaring a query needs no engine

        advice = f"{advice} If it is text: {how_to_convert('ts')}"
    raise ValueError(f"{problem}, and the query does not name one. {advice}")
