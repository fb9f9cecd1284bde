"""Values of keys from outside: Python's, or those of JSON and URLs, where numbers and times may be text."""

from __future__ import annotations

import base64
import reprlib
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from sash.columns.python_values import python_to_arrow


def one_value(value: Any, field: pa.Field) -> pa.Array:
    """Return a value as a column of its type. Raise ValueError if it does not fit.

    >>> one_value("42", pa.field("card", pa.int64())).to_pylist()
    [42]
    >>> one_value(4.5, pa.field("card", pa.int64()))
    Traceback (most recent call last):
    ValueError: The key column 'card' has the type int64, which 4.5 does not fit.
    """
    dtype = field.type.value_type if pt.is_dictionary(field.type) else field.type
    try:
        return python_to_arrow([_read(value, dtype)], dtype)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, ArithmeticError) as error:
        problem = f"The key column {field.name!r} has the type {dtype}, which {reprlib.repr(value)} does not fit."
        raise ValueError(f"{problem} {_advice(dtype)}".rstrip()) from error


def _read(value: Any, dtype: pa.DataType) -> Any:
    """Return a value that Arrow accepts for a type without loss. Raise ValueError for others: a number is no time, 1 is not true."""
    if value is None:
        return None
    if isinstance(value, str):
        return _read_text(value, dtype)
    if isinstance(value, bool):
        fits = pt.is_boolean(dtype)
    elif isinstance(value, float):
        fits = pt.is_floating(dtype)
    elif isinstance(value, int):
        fits = any(test(dtype) for test in (pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_duration))
    elif isinstance(value, datetime):
        fits = pt.is_timestamp(dtype) and (value.tzinfo is None) == (dtype.tz is None)
    elif isinstance(value, bytes):
        fits = is_bytes(dtype)
    elif isinstance(value, Decimal):
        fits = pt.is_decimal(dtype)
    else:
        fits = True  # Arrow knows
    if not fits:
        raise ValueError("another type")
    return Decimal(value) if pt.is_decimal(dtype) else value


def _read_text(text: str, dtype: pa.DataType) -> Any:
    """Return the value that a text of JSON or a URL stands for."""
    for is_type, read in _READERS:
        if is_type(dtype):
            return read(text)
    return pa.array([text]).cast(dtype)[0]


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdecimal()):
        raise ValueError("not a whole number")
    return int(text)


def _advice(dtype: pa.DataType) -> str:
    if pt.is_timestamp(dtype):
        example = "2026-03-02T10:00:00" + ("" if dtype.tz is None else "Z")
        return f"Write it as in {example}; in a URL, + is %2B."
    if pt.is_date(dtype):
        return "Write it as in 2026-03-02."
    if pt.is_decimal(dtype):
        return 'Write it as text, as in "1.50".'
    if pt.is_boolean(dtype):
        return "Write true or false."
    return "Write bytes in base64." if is_bytes(dtype) else ""


def is_text(dtype: pa.DataType) -> bool:
    """Return whether a type is text."""
    return bool(pt.is_string(dtype) or pt.is_large_string(dtype) or pt.is_string_view(dtype))


def is_bytes(dtype: pa.DataType) -> bool:
    """Return whether a type is bytes."""
    tests = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_binary_view)
    return any(test(dtype) for test in tests)


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str], Any]], ...] = (
    (is_text, str),
    (pt.is_boolean, lambda text: {"true": True, "false": False}.get(text.lower(), text)),
    (pt.is_integer, _whole_number),
    (pt.is_duration, _whole_number),
    (pt.is_floating, float),
    (pt.is_decimal, Decimal),
    (is_bytes, lambda text: base64.b64decode(text, validate=True)),
)
"""What a text stands for, by type; Arrow reads dates and times."""
