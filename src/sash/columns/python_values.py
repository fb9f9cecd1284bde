"""Python objects as Arrow arrays, whatever the environment says about time zones.

pandas on Spark asks its users to set PYARROW_IGNORE_TIMEZONE. Then PyArrow reads times with a zone as if their clocks showed UTC, so a
result that was read from a column and written back would be hours off.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa


def python_to_arrow(values: list[Any], dtype: pa.DataType | None = None) -> pa.Array:
    """Return Python objects as an array of a type, or of the type that Arrow finds for them.

    >>> python_to_arrow([1, None]).type
    DataType(int64)
    """
    if not os.environ.get("PYARROW_IGNORE_TIMEZONE"):
        return pa.array(values, dtype)
    return pa.array([_in_utc(value) for value in values], pa.infer_type(values) if dtype is None else dtype)


def _in_utc(value: Any) -> Any:
    """Return times with a zone, also in lists and dictionaries, in UTC."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: _in_utc(entry) for name, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_in_utc, value))
    return type(value)(map(_in_utc, value)) if isinstance(value, list | tuple) else value
