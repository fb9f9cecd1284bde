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
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
    "w": 7 * 86_400 * 1_000_000_000,
}
"""Nanoseconds of a unit, by the name that messages and `to_text` use."""
LONG_NAMES = {
    "ns": ("nanosecond", "nanoseconds"),
    "us": ("µs", "μs", "microsecond", "microseconds"),  # the micro sign and the Greek letter look the same
    "ms": ("millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
    "m": ("min", "mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "w": ("week", "weeks"),
}
NANOSECONDS = UNITS | {name: UNITS[unit] for unit, names in LONG_NAMES.items() for name in names}
"""Nanoseconds of a unit, by any of its names in lower case."""
AMBIGUOUS = ("M", "MS")
"""In pandas, "M" and "MS" mean months. All other units may be in upper case."""
MONTHS = {
    **dict.fromkeys(("mo", "month", "months"), 1),
    **dict.fromkeys(("q", "quarter", "quarters"), 3),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 12),
}
"""The months of a unit, by any of its names in lower case. Months differ in length, so they are no number of nanoseconds."""
DAYS, WEEKS = (tuple(name for name in (unit, *LONG_NAMES[unit])) for unit in ("d", "w"))
PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+)\s*")
EXAMPLES = '"24h", "1m", "500ms", "1h30m" or "15 minutes"'

DurationLike = str | timedelta | int
"""A duration as users write it."""


class TimeUnit(NamedTuple):
    """The unit of a time column."""

    column: str = "time"
    tick: int | None = None
    """Nanoseconds of a tick; None if the column holds integers."""
    zone: str = ""
    """The time zone of the column; empty if it has none."""


@dataclass(frozen=True)
class Duration:
    """A length of time, in nanoseconds, or in the unit of an integer time column."""

    amount: int
    """Nanoseconds, or a number; 0 if the duration is a number of months."""
    is_time: bool
    text: str
    months: int = 0
    calendar: str = ""
    """The unit of a calendar that it counts: "month", "week", "day", or none if it has hours or less."""

    @property
    def days(self) -> int:
        """The number of days, if it counts days or weeks."""
        return self.amount // UNITS["d"]

    def in_ticks(self, unit: TimeUnit) -> int:
        """Return the duration in ticks of a time column.

        Raise ValueError if it is a number where the column holds times, if it is a length of time where the column holds
        integers, or if it is not a whole number of ticks.

        >>> read_duration("1m", "slide").in_ticks(TimeUnit("ts", 1_000_000_000))
        60
        """
        column, tick, _ = unit
        if self.is_time and tick is None:
            message = (
                f"{self.text} is a duration, but column {column!r} holds integers. Use a number in the unit of "
                f"{column!r}."
            )
            raise ValueError(message)
        if not self.is_time and tick is not None:
            message = f"{self.text} has no unit, but column {column!r} holds times. Add a unit: {EXAMPLES}."
            raise ValueError(message)
        if tick is None:
            return self.amount
        assert not self.months, "months have no fixed number of ticks"
        if self.amount % tick:
            message = (
                f"{self.text} is not a whole number of ticks of column {column!r}, which are {tick:,} ns each. Cast the "
                "column to a finer unit."
            )
            raise ValueError(message)
        return self.amount // tick

    def __str__(self) -> str:
        """Return the text, as the user wrote it."""
        return self.text


def read_duration(given: DurationLike, name: str, *, at_least: int = 1, months: bool = False) -> Duration:
    """Return the argument as a Duration; `name` is the parameter, for messages.

    A string has one or more numbers with units, such as "1h30m", "15 min" or "2 days". Units may be in upper case, except M,
    which could mean months. `months` allows months, quarters and years. Raise TypeError if the argument has another type.
    Raise ValueError if it is not a duration, or shorter than `at_least`.

    >>> read_duration("1h30m", "range").amount == read_duration("1 hour 30 minutes", "range").amount == 5400 * 10**9
    True
    """
    if isinstance(given, Duration):
        return given
    plain = _plain(given)
    if isinstance(plain, bool) or not isinstance(plain, str | timedelta | int | Duration):
        message = f"{name}={given!r} is not a duration. Use {EXAMPLES}, a timedelta, or an integer."
        raise TypeError(message)
    if isinstance(plain, Duration):
        read = plain
    elif isinstance(plain, int):
        read = Duration(plain, is_time=False, text=str(plain))
    elif isinstance(plain, timedelta):
        read = _of_nanoseconds(((plain.days * 86_400 + plain.seconds) * 1_000_000 + plain.microseconds) * 1_000)
    else:
        read = _parse(plain, name)
    amount = read.amount or read.months * UNITS["d"]
    if not at_least <= amount < 2**62:
        needed = "be more than 0" if at_least == 1 else "not be negative"
        message = f"{name}={given!r} must {needed if abs(amount) < 2**62 else 'be less than 2**62'}."
        raise ValueError(message)
    if read.months and not months:
        message = (
            f"{name}={given!r}: months, quarters and years differ in length, so only the range, slide and offset of windows of "
            f'time can have them. Use days, as in "{30 * abs(read.months)}d".'
        )
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
    calendar = "" if nanoseconds % UNITS["d"] else "day"
    return Duration(nanoseconds, is_time=True, text=to_text(nanoseconds), calendar=calendar)


def _parse(text: str, name: str) -> Duration:
    total = months = Fraction(0)
    units = set()
    rest = text.strip()
    sign = 1
    if rest.startswith("-"):
        sign, rest = -1, rest[1:]
    position = 0
    while position < len(rest):
        part = PART.match(rest, position)
        if part is None:
            raise _not_a_duration(text, name)
        number, unit = part.groups()
        lower = unit.lower()
        if unit in AMBIGUOUS or (lower not in NANOSECONDS and lower not in MONTHS):
            raise _not_a_duration(text, name, number, unit)
        if lower in MONTHS:
            months += Fraction(number) * MONTHS[lower]
        else:
            total += Fraction(number) * NANOSECONDS[lower]
        units.add("month" if lower in MONTHS else "week" if lower in WEEKS else "day" if lower in DAYS else "")
        position = part.end()
    if not rest:
        raise _not_a_duration(text, name)
    if "month" in units and len(units) > 1:
        message = f'{name}={text!r} mixes months with shorter units. Use either, as in "2mo" or "45d".'
        raise ValueError(message)
    if total.denominator != 1 or months.denominator != 1:
        unit = "months" if "month" in units else "nanoseconds"
        message = f"{name}={text!r} is not a whole number of {unit}. Examples: {EXAMPLES}."
        raise ValueError(message)
    calendar = units.pop() if len(units) == 1 else "day" if units == {"day", "week"} else ""
    if calendar in ("day", "week") and total % UNITS["d"]:
        calendar = ""  # half a day
    return Duration(sign * int(total), is_time=True, text=text.strip(), months=sign * int(months), calendar=calendar)


def _not_a_duration(text: str, name: str, number: str = "", unit: str = "") -> ValueError:
    hint = f"Use a number and a unit ({', '.join(UNITS)}, mo, q, y), as in {EXAMPLES}."
    if unit in AMBIGUOUS:
        hint = f'{unit} could mean months. Use "{number}{unit.lower()}" for {LONG_NAMES[unit.lower()][-1]}, or "{number}mo" for months.'
    return ValueError(f"{name}={text!r} is not a duration. {hint}")


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


def standard_text(duration: Duration, *, by_calendar: bool = False) -> str:
    """Return the same text for equal durations, however the user wrote them; by a calendar, a day is not always 24 hours.

    >>> [standard_text(read_duration(text, "range")) for text in ("60s", "1 min", "24h", "1d")]
    ['1m', '1m', '1d', '1d']
    >>> [standard_text(read_duration(text, "range", months=True), by_calendar=True) for text in ("24h", "1 day", "7d", "1w", "1y")]
    ['24h', '1d', '7d', '1w', '12mo']
    """
    if not duration.is_time:
        return str(duration.amount)
    if not by_calendar or duration.calendar == "day":
        return to_text(duration.amount)
    if duration.months:
        return f"{duration.months}mo"
    if duration.calendar == "week":
        return f"{duration.amount // UNITS['w']}w"
    hours, rest = divmod(duration.amount, UNITS["h"])
    return f"{hours}h{to_text(rest) if rest else ''}"


def quote(duration: Duration) -> str:
    """Return a duration as an argument of a call.

    >>> quote(read_duration("1h", "range")), quote(read_duration(5, "range"))
    ('"1h"', '5')
    """
    return f'"{duration}"' if duration.is_time else str(duration)
