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


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("1mo", 1),
        ("3 Months", 3),
        ("1q", 3),
        ("2 quarters", 6),
        ("1y", 12),
        ("1 year 6 months", 18),
        ("1.5y", 18),
        ("-2mo", -2),
    ],
)
def test_months_quarters_and_years_are_months(text: str, months: int) -> None:
    read = read_duration(text, "offset", at_least=-(2**62), months=True)
    assert (read.amount, read.months, read.calendar, read.text) == (0, months, "month", text)


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ("1d", "day"),
        ("1w", "week"),
        ("1w 2d", "day"),
        ("24h", ""),
        ("1d12h", ""),
        ("0.5d", ""),
        (timedelta(days=2), "day"),
        (5, ""),
    ],
)
def test_durations_know_whether_they_count_days_or_weeks(given: Any, unit: str) -> None:
    assert read_duration(given, "range").calendar == unit


def test_windows_show_durations_as_given() -> None:
    assert repr(window.time("1 hour", slide="15 min")) == 'time("1 hour", slide="15 min")'
    assert repr(window.session(timedelta(minutes=90))) == 'session("1h30m")'


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("1M", r"range='1M' is not a duration. M could mean months. Use \"1m\" for minutes, or \"1mo\" for months."),
        ("5MS", r"Use \"5ms\" for milliseconds, or \"5mo\" for months"),
        (
            "1mo",
            r"range='1mo': months, quarters and years differ in length, so only .* windows of time .* Use days, as in \"30d\"",
        ),
        ("1 Month", r"months, quarters and years"),
        ("2y", r"Use days, as in \"720d\""),
        ("1mo 2d", r"mixes months with shorter units"),
        ("0.5mo", r"is not a whole number of months"),
        ("0mo", r"must be more than 0"),
        ("1 fortnight", r"is not a duration. Use a number and a unit \(ns, us, ms, s, m, h, d, w, mo, q, y\)"),
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
