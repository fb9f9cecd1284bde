"""Whether Spark can compute the results of a query alone, and whether it should: strategy "native".

A rule uses what is known without a job: the range and the slide of windows, the rows of frames, types and aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql.types import TimestampNTZType, TimestampType

from sash.aggregates.sql import column_of
from sash.plan.tree import and_between
from sash.spark.batch.native_forms import (
    cycle_and_gap,
    expressions_of,
    inputs_of,
    natives_of,
)
from sash.spark.batch.native_slices import (
    merged_sql,
)
from sash.spark.batch.sql_slices import read_forms, ticks_sql, why_not_grouped
from sash.workers.own_columns import OWN

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


def why_not_native(source: SparkQuery) -> str:
    """Return why Spark cannot compute the results of a query alone; empty if it can."""
    if reason := why_no_aggregates(source):
        return reason
    if source.query.per_row:
        return _why_not_frames(source)
    reasons = [*([why_not_slices(source)] if source.has_slices else []), _why_not_windows(source)]
    return ", and ".join(dict.fromkeys(reason.rstrip(".") for reason in reasons)) + "." if all(reasons) else ""


def why_no_aggregates(source: SparkQuery) -> str:  # noqa: PLR0911 — a chain
    """Return why Spark cannot compute the aggregates of a query, whatever its windows; empty if it can."""
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
    if clash := next((name for name in query.aggregates if name.lower() in OWN), None):
        return f"Sash needs the column name {clash!r} for itself. Rename the aggregate."
    natives = natives_of(source)
    partials = {name.lower() for name in (*expressions_of(natives), *inputs_of(natives))}
    columns = schema.names if query.per_row else query.columns
    if clash := next((name for name in columns if name.lower() in partials), None):
        return f"the column {clash!r} has the name of a column of partials. Rename it."
    return ""


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


def why_not_slices(source: SparkQuery) -> str:
    """Return why Spark cannot make the windows of a query from slices; empty if it can."""
    query = source.query
    if len(query.windows) > 1:
        return "there are several windows, which share slices in Python."
    [window] = query.windows.values()
    cycle, gap = cycle_and_gap(source)
    if window.emits_empty or (cycle is None and gap is None):
        return f"{window} is neither periodic nor a session, or has results without rows."
    if cycle is not None and not cycle.period <= cycle.length <= cycle.step:
        return f"{window} has several ends, or gaps between windows."
    if not ticks_sql(str(query.time), source.frame.schema[str(query.time)].dataType):
        return f"{query.time} is neither a time nor an integer."
    is_once = cycle is not None and cycle.length == cycle.period
    return (
        ""
        if is_once or merged_sql(expressions_of(natives_of(source)))
        else "slices of some aggregates cannot be merged."
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
    cycle, gap = cycle_and_gap(source)
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
    most = _most_rows(text.partition("(")[0] for text in expressions_of(natives_of(batch)).values())
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
    is_session, has_slices = cycle_and_gap(batch)[0] is None, not why_not_slices(batch)
    if is_session and not has_slices:
        return "Spark would sort all rows to find sessions."  # 3.4 s beside 2.0 s in Python for 1 M rows in sessions of 100
    if is_session and not batch.query.by:
        return "there is no key, and Spark would send all slices to one task."
    copies, most = copies_of_rows(batch), MOST_SLICE_COPIES if has_slices else MOST_COPIES
    copied = "slice" if has_slices else "row"
    return f"a {copied} is in {copies} windows, and Spark would copy it for each." if copies > most else ""


def copies_of_rows(source: SparkQuery) -> int:
    """Return how many windows hold a row, at most."""
    cycle, _ = cycle_and_gap(source)
    return 1 if cycle is None else -(-cycle.length // cycle.period)
