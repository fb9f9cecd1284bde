"""Query: what the user declares. It runs on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias, TypeVar, Unpack, overload

from sash.aggregates.base import Aggregate
from sash.aggregates.naming import as_literal
from sash.durations import DurationLike
from sash.expressions import ColumnLike, call_of
from sash.hints import did_you_mean, reject_unknown
from sash.options import AnyOptions, ReaderOptions, SparkStreamOptions, SparkTableOptions, TableOptions, with_options
from sash.plan.query_spec import parse_query
from sash.windows import Window
from sash.windows.arguments import parameter_of_window

if TYPE_CHECKING:  # pyarrow takes long to import, and the others are optional
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sash.engine.prepare import PreparedCache
    from sash.lookup.lookups import Lookups
    from sash.plan.explanation import Explanation
    from sash.spark import SparkDataFrame, SparkSchema

    ArrowSchema: TypeAlias = pa.Table | pa.RecordBatch | pa.Schema | pd.DataFrame | pl.DataFrame | pl.LazyFrame

Frame = TypeVar("Frame", bound="pa.Table | pa.RecordBatch | pd.DataFrame | pl.DataFrame | pl.LazyFrame")
"""Data in this process. The result has the type of the argument, also if a package has no type stubs."""


NAMES_ELSEWHERE = {
    **dict.fromkeys(("group_by", "groupby", "partition_by", "key", "keys"), "by"),
    **dict.fromkeys(("on", "ts", "timestamp", "time_column", "time_col", "index_column"), "time"),
    **dict.fromkeys(("order", "orderby", "sort_by", "sort"), "order_by"),
    **dict.fromkeys(("watermark", "delay", "allowed_lateness"), "lateness"),
    **dict.fromkeys(("aggs", "agg", "aggregations", "metrics", "features", "functions"), "aggregates"),
    **dict.fromkeys(("window", "frame", "frames", "over", "rolling"), "windows"),
}
"""The parameters of `Query`, by the names that other libraries use."""


class Query:
    """Windows and aggregates over rows in order.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> query = sash.Query(
    ...     by="household", time="minute",
    ...     windows=window.time(10, slide=5),
    ...     aggregates={"peak": agg.max("load"), "mean": agg.mean("load")},
    ... )
    >>> rows = pa.table({"household": [1, 1, 2], "minute": [3, 8, 4], "load": [2.0, 5.0, 1.5]})
    >>> for row in query.run(rows).to_pylist():
    ...     print(row)
    {'household': 1, 'window_start': -5, 'window_end': 5, 'peak': 2.0, 'mean': 2.0}
    {'household': 1, 'window_start': 0, 'window_end': 10, 'peak': 5.0, 'mean': 3.5}
    {'household': 1, 'window_start': 5, 'window_end': 15, 'peak': 5.0, 'mean': 5.0}
    {'household': 2, 'window_start': -5, 'window_end': 5, 'peak': 1.5, 'mean': 1.5}
    {'household': 2, 'window_start': 0, 'window_end': 10, 'peak': 1.5, 'mean': 1.5}
    """

    @reject_unknown(lambda _, name: _unknown_parameter(name))
    def __init__(
        self,
        aggregates: Mapping[str, Aggregate[Any]] | Sequence[Aggregate[Any]] | Aggregate[Any],
        windows: Window | Mapping[str, Window] | Sequence[Window],
        by: ColumnLike | Sequence[ColumnLike] | None = None,
        time: str | None = None,
        order_by: str | Sequence[str] | None = None,
        algorithm: str = "auto",
        lateness: DurationLike | None = None,
        *,
        objective: Literal["throughput", "latency"] = "throughput",
        slicing: Literal["auto", "cutty", "pairs", "panes", "none"] = "auto",
        **_: Never,
    ) -> None:
        """Parse and validate the query.

        `aggregates` is a dictionary of aggregates by name, a list of aggregates, or one aggregate. `windows` is a window, a
        dictionary of windows by name, or a list of windows. One aggregate, or one window, has its own kind as its name. Those
        of a list name themselves: `agg.max("load")` is "max_load", `agg.quantile("load", 0.9)` is "quantile_load_0.9",
        `window.time("1h")` is "1h" and `window.rows(100)` is "rows_100". If every row has a result and there are several
        windows, results are named by both: "max_load_1h".

        `by` names the key columns, or gives expressions (see `sash.expr`): each key has windows of its own. `time` is the column that orders the rows, and
        `order_by` names columns that break ties. `lateness` is the maximum delay of a row behind the newest row of a
        stream.

        `algorithm` and `slicing` override the choice of the plan. `objective` is "throughput" for the lowest mean cost, or
        "latency" for the lowest worst case.

        Raises TypeError or ValueError if an argument is invalid, or if arguments do not fit together, such as an algorithm
        that cannot compute an aggregate, or two members of a list with the same name.

        >>> import pyarrow as pa
        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query([agg.max("load"), agg.count()], [window.time(5), window.rows(2)], time="minute")
        >>> query.run(pa.table({"minute": [3, 8], "load": [2.0, 5.0]})).column_names
        ['minute', 'load', 'max_load_time_5', 'max_load_rows_2', 'count_time_5', 'count_rows_2']
        """
        self._declared = parse_query(aggregates, windows, by, time, order_by, algorithm, objective, slicing, lateness)
        self._cache: PreparedCache | None = None
        self._lookups: Lookups | None = None

    @overload
    def run(self, data: Frame, **options: Unpack[TableOptions]) -> Frame: ...

    @overload
    def run(self, data: pa.RecordBatchReader, **options: Unpack[ReaderOptions]) -> pa.RecordBatchReader: ...

    @overload
    def run(self, data: SparkDataFrame, **options: Unpack[SparkTableOptions]) -> SparkDataFrame: ...

    @overload
    def run(self, data: SparkDataFrame, **options: Unpack[SparkStreamOptions]) -> SparkDataFrame: ...

    @with_options
    def run(self, data: Any, **options: Any) -> Any:
        """Run the query on data and return the results as data of the same kind.

        `data` is a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, a Polars DataFrame or LazyFrame, or a
        PySpark DataFrame, batch or streaming. Its rows may be in any order; those of a stream may be late by `lateness`.

        Options: see `sash.options`.

        Nulls and NaN: aggregates skip nulls; a null in the time column is an error; a null in a `by` column is a key. NaN is
        null in NumPy columns of pandas (float64, object), and a value in all other data: pandas' nullable types (Float64) and
        Arrow types (double[pyarrow]) tell NaN and NA apart. NaN as a key equals NaN.
        Result: data of the same kind; from PySpark it is lazy. If the windows have a result for every row, the result is the
        input with one more column per aggregate and window. Otherwise it has one row per window: the keys, `window` (its
        name, if there are several), `window_start`, `window_end` and the aggregates. `schema` returns the types.
        Errors: TypeError if the data is of another kind, if a column has a type that the query cannot read, or if an option
        does not apply to the data. ValueError if a column is missing, a time is null, or an option has an invalid value.
        OverflowError if a sum of integers needs more than 64 bits. An error in a function of your own aggregate keeps its
        type and gets a note with the aggregate and the row.

        >>> import pyarrow as pa
        >>> import sash
        >>> from sash import agg, window
        >>> rows = pa.table({"minute": [3, 8, 14], "load": [2.0, None, 1.5]})
        >>> sash.Query({"peak": agg.max("load")}, window.time(10), time="minute").run(rows, threads=1).to_pydict()
        {'minute': [3, 8, 14], 'load': [2.0, None, 1.5], 'peak': [2.0, 2.0, 1.5]}
        >>> labels = pa.table({"minute": [15, 2]})
        >>> sash.Query({"newest": agg.last("load")}, window.time(10), time="minute").run(rows, at=labels).to_pydict()
        {'minute': [15, 2], 'newest': [1.5, None]}
        >>> stream = rows.to_reader(max_chunksize=2)
        >>> updates = sash.Query({"n": agg.count()}, window.session(6), time="minute").run(stream, mode="update")
        >>> for row in updates.read_all().to_pylist():
        ...     print(row)
        {'window_start': 3, 'window_end': 14, 'n': 2, 'change': 'upsert'}
        {'window_start': 3, 'window_end': 14, 'n': None, 'change': 'delete'}
        {'window_start': 3, 'window_end': 20, 'n': 3, 'change': 'upsert'}
        """
        from sash.backends.registry import run  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

        return run(self._prepared, data, options)

    @with_options
    def explain(self, data: Any = None, **options: Unpack[AnyOptions]) -> Explanation:
        """Return the plan: slices, sharing, the algorithm of each aggregate and why, cost and memory.

        `data` is data that `run` accepts, or a pyarrow Schema: then the plan is for its types, and everything that compiles is
        compiled. Without data, types are assumed. For a PySpark DataFrame the plan shows what Spark does. The query does not
        run. The plan is the one that `run` uses with the same options.

        Options: those of `run`.

        Result: an Explanation. `print` shows it as a tree, a notebook also as a picture.
        Errors: those of `run` for the types of the columns and for the options; without data, only those for the options.

        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query(
        ...     by="household", time="ts",
        ...     windows={"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")},
        ...     aggregates={"sd": agg.stddev("load"), "n": agg.count("load"), "notes": agg.collect("note")},
        ... )
        >>> query.explain()  # doctest: +ELLIPSIS
        Query by household, ordered by ts
        ├─ types     assumed, as there is no data: ts timestamp[ns], load double, note double
        ├─ windows   day: time("24h", slide="1m")
        │            hour: time("1h", slide="1m")
        ├─ slices    cut where windows begin (cutty), every 1m; 1,440 per window of day, 60 of hour; shared by day and
        │            hour
        ├─ state     a stream stores the rows that open or later windows need, 32 B each
        │            a restart on Spark reads up to 3 times its bytes: the last full copy, and the changes since then
        ├─ compiled  after about 2,000,000 rows in all runs, in about 2 s; with NumPy before that
        ├─ sd: stddev(load), n: count(load)  in one pass
        │    algorithm  two_stacks: associative...
        │    partials   n is read from the partial of sd
        │    cost       1 combine for each row, into its slice; for each slice and window: 3 combines, amortised, and
        │               n at worst
        │    memory     2n partials of 4 numbers, n = 1,440 + 60 slices: up to 96 KB a key
        │    runs       NumPy, then compiled
        └─ notes: collect(note)
             algorithm  lists: the result lists rows of the window, which its bounds tell
             over       rows, because slices would be as large as their rows
             cost       for each row and window: O(1), at worst
             memory     n values, n = the rows of a window: 8 B for each
             runs       NumPy, then compiled
        """
        from sash.backends.registry import explain  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

        return explain(self._declared, data, options)

    @overload
    def schema(self, data: ArrowSchema, **options: Unpack[TableOptions]) -> pa.Schema: ...

    @overload
    def schema(self, data: pa.RecordBatchReader, **options: Unpack[ReaderOptions]) -> pa.Schema: ...

    @overload
    def schema(self, data: SparkDataFrame, **options: Unpack[SparkTableOptions]) -> SparkSchema: ...

    @overload
    def schema(self, data: SparkDataFrame, **options: Unpack[SparkStreamOptions]) -> SparkSchema: ...

    @with_options
    def schema(self, data: Any, **options: Any) -> Any:
        """Return the schema of the result, without running the query.

        `data` is data that `run` accepts, or a pyarrow Schema; then `at` is the schema of the labels.

        Options: those of `run`.

        Nulls and NaN: the fields of aggregates are nullable. The values of the data do not matter.
        Result: for a PySpark DataFrame a StructType, otherwise a pyarrow Schema: for pandas and Polars, the schema of the
        result as an Arrow table, without the index. The type of an aggregate is null if it is not known before the query
        runs, as for an aggregate of your own that fails for made-up values.
        Errors: those of `run` for the types of the columns and for the options.

        >>> import pyarrow as pa
        >>> import sash
        >>> from sash import agg, window
        >>> rows = pa.schema({"ts": pa.timestamp("us"), "load": pa.float64()})
        >>> sash.Query({"peak": agg.max("load")}, window.tumbling("1h"), time="ts").schema(rows)
        window_start: timestamp[us]
        window_end: timestamp[us]
        peak: double
        """
        from sash.backends.registry import result_schema  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

        return result_schema(self._prepared, data, options)

    @with_options
    def state_header(self, data: Any, **options: Any) -> bytes:
        """Return what the states of all keys have in common, which a store keeps once: the types of columns, and which query they are of.

        `data` is a stream that `run` accepts, with the same options, or data of the same types, such as a pyarrow Schema. No row is read.

        Options: those of `run`.

        Nulls and NaN: the values of the data do not matter.
        Result: bytes, the same for the same query, types and options. They are also in the metadata of the column `state`, in base64.
        Errors: those of `run(stream, emit="state")`.

        >>> import pyarrow as pa
        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query(agg.sum("paid"), window.time(60), by="card", time="minute")
        >>> stream = pa.table({"card": ["A", "B"], "minute": [5, 9], "paid": [20.0, 3.0]}).to_reader()
        >>> header = query.state_header(stream)
        >>> states = query.run(stream, emit="state").read_all()
        >>> another = sash.Query(agg.sum("paid"), window.time(60), by="card", time="minute")  # in a process that serves requests
        >>> another.lookup(states["state"][0].as_py(), now=40, header=header)
        {'sum': 20.0}
        """
        from sash.backends.registry import state_header  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

        return state_header(self._prepared, data, options)

    def lookup(self, state: Any, *, now: Any, header: bytes | None = None) -> Any:
        """Return the features of a key at a time, from the state that `run(stream, emit="state")` has emitted.

        `state` is the newest state of a key, or None for a key that has none; or a list of these, for several keys. `now` is a time
        of the kind of the time column, `state_time` or later, rounded down to its unit; or a list with one for each state. `header` is
        what `state_header` returns; it may be left out for states that this query has emitted in this process.

        Nulls and NaN: as in results. A key without rows has null, and 0 for a count.
        Result: a dictionary with a value for each column that a run would add, as `to_pylist` of a table gives it, or a list of
        dictionaries. They equal those of `run(events, at=labels)` for a label of the key at `now`, over the events that the stream had
        accepted when it emitted the state.
        Errors: ValueError if `now` is before `state_time`, since the stream may have dropped rows that it would need; if the state is
        damaged, or of another query or header; or if a window has an end of its own, or looks ahead. TypeError if `now` or `state` is
        of another type. Errors of aggregates, as in `run`.

        >>> import pyarrow as pa
        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query([agg.sum("paid"), agg.count()], window.time(60), by="card", time="minute")
        >>> stream = pa.table({"card": ["A", "A", "B"], "minute": [5, 9, 9], "paid": [20.0, 3.0, 7.0]}).to_reader()
        >>> states = {row["card"]: row["state"] for row in query.run(stream, emit="state").read_all().to_pylist()}
        >>> query.lookup(states["A"], now=10), query.lookup(states["A"], now=66)
        ({'sum_paid': 23.0, 'count': 2}, {'sum_paid': 3.0, 'count': 1})
        >>> query.lookup([states["B"], states.get("C")], now=66)
        [{'sum_paid': 7.0, 'count': 1}, {'sum_paid': None, 'count': 0}]
        """
        if self._lookups is None:
            from sash.lookup.lookups import Lookups  # noqa: PLC0415 — it imports pyarrow, which declaring a query does not need

            self._lookups = Lookups(self._declared, self._prepared.headers)
        return self._lookups.features(state, now, header)

    def to_sql(self) -> str:
        """Return the query as text that `sash.sql` reads as the same query.

        Nulls and NaN: there are none.
        Result: CQL, in which FROM names the table `input`; any data that `run` gets takes its place.
        Errors: ValueError if a part has no text: a function of your own, an expression of Polars, Arrow or PySpark, or one of the
        arguments `algorithm`, `objective`, `slicing` and `lateness`.

        >>> import sash
        >>> from sash import agg, window
        >>> sash.Query({"peak": agg.max("x", where="x > 1")}, window.time("1h", slide="1m"), by="house", time="ts").to_sql()
        'SELECT max(x) FILTER (WHERE x > 1) AS peak FROM input [PARTITION BY house RANGE 1 HOUR SLIDE 1 MINUTE ON ts]'
        """
        from sash.language import require_sqlglot  # noqa: PLC0415 — few queries need it

        require_sqlglot()
        from sash.language.to_sql import to_sql  # noqa: PLC0415 — sqlglot is optional

        return to_sql(self._declared)

    @property
    def _prepared(self) -> PreparedCache:
        from sash.engine.prepare import PreparedCache  # noqa: PLC0415 — it imports Numba, which declaring a query does not need

        if self._cache is None:
            self._cache = PreparedCache(self._declared)
        return self._cache

    def __repr__(self) -> str:
        """Return the call that makes this query, on one line.

        >>> import sash
        >>> from sash import agg, window
        >>> sash.Query(by="household", time="ts", windows=window.time("24h", slide="1m"), aggregates=agg.max("load"))
        Query(by="household", time="ts", windows=time("24h", slide="1m"), aggregates={"max": max("load")})
        """
        declared = self._declared
        single = list(declared.windows) == [window.kind for window in declared.windows.values()]
        shown = {
            "by": _columns(declared.by),
            "time": declared.time and as_literal(declared.time),
            "order_by": _columns(declared.order_by),
            "windows": repr(*declared.windows.values()) if single else _dictionary(declared.windows),
            "aggregates": _dictionary(declared.aggregates),
            "lateness": declared.lateness
            and as_literal(str(declared.lateness) if declared.lateness.is_time else declared.lateness.amount),
            "algorithm": declared.algorithm != "auto" and as_literal(declared.algorithm),
            "objective": declared.objective != "throughput" and as_literal(declared.objective),
            "slicing": declared.slicing != "auto" and as_literal(declared.slicing),
        }
        return f"Query({', '.join(f'{name}={text}' for name, text in shown.items() if text)})"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _repr_svg_(self) -> str:
        return self.explain()._repr_svg_()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared queries: compiled functions cannot be sent to another process."""
        return {"_declared": self._declared, "_cache": None, "_lookups": None}


def _unknown_parameter(name: str) -> TypeError:
    parameters = ("aggregates", "windows", "by", "time", "order_by", "algorithm", "lateness", "objective", "slicing")
    hint = did_you_mean(name, parameters)
    if name in NAMES_ELSEWHERE:
        hint = f" Use {NAMES_ELSEWHERE[name]}=."
    elif (hint_of_window := parameter_of_window(name)) is not None:
        hint = hint_of_window
    elif name in AnyOptions.__annotations__:
        hint = f" Pass it to run: query.run(data, {name}=…)."
    return TypeError(f"Query has no parameter {name!r}.{hint} The parameters are {', '.join(parameters)}.")


def _columns(names: Sequence[str]) -> str:
    texts = [call_of(name) for name in names]
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)


def _dictionary(named: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{as_literal(name)}: {value!r}' for name, value in named.items())}}}"
