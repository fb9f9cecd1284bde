"""How a query would run on data, or on columns that are taken to be numbers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

from sash.engine.column_types import readable_schema
from sash.engine.local import Local
from sash.engine.tables import SPARK, SPARK_STREAM, check_options, kind_of, schema_of
from sash.plan.declared import Declared
from sash.plan.explain import Explanation, Settled
from sash.plan.tree import Branch
from sash.state.slice_state import keeps_slices


def explain(declared: Declared, data: Any, **options: Any) -> Explanation:
    """Return how a query is answered for data of these types; with data, everything is compiled that can be."""
    tried = data is not None
    kind = kind_of(data)
    check_options(options, kind)
    engine: tuple[Branch, ...] = ()
    if kind in (SPARK, SPARK_STREAM):
        prepared = import_module("sash.spark").prepare(declared, data, options)
        engine = (import_module("sash.spark.describe").describe(prepared),)
        declared, schema = prepared.shown, prepared.local.schema
    else:
        schema = readable_schema(schema_of(declared, data)) if tried else assume_types(declared)
    local = Local(declared, schema, compiled=options.get("compiled", True))
    if tried:
        local.settle()
    types = _types_in_words(declared, schema, tried)
    return Explanation(Settled(declared, local.plan, local.kinds, types, tried, keeps_slices(local), engine))


def _types_in_words(declared: Declared, schema: pa.Schema, tried: bool) -> str:
    free = {*declared.by, *declared.order_by} if not tried else set()  # keys may be of any type
    free -= {name for one in declared.aggregates.values() for name in one.columns}
    read = ", ".join(f"{name} {schema.field(name).type}" for name in declared.columns if name not in free)
    if not read:
        return "no column is computed with"
    return read if tried else f"assumed, as no data was given: {read}"


def assume_types(declared: Declared) -> pa.Schema:
    """Return numbers for all columns, but for those that can't be any: times that durations are of, and marks of ends."""
    lengths = [getattr(window, name, None) for window in declared.windows.values() for name in ("range", "gap")]
    is_time = any(getattr(length, "is_time", False) for length in [*lengths, declared.lateness])
    marks = [name for window in declared.windows.values() if window.kind == "punctuated" for name in window.columns]
    types = {name: pa.float64() for name in declared.columns}
    types |= {name: pa.bool_() for name in marks}
    if declared.time is not None:
        types[declared.time] = pa.timestamp("ns") if is_time else pa.int64()
    return pa.schema(types)
