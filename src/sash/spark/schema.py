"""The columns of a Spark DataFrame that a query reads, and the columns of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from sash.engine.column_types import check_columns, input_types
from sash.engine.prepare import Prepared
from sash.engine.result_types import try_out
from sash.engine.run_table import run_table
from sash.plan.declared import ADDED, Declared
from sash.spark.arrow_types import arrow_schema, arrow_type, spark_type
from sash.workers.own_columns import OWN

ZONE = "spark.sql.session.timeZone"
CASE = "spark.sql.caseSensitive"


def read_schema(declared: Declared, frame: DataFrame, *, all_columns: bool = False) -> pa.Schema:
    """Return the columns that a query reads of a frame, or all columns, as Spark sends them to Python.

    Raises ValueError for names that Spark can't tell apart, TypeError for types that can't be sent or compared.
    """
    check_columns(declared, frame.columns)
    refuse_same_names(declared, frame)
    schema, names = frame.schema, [*declared.columns]
    if all_columns or declared.per_row or any("*" in window.columns for window in declared.windows.values()):
        names = frame.columns  # all go to Python and back
    for name in names:
        if frame.columns.count(name) > 1:
            message = f"There are {frame.columns.count(name)} columns named {name!r}. Rename all but one."
            raise ValueError(message)
        if name.lower() in OWN:
            message = f"Sash needs the column name {name!r} for itself on Spark. Rename your column."
            raise ValueError(message)
    refuse_incomparable(declared, schema)
    zone = frame.sparkSession.conf.get(ZONE) or "UTC"
    return pa.schema([_arrow_field(schema[name], zone) for name in names])


def in_session_zone(declared: Declared, frame: DataFrame) -> Declared:
    """Return the query with the zone of the session in the windows that follow the zone of the time column.

    A TIMESTAMP has no zone of its own: Spark shows it in that of the session. A TIMESTAMP_NTZ has none, and a date neither. The zone
    becomes a part of the window, so that a stream does not continue with another one.
    """
    kinds = [field.dataType for field in frame.schema if field.name == declared.time]
    if not kinds or not isinstance(kinds[0], TimestampType):
        return declared
    zone = frame.sparkSession.conf.get(ZONE) or "UTC"
    return replace(declared, windows={name: window.in_zone(zone) for name, window in declared.windows.items()})


def refuse_same_names(declared: Declared, frame: DataFrame) -> None:
    """Raise ValueError if two names differ only in case and the session is not case-sensitive."""
    if frame.sparkSession.conf.get(CASE) == "true":
        return
    added = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
    names = [*frame.columns, *added] if declared.per_row else [*declared.by, *ADDED, *declared.aggregates]
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            message = (
                f"Spark ignores case, so {other!r} and {name!r} are the same name. Rename one, or set {CASE}=true."
            )
            raise ValueError(message)
    for name in declared.columns:
        same = [other for other in frame.columns if other.lower() == name.lower() and other != name]
        if same:
            message = f"Spark ignores case, so columns {name!r} and {same[0]!r} have the same name. Rename one, or set {CASE}=true."
            raise ValueError(message)


def _arrow_field(field: StructField, zone: str) -> pa.Field:
    try:
        return arrow_schema(StructType([field]), zone).field(0)
    except (TypeError, ValueError) as error:  # ValueError from Arrow: an array of nulls that may not be null
        message = (
            f"Column {field.name!r} is of type {field.dataType.simpleString()}, which Spark cannot send to Python. Drop it "
            "(df.drop) or cast it."
        )
        raise TypeError(message) from error


def refuse_incomparable(declared: Declared, schema: StructType) -> None:
    """Raise TypeError for keys or order columns with a collation, which only Spark knows, and for keys with variants."""
    for name in (*declared.by, *declared.order_by):
        kind = schema[name].dataType
        if is_collated(kind):
            message = (
                f"Column {name!r} is of type {kind.simpleString()}. Python cannot compare strings with a collation. Use a "
                'column that has the same value for equal strings, such as F.lower(…), and cast it to "string".'
            )
            raise TypeError(message)
        if name in declared.by and has(VariantType, kind):
            message = (
                f"The key {name!r} is of type {kind.simpleString()}, and Spark cannot group by it. Extract a value with "
                "variant_get(…)."
            )
            raise TypeError(message)


def is_collated(kind: DataType) -> bool:
    """Tell whether a type has strings that are not compared byte by byte.

    >>> is_collated(StringType()), is_collated(ArrayType(StringType("UTF8_LCASE")))
    (False, True)
    """
    if isinstance(kind, StringType):
        return kind.collation not in ("UTF8_BINARY", None)
    return any(map(is_collated, parts_of(kind)))


def has(wanted: type[DataType], kind: DataType) -> bool:
    """Tell whether a type is of a class, or has such a type nested in it.

    >>> has(StringType, ArrayType(MapType(StringType(), VariantType()))), has(MapType, StringType())
    (True, False)
    """
    return isinstance(kind, wanted) or any(has(wanted, inner) for inner in parts_of(kind))


def has_maps(declared: Declared, schema: StructType) -> bool:
    """Tell whether keys contain maps: Spark groups {'a': null} with {'a': 0}."""
    return any(has(MapType, schema[name].dataType) for name in declared.by)


def parts_of(kind: DataType) -> list[DataType]:
    """Return the types nested one level down in a type."""
    if isinstance(kind, StructType):
        return [field.dataType for field in kind]
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    return [kind.keyType, kind.valueType] if isinstance(kind, MapType) else []


def result_fields(
    declared: Declared, prepared: Prepared, types: Mapping[str, DataType], schema: StructType
) -> list[StructField]:
    """Return the columns of the results, before any row is known.

    Keys and values have the types of their columns. `types` has the result types of aggregates that the user gave. `prepared`
    is the query that Python evaluates, over rows or over slices.
    """
    owners = {
        declared.result_name(name, window) if declared.per_row else name: name
        for name in declared.aggregates
        for window in declared.windows
    }
    fields = []
    for field in run_table(prepared, prepared.schema.empty_table(), threads=1).schema:
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
            kind = _result_type(field.type, name)
        fields.append(StructField(field.name, kind))
    return fields


def read_types(types: Any, declared: Declared) -> dict[str, DataType]:
    """Parse the argument `types` of `run`. Raises TypeError or ValueError if it is invalid."""
    if not isinstance(types, Mapping):
        message = f'types={types!r} is not a dictionary. Use names of aggregates and types, as in {{"peak": "double"}}.'
        raise TypeError(message)
    if unknown := [name for name in types if name not in declared.aggregates]:
        message = f"types: there is no aggregate {unknown[0]!r}. The query has {', '.join(declared.aggregates)}."
        raise ValueError(message)
    return {name: _named_type(name, kind) for name, kind in types.items()}


def with_types(declared: Declared, types: Mapping[str, DataType]) -> Declared:
    """Return the query with the result types of aggregates that the user gave."""
    aggregates = dict(declared.aggregates)
    for name, kind in types.items():
        aggregates[name] = replace(aggregates[name], type=arrow_type(kind, "UTC"))
    return replace(declared, aggregates=aggregates)


def _named_type(name: str, kind: Any) -> DataType:
    if isinstance(kind, DataType):
        return kind
    try:
        named = DataType.fromDDL(f"x {kind}")
        assert isinstance(named, StructType)
        return named.fields[0].dataType
    except Exception as error:
        message = f'types: {name!r}: {kind!r} is not a Spark type. Examples: "double", "array<string>".'
        raise ValueError(message) from error


def _refuse_unknown_type(prepared: Prepared, name: str) -> None:
    aggregate = prepared.query.aggregates[name]
    kinds = input_types(aggregate, prepared.schema)
    if kinds and all(pa.types.is_null(kind) for kind in kinds):
        return  # nulls give nulls
    try:
        try_out(aggregate, kinds)
        tried = ""
    except Exception as error:  # noqa: BLE001 — whatever the user's functions raise
        tried = f" (tried on made-up values, it raised {type(error).__name__}: {error})"
    message = (
        f"{name!r}: Spark needs the result type of {aggregate.label} before it runs, but Sash cannot determine it{tried}. "
        f'State the type, as in run(df, types={{"{name}": "double"}}).'
    )
    raise TypeError(message)


def _result_type(kind: pa.DataType, name: str) -> DataType:
    try:
        return spark_type(kind)
    except TypeError as error:
        message = f"{name!r} returns {kind}, a type that Spark does not have. Let lower return another type, such as a string."
        raise TypeError(message) from error


def arrow_of(results: StructType, large: bool) -> pa.Schema:
    """Return the schema of results as Spark expects it from Python, with timestamps in UTC."""
    return arrow_schema(results, "UTC", large=large)
