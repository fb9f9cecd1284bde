"""Durations: strings, timedeltas, or numbers in the unit of an integer time column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any, NamedTuple

UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
    "w": 7 * 86_400 * 1_000_000_000,
}
"""Nanoseconds."""
PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*")
EXAMPLES = '"24h", "1m", "500ms" or "1h30m"'

DurationLike = str | timedelta | int
"""A duration as users write it."""


class TimeUnit(NamedTuple):
    """The unit of a time column."""

    column: str = "time"
    tick: int | None = None
    """Nanoseconds of a tick; None if the column holds integers."""


@dataclass(frozen=True)
class Duration:
    """A length of time, in nanoseconds, or in the unit of an integer time column."""

    amount: int
    is_time: bool
    text: str

    def in_ticks(self, unit: TimeUnit) -> int:
        """Return the duration in ticks of a time column.

        Raise ValueError if it is a number where the column holds times, if it is a length of time where the column holds
        integers, or if it is no whole number of ticks.

        >>> read_duration("1m", "slide").in_ticks(TimeUnit("ts", 1_000_000_000))
        60
        """
        column, tick = unit
        if self.is_time and tick is None:
            message = (
                f"{self.text} is a length of time, but column {column!r} holds integers. Give a number in the unit of "
                f"{column!r}."
            )
            raise ValueError(message)
        if not self.is_time and tick is not None:
            message = (
                f"{self.text} is a number without a unit, but column {column!r} holds times. Add a unit: {EXAMPLES}."
            )
            raise ValueError(message)
        if tick is None:
            return self.amount
        if self.amount % tick:
            message = (
                f"{self.text} is not a whole number of ticks of column {column!r}, which are {tick:,} ns each. Cast the "
                "column to a finer unit."
            )
            raise ValueError(message)
        return self.amount // tick

    def __str__(self) -> str:
        """Return the duration as the user wrote it."""
        return self.text


def read_duration(given: DurationLike, name: str, *, at_least: int = 1) -> Duration:
    """Return a duration. Raise TypeError or ValueError if the argument is none; `name` is the parameter.

    >>> read_duration("1h30m", "range").amount
    5400000000000
    """
    if isinstance(given, Duration):
        return given
    plain = _plain(given)
    if isinstance(plain, bool) or not isinstance(plain, str | timedelta | int | Duration):
        message = f"{name}={given!r} is not a duration. Give {EXAMPLES}, a timedelta, or a whole number."
        raise TypeError(message)
    if isinstance(plain, Duration):
        read = plain
    elif isinstance(plain, int):
        read = Duration(plain, is_time=False, text=str(plain))
    elif isinstance(plain, timedelta):
        read = _of_nanoseconds(((plain.days * 86_400 + plain.seconds) * 1_000_000 + plain.microseconds) * 1_000)
    else:
        read = Duration(_parse(plain, name), is_time=True, text=plain.strip())
    if not at_least <= read.amount < 2**62:
        needed = "be longer than nothing" if at_least == 1 else "not be negative"
        message = f"{name}={given!r}: it must {needed if abs(read.amount) < 2**62 else 'be shorter'}."
        raise ValueError(message)
    return read


def _plain(given: Any) -> Any:
    """Return durations of pandas and NumPy as a Duration, with their nanoseconds."""
    if hasattr(given, "as_unit"):
        return _of_nanoseconds(int(given.as_unit("ns").value))
    if type(given).__module__ != "numpy":
        return given
    if given.dtype.kind == "m":
        return _of_nanoseconds(int(given.astype("timedelta64[ns]").astype(int)))
    return given.item()


def _of_nanoseconds(nanoseconds: int) -> Duration:
    return Duration(nanoseconds, is_time=True, text=to_text(nanoseconds))


def _parse(text: str, name: str) -> int:
    total = Fraction(0)
    rest = text.strip()
    sign = 1
    if rest.startswith("-"):
        sign, rest = -1, rest[1:]
    position = 0
    while position < len(rest):
        part = PART.match(rest, position)
        if part is None or part[2] not in UNITS:
            message = f"{name}={text!r} is not a duration. Use the units {', '.join(UNITS)}, as in {EXAMPLES}."
            raise ValueError(message)
        total += Fraction(part[1]) * UNITS[part[2]]
        position = part.end()
    if not rest or total.denominator != 1:
        message = f"{name}={text!r} is not a whole number of nanoseconds. Examples: {EXAMPLES}."
        raise ValueError(message)
    return sign * int(total)


def to_text(nanoseconds: int) -> str:
    """Return a duration as text.

    >>> to_text(5_400_000_000_000), to_text(0)
    ('1h30m', '0s')
    """
    if nanoseconds < 0:
        return f"-{to_text(-nanoseconds)}"
    parts = []
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        count, nanoseconds = divmod(nanoseconds, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
