"""Checks of the arguments that windows share."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

from sash.hints import did_you_mean
from sash.windows.base import NOT_GIVEN


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


def check_choice(given: Any, choices: Collection[str], name: str, window: str) -> None:
    """Raise ValueError if the argument is none of the choices."""
    if given not in choices:
        message = f"window.{window}: {name}={given!r} does not exist.{did_you_mean(str(given), choices)} Use {', '.join(choices)}."
        raise ValueError(message)


def check_sides(before: Any, after: Any, others: dict[str, Any], window: str, begin: str) -> None:
    """Raise ValueError if `before` is missing, or if other arguments are given beside `before` and `after`."""
    for name, given in others.items():
        if given is not None:
            message = (
                f"window.{window}: {name}={given!r} cannot be combined with before= or after=. Use one or the other."
            )
            raise ValueError(message)
    if before is NOT_GIVEN:
        message = (
            f"window.{window}: after={after!r} needs before=, {begin} the row, or before=None for all rows before it."
        )
        raise ValueError(message)


def check_rows_around(before: Any, after: Any, others: dict[str, Any]) -> None:
    """Raise TypeError or ValueError if a frame of rows is invalid: its numbers, or other arguments beside them."""
    check_sides(before, after, others, "rows", "the number of rows before the row. Use before=0 to begin with")
    for name, given in {"before": before, "after": after}.items():
        if given is None or given is NOT_GIVEN:
            continue
        if isinstance(given, bool) or not isinstance(given, Integral):
            message = (
                f"window.rows: {name}={given!r} is not a whole number of rows, nor None for all rows on that side."
            )
            raise TypeError(message)
        if abs(given) >= 2**62:  # type: ignore[operator]
            message = f"window.rows: {name}={given} must be less than 2**62. Use None for all rows on that side."
            raise ValueError(message)
    if before is not None and after not in (None, NOT_GIVEN) and before + after < 0:
        message = f"window.rows: before={before} and after={after} leave no rows. before + after must be at least 0."
        raise ValueError(message)


def check_closed_rows(length: int, closed: Any) -> tuple[int, int]:
    """Return how many rows before and after a row `rows(length, closed=…)` holds. Raise ValueError if it holds none.

    >>> check_closed_rows(3, None), check_closed_rows(3, "left")
    ((2, 0), (3, -1))
    """
    sides = {"right": (length - 1, 0), "both": (length, 0), "left": (length, -1), "neither": (length - 1, -1)}
    closed = "right" if closed is None else closed
    check_choice(closed, sides, "closed", "rows")
    before, after = sides[closed]
    if before + after < 0:
        message = f'window.rows: range={length} with closed="{closed}" leaves no rows. Use a larger range.'
        raise ValueError(message)
    return before, after


def check_flag(given: Any, name: str, window: str) -> bool:
    """Return a flag. Raise TypeError if the argument is none."""
    if not isinstance(given, bool):
        message = f"window.{window}: {name}={given!r} must be True or False."
        raise TypeError(message)
    return given


def check_room(least: int, most: int | None, window: str) -> None:
    """Raise ValueError if a window can never hold as many rows as it needs for a result; `most` is None if it holds any number."""
    if most is not None and least > max(most, 1):
        message = (
            f"window.{window}: min_rows={least} is more than the {most} row{'s' * (most != 1)} that a window can hold, so no window "
            "would have a result. Use a smaller min_rows, or a longer window."
        )
        raise ValueError(message)


def check_column(given: Any, window: str) -> None:
    """Raise TypeError if the argument is not the name of a column."""
    if not isinstance(given, str) or not given:
        message = f"window.{window}: {given!r} is not the name of a column."
        raise TypeError(message)


def options_text(**options: str | int | None) -> str:
    """Return options as arguments of a call, without those that have their default: None, "", False, and 1 for `min_rows`.

    >>> options_text(closed="left", exclude="", min_rows=1), options_text(min_rows=3, empty=True)
    (', closed="left"', ', min_rows=3, empty=True')
    """
    given = {name: value for name, value in options.items() if value and (name, value) != ("min_rows", 1)}
    return "".join(
        f", {name}=" + (f'"{value}"' if isinstance(value, str) else f"{value}") for name, value in given.items()
    )
