"""Keys of a store: the values of the key columns of a row as bytes, the same for equal keys of every engine.

A key is one field per column: a byte that tells the type, then the value. Integers of all widths have one form, and so have times of all
units, since a table of pandas and one of Spark differ in them. 1 and "1", null and "", True and 1 differ.

    field   byte   then
    null    z
    bool    t, f
    integer i      int64, big-endian; u and uint64 from 2⁶³ on
    float   d      float64, big-endian; -0.0 is 0.0, and all NaN are one
    decimal c      length, digits without trailing zeros and exponent, as text
    text    s      length, UTF-8
    bytes   b      length, bytes
    date    D      days since 1970
    time    h      nanoseconds since midnight
    instant T      nanoseconds since 1970 in UTC, 12 bytes; N without a time zone
    length  e      nanoseconds, 12 bytes
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from sash.hints import did_you_mean, list_names
from sash.serve.key_values import is_bytes, is_text, one_value

NULL = b"z"
_LARGEST = 1 << 63
_SIGNED, _UNSIGNED, _FLOAT, _LENGTH = (struct.Struct(text) for text in (">cq", ">cQ", ">cd", ">cI"))
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_WIDE = 12
"""Bytes that hold the nanoseconds of every time in seconds."""

Encode: TypeAlias = Callable[[Any], bytes]


class KeyCodec:
    r"""Keys with columns of certain types.

    >>> codec = KeyCodec(pa.schema({"card": pa.int64(), "shop": pa.string()}))
    >>> codec.encode(pa.table({"card": [1, None], "shop": ["1", ""]}))
    [b'i\x00\x00\x00\x00\x00\x00\x00\x01s\x00\x00\x00\x011', b'zs\x00\x00\x00\x00']
    >>> codec.encode_one({"shop": "1", "card": "1"}) == codec.encode(pa.table({"card": [1], "shop": ["1"]}))[0]
    True
    """

    def __init__(self, schema: pa.Schema) -> None:
        """Raise TypeError for a column whose type cannot be a key of a store."""
        self.schema = pa.schema([pa.field(field.name, field.type) for field in schema])
        self._encoders = [_encoder(field) for field in self.schema]

    def __reduce__(self) -> tuple[type[KeyCodec], tuple[pa.Schema]]:
        """Send the types alone to Spark's workers: encoders hold a Struct, which cannot be pickled."""
        return KeyCodec, (self.schema,)

    def encode(self, rows: pa.Table | pa.RecordBatch) -> list[bytes]:
        """Return the key of each row."""
        columns = [
            list(map(encode, _plain_values(rows.column(field.name).cast(field.type))))
            for field, encode in zip(self.schema, self._encoders, strict=True)
        ]
        if not columns:
            return [b""] * rows.num_rows
        return columns[0] if len(columns) == 1 else list(map(b"".join, zip(*columns, strict=True)))

    def encode_one(self, values: Mapping[str, Any]) -> bytes:
        """Return the key with these values: Python's, or those of JSON or a URL, where numbers and times may be text.

        Raise ValueError if a column is missing or unknown, or if a value does not fit the type of its column.
        """
        names = self.schema.names
        for name in values:
            if name not in names:
                raise ValueError(f"There is no key column {name!r}.{did_you_mean(name, names)} {self.described}")
        fields = []
        for field, encode in zip(self.schema, self._encoders, strict=True):
            if field.name not in values:
                raise ValueError(f"The key column {field.name!r} is missing. {self.described}")
            fields.append(encode(_plain_values(one_value(values[field.name], field))[0]))
        return b"".join(fields)

    @property
    def described(self) -> str:
        """A sentence that names the columns."""
        columns = list_names(self.schema.names)
        return f"The key columns are {columns}." if columns else "The query has no key columns."


def _encoder(field: pa.Field) -> Encode:
    dtype = field.type.value_type if pt.is_dictionary(field.type) else field.type
    for is_type, encode in _ENCODERS:
        if is_type(dtype):
            return lambda value: NULL if value is None else encode(value)
    if pt.is_timestamp(dtype):
        mark, factor = b"N" if dtype.tz is None else b"T", _NANOSECONDS[dtype.unit]
        return lambda value: NULL if value is None else mark + _wide(value * factor)
    if pt.is_duration(dtype):
        factor = _NANOSECONDS[dtype.unit]
        return lambda value: NULL if value is None else b"e" + _wide(value * factor)
    if pt.is_time(dtype):
        factor = _NANOSECONDS[dtype.unit]
        return lambda value: NULL if value is None else _SIGNED.pack(b"h", value * factor)
    problem = f"The key column {field.name!r} has the type {field.type}."
    raise TypeError(f"{problem} Keys of a store are numbers, text, bytes, booleans, decimals, dates and times.")


def _plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values as Python's; times as numbers in their unit, since Python's own have no nanoseconds."""
    dtype = column.type
    if pt.is_dictionary(dtype):
        return _plain_values(column.cast(dtype.value_type))
    if pt.is_timestamp(dtype) or pt.is_duration(dtype) or pt.is_time64(dtype):
        return list(column.cast(pa.int64()).to_pylist())
    if pt.is_time32(dtype):
        return list(column.cast(pa.int32()).to_pylist())
    if pt.is_date(dtype):
        return list(column.cast(pa.date32()).cast(pa.int32()).to_pylist())
    return list(column.to_pylist())


def _integer(value: int) -> bytes:
    return _SIGNED.pack(b"i", value) if value < _LARGEST else _UNSIGNED.pack(b"u", value)


def _float(value: float) -> bytes:
    return _FLOAT.pack(b"d", math.nan if math.isnan(value) else value + 0.0)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _LENGTH.pack(b"s", len(encoded)) + encoded


def _bytes(value: bytes) -> bytes:
    return _LENGTH.pack(b"b", len(value)) + value


def _decimal(value: Decimal) -> bytes:
    """Return a decimal without trailing zeros. Decimal.normalize would round to the precision of its context."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # Arrow's decimals are finite
    written = "".join(map(str, digits)).lstrip("0")
    short = written.rstrip("0")
    text = f"{'-' * sign}{short}e{exponent + len(written) - len(short)}" if short else "0e0"
    return _LENGTH.pack(b"c", len(text)) + text.encode()


def _wide(value: int) -> bytes:
    return value.to_bytes(_WIDE, "big", signed=True)


_ENCODERS: tuple[tuple[Callable[[pa.DataType], bool], Encode], ...] = (
    (pt.is_boolean, lambda value: b"t" if value else b"f"),
    (pt.is_integer, _integer),
    (pt.is_floating, _float),
    (pt.is_decimal, _decimal),
    (is_text, _text),
    (is_bytes, _bytes),
    (pt.is_date, lambda value: _SIGNED.pack(b"D", value)),
    (pt.is_null, lambda _: NULL),
)
"""How values of a type are written; times have units and are apart."""
