"""The strategy "slices": Spark aggregates the rows of each slice itself, so that only slices are shuffled and reach Python.

    rows ──► groupBy(keys, slice).agg(partials) ──► the same query over slices

Every window holds all of a slice or nothing of it, because slices are cut wherever windows begin or end. So a slice is a
row: its time is where it begins, its columns are partials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import DataType, DateType, StructType, TimestampNTZType, TimestampType

from sash.aggregates.sql import EPOCH, KnownWindow, SqlForm, quote, sql_form
from sash.engine.prepare import Prepared
from sash.plan.query_spec import QuerySpec
from sash.plan.slicing import own_unit
from sash.slices.edges import Edges
from sash.spark.arrow_types import has_maps, is_collated
from sash.workers.own_columns import TICKS

FIRST_TICK = -(1 << 63)
INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""From the narrowest to the widest."""


def why_not(declared: QuerySpec, prepared: Prepared, frame_schema: StructType) -> str:
    """Return why Spark cannot compute the slices of a query; empty if it can."""
    for window in declared.windows.values():
        if window.per_row:
            return f"{window} has a result per row."
        if window.cuts is None or window.cuts.cycle(own_unit(window)) is None:
            return f"{window} has no slices that are known before the rows are read."
    if reason := why_not_grouped(declared, frame_schema):
        return reason
    assert declared.time is not None
    if not ticks_sql(declared.time, frame_schema[declared.time].dataType):
        return f"{declared.time} is neither a time nor an integer."
    forms = read_forms(declared, prepared)
    return forms if isinstance(forms, str) else _clash(declared, forms)


def why_not_grouped(declared: QuerySpec, frame_schema: StructType) -> str:
    """Return why Spark cannot group the rows of a query as Sash does; empty if it can."""
    for window in declared.windows.values():
        if window.min_rows > 1:
            return f"{window} needs the number of values in a window, which slices do not have."
    if has_maps(declared.by, frame_schema):
        return "Spark groups different keys together if they contain maps with nulls."
    if declared.slicing == "none":
        return 'slicing="none" was given.'
    for name in declared.columns:
        dtype = frame_schema[name].dataType
        if is_collated(dtype):
            return f"{name} is of {dtype.simpleString()}, a collation that Python does not know."
    return ""


def slice_frame(declared: QuerySpec, prepared: Prepared, frame: DataFrame) -> tuple[DataFrame, QuerySpec]:
    """Return the slices of a frame, with their time in ticks, and the query over them."""
    assert declared.time is not None
    time = ticks_sql(declared.time, frame.schema[declared.time].dataType)
    forms = read_forms(declared, prepared)
    assert not isinstance(forms, str), forms
    expressions = {name: text for form in forms.values() for name, text in form.expressions.items()}
    named = TICKS if declared.time in declared.by else declared.time  # the name that error messages show
    begin = F.expr(slice_sql(prepared.borders.edges, quote(TICKS))).alias(named)
    rows = with_ticks(frame, declared, time).groupBy(*map(quote, declared.by), begin)
    partials = rows.agg(*(F.expr(f"{text} AS {quote(name)}") for name, text in expressions.items()))
    merged = {name: form.aggregate for name, form in forms.items()}
    return partials, replace(declared, aggregates=merged, time=named, order_by=())


def with_ticks(frame: DataFrame, declared: QuerySpec, ticks: str) -> DataFrame:
    """Return the columns that a query reads, and the time of each row in ticks: a column, so that Spark computes it once."""
    return frame.selectExpr(*map(quote, declared.columns), f"{ticks} AS {TICKS}")


def ticks_sql(name: str, dtype: DataType) -> str:
    """Return SQL for a time column in ticks, a bigint; empty if the column holds no times.

    A timestamp without a zone is read without the session's zone; unix_micros does not do that in all versions.

    >>> ticks_sql("ts", TimestampType()), ticks_sql("day", DateType())
    ('unix_micros(`ts`)', 'CAST(unix_date(`day`) AS BIGINT)')
    """
    column = quote(name)
    if isinstance(dtype, TimestampType):
        return f"unix_micros({column})"
    if isinstance(dtype, TimestampNTZType):
        since = f"({column} - {EPOCH})"
        seconds = f"CAST({since} AS BIGINT)"
        rest = f"CAST(({since} - INTERVAL '1' SECOND * {seconds}) * 1000000 AS BIGINT)"
        return f"{seconds} * 1000000 + {rest}"
    if isinstance(dtype, DateType):
        return f"CAST(unix_date({column}) AS BIGINT)"
    return f"CAST({column} AS BIGINT)" if dtype.simpleString() in INTEGERS else ""


def slice_sql(edges: Edges, ticks: str) -> str:
    """Return SQL for where a row's slice begins: the last edge at or before it.

    >>> from sash.slices.edges import Family
    >>> slice_sql(Edges((Family(60, 0),), ()), "t")
    'CASE WHEN t < -9223372036854775748 THEN t ELSE t - pmod(pmod(t, 60) - 0, 60) END'
    """
    last = [f"{ticks} - pmod(pmod({ticks}, {period}) - {phase}, {period})" for period, phase in edges.closing]
    latest = last[0] if len(last) == 1 else f"greatest({', '.join(last)})"
    # If a slice would begin before -2**63, the engine reports it.
    too_early = FIRST_TICK + max(family.period for family in edges.closing)
    return f"CASE WHEN {ticks} < {too_early} THEN {ticks} ELSE {latest} END"


def read_forms(declared: QuerySpec, prepared: Prepared, window: KnownWindow | None = None) -> dict[str, SqlForm] | str:
    """Return the SQL forms of the aggregates, over rows with their ticks, or why one has none; `window` is what is known of windows."""
    forms: dict[str, SqlForm] = {}
    for name, function in declared.aggregates.items():
        form = sql_form(name, function, prepared.schema, quote(TICKS), declared.order_by, window)
        if isinstance(form, str):
            return form
        forms[name] = form
    return forms


def _clash(declared: QuerySpec, forms: Mapping[str, SqlForm]) -> str:
    """Return why two columns would have the same name, ignoring case; empty if none do."""
    known = {name.lower(): quote(name) for name in (*declared.by, declared.time or "")}
    for form in forms.values():
        for name, text in form.expressions.items():
            if known.setdefault(name.lower(), text) != text:
                return f"two columns of slices would be named {name!r}. Rename a column."
    return ""
