"""The types of Spark's columns as Arrow has them, and those of results as Spark has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, VariantType

from sash.engine.column_types import check_columns
from sash.engine.prepare import Prepared
from sash.engine.result_types import try_out
from sash.engine.run_table import run_table
from sash.plan.declared import ADDED, Declared

ZONE = "spark.sql.session.timeZone"
CASE = "spark.sql.caseSensitive"
GROUP, HASH, TICKS, RANGE = OWN = ("sash_group", "sash_hash", "sash_ticks", "sash_range")
"""Columns that are added on the way: which group a row goes to, the hash of its key, its time, its range of time."""


def read_schema(declared: Declared, frame: DataFrame) -> pa.Schema:
    """Return the columns that a query reads of a frame, as Python is given them, or say what it can't read."""
    check_columns(declared, frame.columns)
    refuse_same_names(declared, frame)
    every = [*declared.columns]
    if declared.per_row or any("*" in window.columns for window in declared.windows.values()):
        every = frame.columns  # all go to Python and back
    for name in every:
        if frame.columns.count(name) > 1:
            message = f"There are {frame.columns.count(name)} columns named {name!r}. Rename all but one."
            raise ValueError(message)
        if name.lower() in OWN:
            message = f"A column is named {name!r}, a name that Sash needs for itself on Spark: rename it."
            raise ValueError(message)
    refuse_collated(declared, frame.schema)
    refuse_variants(declared, frame.schema)
    fields = [_arrow_field(frame.schema[name], frame.sparkSession.conf.get(ZONE)) for name in every]
    return pa.schema(fields)


def refuse_same_names(declared: Declared, frame: DataFrame) -> None:
    """Say so if Spark would not tell two columns apart, because it takes upper case for lower case."""
    if frame.sparkSession.conf.get(CASE) == "true":
        return
    added = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
    given = [*frame.columns, *added] if declared.per_row else [*declared.by, *ADDED, *declared.aggregates]
    known: dict[str, str] = {}
    for name in given:
        other = known.setdefault(name.lower(), name)
        if other != name:
            message = f"Spark doesn't tell {other!r} and {name!r} apart: rename one, or set {CASE}=true."
            raise ValueError(message)
    for name in declared.columns:
        same = [other for other in frame.columns if other.lower() == name.lower() and other != name]
        if same:
            message = f"Spark doesn't tell the columns {name!r} and {same[0]!r} apart: rename one, or set {CASE}=true."
            raise ValueError(message)


def _arrow_field(field: StructField, zone: str | None) -> pa.Field:
    try:
        return to_arrow_schema(StructType([field]), timezone=zone).field(0)
    except (PySparkTypeError, ValueError) as error:  # the latter from Arrow: no null in an array of nulls
        message = (
            f"Column {field.name!r} is of {field.dataType.simpleString()}, which Spark can't send to Python: leave it out "
            "(df.drop) or cast it."
        )
        raise TypeError(message) from error


def refuse_collated(declared: Declared, schema: StructType) -> None:
    """Say so if rows are told apart or ordered by a collation, which only Spark knows."""
    for name in (*declared.by, *declared.order_by):
        kind = schema[name].dataType
        if is_collated(kind):
            message = (
                f"Column {name!r} is of {kind.simpleString()}, by which Python can neither group nor order: take a column "
                'that is the same for equal values, as F.lower(…) may be, cast to a plain "string".'
            )
            raise TypeError(message)


def refuse_variants(declared: Declared, schema: StructType) -> None:
    """Say so if keys are of what Spark can't group by."""
    for name in declared.by:
        kind = schema[name].dataType
        if has(VariantType, kind):
            message = (
                f"The key {name!r} is of {kind.simpleString()}, by which Spark can't group: take a part of it, as "
                "variant_get(…) gives."
            )
            raise TypeError(message)


def is_collated(kind: DataType) -> bool:
    """Tell whether strings are compared otherwise than byte by byte.

    >>> is_collated(StringType()), is_collated(ArrayType(StringType("UTF8_LCASE")))
    (False, True)
    """
    if isinstance(kind, StringType):
        return kind.collation not in ("UTF8_BINARY", None)
    return any(is_collated(inner) for inner in parts_of(kind))


def has(wanted: type[DataType], kind: DataType) -> bool:
    """Tell whether there is a type in another.

    >>> has(StringType, ArrayType(MapType(StringType(), VariantType()))), has(MapType, StringType())
    (True, False)
    """
    return isinstance(kind, wanted) or any(has(wanted, inner) for inner in parts_of(kind))


def has_maps(declared: Declared, schema: StructType) -> bool:
    """Tell whether keys have maps in them: Spark groups {'a': null} with {'a': 0}."""
    return any(has(MapType, schema[name].dataType) for name in declared.by)


def parts_of(kind: DataType) -> list[DataType]:
    """Return the types that are nested in one, one level down."""
    if isinstance(kind, StructType):
        return [field.dataType for field in kind]
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    return [kind.keyType, kind.valueType] if isinstance(kind, MapType) else []


def result_fields(
    declared: Declared, prepared: Prepared, types: Mapping[str, DataType], schema: StructType
) -> list[StructField]:
    """Return the columns of results, as they are known before any row is; `types` has those of aggregates, where said.

    Keys and values are of the types of their columns. `prepared` is the query over rows or slices.
    """
    owners = {
        declared.result_name(name, window) if declared.per_row else name: name
        for name in declared.aggregates
        for window in declared.windows
    }
    fields = []
    for field in run_table(prepared, prepared.schema.empty_table(), threads=1)[0].schema:
        name = owners.get(field.name, "")
        aggregate = declared.aggregates.get(name)
        if field.name in declared.by and not declared.per_row:
            fields.append(schema[field.name])
            continue
        if name in types:
            kind = types[name]
        elif aggregate is not None and aggregate.gives in ("value", "values"):
            own = schema[aggregate.columns[-1]].dataType
            kind = own if aggregate.gives == "value" else ArrayType(own)
        else:
            if aggregate is not None and pa.types.is_null(field.type):
                _refuse_unknown_type(prepared, name)
            kind = _spark_type(field.type, name)
        fields.append(StructField(field.name, kind))
    return fields


def read_types(given: Any, declared: Declared) -> dict[str, DataType]:
    """Return what aggregates give, as the user says it, or say what is wrong with that."""
    if not isinstance(given, Mapping):
        message = f'types={given!r}: give a dictionary of aggregates and types, as {{"peak": "double"}}.'
        raise TypeError(message)
    if unknown := [name for name in given if name not in declared.aggregates]:
        message = f"types: there is no aggregate {unknown[0]!r}, only {', '.join(declared.aggregates)}."
        raise ValueError(message)
    return {name: _named_type(name, kind) for name, kind in given.items()}


def with_types(declared: Declared, types: Mapping[str, DataType]) -> Declared:
    """Return a query whose aggregates know what they give, where that was said."""
    aggregates = dict(declared.aggregates)
    for name, kind in types.items():
        aggregates[name] = replace(aggregates[name], type=to_arrow_type(kind, timezone="UTC"))
    return replace(declared, aggregates=aggregates)


def _named_type(name: str, given: Any) -> DataType:
    if isinstance(given, DataType):
        return given
    try:
        named = DataType.fromDDL(f"x {given}")
        assert isinstance(named, StructType)
        return named.fields[0].dataType
    except Exception as error:
        message = f'types: {name!r}: {given!r} is no type of Spark\'s, as "double" or "array<string>" is.'
        raise ValueError(message) from error


def _refuse_unknown_type(prepared: Prepared, name: str) -> None:
    aggregate = prepared.query.aggregates[name]
    kinds = [prepared.schema.field(column).type for column in aggregate.columns]
    if kinds and all(pa.types.is_null(kind) for kind in kinds):
        return  # of nothing but nulls comes nothing else
    try:
        try_out(aggregate, kinds)
        tried = ""
    except Exception as error:  # noqa: BLE001 — whatever the user's functions raise
        tried = f" (tried on made-up values, it raised {type(error).__name__}: {error})"
    message = (
        f"{name!r}: what {aggregate.label} gives can't be known before it runs{tried}, and Spark must know it: say it, as "
        f'in run(df, types={{"{name}": "double"}}).'
    )
    raise TypeError(message)


def _spark_type(kind: pa.DataType, name: str) -> DataType:
    try:
        return from_arrow_type(spark_arrow(kind), prefer_timestamp_ntz=True)
    except PySparkTypeError as error:
        message = f"{name!r} gives {kind}, which Spark doesn't have: let lower return something else, as a string."
        raise TypeError(message) from error


def spark_arrow(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark takes in place of one of Arrow's.

    >>> spark_arrow(pa.dictionary(pa.int32(), pa.string())), spark_arrow(pa.duration("s"))
    (DataType(string), DurationType(duration[us]))
    """
    if pa.types.is_dictionary(kind):
        return spark_arrow(kind.value_type)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(spark_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_arrow(field.type)) for field in kind])
    return kind


def arrow_of(results: StructType, large: bool) -> pa.Schema:
    """Return columns as Spark expects them of Python: times with a zone in UTC, whatever they came in."""
    return to_arrow_schema(results, timezone="UTC", prefers_large_types=large)
