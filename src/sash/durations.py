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
    "mo": ("mos", "month", "months"),
    "q": ("quarter", "quarters"),
    "y": ("yr", "yrs", "year", "years"),
}
"""Other names of each unit in lower case; the last two are the words in full."""
UNIT_NAMES = {name: unit for unit, names in LONG_NAMES.items() for name in (unit, *names)}
"""The unit of each name."""
AMBIGUOUS = ("M", "MS")
"""In pandas, "M" and "MS" mean months. All other units may be in upper case."""
MONTHS = {"mo": 1, "q": 3, "y": 12}
"""The months of a unit. They differ in length, so they are not a number of nanoseconds."""
CALENDAR = {"d": "day", "w": "week", **dict.fromkeys(MONTHS, "month")}
"""What a unit counts in a calendar."""
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
            problem = f"{self.text} is a duration, but column {column!r} holds integers."
            raise ValueError(f"{problem} Use a number in the unit of {column!r}, or convert the column to timestamps.")
        if not self.is_time and tick is not None:
            raise ValueError(f"{self.text} has no unit, but column {column!r} holds times. Add a unit: {EXAMPLES}.")
        if tick is None:
            return self.amount
        assert not self.months, "months have no fixed number of ticks"
        if self.amount % tick and tick == UNITS["d"]:
            problem = f"Column {column!r} holds dates, and {self.text} is not a whole number of days."
            raise ValueError(f"{problem} Cast it to a timestamp, in SQL as in ON CAST({column} AS TIMESTAMP).")
        if self.amount % tick:
            problem = f"{self.text} is not a whole number of ticks of column {column!r}, which are {tick:,} ns each."
            raise ValueError(f"{problem} Cast the column to a finer unit.")
        return self.amount // tick

    def __str__(self) -> str:
        """Return the text, as the user wrote it."""
        return self.text


def read_duration(argument: DurationLike, name: str, *, at_least: int = 1, months: bool = False) -> Duration:
    """Return the argument as a Duration; `name` is the parameter, for messages.

    A string has one or more numbers with units, such as "1h30m", "15 min" or "2 days". Units may be in upper case, except M,
    which could mean months. `months` allows months, quarters and years. Raise TypeError if the argument has another type.
    Raise ValueError if it is not a duration, or shorter than `at_least`.

    >>> read_duration("1h30m", "range").amount == read_duration("1 hour 30 minutes", "range").amount == 5400 * 10**9
    True
    """
    if isinstance(argument, Duration):
        return argument
    duration = _without_check(argument, name)
    amount = duration.amount or duration.months * UNITS["d"]
    if not at_least <= amount < 2**62:
        needed = "be more than 0" if at_least == 1 else "not be negative"
        raise ValueError(f"{name}={argument!r} must {needed if abs(amount) < 2**62 else 'be less than 2**62'}.")
    if duration.months and not months:
        problem = "months, quarters and years differ in length, so only the range, slide and offset of windows of time"
        advice = f'Use days, as in "{30 * abs(duration.months)}d".'
        raise ValueError(f"{name}={argument!r}: {problem} can have them. {advice}")
    return duration


def _without_check(argument: Any, name: str) -> Duration:
    value = argument
    if hasattr(value, "as_unit"):  # a duration of pandas
        return _of_nanoseconds(int(value.as_unit("ns").value))
    if type(value).__module__ == "numpy":
        if value.dtype.kind == "m":
            return _of_nanoseconds(int(value.astype("timedelta64[ns]").astype(int)))
        value = value.item()
    if isinstance(value, str):
        return _parse(value, name)
    if isinstance(value, timedelta):
        return _of_nanoseconds(value // timedelta(microseconds=1) * 1_000)
    if isinstance(value, int) and not isinstance(value, bool):
        return Duration(value, is_time=False, text=str(value))
    raise TypeError(f"{name}={argument!r} is not a duration. Use {EXAMPLES}, a timedelta, or an integer.")


def _of_nanoseconds(nanoseconds: int) -> Duration:
    calendar = "" if nanoseconds % UNITS["d"] else "day"
    return Duration(nanoseconds, is_time=True, text=to_text(nanoseconds), calendar=calendar)


def _parse(text: str, name: str) -> Duration:
    total = months = Fraction(0)
    counted = set()
    sign = -1 if text.strip().startswith("-") else 1
    rest = text.strip().removeprefix("-")
    position = 0
    while position < len(rest):
        match = PART.match(rest, position)
        if match is None:
            raise _not_a_duration(text, name)
        number, word = match.groups()
        unit = UNIT_NAMES.get(word.lower())
        if word in AMBIGUOUS or unit is None:
            raise _not_a_duration(text, name, number, word)
        total += Fraction(number) * UNITS.get(unit, 0)
        months += Fraction(number) * MONTHS.get(unit, 0)
        counted.add(CALENDAR.get(unit, ""))
        position = match.end()
    if not rest:
        raise _not_a_duration(text, name)
    if "month" in counted and len(counted) > 1:
        raise ValueError(f'{name}={text!r} mixes months with shorter units. Use either, as in "2mo" or "45d".')
    if total.denominator != 1 or months.denominator != 1:
        unit = "months" if "month" in counted else "nanoseconds"
        raise ValueError(f"{name}={text!r} is not a whole number of {unit}. Examples: {EXAMPLES}.")
    calendar = counted.pop() if len(counted) == 1 else "day" if counted == {"day", "week"} else ""
    if calendar in ("day", "week") and total % UNITS["d"]:
        calendar = ""  # half a day
    return Duration(sign * int(total), is_time=True, text=text.strip(), months=sign * int(months), calendar=calendar)


def _not_a_duration(text: str, name: str, number: str = "", word: str = "") -> ValueError:
    hint = f"Use a number and a unit ({', '.join(LONG_NAMES)}), as in {EXAMPLES}."
    if word in AMBIGUOUS:
        unit = word.lower()
        hint = f'{word} could mean months. Use "{number}{unit}" for {LONG_NAMES[unit][-1]}, or "{number}mo" for months.'
    return ValueError(f"{name}={text!r} is not a duration. {hint}")


def to_text(nanoseconds: int) -> str:
    """Return a duration as text.

    >>> to_text(5_400_000_000_000), to_text(0)
    ('1h30m', '0s')
    """
    if nanoseconds < 0:
        return f"-{to_text(-nanoseconds)}"
    text = ""
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        count, nanoseconds = divmod(nanoseconds, UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text or "0s"


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
