"""Whether results are those that the oracle expects: exact for all but floats, which may differ by rounding."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

ROUNDING = 1e-9
DAY = 86_400 * 10**9
MICROSECOND = 1_000


def nanoseconds(value: Any) -> int | None:  # noqa: PLR0911 — a chain
    """Return a time, a date or a length of time in nanoseconds; None for anything else.

    >>> nanoseconds(date(1970, 1, 2)) == nanoseconds(timedelta(days=1))
    True
    """
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return int(value.as_unit("ns").value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(
            value.astype(f"{'datetime64' if isinstance(value, np.datetime64) else 'timedelta64'}[ns]").astype(np.int64)
        )
    if isinstance(value, datetime):
        since = value - datetime(1970, 1, 1, tzinfo=value.tzinfo) if value.tzinfo is None else value - EPOCH
        return since // timedelta(microseconds=1) * MICROSECOND
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days * DAY
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1) * MICROSECOND
    if isinstance(value, time):
        return (((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond) * MICROSECOND
    return None


EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def matches(found: Any, expected: Any, *, nan_is_null: bool = False, apart: float = ROUNDING) -> bool:
    """Return whether a result is the expected one.

    `nan_is_null` is for pandas, which may show a null as NaN. Floats, and times in nanoseconds, may be `apart` from each other.

    >>> matches([1, 0.1 + 0.2], [1, 0.3]), matches(1, 2), matches(None, 0)
    (True, False, False)
    """
    found, expected = native(found), native(expected)
    if nan_is_null:
        found, expected = (None if is_missing(one) else one for one in (found, expected))
    if found is None or expected is None:
        return found is None and expected is None
    if isinstance(found, dict) and isinstance(expected, dict):
        found, expected = list(found.items()), list(expected.items())
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        pairs = zip(found, expected, strict=False)
        alike = (matches(mine, theirs, nan_is_null=nan_is_null, apart=apart) for mine, theirs in pairs)
        return len(found) == len(expected) and all(alike)
    mine, theirs = nanoseconds(found), nanoseconds(expected)
    if mine is not None and theirs is not None:
        return abs(mine - theirs) <= apart
    return same_number(found, expected, apart)


def same_number(found: Any, expected: Any, apart: float = ROUNDING) -> bool:
    """Return whether two values are equal: floats up to rounding, a decimal up to the rounding to its own scale.

    >>> same_number(Decimal("0.33"), Decimal(1) / 3), same_number(Decimal("0.34"), Decimal("0.33"))
    (True, False)
    """
    if isinstance(found, Decimal) and isinstance(expected, Decimal):
        mine, theirs = int(found.as_tuple().exponent), int(expected.as_tuple().exponent)
        return abs(found - expected) <= (Decimal(10) ** mine if theirs < mine else 0)
    numbers = isinstance(found, int | float | Decimal) and isinstance(expected, int | float | Decimal)
    if numbers and (isinstance(found, float) or isinstance(expected, float)):
        one, other = float(found), float(expected)
        return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=apart) or (math.isnan(one) and math.isnan(other))
    return bool(found == expected)


def native(value: Any) -> Any:
    """Return a value of NumPy or pandas as Python's."""
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.ndarray):
        return list(value)
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    return value


def is_missing(value: Any) -> bool:
    """Return whether pandas takes a value for missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))
