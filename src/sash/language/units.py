"""The units of durations, by the words that a text uses."""

from __future__ import annotations

UNITS = {
    "ns": "ns", "nanosecond": "ns", "us": "us", "microsecond": "us", "ms": "ms", "millisecond": "ms", "s": "s", "sec": "s",
    "second": "s", "m": "m", "min": "m", "minute": "m", "h": "h", "hour": "h", "d": "d", "day": "d", "w": "w", "week": "w",
    "mo": "mo", "month": "mo", "q": "q", "quarter": "q", "y": "y", "year": "y",
}  # fmt: skip
"""The units in the singular, and how Sash writes them."""

WORDS = {
    "ns": "NANOSECOND", "us": "MICROSECOND", "ms": "MILLISECOND", "s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY", "w": "WEEK",
    "mo": "MONTH", "q": "QUARTER", "y": "YEAR",
}  # fmt: skip
"""How SQL writes the units of Sash."""


def unit_of(word: str) -> str | None:
    """Return how Sash writes a unit; None if the word is no unit.

    >>> unit_of("Hours"), unit_of("ms"), unit_of("rows")
    ('h', 'ms', None)
    """
    lower = word.lower()
    is_plural = lower.endswith("s") and lower[:-1] in UNITS and len(lower) > len("ms")
    return UNITS.get(lower[:-1] if is_plural else lower)
