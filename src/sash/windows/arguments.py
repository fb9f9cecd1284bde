"""Checks of the arguments that windows share."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def check_count(given: Any, name: str, window: str) -> int:
    """Return a positive integer. Raise TypeError or ValueError if the argument is none."""
    if isinstance(given, bool) or not isinstance(given, Integral):
        hint = " For a window of time use window.time." if isinstance(given, str) else ""
        message = f"window.{window}: {name}={given!r} is not a whole number of rows.{hint}"
        raise TypeError(message)
    count = int(given)
    if not 1 <= count < 2**62:
        message = f"window.{window}: {name}={given} must be at least 1, and less than 2**62."
        raise ValueError(message)
    return count


def check_slide(slide: Any, length: Any, given: dict[str, Any]) -> None:
    """Raise ValueError if the slide is longer than the range, so that some rows would be in no window.

    `given` holds both arguments by name, the slide first.
    """
    if slide > length:
        shorter, longer = given
        message = (
            f"{shorter}={given[shorter]!r} is more than {longer}={given[longer]!r}, so rows between two windows would belong "
            f"to no window. Make the {shorter} shorter, or filter the rows first."
        )
        raise ValueError(message)


def check_column(given: Any, window: str) -> None:
    """Raise TypeError if the argument is not the name of a column."""
    if not isinstance(given, str) or not given:
        message = f"window.{window}: {given!r} is not the name of a column."
        raise TypeError(message)


def min_rows_text(min_rows: int) -> str:
    """Return `min_rows` as an argument of a call, or nothing if it has its default.

    >>> min_rows_text(3), min_rows_text(1)
    (', min_rows=3', '')
    """
    return f", min_rows={min_rows}" if min_rows > 1 else ""
