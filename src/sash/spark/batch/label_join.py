"""Labels by a join: the strategy "native" for `run(events, at=labels)`. Spark computes the features alone.

    labels ──► number, hash of the key, time ──┐
                                               ├─ left join by the hash, keys, and times ──► groupBy(label).agg(… FILTER (window))
    events ──► hash of the key, time, values ──┘

Labels are numbered, so that equal ones stay apart. Rows are shuffled once, because both the join and the groups have the hash of the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import AtomicType, DataType, FractionalType, VariantType

from sash.aggregates.sql import literal, quote
from sash.spark.arrow_types import is_collated
from sash.spark.batch.native_forms import LAST_TICK, as_field, checked_time, natives_of, nullable
from sash.spark.batch.sql_slices import ticks_sql
from sash.spark.groups import hash_of
from sash.windows import Window
from sash.windows.base import FOREVER
from sash.workers.own_columns import GROUP, HASH, LABEL, TICKS, TIME

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import LabelQuery

NUMBER = f"{LABEL}_number"
"""The column that tells labels apart."""


def why_not_joined(query: LabelQuery) -> str:
    """Return why a join cannot find the events of labels; empty if it can."""
    if not query.query.by:
        return "there is no key by which Spark could join events and labels."
    time = str(query.query.time)
    if not ticks_sql(time, query.frame.schema[time].dataType):
        return f"{time} is neither a time nor an integer."
    for window in query.query.windows.values():
        if window.frame is None or window.frame.ticks(query.prepared.unit) is None:
            return f"{window} is not a frame of time between two distances, as a join needs it."
    return ""


def join_labels(query: LabelQuery) -> DataFrame:
    """Return labels with the results of their windows."""
    labels, events = _labels(query), _events(query)
    pairs = enumerate(query.query.by)
    same_key = " AND ".join(f"{quote(_key(number))} <=> {quote(name)}" for number, name in pairs)
    spans = [_distances(query, window) for window in query.query.windows.values()]
    before, after = (max(distances) for distances in zip(*spans, strict=True))
    # Keys are compared inside a condition on times, so that Spark joins and shuffles by the hash alone.
    latest = f"{TIME} + {after}L" if after < FOREVER else f"{FOREVER}L"
    near = [f"{TICKS} <= CASE WHEN {same_key} THEN {latest} END"]
    near += [f"{TICKS} >= {TIME} - {before}L"] if before < FOREVER else []
    joined = labels.join(events, F.expr(f"{GROUP} = {HASH} AND {' AND '.join(near)}"), "left")
    columns = {_field(number): field for number, field in enumerate(query.label_fields)}
    grouped_by = [name for name, field in columns.items() if is_grouped(field.dataType)]
    others = [f"any_value({quote(name)}) AS {quote(name)}" for name in columns if name not in grouped_by]
    results = [F.expr(text) for text in (*others, *_results(query))]
    grouped = joined.groupBy(GROUP, NUMBER, *map(quote, grouped_by)).agg(*results)
    named = [F.col(quote(name)).alias(field.name, metadata=field.metadata) for name, field in columns.items()]
    return grouped.select(*named, *(quote(field.name) for field in query.added))


def is_grouped(dtype: DataType) -> bool:
    """Return whether a column of labels may be part of a group: its values stay as they are, unlike -0.0 and strings with a collation."""
    is_float = isinstance(dtype, FractionalType) and dtype.simpleString() in ("float", "double")
    return isinstance(dtype, AtomicType) and not (is_float or is_collated(dtype) or isinstance(dtype, VariantType))


def _labels(query: LabelQuery) -> DataFrame:
    """Return labels with a number, the hash of the key, the keys as those of events, and the time in ticks."""
    schema, by = query.frame.schema, query.query.by
    keys = [F.col(quote(name)).cast(schema[name].dataType).alias(_key(number)) for number, name in enumerate(by)]
    time = F.col(quote(query.at_time)).cast(schema[str(query.query.time)].dataType).alias(TIME)
    fields = [F.col(quote(field.name)).alias(_field(number)) for number, field in enumerate(query.label_fields)]
    labels = query.labels.select(F.monotonically_increasing_id().alias(NUMBER), *fields, *keys, time)
    ticks = ticks_sql(TIME, labels.schema[TIME].dataType)
    limit = LAST_TICK - 2 * (query.prepared.extent or 0)
    missing = f"[SASH] The time '{query.at_time}' of a label is null. Drop these labels, or fill in a time."
    too_far = (
        f"[SASH] The time '{query.at_time}' of a label is so far from 1970 that windows would begin beyond 64 bits."
    )
    checked = (
        f"CASE WHEN {ticks} BETWEEN -{limit}L AND {limit}L THEN {ticks} "
        f"WHEN {TIME} IS NULL THEN raise_error({literal(missing)}) ELSE raise_error({literal(too_far)}) END"
    )
    hashed = hash_of(tuple(map(_key, range(len(by)))), labels.schema)
    return labels.withColumn(GROUP, hashed).withColumn(TIME, F.expr(checked))


def _events(query: LabelQuery) -> DataFrame:
    """Return the columns of events that the query reads, with the hash of the key and the time in ticks."""
    names, time = query.query.columns, str(query.query.time)
    ticks = ticks_sql(time, query.frame.schema[time].dataType)
    rows = query.frame.where(f"{checked_time(query, ticks)} IS NOT NULL")
    return rows.select(*map(quote, names), hash_of(query.query.by, rows.schema).alias(HASH), F.expr(ticks).alias(TICKS))


def _results(query: LabelQuery) -> list[str]:
    """Return SQL for each column of results."""
    fields = {field.name: field for field in query.added}
    results = []
    for window_name, window in query.query.windows.items():
        before, after = _distances(query, window)
        bounds = [f"{TICKS} >= {TIME} - {before}L"] if before < FOREVER else []
        bounds += [f"{TICKS} <= {TIME} + {after}L"] if after < FOREVER else []
        condition = " AND ".join(bounds) or "true"
        for name, native in natives_of(query).items():
            field = fields[query.query.result_name(name, window_name)]
            calls = {part: f"{text} FILTER (WHERE {condition})" for part, text in native.expressions.items()}
            results.append(as_field(nullable(native.inlined(calls)), field))
    return results


def _distances(query: LabelQuery, window: Window) -> tuple[int, int]:
    assert window.frame is not None
    distances = window.frame.ticks(query.prepared.unit)
    assert distances is not None
    return distances


def _key(number: int) -> str:
    return f"{LABEL}_key_{number}"


def _field(number: int) -> str:
    return f"{LABEL}_{number}"
