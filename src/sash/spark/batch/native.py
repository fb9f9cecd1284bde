"""The strategy "native": Spark computes results alone, and nothing goes to Python.

    windows with a slide, sessions   groupBy(keys, slice).agg(…), and slices grouped by window (`native_slices`)
    the same, if slices of an        groupBy(keys, window(time, range, slide)).agg(…), which copies a row for each window that holds it,
    aggregate cannot be merged       or session_window(time, gap)
    frames of rows, expanding()      … OVER (PARTITION BY keys ORDER BY time ROWS BETWEEN …)

Each aggregate brings its `NativeSql`. Rows without a time, and times near the end of 64 bits, raise as in the other strategies.
Spark's `window` and `session_window` drop rows without a time, and push that filter into the scan of a file: so the time is checked inside
their argument, where the filter must evaluate it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name

from sash.aggregates.sql import NativeSql, quote
from sash.plan.query_spec import QuerySpec
from sash.spark.batch.native_choice import why_not_slices
from sash.spark.batch.native_forms import (
    as_field,
    checked_time,
    cycle_and_gap,
    expressions_of,
    grouped,
    inputs_of,
    natives_of,
    nullable,
    reads_ticks,
    results_of,
)
from sash.spark.batch.native_slices import (
    FIRST,
    LAST,
    SliceRows,
    sessions_of_slices,
    time_sql,
    windows_of_slices,
)
from sash.spark.batch.sql_slices import ticks_sql, with_ticks
from sash.workers.own_columns import TICKS, TIME, WINDOW

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import BatchQuery
    from sash.spark.spark_query import SparkQuery


def native_frame(batch: BatchQuery) -> DataFrame:
    """Return the results of a query that Spark computes alone."""
    if batch.query.per_row:
        return _in_frames(batch)
    if not why_not_slices(batch):
        return _in_slices(batch)
    time = str(batch.query.time)
    rows = with_ticks(batch.frame, batch.query, ticks_sql(time, batch.frame.schema[time].dataType))
    checked = rows.withColumn(TIME, F.expr(checked_time(batch, quote(time))))
    return in_own_windows(batch, checked, F.col(TIME))


def _in_slices(batch: BatchQuery) -> DataFrame:
    """Return the results of windows that are made of slices."""
    query, natives = batch.query, natives_of(batch)
    dtype = batch.frame.schema[str(query.time)].dataType
    ticks = ticks_sql(str(query.time), dtype)
    columns = (*map(quote, query.columns), *([f"{ticks} AS {TICKS}"] if reads_ticks(natives) else []))
    inputs = tuple(f"{text} AS {quote(name)}" for name, text in inputs_of(natives).items())
    source = SliceRows(batch.frame, query.by, columns, inputs, ticks, partial(checked_time, batch))
    expressions, results = expressions_of(natives), partial(results_of, batch)
    cycle, gap = cycle_and_gap(batch)
    if cycle is None:
        assert gap is not None
        sessions = sessions_of_slices(source, gap, expressions, results)
        return _with_ends(batch, sessions, time_sql(FIRST, dtype), time_sql(f"{LAST} + {gap}L", dtype))
    [window] = query.windows.values()
    assert window.cuts is not None
    windows = windows_of_slices(source, cycle, expressions, results)
    ends = (f"{WINDOW} + {ticks}L" for ticks in (-window.cuts.shift, cycle.length - window.cuts.shift))
    return _with_ends(batch, windows, *(time_sql(end, dtype) for end in ends))


def _in_frames(batch: BatchQuery) -> DataFrame:
    """Return the rows, with the results of their frames."""
    query, natives = batch.query, natives_of(batch)
    ticks = ticks_sql(str(query.time), batch.frame.schema[str(query.time)].dataType)
    # A filter checks the time, so that rows are shuffled without a further column. Each step takes Spark some milliseconds to plan.
    rows = batch.frame.where(f"{checked_time(batch, ticks)} IS NOT NULL")
    needed = [quote(name) for name in batch.frame.columns]
    if reads_ticks(natives):
        rows = rows.selectExpr(*needed, f"{ticks} AS {TICKS}")
        needed.append(TICKS)
    restored = _restored(batch, natives)
    if inputs := inputs_of(natives):
        needed = [name for name in needed if name not in restored]
        rows = rows.selectExpr(*needed, *(f"{text} AS {quote(name)}" for name, text in inputs.items()))
        needed += map(quote, inputs)
    fields = {field.name: field for field in batch.added}
    kept = [restored.get(quote(field.name), quote(field.name)) for field in batch.row_fields]
    for place, (name, window) in enumerate(query.windows.items(), 1):
        assert window.frame is not None
        over = _over(query, window.frame.sql)
        parts = [f"{text} {over} AS {quote(part)}" for part, text in expressions_of(natives).items()]
        results = {query.result_name(aggregate, name): native for aggregate, native in natives.items()}
        added = {column: as_field(nullable(native.result), fields[column]) for column, native in results.items()}
        with_parts = rows.selectExpr("*", *parts)
        if place == len(query.windows):
            ordered = [added.get(field.name, quote(field.name)) for field in batch.added]
            return with_parts.selectExpr(*kept, *ordered)
        rows = with_parts.selectExpr(*needed, *added.values())
        needed += map(quote, added)
    raise AssertionError("a query has windows")


def _restored(batch: BatchQuery, natives: Mapping[str, NativeSql]) -> dict[str, str]:
    """Return the columns that rows need not have, with SQL that computes them from others; metadata would be lost."""
    query, texts = batch.query, expressions_of(natives).values()
    plain = {field.name for field in batch.frame.schema if not field.metadata}
    plain -= {*query.by, str(query.time), *query.order_by}
    restored = {name: text for native in natives.values() for name, text in native.restored.items()}
    return {
        quote(name): f"{text} AS {quote(name)}"
        for name, text in restored.items()
        if name in plain and not any(quote(name) in other for other in texts)
    }


def _over(query: QuerySpec, frame: str) -> str:
    """Return the OVER clause of a frame. In a frame of times, rows of equal time are peers, whatever else orders them."""
    ties = query.order_by if frame.startswith("ROWS") else ()
    keys = f"PARTITION BY {', '.join(map(quote, query.by))} " if query.by else ""
    order = [quote(str(query.time)), *(f"{quote(name)} ASC NULLS LAST" for name in ties)]
    return f"OVER ({keys}ORDER BY {', '.join(order)} {frame})"


def in_own_windows(source: SparkQuery, rows: DataFrame, time: Column) -> DataFrame:
    """Return the results of windows that Spark's own functions find."""
    cycle, gap = cycle_and_gap(source)
    if cycle is None:
        group = F.session_window(time, f"{gap} microseconds")
    else:
        lengths = (cycle.length, cycle.period, cycle.offset % cycle.period)
        group = F.window(time, *(f"{ticks} microseconds" for ticks in lengths))
    natives = natives_of(source)
    if inputs := inputs_of(natives):
        rows = rows.selectExpr("*", *(f"{text} AS {quote(name)}" for name, text in inputs.items()))
    keys: list[str | Column] = [*map(quote, source.query.by), group.alias(WINDOW)]
    windows = grouped(rows, keys, results_of(source, expressions_of(natives)))
    return _with_ends(source, windows, f"{WINDOW}.start", f"{WINDOW}.end")


def _with_ends(source: SparkQuery, windows: DataFrame, start: str, end: str) -> DataFrame:
    """Return the results of windows, given SQL for where these start and end."""
    ends = {"window_start": nullable(start), "window_end": nullable(end)}
    fields = [field for field in source.results if field.name not in source.query.by]
    values = (as_field(ends[field.name], field) if field.name in ends else quote(field.name) for field in fields)
    results = windows.selectExpr(*map(quote, source.query.by), *values)
    for field in fields:
        results = results.withMetadata(field.name, field.metadata) if field.metadata else results
    return results
