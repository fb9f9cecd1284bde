"""Calendar: instants as numbered local days or months, and back.

A clock that is set back shows the same local times twice, one that is set forward skips some. So a calendar uses a clock that never
goes back: it shows the latest local time so far.

    instants        0:00   1:00   2:00   3:00      UTC, the night in which Berlin's clocks go back
    local times     2:00   2:00   3:00   4:00      the hour from 2:00 on occurs twice
    this clock      2:00   2:59…  3:00   4:00      it stands still during the second

The first instant at which this clock has reached a local time is the local time itself; the first occurrence if there are two;
the end of the gap if the local time does not exist. It ascends with local times, so days and months are intervals of instants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property, lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np

from sash.durations import UNITS
from sash.hints import did_you_mean
from sash.windows.base import FOREVER, NEVER, Ints

SECOND, DAY = UNITS["s"], UNITS["d"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIXED = re.compile(r"(?:GMT|UTC)?([+-])(\d\d):?(\d\d)")
FIRST_DECADE, LAST_DECADE = 1, 998
"""The years 10 to 9989: Python's times end in the year 9999, and a zone's offset must fit."""
UTC_NAMES = frozenset({"", "UTC", "Etc/UTC", "Etc/GMT", "GMT", "Z", "Zulu", "+00:00", "+0000"})
"""Names of UTC, and of no zone: there all days have 24 hours and begin at multiples of 24 hours."""
DECADE = 3_652 * 86_400
"""Seconds of ten years, roughly: only to find out which decades a range of times touches."""


def check_zone(zone: Any, window: str) -> str:
    """Return the name of a time zone; empty for None. Raise TypeError or ValueError if there is no such zone.

    >>> check_zone("Europe/Berlin", "time"), check_zone(None, "time")
    ('Europe/Berlin', '')
    """
    if zone is None:
        return ""
    name = getattr(zone, "key", zone)
    if not isinstance(name, str):
        raise TypeError(f'window.{window}: tz={zone!r} is not the name of a time zone, as in tz="Europe/Berlin".')
    try:
        zone_of(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = did_you_mean(name, sorted(available_timezones()))
        raise ValueError(
            f'window.{window}: tz={name!r} is not a time zone.{hint} Use a name such as "Europe/Berlin" or "UTC".'
        ) from error
    return name


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, or by its offset, such as "+05:30"."""
    fixed = FIXED.fullmatch(name)
    if fixed is None:
        return ZoneInfo(name) if name not in UTC_NAMES else UTC
    sign, hours, minutes = fixed.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


# -- local time --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LocalTime:
    """The local time of a zone, in ticks since the epoch, for some range of instants."""

    changes: Ints
    """The instants at which the zone changes its offset."""
    offsets: Ints
    """The offsets before, between and after them."""

    @cached_property
    def _reached(self) -> Ints:
        """The local time that the clock has nearly reached when each offset ends; FOREVER for the last."""
        ends = self.changes + self.offsets[:-1]
        return np.append(np.maximum.accumulate(ends), FOREVER)

    def local(self, instants: Ints) -> Ints:
        """Return local times; those that occur twice go back."""
        return instants + self.offsets[np.searchsorted(self.changes, instants, side="right")]

    def latest(self, instants: Ints) -> Ints:
        """Return the latest local time so far."""
        if not len(self.changes):
            return self.local(instants)
        number = np.searchsorted(self.changes, instants, side="right")
        before = np.append(NEVER + 1, self._reached[:-1])[number] - 1
        latest: Ints = np.maximum(instants + self.offsets[number], before)
        return latest

    def instants(self, local: Ints) -> Ints:
        """Return the first instants at which the latest local time has reached some local times."""
        number = np.searchsorted(self._reached, local, side="right")
        begins = np.append(NEVER, self.changes)
        first: Ints = np.maximum(local - self.offsets[number], begins[number])
        return first


@lru_cache(maxsize=64)
def _local_time(zone: str, tick: int, first: int, last: int) -> LocalTime:
    """Return the local time of a zone for the decades `first` to `last`."""
    decades = [changes_of(zone, decade) for decade in range(first, last + 1)]
    per_second = SECOND // tick
    changes = np.array([instant for decade, _ in decades for instant, _ in decade], np.int64)
    offsets = [decades[0][1], *(offset for decade, _ in decades for _, offset in decade)]
    return LocalTime(changes * per_second, np.array(offsets, np.int64) * per_second)


def local_time_of(zone: str, tick: int, least: int, most: int) -> LocalTime:
    """Return the local time for instants and local times from `least` to `most`, in ticks."""
    if zone in UTC_NAMES or tick > SECOND:  # dates have no zone
        return LocalTime(np.empty(0, np.int64), np.zeros(1, np.int64))
    decades = [tick * instant // SECOND // DECADE + 197 for instant in (least, most)]
    first, last = (min(max(decade, FIRST_DECADE + 1), LAST_DECADE - 1) for decade in decades)
    return _local_time(zone, tick, first - 1, last + 1)


@lru_cache(maxsize=1024)
def changes_of(zone: str, decade: int) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return when a zone changes its offset within ten years, each with the new offset, and the offset before; in seconds.

    Python tells the offset at an instant, not when it changes. No zone changes it twice in a day, so a look at each day shows all
    changes; a binary search then finds the second.

    >>> changes_of("Europe/Berlin", 202)[0][0]
    (1585443600, 7200)
    """
    info = zone_of(zone)

    def offset_at(second: int) -> int:
        shown = (EPOCH + timedelta(seconds=second)).astimezone(info).utcoffset()
        return 0 if shown is None else shown // timedelta(seconds=1)

    begin, end = (
        (datetime(10 * number, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1) for number in (decade, decade + 1)
    )
    before = offset = offset_at(begin)
    changes = []
    for day in range(begin, end, 86_400):
        late = min(day + 86_400, end)
        new = offset_at(late)
        if new == offset:
            continue
        early = day
        while late - early > 1:
            middle = (early + late) // 2
            early, late = (middle, late) if offset_at(middle) == offset else (early, middle)
        changes.append((late, new))
        offset = new
    return tuple(changes), before


# -- days and months ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calendar:
    """Local days or months, numbered from 1970-01-01 on, each shifted by `shift` ticks of local time."""

    unit: str
    """What it numbers: "day" or "month"."""
    local: LocalTime
    day: int
    """Ticks of a day."""
    shift: int = 0

    def numbers(self, instants: Ints) -> Ints:
        """Return the day or month that each instant lies in."""
        days = (self.local.latest(instants) - self.shift) // self.day
        return days if self.unit == "day" else months_of(days)

    def instants(self, numbers: Ints) -> Ints:
        """Return where days or months begin."""
        days = numbers if self.unit == "day" else first_days(numbers)
        return self.local.instants(days * self.day + self.shift)

    def earlier(self, instants: Ints, count: int) -> Ints:
        """Return the instants with the same local time `count` days or months earlier; the last day of a month that is too short."""
        days, rest = np.divmod(self.local.local(instants), self.day)
        return self.local.instants(self.days_before(days, count) * self.day + rest)

    def days_before(self, days: Ints, count: int) -> Ints:
        """Return the days that lie `count` days or months before some days."""
        return days - count if self.unit == "day" else months_before(days, count)


def months_of(days: Ints) -> Ints:
    """Return the months that days lie in, both numbered from January 1970 on.

    >>> months_of(np.array([-1, 0, 31])).tolist()
    [-1, 0, 1]
    """
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def first_days(months: Ints) -> Ints:
    """Return the first days of months.

    >>> first_days(np.array([-1, 0, 1])).tolist()
    [-31, 0, 31]
    """
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def months_before(days: Ints, count: int) -> Ints:
    """Return the same day `count` months earlier; the last day of the month if it is too short.

    >>> months_before(np.array([58, 59, 89]), 1).tolist()  # 28 February, 1 and 31 March
    [27, 31, 58]
    """
    months = months_of(days)
    target = first_days(months - count)
    length = first_days(months - count + 1) - target
    earlier: Ints = target + np.minimum(days - first_days(months), length - 1)
    return earlier


def months_after(days: Ints, count: int) -> Ints:
    """Return the first days from which `months_before` returns these days or later ones.

    >>> months_after(np.array([27, 30]), 1).tolist()  # 28 and 31 January: no day of February is a month after the 31st
    [58, 59]
    """
    months = months_of(days)
    target, following = first_days(months + count), first_days(months + count + 1)
    later: Ints = np.minimum(target + days - first_days(months), following)
    return later
