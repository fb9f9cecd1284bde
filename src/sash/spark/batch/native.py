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

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StructField, TimestampNTZType, TimestampType

from sash.aggregates.sql import NativeSql, column_of, literal, quote
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import and_between
from sash.spark.batch.native_slices import (
    FIRST,
    LAST,
    SliceRows,
    merged_sql,
    sessions_of_slices,
    time_sql,
    windows_of_slices,
)
from sash.spark.batch.sql_slices import aggregate, read_forms, ticks_sql, why_not_grouped, with_ticks
from sash.windows.base import Cycle
from sash.workers.own_columns import TICKS, TIME, WINDOW

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import BatchQuery
    from sash.spark.spark_query import SparkQuery

MOST_COPIES = 2
"""Up to this many windows may hold a row, which Spark copies for each. With three, Python combines slices faster (4.3 s beside 5.4 s for 4 M rows)."""
MOST_SLICE_COPIES = 5
"""Up to this many windows may hold a slice, which Spark copies for each. With ten, Python takes 0.8 times as long if a slice has two rows, and
1.4 times as long if it has many."""
MOST_ROWS, MOST_READS = 20, 100
"""Spark reads all rows of a frame for each row, and updates each aggregate: so many rows, or rows times aggregates, take it as long as Python."""
VARIANCE_READS = 6
"""An update of a variance takes Spark as long as so many of a sum."""
FEW_ROWS = 3
"""Up to this many rows may be in a frame in any case; Spark compares structs for aggregates such as arg_max."""
LAST_TICK = (1 << 63) - 1
"""The largest time in ticks."""


def why_not_native(source: SparkQuery, *, in_slices: bool) -> str:  # noqa: PLR0911 — a chain
    """Return why Spark cannot compute the results of a query alone; empty if it can.

    With `in_slices` it may make slices first, of which its streams know nothing.
    """
    query, schema = source.query, source.frame.schema
    if reason := why_not_grouped(query, schema):
        return reason
    if query.time is None:
        return "there is no time=, whose order Spark needs."
    if query.time in query.by:
        return f"{query.time} is a key too."
    forms = read_forms(query, source.prepared)
    if isinstance(forms, str):
        return forms
    for name, form in forms.items():
        if form.native is None:
            return f"{name!r}: {form.aggregate.name} is computed from partials in Python."
        if query.aggregates[name].result.type is not None:
            return f"{name!r}: types= declares its type."
    partials = {name.lower() for name in _expressions(_natives(source))}
    columns = (*(schema.names if query.per_row else ()), *query.by)
    if clash := next((name for name in columns if name.lower() in partials), None):
        return f"the column {clash!r} has the name of a column of partials. Rename it."
    if query.per_row:
        return _why_not_frames(source)
    return _why_not_slices(source) and _why_not_windows(source) if in_slices else _why_not_windows(source)


def _why_not_frames(source: SparkQuery) -> str:
    query = source.query
    for window in query.windows.values():
        if window.frame is None or not window.frame.sql:
            return f"{window} is neither a frame of rows nor expanding()."
    for field in map(source.prepared.schema.field, query.order_by):
        if not column_of(field).is_ordered:
            return f"{field.name} orders rows, and Spark and Python may order {field.type} differently."
    assert query.time is not None
    is_time = ticks_sql(query.time, source.frame.schema[query.time].dataType)
    return "" if is_time else f"{query.time} is neither a time nor an integer."


def _why_not_slices(source: SparkQuery) -> str:
    query = source.query
    if len(query.windows) > 1:
        return "there are several windows, which share slices in Python."
    [window] = query.windows.values()
    cycle, gap = _cycle_and_gap(source)
    if window.emits_empty or (cycle is None and gap is None):
        return f"{window} is neither periodic nor a session, or has results without rows."
    if cycle is not None and not cycle.period <= cycle.length <= cycle.step:
        return f"{window} has several ends, or gaps between windows."
    if not ticks_sql(str(query.time), source.frame.schema[str(query.time)].dataType):
        return f"{query.time} is neither a time nor an integer."
    is_once = cycle is not None and cycle.length == cycle.period
    return (
        "" if is_once or merged_sql(_expressions(_natives(source))) else "slices of some aggregates cannot be merged."
    )


def _why_not_windows(source: SparkQuery) -> str:  # noqa: PLR0911 — a chain
    query = source.query
    if len(query.windows) > 1:
        return "there are several windows, which share slices in Python."
    [window] = query.windows.values()
    if window.emits_empty:
        return f"{window} has results without rows."
    assert query.time is not None
    if not isinstance(source.frame.schema[query.time].dataType, TimestampType | TimestampNTZType):
        return f"{query.time} is not a timestamp, which Spark's own windows need."
    cycle, gap = _cycle_and_gap(source)
    if cycle is None:
        return f"{window} is neither periodic nor a session." if gap is None else ""
    if cycle.step < cycle.length:
        return f"{window} has several ends, which share slices in Python."
    assert window.cuts is not None
    if cycle.period > cycle.length or window.cuts.shift:
        return f"{window} is not like Spark's own windows, which begin with a row at their start, and leave no gaps."
    return ""


def why_slower(batch: BatchQuery) -> str:
    """Return why another strategy suits a query better, although Spark could compute its results alone; empty if none does."""
    given = [f"{name}=" for name in ("buckets", "ranges", "compiled") if batch.options[name] is not None]
    if given:
        return f"{and_between(given)} {'tells' if len(given) == 1 else 'tell'} how Python evaluates it."
    if batch.query.per_row and not batch.query.by:
        return "there is no key, and Spark would send all rows to one task."
    if not batch.query.per_row:
        return _why_slower_in_windows(batch)
    most = _most_rows(text.partition("(")[0] for text in _expressions(_natives(batch)).values())
    for window in batch.query.windows.values():
        frame = window.frame
        if frame is None or frame.grows or frame.around == (None, None):
            continue
        if frame.rows is None or frame.rows > most:
            return f"{window} holds more than {most} rows, which Spark would read for each row."
    return ""


def _most_rows(functions: Iterable[str]) -> int:
    """Return up to how many rows of a frame Spark aggregates faster than Python."""
    reads = [MOST_READS if name.endswith("_by") else VARIANCE_READS if name == "var_pop" else 1 for name in functions]
    return max(FEW_ROWS, min(MOST_ROWS, MOST_READS // sum(reads)))


def _why_slower_in_windows(batch: BatchQuery) -> str:
    is_session, has_slices = _cycle_and_gap(batch)[0] is None, not _why_not_slices(batch)
    if is_session and not has_slices:
        return "Spark would sort all rows to find sessions."  # 3.4 s beside 2.0 s in Python for 1 M rows in sessions of 100
    if is_session and not batch.query.by:
        return "there is no key, and Spark would send all slices to one task."
    copies, most = copies_of_rows(batch), MOST_SLICE_COPIES if has_slices else MOST_COPIES
    copied = "slice" if has_slices else "row"
    return f"a {copied} is in {copies} windows, and Spark would copy it for each." if copies > most else ""


def native_frame(batch: BatchQuery) -> DataFrame:
    """Return the results of a query that Spark computes alone."""
    if batch.query.per_row:
        return _in_frames(batch)
    if not _why_not_slices(batch):
        return _in_slices(batch)
    time = str(batch.query.time)
    rows = with_ticks(batch.frame, batch.query, ticks_sql(time, batch.frame.schema[time].dataType))
    checked = rows.withColumn(TIME, F.expr(checked_time(batch, quote(time))))
    return in_own_windows(batch, checked, F.col(TIME))


def _in_slices(batch: BatchQuery) -> DataFrame:
    """Return the results of windows that are made of slices."""
    query, expressions = batch.query, _expressions(_natives(batch))
    dtype = batch.frame.schema[str(query.time)].dataType
    ticks = ticks_sql(str(query.time), dtype)
    cycle, gap = _cycle_and_gap(batch)
    rows = batch.frame
    if cycle is None or _reads_ticks(expressions):
        rows = with_ticks(
            batch.frame, query, ticks
        )  # else Spark computes ticks once anyway, and one step less is planned
    source = SliceRows(rows, query.by, ticks, partial(checked_time, batch))
    if cycle is None:
        assert gap is not None
        grouped = sessions_of_slices(source, gap, expressions)
        return _with_results(batch, grouped, time_sql(quote(FIRST), dtype), time_sql(f"{quote(LAST)} + {gap}L", dtype))
    [window] = query.windows.values()
    assert window.cuts is not None
    grouped = windows_of_slices(source, cycle, expressions)
    ends = (f"{quote(WINDOW)} + {ticks}L" for ticks in (-window.cuts.shift, cycle.length - window.cuts.shift))
    return _with_results(batch, grouped, *(time_sql(end, dtype) for end in ends))


def _in_frames(batch: BatchQuery) -> DataFrame:
    """Return the rows, with the results of their frames."""
    query, natives = batch.query, _natives(batch)
    ticks = ticks_sql(str(query.time), batch.frame.schema[str(query.time)].dataType)
    # A filter checks the time, so that rows are shuffled without a further column. Each step takes Spark some milliseconds to plan.
    rows = batch.frame.where(f"{checked_time(batch, ticks)} IS NOT NULL")
    if _reads_ticks(_expressions(natives)):
        rows = rows.withColumn(TICKS, F.expr(ticks))
    fields = {field.name: field for field in batch.added}
    kept = [quote(field.name) for field in batch.row_fields]
    needed = [quote(name) for name in rows.columns]
    for place, (name, window) in enumerate(query.windows.items(), 1):
        assert window.frame is not None
        over = _over(query, window.frame.sql)
        parts = [f"{text} {over} AS {quote(part)}" for part, text in _expressions(natives).items()]
        results = {query.result_name(aggregate, name): native for aggregate, native in natives.items()}
        added = {column: _as_field(_nullable(native.result), fields[column]) for column, native in results.items()}
        with_parts = rows.selectExpr("*", *parts)
        if place == len(query.windows):
            ordered = [added.get(field.name, quote(field.name)) for field in batch.added]
            return with_parts.selectExpr(*kept, *ordered)
        rows = with_parts.selectExpr(*needed, *added.values())
        needed += map(quote, added)
    raise AssertionError("a query has windows")


def _over(query: QuerySpec, frame: str) -> str:
    """Return the OVER clause of a frame. In a frame of times, rows of equal time are peers, whatever else orders them."""
    ties = query.order_by if frame.startswith("ROWS") else ()
    keys = f"PARTITION BY {', '.join(map(quote, query.by))} " if query.by else ""
    order = [quote(str(query.time)), *(f"{quote(name)} ASC NULLS LAST" for name in ties)]
    return f"OVER ({keys}ORDER BY {', '.join(order)} {frame})"


def in_own_windows(source: SparkQuery, rows: DataFrame, time: Column) -> DataFrame:
    """Return the results of windows that Spark's own functions find."""
    cycle, gap = _cycle_and_gap(source)
    if cycle is None:
        group = F.session_window(time, f"{gap} microseconds")
    else:
        lengths = (cycle.length, cycle.period, cycle.offset % cycle.period)
        group = F.window(time, *(f"{ticks} microseconds" for ticks in lengths))
    grouped = aggregate(rows, source.query, group.alias(WINDOW), _expressions(_natives(source)))
    return _with_results(source, grouped, f"{WINDOW}.start", f"{WINDOW}.end")


def _with_results(source: SparkQuery, grouped: DataFrame, start: str, end: str) -> DataFrame:
    """Return the results of grouped aggregates, given SQL for where windows start and end."""
    values = {"window_start": _nullable(start), "window_end": _nullable(end)}
    values |= {name: _nullable(native.result) for name, native in _natives(source).items()}
    fields = [field for field in source.results if field.name in values]
    # SQL in one call: building a column takes PySpark about a millisecond.
    results = grouped.selectExpr(*map(quote, source.query.by), *(_as_field(values[f.name], f) for f in fields))
    for field in fields:
        results = results.withMetadata(field.name, field.metadata) if field.metadata else results
    return results


def _natives(source: SparkQuery) -> dict[str, NativeSql]:
    """Return how Spark computes each aggregate."""
    cycle = _cycle_and_gap(source)[0] if len(source.query.windows) == 1 else None
    is_once = cycle is not None and cycle.length == cycle.period
    forms = read_forms(
        source.query, source.prepared, (cycle.period, cycle.offset % cycle.period) if cycle and is_once else (0, 0)
    )
    assert not isinstance(forms, str), forms
    return {name: form.native for name, form in forms.items() if form.native is not None}


def _expressions(natives: Mapping[str, NativeSql]) -> dict[str, str]:
    return {name: text for native in natives.values() for name, text in native.expressions.items()}


def _reads_ticks(expressions: Mapping[str, str]) -> bool:
    return any(quote(TICKS) in text for text in expressions.values())


def _as_field(value: str, field: StructField) -> str:
    return f"CAST({value} AS {field.dataType.simpleString()}) AS {quote(field.name)}"


def _nullable(value: str) -> str:
    """Return SQL for a value that is nullable, as results of the other strategies are. Spark drops the comparison with null."""
    return f"nullif({value}, NULL)"


def checked_time(source: SparkQuery, value: str, condition: str = "true") -> str:
    """Return SQL for the time of rows as `value` has it. It raises an error for rows without a time, as all strategies do."""
    time = source.query.time
    assert time is not None
    ticks = ticks_sql(time, source.frame.schema[time].dataType)
    limit = LAST_TICK - 2 * (source.prepared.extent or 0)
    missing = f"[SASH] The time column '{time}' has nulls. Rows without a time have no order. Drop them."
    too_far = f"[SASH] The time column '{time}' has times so far from 1970 that windows would end beyond 64 bits."
    return (
        f"CASE WHEN {ticks} BETWEEN -{limit}L AND {limit}L AND {condition} THEN {value} "
        f"WHEN {quote(time)} IS NULL THEN raise_error({literal(missing)}) ELSE raise_error({literal(too_far)}) END"
    )


def copies_of_rows(source: SparkQuery) -> int:
    """Return how many windows hold a row, at most."""
    cycle, _ = _cycle_and_gap(source)
    return 1 if cycle is None else -(-cycle.length // cycle.period)


def _cycle_and_gap(source: SparkQuery) -> tuple[Cycle | None, int | None]:
    """Return the cycle of the only window, or the gap between its sessions, in ticks."""
    [window] = source.query.windows.values()
    unit = source.prepared.unit
    return (None, None) if window.cuts is None else (window.cuts.cycle(unit), window.cuts.gap(unit))
