"""The columns of a Spark DataFrame that a query reads, and the columns of its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

from sash.aggregates.base import with_fields
from sash.columns.result_column import try_out
from sash.engine.check_columns import check_columns, input_types
from sash.engine.prepare import Prepared
from sash.engine.run_table import run_table
from sash.plan.query_spec import ADDED, QuerySpec
from sash.spark.arrow_types import arrow_schema, arrow_type, spark_type
from sash.workers.own_columns import OWN

ZONE = "spark.sql.session.timeZone"
CASE = "spark.sql.caseSensitive"


def read_schema(declared: QuerySpec, frame: DataFrame, *, all_columns: bool = False) -> pa.Schema:
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
            raise ValueError(f"There are {frame.columns.count(name)} columns named {name!r}. Rename all but one.")
        if name.lower() in OWN:
            raise ValueError(f"Sash needs the column name {name!r} for itself on Spark. Rename your column.")
    refuse_incomparable(declared, schema)
    zone = frame.sparkSession.conf.get(ZONE) or "UTC"
    return pa.schema([_arrow_field(schema[name], zone) for name in names])


def in_session_zone(declared: QuerySpec, frame: DataFrame) -> QuerySpec:
    """Return the query with the zone of the session in the windows that follow the zone of the time column.

    A TIMESTAMP has no zone of its own: Spark shows it in that of the session. A TIMESTAMP_NTZ has none, and a date neither. The zone
    becomes a part of the window, so that a stream does not continue with another one.
    """
    if not any(field.name == declared.time and isinstance(field.dataType, TimestampType) for field in frame.schema):
        return declared
    zone = frame.sparkSession.conf.get(ZONE) or "UTC"
    return replace(declared, windows={name: window.in_zone(zone) for name, window in declared.windows.items()})


def refuse_same_names(declared: QuerySpec, frame: DataFrame) -> None:
    """Raise ValueError if two names differ only in case and the session is not case-sensitive."""
    if frame.sparkSession.conf.get(CASE) == "true":
        return
    added = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
    names = [*frame.columns, *added] if declared.per_row else [*declared.by, *ADDED, *declared.aggregates]
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(
                f"Spark ignores case, so {other!r} and {name!r} are the same name. Rename one, or set {CASE}=true."
            )
    for name in declared.columns:
        same = [other for other in frame.columns if other.lower() == name.lower() and other != name]
        if same:
            raise ValueError(
                f"Spark ignores case, so columns {name!r} and {same[0]!r} have the same name. Rename one, or set {CASE}=true."
            )


def _arrow_field(field: StructField, zone: str) -> pa.Field:
    try:
        return arrow_schema(StructType([field]), zone).field(0)
    except (TypeError, ValueError) as error:  # ValueError from Arrow: an array of nulls that may not be null
        raise TypeError(
            f"Column {field.name!r} is of type {field.dataType.simpleString()}, which Spark cannot send to Python. Drop it "
            "(df.drop) or cast it."
        ) from error


def refuse_incomparable(declared: QuerySpec, schema: StructType) -> None:
    """Raise TypeError for keys or order columns with a collation, which only Spark knows, and for keys with variants."""
    for name in (*declared.by, *declared.order_by):
        dtype = schema[name].dataType
        if is_collated(dtype):
            raise TypeError(
                f"Column {name!r} is of type {dtype.simpleString()}. Python cannot compare strings with a collation. Use a "
                'column that has the same value for equal strings, such as F.lower(…), and cast it to "string".'
            )
        if name in declared.by and has(VariantType, dtype):
            raise TypeError(
                f"The key {name!r} is of type {dtype.simpleString()}, and Spark cannot group by it. Extract a value with "
                "variant_get(…)."
            )


def is_collated(dtype: DataType) -> bool:
    """Tell whether a type has strings that are not compared byte by byte.

    >>> is_collated(StringType()), is_collated(ArrayType(StringType("UTF8_LCASE")))
    (False, True)
    """
    texts = [each for each in types_in(dtype) if isinstance(each, StringType)]
    return any(text.collation not in ("UTF8_BINARY", None) for text in texts)


def has(wanted: type[DataType], dtype: DataType) -> bool:
    """Tell whether a type is of a class, or has such a type nested in it.

    >>> has(StringType, ArrayType(MapType(StringType(), VariantType()))), has(MapType, StringType())
    (True, False)
    """
    return any(isinstance(each, wanted) for each in types_in(dtype))


def has_maps(declared: QuerySpec, schema: StructType) -> bool:
    """Tell whether keys contain maps: Spark groups {'a': null} with {'a': 0}."""
    return any(has(MapType, schema[name].dataType) for name in declared.by)


def types_in(dtype: DataType) -> Iterator[DataType]:
    """Yield a type and the types nested in it."""
    yield dtype
    match dtype:
        case StructType():
            nested = [field.dataType for field in dtype]
        case ArrayType():
            nested = [dtype.elementType]
        case MapType():
            nested = [dtype.keyType, dtype.valueType]
        case _:
            nested = []
    for each in nested:
        yield from types_in(each)


def result_fields(
    declared: QuerySpec, prepared: Prepared, types: Mapping[str, DataType], schema: StructType
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
            dtype = types[name]
        elif aggregate is not None and aggregate.result.gives in ("value", "values"):
            dtype = schema[aggregate.columns[-1]].dataType
            dtype = dtype if aggregate.result.gives == "value" else ArrayType(dtype)
        else:
            if aggregate is not None and field.type == pa.null():
                _refuse_unknown_type(prepared, name)
            dtype = _result_type(field.type, name)
        fields.append(StructField(field.name, dtype))
    return fields


def read_types(types: Any, declared: QuerySpec) -> dict[str, DataType]:
    """Parse the argument `types` of `run`. Raises TypeError or ValueError if it is invalid."""
    if not isinstance(types, Mapping):
        raise TypeError(
            f'types={types!r} is not a dictionary. Use names of aggregates and types, as in {{"peak": "double"}}.'
        )
    if unknown := [name for name in types if name not in declared.aggregates]:
        raise ValueError(
            f"types: there is no aggregate {unknown[0]!r}. The query has {', '.join(declared.aggregates)}."
        )
    return {name: _named_type(name, dtype) for name, dtype in types.items()}


def with_types(declared: QuerySpec, types: Mapping[str, DataType]) -> QuerySpec:
    """Return the query with the result types of aggregates that the user gave."""
    aggregates = dict(declared.aggregates)
    for name, dtype in types.items():
        aggregates[name] = with_fields(aggregates[name], type=arrow_type(dtype, "UTC"))
    return replace(declared, aggregates=aggregates)


def _named_type(name: str, dtype: Any) -> DataType:
    if isinstance(dtype, DataType):
        return dtype
    try:
        named = DataType.fromDDL(f"x {dtype}")
        assert isinstance(named, StructType)
        return named.fields[0].dataType
    except Exception as error:
        raise ValueError(
            f'types: {name!r}: {dtype!r} is not a Spark type. Examples: "double", "array<string>".'
        ) from error


def _refuse_unknown_type(prepared: Prepared, name: str) -> None:
    aggregate = prepared.query.aggregates[name]
    types = input_types(aggregate, prepared.schema)
    if types and all(dtype == pa.null() for dtype in types):
        return  # nulls give nulls
    try:
        try_out(aggregate, types)
        tried = ""
    except Exception as error:  # noqa: BLE001 — whatever the user's functions raise
        tried = f" (tried on made-up values, it raised {type(error).__name__}: {error})"
    raise TypeError(
        f"{name!r}: Spark needs the result type of {aggregate.label} before it runs, but Sash cannot determine it{tried}. "
        f'State the type, as in run(df, types={{"{name}": "double"}}).'
    )


def _result_type(dtype: pa.DataType, name: str) -> DataType:
    try:
        return spark_type(dtype)
    except TypeError as error:
        raise TypeError(
            f"{name!r} returns {dtype}, a type that Spark does not have. Let lower return another type, such as a string."
        ) from error
