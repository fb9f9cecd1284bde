"""Checks of the arguments that windows share."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

from sash.hints import did_you_mean
from sash.windows.base import NOT_GIVEN

EXCLUDE = ("row", "ties", "group")
"""What a frame leaves out: the row itself, its peers but not the row, or both."""


def check_count(value: Any, name: str, window: str) -> int:
    """Return a positive integer. Raise TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        hint = " For a window of time use window.time." if isinstance(value, str) else ""
        raise TypeError(f"window.{window}: {name}={value!r} is not a whole number of rows.{hint}")
    count = int(value)
    if not 1 <= count < 2**62:
        raise ValueError(f"window.{window}: {name}={value} must be at least 1, and less than 2**62.")
    return count


def check_choice(value: Any, choices: Collection[str], name: str, window: str) -> None:
    """Raise ValueError unless the argument is one of the choices."""
    if value not in choices:
        raise ValueError(
            f"window.{window}: {name}={value!r} does not exist.{did_you_mean(str(value), choices)} Use {', '.join(choices)}."
        )


def check_sides(before: Any, after: Any, others: dict[str, Any], window: str, begin: str) -> None:
    """Raise ValueError if `before` is missing, or if other arguments are given beside `before` and `after`."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(
                f"window.{window}: {name}={value!r} cannot be combined with before= or after=. Use one or the other."
            )
    if before is NOT_GIVEN:
        raise ValueError(
            f"window.{window}: after={after!r} needs before=, {begin} the row, or before=None for all rows before it."
        )


def check_flag(value: Any, name: str, window: str) -> bool:
    """Return True or False. Raise TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"window.{window}: {name}={value!r} must be True or False.")
    return value


def check_column(value: Any, window: str) -> None:
    """Raise TypeError if the argument is not the name of a column."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"window.{window}: {value!r} is not the name of a column.")


def options_text(**options: str | int | None) -> str:
    """Return options as arguments of a call, without those that have their default: None, "", False, and 1 for `min_rows`.

    >>> options_text(closed="left", exclude="", min_rows=1), options_text(min_rows=3, empty=True)
    (', closed="left"', ', min_rows=3, empty=True')
    """
    shown = {name: value for name, value in options.items() if value and (name, value) != ("min_rows", 1)}
    return "".join(
        f", {name}=" + (f'"{value}"' if isinstance(value, str) else f"{value}") for name, value in shown.items()
    )


def check_exclude(value: Any, window: str) -> str:
    """Return what to exclude; "" for nothing. Raise ValueError if it does not exist."""
    if value is None:
        return ""
    check_choice(value, EXCLUDE, "exclude", window)
    return str(value)
