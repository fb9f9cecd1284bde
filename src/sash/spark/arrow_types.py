"""Spark types as Arrow types and back: how Spark sends columns to Python, and how it takes results; and what types have in them.

PySpark has such functions too, but they are private, and their arguments differ from version to version. The types that
Spark sends do not: they are the same in 4.1, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 — as many call it

from sash.columns.column_types import TABLE, column_type, plain_type
from sash.spark.private import storage_type

SIMPLE: dict[type[T.DataType], pa.DataType] = {
    getattr(T, row.spark): row.example
    for row in reversed(TABLE)  # so that the first row of a class stays
    if row.spark and not row.is_nested and row.group != "decimal"
}
"""Types of Spark that have one Arrow type."""
LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
"""What Spark sends instead if `spark.sql.execution.arrow.useLargeVarTypes` is set."""


def arrow_schema(schema: T.StructType, zone: str, *, large: bool = False) -> pa.Schema:
    """Return the schema of the Arrow batches in which Spark sends columns to Python, and expects results.

    `zone` is the session time zone, which timestamps carry. `large` is the setting
    `spark.sql.execution.arrow.useLargeVarTypes`. Raises TypeError for a type that Spark can't send.

    >>> arrow_schema(T.StructType().add("t", T.TimestampType()).add("x", T.ArrayType(T.LongType())), "UTC")
    t: timestamp[us, tz=UTC]
    x: list<element: int64>
      child 0, element: int64
    """
    return pa.schema(list(arrow_type(schema, zone, large=large)))


def arrow_type(dtype: T.DataType, zone: str, *, large: bool = False) -> pa.DataType:  # noqa: PLR0911 — a case for each type
    """Return the Arrow type of a column; see `arrow_schema`.

    >>> arrow_type(T.DecimalType(7, 2), "UTC"), arrow_type(T.StringType(), "UTC", large=True)
    (Decimal128Type(decimal128(7, 2)), DataType(large_string))
    """

    def field(name: str, dtype: T.DataType, *, nullable: bool = False) -> pa.Field:
        return pa.field(name, arrow_type(dtype, zone, large=large), nullable)

    dtype = storage_type(dtype)
    if type(dtype) in SIMPLE:
        simple = SIMPLE[type(dtype)]
        return LARGE.get(simple, simple) if large else simple
    match dtype:
        case T.DecimalType():
            return pa.decimal128(dtype.precision, dtype.scale)
        case T.TimestampType():
            return pa.timestamp("us", zone)
        case T.ArrayType():
            return pa.list_(field("element", dtype.elementType, nullable=dtype.containsNull))
        case T.MapType():
            values = field("value", dtype.valueType, nullable=dtype.valueContainsNull)
            return pa.map_(field("key", dtype.keyType), values)
        case T.StructType():
            return pa.struct([field(each.name, each.dataType, nullable=each.nullable) for each in dtype])
        case T.VariantType():
            tags = {"variant": "true"}
            return pa.struct([field("value", T.BinaryType()), field("metadata", T.BinaryType()).with_metadata(tags)])
        case T.GeometryType() | T.GeographyType():
            tags = {dtype.typeName(): "true", "srid": str(dtype.srid)}
            return pa.struct([field("srid", T.IntegerType()), field("wkb", T.BinaryType()).with_metadata(tags)])
    raise TypeError(f"Spark can't send {dtype.simpleString()} to Python.")


def spark_type(dtype: pa.DataType) -> T.DataType:
    """Return the Spark type that holds the values of an Arrow type, as results are declared with.

    Raises TypeError if there is none. Spark has no unsigned integers, no dictionaries and one unit of time.

    >>> spark_type(pa.dictionary(pa.int32(), pa.string())), spark_type(pa.duration("s")), spark_type(pa.uint32())
    (StringType(), DayTimeIntervalType(0, 3), LongType())
    """
    dtype = plain_type(dtype)
    match column_type(dtype).spark:
        case "":
            raise TypeError(f"Spark has no type for {dtype}.")
        case "DecimalType":
            return T.DecimalType(dtype.precision, dtype.scale)
        case "TimestampNTZType" if dtype.tz is not None:
            return T.TimestampType()
        case "ArrayType":
            return T.ArrayType(spark_type(dtype.value_type), dtype.value_field.nullable)
        case "MapType":
            return T.MapType(spark_type(dtype.key_type), spark_type(dtype.item_type), dtype.item_field.nullable)
        case "StructType":
            return _tagged_type(dtype) or spark_schema(pa.schema(list(dtype)))
        case name:
            simple: T.DataType = getattr(T, name)()
            return simple


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Return the Spark schema for the columns of an Arrow schema; see `spark_type`."""
    return T.StructType([T.StructField(field.name, spark_type(field.type), field.nullable) for field in schema])


def is_exact(schema: T.StructType) -> bool:
    """Tell whether each type of a schema is the one that Spark takes its Arrow type for.

    >>> is_exact(T.StructType().add("x", T.LongType())), is_exact(T.StructType().add("x", T.StringType("UTF8_LCASE")))
    (True, False)
    """
    return all(
        spark_type(arrow_type(field.dataType, "UTC")).simpleString() == field.dataType.simpleString()
        for field in schema
    )


def _tagged_type(dtype: pa.StructType) -> T.DataType | None:
    tags = {name: value for field in dtype for name, value in (field.metadata or {}).items()}
    if b"variant" in tags:
        return T.VariantType()
    for spatial in (T.GeometryType, T.GeographyType):
        if spatial.typeName().encode() in tags:
            srid = int(tags[b"srid"])
            return spatial("ANY" if srid == spatial.MIXED_SRID else srid)
    return None


def is_collated(dtype: T.DataType) -> bool:
    """Tell whether a type has strings that are not compared byte by byte.

    >>> is_collated(T.StringType()), is_collated(T.ArrayType(T.StringType("UTF8_LCASE")))
    (False, True)
    """
    texts = [each for each in types_in(dtype) if isinstance(each, T.StringType)]
    return any(text.collation not in ("UTF8_BINARY", None) for text in texts)


def has(wanted: type[T.DataType], dtype: T.DataType) -> bool:
    """Tell whether a type is of a class, or has such a type nested in it.

    >>> has(T.StringType, T.ArrayType(T.MapType(T.StringType(), T.VariantType()))), has(T.MapType, T.StringType())
    (True, False)
    """
    return any(isinstance(each, wanted) for each in types_in(dtype))


def has_maps(names: Iterable[str], schema: T.StructType) -> bool:
    """Tell whether some columns contain maps. As keys, Spark groups {'a': null} with {'a': 0}."""
    return any(has(T.MapType, schema[name].dataType) for name in names)


def types_in(dtype: T.DataType) -> Iterator[T.DataType]:
    """Yield a type and the types nested in it."""
    yield dtype
    nested = [field.dataType for field in dtype] if isinstance(dtype, T.StructType) else []
    nested += [getattr(dtype, part) for part in ("elementType", "keyType", "valueType") if hasattr(dtype, part)]
    for each in nested:
        yield from types_in(each)
