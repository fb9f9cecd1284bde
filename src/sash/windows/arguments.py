"""Checks of the arguments that windows share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from numbers import Integral
from typing import Any

from sash.hints import Parameters, Result, did_you_mean, reject_unknown
from sash.windows.base import NOT_GIVEN

EXCLUDE = ("row", "ties", "group")
"""What a frame leaves out: the row itself, its peers but not the row, or both."""

PARAMETERS: dict[str, tuple[str, ...]] = {}
"""The parameters of the functions that make windows: `hints_names` adds them."""
OF_QUERY = ("on", "ts", "time_column", "index_column", "timeColumn")
NAMES_ELSEWHERE = {
    **dict.fromkeys(("min_periods", "min_samples", "min_count"), "min_rows="),
    **dict.fromkeys(
        ("size", "length", "window", "period", "width", "duration", "window_size", "windowDuration"), "range="
    ),
    **dict.fromkeys(("every", "step", "advance", "hop", "slide_by", "slideDuration"), "slide="),
    **dict.fromkeys(("timeout", "inactivity", "gapDuration", "gap_duration"), "gap="),
    **dict.fromkeys(("start", "origin", "startTime", "start_time"), "offset="),
    **dict.fromkeys(("timezone", "zone", "tzinfo"), "tz="),
    **dict.fromkeys(("periods", "steps", "rows"), "n="),
    **dict.fromkeys(("preceding",), "before="),
    **dict.fromkeys(("following",), "after="),
}
"""The parameters of windows, by the names that other libraries use."""
INSTEAD = {
    "center": "before= and after=, as in window.rows(before=2, after=2)",
    **dict.fromkeys(("fill", "fill_value", "fillna"), "a fill of the results; windows without enough rows have null"),
    **dict.fromkeys(OF_QUERY, "Query(time=…)"),
    **dict.fromkeys(("by", "group_by", "groupby", "partition_by"), "Query(by=…)"),
    "lateness": "Query(lateness=…)",
    **dict.fromkeys(("win_type", "weights"), "agg.weighted_mean or agg.ewm_mean"),
}
"""What to use instead of parameters that windows do not have."""


def unknown_parameter(window: str, name: str) -> TypeError:
    """Return the error for a parameter that a window does not have.

    >>> from sash import window
    >>> window.session("1h", gaps=3)
    Traceback (most recent call last):
      ...
    TypeError: window.session has no parameter gaps=. Did you mean 'gap'? The parameters are gap, min_rows.
    """
    valid = PARAMETERS[window]
    named = NAMES_ELSEWHERE.get(name, "")
    hint = f" Use {INSTEAD[name]}." if name in INSTEAD else did_you_mean(name, valid)
    if named.removesuffix("=") in valid:
        hint = f" Use {named}."
    listed = ", ".join(valid)
    return TypeError(f"window.{window} has no parameter {name}=.{hint} The parameters are {listed}.")


def parameter_of_window(name: str) -> str | None:
    """Return a hint for a parameter that belongs to a window, by its name here or elsewhere; None for other names.

    >>> from sash import window
    >>> parameter_of_window("min_periods"), parameter_of_window("load")
    (' It belongs to the window: window.rows(10, min_rows=…).', None)
    """
    if name == "center":
        return " It belongs to the window: window.rows(before=2, after=2)."
    if name in ("fill", "fill_value", "fillna"):
        return " Fill the results. Windows without enough rows have null."
    known = NAMES_ELSEWHERE.get(name, f"{name}=").removesuffix("=")
    usual = ["rows", "time", *PARAMETERS]
    makers = [maker for maker in usual if known in PARAMETERS[maker] and known not in ("range", "n", "column")]
    example = {"rows": "10, ", "time": '"1h", '}.get(makers[0], "") if makers else ""
    return f" It belongs to the window: window.{makers[0]}({example}{known}=…)." if makers else None


def hints_names(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that makes windows: a parameter that it does not have is an error that says what to write instead."""
    PARAMETERS[function.__name__] = tuple(inspect.signature(function).parameters)
    return reject_unknown(unknown_parameter)(function)


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
