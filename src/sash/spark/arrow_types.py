"""Spark types as Arrow types and back: how Spark sends columns to Python, and how it takes results.

PySpark has such functions too, but they are private, and their arguments differ from version to version. The types that
Spark sends do not: they are the same in 4.1, 4.2 and 4.3.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 — as many call it

from sash.spark.private import storage_type

SIMPLE: dict[type[T.DataType], pa.DataType] = {
    T.NullType: pa.null(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimeType: pa.time64("ns"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.DayTimeIntervalType: pa.duration("us"),
}
"""Types of Spark that have one Arrow type."""
LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
"""What Spark sends instead if `spark.sql.execution.arrow.useLargeVarTypes` is set."""
UNITS = ("s", "ms", "us", "ns")
SPARK_TYPES: dict[pa.DataType, type[T.DataType]] = {
    **{arrow: spark for spark, arrow in SIMPLE.items()},
    **{LARGE[arrow]: spark for spark, arrow in SIMPLE.items() if arrow in LARGE},
    **dict.fromkeys((pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()), T.LongType),
    **{pa.duration(unit): T.DayTimeIntervalType for unit in UNITS},
    **{pa.timestamp(unit): T.TimestampNTZType for unit in UNITS},
    pa.time64("us"): T.TimeType,
}
"""Arrow types that have one Spark type."""


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


def arrow_type(kind: T.DataType, zone: str, *, large: bool = False) -> pa.DataType:  # noqa: PLR0911 — a case for each type
    """Return the Arrow type of a column; see `arrow_schema`.

    >>> arrow_type(T.DecimalType(7, 2), "UTC"), arrow_type(T.StringType(), "UTC", large=True)
    (Decimal128Type(decimal128(7, 2)), DataType(large_string))
    """

    def field(name: str, kind: T.DataType, *, nullable: bool = False) -> pa.Field:
        return pa.field(name, arrow_type(kind, zone, large=large), nullable)

    kind = storage_type(kind)
    if type(kind) in SIMPLE:
        simple = SIMPLE[type(kind)]
        return LARGE.get(simple, simple) if large else simple
    match kind:
        case T.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case T.TimestampType():
            return pa.timestamp("us", zone)
        case T.ArrayType():
            return pa.list_(field("element", kind.elementType, nullable=kind.containsNull))
        case T.MapType():
            values = field("value", kind.valueType, nullable=kind.valueContainsNull)
            return pa.map_(field("key", kind.keyType), values)
        case T.StructType():
            return pa.struct([field(each.name, each.dataType, nullable=each.nullable) for each in kind])
        case T.VariantType():
            tags = {"variant": "true"}
            return pa.struct([field("value", T.BinaryType()), field("metadata", T.BinaryType()).with_metadata(tags)])
        case T.GeometryType() | T.GeographyType():
            tags = {kind.typeName(): "true", "srid": str(kind.srid)}
            return pa.struct([field("srid", T.IntegerType()), field("wkb", T.BinaryType()).with_metadata(tags)])
    message = f"Spark can't send {kind.simpleString()} to Python."
    raise TypeError(message)


def spark_type(kind: pa.DataType) -> T.DataType:  # noqa: PLR0911 — a case for each type
    """Return the Spark type that holds the values of an Arrow type, as results are declared with.

    Raises TypeError if there is none. Spark has no unsigned integers, no dictionaries and one unit of time.

    >>> spark_type(pa.dictionary(pa.int32(), pa.string())), spark_type(pa.duration("s")), spark_type(pa.uint32())
    (StringType(), DayTimeIntervalType(0, 3), LongType())
    """
    types = pa.types
    if kind in SPARK_TYPES:
        return SPARK_TYPES[kind]()
    if types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        return T.TimestampType()
    if types.is_fixed_size_binary(kind):
        return T.BinaryType()
    if types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return T.ArrayType(spark_type(kind.value_type), kind.value_field.nullable)
    if types.is_map(kind):
        return T.MapType(spark_type(kind.key_type), spark_type(kind.item_type), kind.item_field.nullable)
    if types.is_struct(kind):
        return _tagged_type(kind) or spark_schema(pa.schema(list(kind)))
    message = f"Spark has no type for {kind}."
    raise TypeError(message)


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


def _tagged_type(kind: pa.StructType) -> T.DataType | None:
    tags = {name: value for field in kind for name, value in (field.metadata or {}).items()}
    if b"variant" in tags:
        return T.VariantType()
    for spatial in (T.GeometryType, T.GeographyType):
        if spatial.typeName().encode() in tags:
            srid = int(tags[b"srid"])
            return spatial("ANY" if srid == spatial.MIXED_SRID else srid)
    return None
