"""Values of columns as JSON has them."""

from __future__ import annotations

import base64
import math
from datetime import date, datetime, time, timedelta
from typing import Any


def plain(value: Any) -> Any:  # noqa: PLR0911 — one line for each type of value
    """Return a value that JSON can hold.

    >>> from decimal import Decimal
    >>> plain({"a": float("nan"), "b": b"x", "c": [(1, Decimal("2.50"))]})
    {'a': None, 'b': 'eA==', 'c': [[1, '2.50']]}
    """
    if isinstance(value, dict):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, int | str | None) else str(value)
