"""The strategy "native": Spark computes results alone, and nothing goes to Python.

    windows that do not overlap    groupBy(keys, window).agg(…)
    windows that overlap           slices as above; a copy of each slice per window; groupBy(keys, window) again
    sessions                       groupBy(keys, session_window(…)).agg(…)
    frames of rows, expanding()    … OVER (PARTITION BY keys ORDER BY time ROWS BETWEEN …)

Each aggregate brings its `NativeSql`. Rows without a time, and times near the end of 64 bits, raise as in the other strategies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import DataType, StructField, StructType, TimestampNTZType, TimestampType

from sash.aggregates.sql import EPOCH, SLICE, NativeSql, SqlForm, column_of, literal, quote
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import and_between
from sash.spark.batch.sql_slices import read_forms, slice_sql, ticks_sql, why_not_grouped
from sash.windows import Window
from sash.windows.base import Cycle
from sash.workers.own_columns import TICKS

if TYPE_CHECKING:
    from sash.engine.prepare import Prepared
    from sash.spark.batch.batch_query import BatchQuery
    from sash.spark.spark_query import SparkQuery

MOST_COPIES = 4
"""Up to this many windows may hold a slice. With more, Python combines slices faster than Spark copies them."""
MOST_ROWS = 10
"""Up to this many rows may be in a frame: Spark reads all of them for each row. Frames that begin with the first row grow instead."""
START, WINDOW = "sash_start", "sash_window"
LAST_TICK = (1 << 63) - 1
"""The largest time in ticks."""


def why_not_native(  # noqa: PLR0911 — a chain
    query: QuerySpec, prepared: Prepared, schema: StructType
) -> str:
    """Return why Spark cannot compute the results of a query alone; empty if it can."""
    if reason := why_not_grouped(query, schema):
        return reason
    if query.time is None:
        return "there is no time=, whose order Spark needs."
    if query.time in query.by:
        return f"{query.time} is a key too."
    forms = read_forms(query, prepared, "")
    if isinstance(forms, str):
        return forms
    for name, form in forms.items():
        if form.native is None:
            return f"{name!r}: {form.aggregate.name} is computed from partials in Python."
        if query.aggregates[name].result.type is not None:
            return f"{name!r}: types= declares its type."
    natives = _natives(forms)
    if reason := _clash(query, natives, schema.names if query.per_row else query.by):
        return reason
    return (
        _why_not_frames(query, prepared, schema)
        if query.per_row
        else _why_not_windows(query, prepared, schema, natives)
    )


def _why_not_frames(query: QuerySpec, prepared: Prepared, schema: StructType) -> str:
    for window in query.windows.values():
        if window.frame is None or not window.frame.sql:
            return f"{window} is neither a frame of rows nor expanding()."
    assert query.time is not None
    for field in map(prepared.schema.field, query.order_by):
        if not column_of(field).is_ordered:
            return f"{field.name} orders rows, and Spark and Python may order {field.type} differently."
    return (
        "" if ticks_sql(query.time, schema[query.time].dataType) else f"{query.time} is neither a time nor an integer."
    )


def _why_not_windows(  # noqa: PLR0911 — a chain
    query: QuerySpec, prepared: Prepared, schema: StructType, natives: Mapping[str, NativeSql]
) -> str:
    if len(query.windows) > 1:
        return "there are several windows, which share slices in Python."
    [window] = query.windows.values()
    if window.emits_empty:
        return f"{window} has results without rows."
    assert query.time is not None
    if not isinstance(schema[query.time].dataType, TimestampType | TimestampNTZType):
        return f"{query.time} is not a timestamp, which Spark's own windows need."
    cycle, gap = _cycle_of(window, prepared), _gap_of(window, prepared)
    if cycle is None:
        return f"{window} is neither periodic nor a session." if gap is None else ""
    if cycle.step < cycle.length:
        return f"{window} has several ends, which share slices in Python."
    copies = _copies(cycle)
    if copies > MOST_COPIES:
        return f"each slice belongs to {copies} windows, which Python combines faster."
    for name, native in natives.items():
        if copies > 1 and not native.merges:
            return f"{name!r}: Spark SQL does not combine slices of {query.aggregates[name].name}."
    return ""


def _clash(query: QuerySpec, natives: Mapping[str, NativeSql], columns: Sequence[str]) -> str:
    """Return why a column of partials would have the name of another column, ignoring case; empty if none would."""
    partials = {name.lower() for name in _expressions(natives)}
    clash = next((name for name in (*columns, *query.by) if name.lower() in partials), None)
    return f"the column {clash!r} has the name of a column of partials. Rename it." if clash else ""


def why_slower(batch: BatchQuery) -> str:
    """Return why another strategy suits a query better, although Spark could compute its results alone; empty if none does."""
    given = [f"{name}=" for name in ("buckets", "ranges", "compiled") if batch.options[name] is not None]
    if given:
        return f"{and_between(given)} {'tells' if len(given) == 1 else 'tell'} how Python evaluates it."
    if batch.query.per_row and not batch.query.by:
        return "there is no key, and Spark would send all rows to one task."
    for window in batch.query.windows.values():
        if _gap_of(window, batch.prepared) is not None:
            return f"Python finds {window} faster than Spark."  # 2.0 s beside 3.4 s for 1 M rows in sessions of 100
        frame = window.frame
        if frame is None or frame.grows or frame.around == (None, None):
            continue
        if frame.rows is None or frame.rows > MOST_ROWS:
            return f"{window} holds more than {MOST_ROWS} rows, which Spark would read for each row."
    return ""


def native_frame(batch: BatchQuery) -> DataFrame:
    """Return the results of a query that Spark computes alone."""
    forms = read_forms(batch.query, batch.prepared, quote(TICKS))
    assert not isinstance(forms, str), forms
    return _in_frames(batch, _natives(forms)) if batch.query.per_row else _per_window(batch, _natives(forms))


def _in_frames(batch: BatchQuery, natives: Mapping[str, NativeSql]) -> DataFrame:
    """Return the rows, with the results of their frames."""
    query = batch.query
    rows = batch.frame.withColumn(TICKS, F.expr(_checked_ticks(batch)))
    fields = {field.name: field for field in batch.added}
    for name, window in query.windows.items():
        assert window.frame is not None
        over = _over(query, window.frame.sql)
        held = rows.select("*", *(F.expr(f"{text} {over}").alias(part) for part, text in _expressions(natives).items()))
        results = {query.result_name(aggregate, name): _result(native) for aggregate, native in natives.items()}
        rows = held.select(
            *(F.col(quote(column)) for column in rows.columns),
            *(_as_field(value, fields[column]) for column, value in results.items()),
        )
    return rows.select(*(F.col(quote(field.name)) for field in batch.results))


def _over(query: QuerySpec, frame: str) -> str:
    """Return the OVER clause of a frame. In a frame of times, rows of equal time are peers, whatever else orders them."""
    ties = query.order_by if frame.startswith("ROWS") else ()
    keys = f"PARTITION BY {', '.join(map(quote, query.by))} " if query.by else ""
    order = [quote(TICKS), *(f"{quote(name)} ASC NULLS LAST" for name in ties)]
    return f"OVER ({keys}ORDER BY {', '.join(order)} {frame})"


def _per_window(batch: BatchQuery, natives: Mapping[str, NativeSql]) -> DataFrame:
    """Return a result per window."""
    query = batch.query
    assert query.time is not None
    [window] = query.windows.values()
    cycle = _cycle_of(window, batch.prepared)
    if cycle is None:
        return in_own_windows(batch, window)
    grouped = _in_windows(_rows(batch), query, batch, cycle, natives)
    time = batch.frame.schema[query.time].dataType
    assert window.cuts is not None
    start = f"{quote(START)} - {window.cuts.shift}L" if window.cuts.shift else quote(START)
    end = f"{quote(START)} + {cycle.length - window.cuts.shift}L"
    return _results(batch, grouped, natives, F.expr(time_sql(start, time)), F.expr(time_sql(end, time)))


def in_own_windows(source: SparkQuery, window: Window) -> DataFrame:
    """Return the results of sessions, or of windows that do not overlap, which Spark's own functions find."""
    time, cycle = F.col(quote(str(source.query.time))), _cycle_of(window, source.prepared)
    if cycle is None:
        group = F.session_window(time, f"{_gap_of(window, source.prepared)} microseconds")
    else:
        length, offset = (f"{ticks} microseconds" for ticks in (cycle.length, cycle.offset))
        group = F.window(time, length, length, offset)
    forms = read_forms(source.query, source.prepared, quote(TICKS))
    assert not isinstance(forms, str), forms
    natives = _natives(forms)
    # The ticks are checked in a filter, since Spark's functions drop rows without a time.
    rows = _rows(source).where(F.col(quote(TICKS)).isNotNull())
    grouped = _aggregate(rows, source.query, group.alias(WINDOW), _expressions(natives))
    return _results(source, grouped, natives, F.col(f"{WINDOW}.start"), F.col(f"{WINDOW}.end"))


def _rows(source: SparkQuery) -> DataFrame:
    """Return the columns that the query reads, and the time of each row in ticks."""
    columns = (F.col(quote(name)) for name in source.query.columns)
    return source.frame.select(*columns, F.expr(_checked_ticks(source)).alias(TICKS))


def _in_windows(
    rows: DataFrame, query: QuerySpec, batch: BatchQuery, cycle: Cycle, natives: Mapping[str, NativeSql]
) -> DataFrame:
    """Return the columns of each window, and where it starts."""
    ticks = quote(TICKS)
    if cycle.period >= cycle.length:
        since = since_start(ticks, cycle)
        held = rows if cycle.period == cycle.length else rows.where(f"{since} < {cycle.length}")
        return _aggregate(held, query, F.expr(f"{ticks} - {since}").alias(START), _expressions(natives))
    slice_begin = F.expr(slice_sql(batch.prepared.borders.edges, ticks)).alias(SLICE)
    slices = _aggregate(rows, query, slice_begin, _expressions(natives))
    last = f"{quote(SLICE)} - {since_start(quote(SLICE), cycle)}"
    starts = f"explode(transform(sequence(0, {_copies(cycle) - 1}), i -> {last} - i * {cycle.period}L))"
    copied = slices.withColumn(START, F.expr(starts)).where(f"{quote(START)} + {cycle.length}L > {quote(SLICE)}")
    merges = {name: text for native in natives.values() for name, text in native.merges.items()}
    return _aggregate(copied, query, F.col(START), merges)


def _aggregate(rows: DataFrame, query: QuerySpec, group: Column, expressions: Mapping[str, str]) -> DataFrame:
    grouped = rows.groupBy(*(F.col(quote(name)) for name in query.by), group)
    return grouped.agg(*(F.expr(text).alias(name) for name, text in expressions.items()))


def _copies(cycle: Cycle) -> int:
    """Return how many windows hold a slice, at most."""
    return -(-cycle.length // cycle.period)


def _natives(forms: Mapping[str, SqlForm]) -> dict[str, NativeSql]:
    return {name: form.native for name, form in forms.items() if form.native is not None}


def _expressions(natives: Mapping[str, NativeSql]) -> dict[str, str]:
    return {name: text for native in natives.values() for name, text in native.expressions.items()}


def _results(
    source: SparkQuery, grouped: DataFrame, natives: Mapping[str, NativeSql], start: Column, end: Column
) -> DataFrame:
    """Return the columns of results, in the types that all strategies have."""
    columns: dict[str, Column] = {name: F.col(quote(name)) for name in source.query.by}
    columns |= {"window_start": start, "window_end": end}
    columns |= {name: _result(native) for name, native in natives.items()}
    return grouped.select(*(_as_field(columns[field.name], field) for field in source.results))


def _as_field(column: Column, field: StructField) -> Column:
    return column.cast(field.dataType).alias(field.name, metadata=field.metadata)


def _result(native: NativeSql) -> Column:
    """Return a result, nullable as in the other strategies, also if it is a count. Spark drops the comparison with null."""
    return F.expr(f"nullif({native.result}, NULL)")


def since_start(ticks: str, cycle: Cycle) -> str:
    """Return SQL for the ticks since the last start of a window."""
    return f"pmod(pmod({ticks}, {cycle.period}L) - {cycle.offset % cycle.period}L, {cycle.period}L)"


def time_sql(ticks: str, dtype: DataType) -> str:
    """Return SQL for the time at some ticks; that of a timestamp without a zone does not depend on the session's zone.

    >>> time_sql("t", TimestampType())
    'timestamp_micros(t)'
    """
    return (
        f"timestamp_micros({ticks})"
        if isinstance(dtype, TimestampType)
        else f"{EPOCH} + INTERVAL '0.000001' SECOND * ({ticks})"
    )


def _checked_ticks(source: SparkQuery) -> str:
    """Return SQL for the time of rows in ticks. It raises an error for rows without a time, as all strategies do."""
    time = source.query.time
    assert time is not None
    ticks = ticks_sql(time, source.frame.schema[time].dataType)
    limit = LAST_TICK - 2 * (source.prepared.extent or 0)
    missing = f"[SASH] The time column '{time}' has nulls. Rows without a time have no order. Drop them."
    too_far = f"[SASH] The time column '{time}' has times so far from 1970 that windows would end beyond 64 bits."
    return (
        f"CASE WHEN {ticks} BETWEEN -{limit}L AND {limit}L THEN {ticks} "
        f"WHEN {quote(time)} IS NULL THEN raise_error({literal(missing)}) ELSE raise_error({literal(too_far)}) END"
    )


def _cycle_of(window: Window, prepared: Prepared) -> Cycle | None:
    return None if window.cuts is None else window.cuts.cycle(prepared.unit)


def _gap_of(window: Window, prepared: Prepared) -> int | None:
    return None if window.cuts is None else window.cuts.gap(prepared.unit)
