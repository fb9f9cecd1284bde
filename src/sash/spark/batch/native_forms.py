"""How Spark computes the aggregates of a query: the parts that all native plans use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import StructField

from sash.aggregates.sql import KnownWindow, NativeSql, literal, quote
from sash.spark.batch.sql_slices import read_forms, ticks_sql
from sash.windows.base import Cycle
from sash.workers.own_columns import TICKS, WINDOW

if TYPE_CHECKING:
    from sash.spark.spark_query import SparkQuery


LAST_TICK = (1 << 63) - 1
"""The largest time in ticks."""


def natives_of(source: SparkQuery) -> dict[str, NativeSql]:
    """Return how Spark computes each aggregate."""
    forms = read_forms(source.query, source.prepared, _known_window(source))
    assert not isinstance(forms, str), forms
    return {name: form.native for name, form in forms.items() if form.native is not None}


def _known_window(source: SparkQuery) -> KnownWindow:
    """Return what is known of the windows: the most rows of frames, or the length of windows that do not overlap."""
    if source.query.per_row:
        frames = [window.frame for window in source.query.windows.values()]
        most = [frame.rows for frame in frames if frame is not None and frame.rows is not None]
        return KnownWindow(rows=max(most) if len(most) == len(frames) else 0)
    cycle = cycle_and_gap(source)[0] if len(source.query.windows) == 1 else None
    if cycle is None or cycle.length != cycle.period:
        return KnownWindow()
    if source.has_slices:
        return KnownWindow(cycle.period, f"{TICKS} - {WINDOW}")
    return KnownWindow(cycle.period, f"pmod({TICKS} - {cycle.offset % cycle.period}L, {cycle.period}L)")


def inputs_of(natives: Mapping[str, NativeSql]) -> dict[str, str]:
    """Return SQL for the further columns of rows that aggregates read, by their names."""
    return {name: text for native in natives.values() for name, text in native.inputs.items()}


def results_of(source: SparkQuery, calls: Mapping[str, str]) -> list[str]:
    """Return SQL for the results of windows over aggregates, which `calls` has by the names of partials."""
    fields = {field.name: field for field in source.results}
    return [as_field(nullable(native.inlined(calls)), fields[name]) for name, native in natives_of(source).items()]


def grouped(rows: DataFrame, keys: Iterable[str | Column], values: Iterable[str]) -> DataFrame:
    """Return aggregates of each key. PySpark takes about half a millisecond for each, and for each key that is not a name."""
    return rows.groupBy(*keys).agg(*map(F.expr, values))


def expressions_of(natives: Mapping[str, NativeSql]) -> dict[str, str]:
    """Return the SQL of the partials of all aggregates, by the names of their columns."""
    return {name: text for native in natives.values() for name, text in native.expressions.items()}


def reads_ticks(natives: Mapping[str, NativeSql]) -> bool:
    """Return whether an aggregate reads the time in ticks."""
    texts = [*expressions_of(natives).values(), *inputs_of(natives).values()]
    return any(TICKS in text for text in texts)


def as_field(value: str, field: StructField) -> str:
    """Return SQL for a column of results."""
    return f"CAST({value} AS {field.dataType.simpleString()}) AS {quote(field.name)}"


def nullable(value: str) -> str:
    """Return SQL for a value that is nullable, as results of the other strategies are. Spark drops the condition."""
    return f"if(true, {value}, NULL)"


def checked_time(source: SparkQuery, value: str, condition: str = "true") -> str:
    """Return SQL for the time of rows as `value` has it. It raises an error for rows without a time, as all strategies do."""
    time = source.query.time
    assert time is not None
    ticks = ticks_sql(time, source.frame.schema[time].dataType)
    limit = LAST_TICK - 2 * (source.prepared.extent or 0)
    missing = f"[SASH] The time column '{time}' has nulls. Rows without a time have no order. Drop them."
    too_far = f"[SASH] The time column '{time}' has times so far from 1970 that windows would end beyond 64 bits."
    return (
        f"CASE WHEN {ticks} >= -{limit}L AND {ticks} <= {limit}L AND {condition} THEN {value} "
        f"WHEN {quote(time)} IS NULL THEN raise_error({literal(missing)}) ELSE raise_error({literal(too_far)}) END"
    )


def cycle_and_gap(source: SparkQuery) -> tuple[Cycle | None, int | None]:
    """Return the cycle of the only window, or the gap between its sessions, in ticks."""
    [window] = source.query.windows.values()
    unit = source.prepared.unit
    return (None, None) if window.cuts is None else (window.cuts.cycle(unit), window.cuts.gap(unit))
