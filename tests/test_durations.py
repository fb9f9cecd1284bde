"""Durations are read as people write them, and printed as they were written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sash import window
from sash.durations import LONG_NAMES, UNITS, read_duration

HOUR = 3_600 * 10**9
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1h", HOUR), ("1H", HOUR), ("1 hour", HOUR), ("1 Hour", HOUR), ("1 HOURS", HOUR), ("1hr", HOUR),
        ("15min", HOUR // 4), ("15 min", HOUR // 4), ("15 Min", HOUR // 4), ("15 mins", HOUR // 4), ("15m", HOUR // 4),
        ("10 minutes", HOUR // 6), ("1 minute", HOUR // 60),
        ("1d", DAY), ("1D", DAY), ("2 days", 2 * DAY), ("1 day", DAY), ("1 week", 7 * DAY), ("2 Weeks", 14 * DAY), ("1W", 7 * DAY),
        ("500 milliseconds", 5 * 10**8), ("500ms", 5 * 10**8), ("500 millisecond", 5 * 10**8),
        ("3S", 3 * 10**9), ("3 sec", 3 * 10**9), ("3 seconds", 3 * 10**9),
        ("7us", 7_000), ("7µs", 7_000), ("7 μs", 7_000), ("7 microseconds", 7_000), ("9 NS", 9), ("9 nanoseconds", 9),
        ("1h30m", HOUR * 3 // 2), ("1 hour 30 minutes", HOUR * 3 // 2), ("1H30min", HOUR * 3 // 2), ("1.5 hours", HOUR * 3 // 2),
        ("  1 hour ", HOUR),
    ],
)  # fmt: skip
def test_durations_as_people_write_them(text: str, nanoseconds: int) -> None:
    read = read_duration(text, "range")
    assert (read.amount, read.is_time, read.text) == (nanoseconds, True, text.strip())


@pytest.mark.parametrize("unit", UNITS)
def test_every_long_name_means_its_unit(unit: str) -> None:
    for name in (unit, *LONG_NAMES[unit]):
        assert read_duration(f"3 {name}", "range").amount == 3 * UNITS[unit]


def test_windows_show_durations_as_given() -> None:
    assert repr(window.time("1 hour", slide="15 min")) == 'time("1 hour", slide="15 min")'
    assert repr(window.session(timedelta(minutes=90))) == 'session("1h30m")'


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            "1M",
            r"range='1M' is not a duration. M could mean months, which are not supported yet. Use \"1m\" for minutes.",
        ),
        ("5MS", r"Use \"5ms\" for milliseconds"),
        ("1mo", r"range='1mo' is not a duration. Months, quarters and years differ in length"),
        ("1 Month", r"Months, quarters and years"),
        ("2y", r"Months, quarters and years"),
        ("1 fortnight", r"is not a duration. Use a number and a unit \(ns, us, ms, s, m, h, d, w\)"),
        ("hour", r"is not a duration. Use a number and a unit"),
        ("15", r"is not a duration. Use a number and a unit"),
        ("1h and 5m", r"is not a duration"),
        ("", r"range='' is not a duration. Use a number and a unit"),
        ("0.5ns", r"range='0.5ns' is not a whole number of nanoseconds"),
        ("99999999 weeks", r"must be less than 2\*\*62"),
        ("0 hours", r"must be more than 0"),
    ],
)
def test_what_is_not_a_duration(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_duration(given, "range")
