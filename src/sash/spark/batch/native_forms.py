"""How Spark computes the aggregates of a query: the parts that all native plans use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField

from sash.aggregates.sql import NativeSql, literal, quote
from sash.spark.batch.sql_slices import read_forms, ticks_sql
from sash.windows.base import Cycle
from sash.workers.own_columns import TICKS

if TYPE_CHECKING:
    from sash.spark.spark_query import SparkQuery


LAST_TICK = (1 << 63) - 1
"""The largest time in ticks."""


def natives_of(source: SparkQuery) -> dict[str, NativeSql]:
    """Return how Spark computes each aggregate."""
    cycle = cycle_and_gap(source)[0] if len(source.query.windows) == 1 else None
    is_once = cycle is not None and cycle.length == cycle.period
    forms = read_forms(
        source.query, source.prepared, (cycle.period, cycle.offset % cycle.period) if cycle and is_once else (0, 0)
    )
    assert not isinstance(forms, str), forms
    return {name: form.native for name, form in forms.items() if form.native is not None}


def expressions_of(natives: Mapping[str, NativeSql]) -> dict[str, str]:
    """Return the SQL of the partials of all aggregates, by the names of their columns."""
    return {name: text for native in natives.values() for name, text in native.expressions.items()}


def reads_ticks(expressions: Mapping[str, str]) -> bool:
    """Return whether an aggregate reads the time in ticks."""
    return any(quote(TICKS) in text for text in expressions.values())


def as_field(value: str, field: StructField) -> str:
    """Return SQL for a column of results."""
    return f"CAST({value} AS {field.dataType.simpleString()}) AS {quote(field.name)}"


def result_of(native: NativeSql) -> str:
    """Return SQL for a result, nullable as in the other strategies, also if it is a count."""
    return nullable(native.result)


def nullable(value: str) -> str:
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


def cycle_and_gap(source: SparkQuery) -> tuple[Cycle | None, int | None]:
    """Return the cycle of the only window, or the gap between its sessions, in ticks."""
    [window] = source.query.windows.values()
    unit = source.prepared.unit
    return (None, None) if window.cuts is None else (window.cuts.cycle(unit), window.cuts.gap(unit))
