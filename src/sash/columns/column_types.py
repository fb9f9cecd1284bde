"""What a column type means: one table, with a row for each type of Arrow.

    Arrow type ──column_type──► ColumnType: which numbers kernels read, what can be done with values, what Spark calls it

A new column type is a new row. Everything else asks `column_type`, which costs as much as one test of `pa.types`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

KINDS = {"bool": "bool", "int32": "int", "int64": "int", "float32": "float", "float64": "float"}
"""The NumPy types that kernels take, and their kinds for `Aggregate.of_kind`."""
TIMES = ("date", "time", "timestamp", "duration")
"""Groups whose values are ticks. Only "duration" has no point of origin; "time" is the time of day."""
NESTED = ("list", "map", "struct", "union", "run_end_encoded")
DAY = 86_400


class CannotCompileError(Exception):
    """Why an aggregate is interpreted, as a sentence for `explain()`."""


@dataclass(frozen=True)
class ColumnType:
    """A row of the table: Arrow types that differ only in parameters, such as unit and zone."""

    example: pa.DataType
    group: str
    """What the values are: types of a group have the same operations."""
    numbers: pa.DataType | None = None
    """What kernels read: the values, wider numbers, or ticks. None if a column must be interpreted, or replaced by codes."""
    sample: Any = None
    """A value, as the interpreter reads it; None if it depends on the parameters of the type (see `sample_of`)."""
    spark: str = ""
    """The class of PySpark's type; "" if it has none. The first row of a class is what Spark sends to Python."""
    can_be_key: bool = True
    """Whether Arrow can number the values; for nested types, see the function `can_be_key`."""

    @cached_property
    def kind(self) -> str:
        """The kind of values, as aggregates have variants for it."""
        return KINDS[self.numbers.to_pandas_dtype().__name__] if self.numbers is not None else "object"

    @cached_property
    def is_time(self) -> bool:
        """Whether values are ticks of dates, times or durations."""
        return self.group in TIMES

    @cached_property
    def is_nested(self) -> bool:
        """Whether values consist of other values."""
        return self.group in NESTED

    @cached_property
    def is_widened(self) -> bool:
        """Whether kernels read wider numbers; results that are values of the column are cast back."""
        return self.group in ("int", "float") and self.numbers != self.example

    @cached_property
    def is_word(self) -> bool:
        """Whether an array is one buffer with 4 or 8 bytes per value, and perhaps a bitmap."""
        return self.numbers is not None and self.group != "null" and self.example.bit_width in (32, 64)

    @cached_property
    def has_order(self) -> bool:
        """Whether values can be sorted."""
        return not self.is_nested and self.group != "interval"

    @cached_property
    def has_differences(self) -> bool:
        """Whether two values can be subtracted."""
        return self.numbers is not None or self.group == "decimal"

    @cached_property
    def has_sums(self) -> bool:
        """Whether values can be added."""
        return self.has_differences and not self.is_time

    @cached_property
    def has_middle(self) -> bool:
        """Whether there is a middle between two values: times of day wrap around."""
        return self.has_differences and self.group != "time"


# fmt: off
TABLE = tuple(ColumnType(*row) for row in (
    # an example                    group              kernels read   a sample           PySpark's type         can be a key
    (pa.null(),                     "null",            pa.float64(),  1.0,               "NullType"),
    (pa.bool_(),                    "bool",            pa.bool_(),    True,              "BooleanType"),
    (pa.int8(),                     "int",             pa.int32(),    1,                 "ByteType"),
    (pa.int16(),                    "int",             pa.int32(),    1,                 "ShortType"),
    (pa.int32(),                    "int",             pa.int32(),    1,                 "IntegerType"),
    (pa.int64(),                    "int",             pa.int64(),    1,                 "LongType"),
    (pa.uint8(),                    "int",             pa.int32(),    1,                 "LongType"),
    (pa.uint16(),                   "int",             pa.int32(),    1,                 "LongType"),
    (pa.uint32(),                   "int",             pa.int64(),    1,                 "LongType"),
    (pa.uint64(),                   "int",             pa.int64(),    1,                 "LongType"),
    (pa.float16(),                  "float",           pa.float32(),  1.0),
    (pa.float32(),                  "float",           pa.float32(),  1.0,               "FloatType"),
    (pa.float64(),                  "float",           pa.float64(),  1.0,               "DoubleType"),
    (pa.decimal32(9),               "decimal",         None,          Decimal(1),        "DecimalType"),
    (pa.decimal64(18),              "decimal",         None,          Decimal(1),        "DecimalType"),
    (pa.decimal128(38),             "decimal",         None,          Decimal(1),        "DecimalType"),
    (pa.decimal256(76),             "decimal",         None,          Decimal(1),        "DecimalType"),
    (pa.date32(),                   "date",            pa.int32(),    date(1970, 1, 2),  "DateType"),
    (pa.date64(),                   "date",            pa.int64(),    date(1970, 1, 2)),
    (pa.time32("s"),                "time",            pa.int32()),
    (pa.time64("ns"),               "time",            pa.int64(),    None,              "TimeType"),
    (pa.timestamp("us"),            "timestamp",       pa.int64(),    None,              "TimestampNTZType"),
    (pa.duration("us"),             "duration",        pa.int64(),    None,              "DayTimeIntervalType"),
    (pa.month_day_nano_interval(),  "interval",        None,          pa.MonthDayNano([0, 1, 0])),
    (pa.string(),                   "string",          None,          "1",               "StringType"),
    (pa.large_string(),             "string",          None,          "1",               "StringType"),
    (pa.string_view(),              "string",          None,          "1",               "",                    False),
    (pa.binary(),                   "bytes",           None,          b"1",              "BinaryType"),
    (pa.large_binary(),             "bytes",           None,          b"1",              "BinaryType"),
    (pa.binary_view(),              "bytes",           None,          b"1",              "",                    False),
    (pa.binary(1),                  "bytes",           None,          None,              "BinaryType"),
    (pa.list_(pa.int8()),           "list",            None,          None,              "ArrayType"),
    (pa.large_list(pa.int8()),      "list",            None,          None,              "ArrayType"),
    (pa.list_(pa.int8(), 1),        "list",            None,          None,              "ArrayType"),
    (pa.list_view(pa.int8()),       "list"),
    (pa.large_list_view(pa.int8()), "list"),
    (pa.map_(pa.int8(), pa.int8()), "map",             None,          None,              "MapType"),
    (pa.struct([]),                 "struct",          None,          None,              "StructType"),
    (pa.sparse_union([]),           "union",           None,          None,              "",                    False),
    (pa.dense_union([]),            "union",           None,          None,              "",                    False),
    (pa.run_end_encoded(pa.int32(), pa.int8()), "run_end_encoded", None, None,           "",                    False),
    (pa.dictionary(pa.int8(), pa.int8()), "dictionary"),
    (pa.uuid(),                     "extension",       None,          None,              "",                    False),
))
# fmt: on
BY_ID = {row.example.id: row for row in TABLE}
OTHER = ColumnType(pa.null(), "other")
"""For types that files may have and pyarrow cannot make, such as intervals of months."""


def column_type(dtype: pa.DataType) -> ColumnType:
    """Return the row of an Arrow type.

    >>> column_type(pa.timestamp("ms", "UTC")).numbers, column_type(pa.string()).numbers
    (DataType(int64), None)
    """
    return BY_ID.get(dtype.id, OTHER)


def plain_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column: for a dictionary, that of its entries."""
    return dtype.value_type if column_type(dtype).group == "dictionary" else dtype


def can_be_key(dtype: pa.DataType) -> bool:
    """Return whether values of a type, nested types included, can be keys.

    >>> can_be_key(pa.map_(pa.string(), pa.list_(pa.float64()))), can_be_key(pa.struct([("id", pa.uuid())]))
    (True, False)
    """
    plain = plain_type(dtype)
    parts = [plain.field(number).type for number in range(plain.num_fields)]
    return column_type(plain).can_be_key and all(map(can_be_key, parts))


def has_nanoseconds(dtype: pa.DataType) -> bool:
    """Return whether values are times in nanoseconds. Python's times end at microseconds, so the interpreter reads their ticks."""
    return getattr(plain_type(dtype), "unit", "") == "ns"


def sample_of(dtype: pa.DataType) -> Any:
    """Return a sample value of a type, as the interpreter reads it.

    >>> sample_of(pa.list_(pa.float64())), sample_of(pa.struct({"when": pa.date32()}))
    ([1.0], {'when': datetime.date(1970, 1, 2)})
    """
    dtype = plain_type(dtype)
    row = column_type(dtype)
    match row.group:
        case "list":
            return [sample_of(dtype.value_type)] * getattr(dtype, "list_size", 1)
        case "map":
            return [(sample_of(dtype.key_type), sample_of(dtype.item_type))]
        case "struct":
            return {field.name: sample_of(field.type) for field in dtype}
        case "bytes" if row.sample is None:
            return b"1" * dtype.byte_width
        case _ if has_nanoseconds(dtype):
            return 1
    return pa.array([1], row.numbers).cast(dtype)[0].as_py() if row.sample is None else row.sample
