"""Windows of time: `time(range)` for each row, `time(range, slide=…)`, `tumbling` and `cumulative` for each window."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from sash.durations import Duration, DurationLike, TimeUnit, quote, read_duration
from sash.hints import did_you_mean
from sash.windows.arguments import check_count, check_slide, exclude_text, min_rows_text
from sash.windows.base import (
    FOREVER,
    NOT_GIVEN,
    Bounds,
    Cycle,
    Interval,
    Ints,
    Items,
    Memory,
    Reach,
    Run,
    TimeAxis,
    Window,
    new_bounds,
)
from sash.windows.calendar_windows import CalendarFrame, CalendarWindow
from sash.windows.calendars import check_zone
from sash.windows.exclude import check_exclude
from sash.windows.time_frame import CLOSED, ZERO, TimeFrame, text_of_frame
from sash.windows.time_loops import find_periodic

SMALL = 1 << 16
"""Room for this many windows is allocated without counting them first."""
MAX_WINDOWS = 100_000_000
"""The default limit of the number of windows: their bounds alone take 3.2 GB."""
UNLIMITED = 2**63 - 1
FIRST_MONDAY = 4
"""The day from which weeks of a calendar count, as in Polars: 5 January 1970."""
FEW_STARTS = 32
"""Up to this many windows that overlap, a time range is cut at each of their starts."""


@dataclass(frozen=True)
class Periodic(Window):
    """Windows of time that begin at multiples of `period` since the epoch, plus `offset`.

    A sliding window has one end, `step` being its whole range; a cumulative one has an end after each `step`.
    """

    kind: ClassVar[str] = "time"
    needs_time: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    half_open: ClassVar[bool] = True
    range: Duration
    period: Duration
    step: Duration
    offset: Duration
    text: str
    least: int = 1
    max_windows: int = MAX_WINDOWS
    """More windows than this are refused. It is not in `text`, which identifies the window in a checkpoint."""

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""
        self.cycle(unit)

    def cycle(self, unit: TimeUnit) -> Cycle:
        """Return the windows in ticks of a time column."""
        known = self._cycles.get(unit)
        if known is None:
            length, period, step, offset = (
                duration.in_ticks(unit) for duration in (self.range, self.period, self.step, self.offset)
            )
            known = self._cycles[unit] = Cycle(length, period, step, offset % period)
        return known

    @cached_property
    def _cycles(self) -> dict[TimeUnit, Cycle]:
        """The windows in ticks, by the time columns of queries."""
        return {}

    def bounds(self, items: Items, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — it remembers nothing
        """Return the windows that ended by now and hold at least one row."""
        span = items.span
        keep = np.zeros(items.keys, np.int64)
        given = (items.times, items.firsts, span.after, span.now, span.closed, *self.cycle(items.unit))
        loop = run(find_periodic)
        count = self.check_limit(items)
        if count > 2 * len(items.times) + SMALL:  # perhaps long gaps without windows: count first
            count = loop(*given, *new_bounds(0), *new_bounds(0), keep)
        begins, ends = new_bounds(count)
        starts, stops = new_bounds(count)
        count = loop(*given, begins, ends, starts, stops, keep)
        return Bounds(begins[:count], ends[:count], starts[:count], stops[:count], keep)

    def due(self, items: Items) -> int:
        """Return when the first window ends that may hold one of the rows."""
        if not len(items.times):
            return FOREVER
        length, period, step, offset = self.cycle(items.unit)
        by = max(int(items.times.min()), int(items.span.now.min()))
        last = (by - offset - length) // period * period + length if step == length else (by - offset) // step * step
        due = last + (period if step == length else step) + offset
        return due if due <= int(items.times.max()) + length else FOREVER  # other windows may need the rows longer

    def first_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times."""
        length, period, step, offset = self.cycle(unit)
        if step < length:
            return (times - offset) // step * step + step + offset
        return (times - offset - length) // period * period + period + length + offset

    def last_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the last window ends that holds rows at these times."""
        length, period, _, offset = self.cycle(unit)
        return (times - offset) // period * period + length + offset

    def missed_from(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return where the first window ends that holds rows at these times."""
        return self.first_end(times, unit)

    def late_rule(self, unit: TimeUnit) -> Hashable:  # noqa: ARG002 — the same for all
        """Return that closed windows decide: a row may join the open ones, whatever else it joins."""
        return "ends"

    @property
    def length(self) -> Duration:
        """The range."""
        return self.range

    def extent(self, unit: TimeUnit) -> int:
        """Return how far from a row its windows begin or end."""
        return max(abs(duration.in_ticks(unit)) for duration in (self.range, self.period, self.offset))

    def reach(self, unit: TimeUnit) -> Reach:
        """Return how far windows reach back from their end."""
        return Reach(ticks=self.range.in_ticks(unit))

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval]:
        """Return where windows begin that end in a time range: at each start if they are few, or else in one interval."""
        length, period, step, offset = self.cycle(axis.unit)
        last = min(begin, end - step)
        if length // period > FEW_STARTS:
            return [(begin - length, last)]
        first = (begin - length - offset) // period * period + period + offset
        return [(start, start) for start in range(first, last + 1, period)]

    def count_windows(self, items: Items) -> int:
        """Return the number of windows to emit that hold an item; of cumulative ones, with ends before their first item.

        In time linear in the number of items, however many windows there are.
        """
        length, period, step, offset = self.cycle(items.unit)
        times, span, lengths = items.times, items.span, np.diff(items.firsts)
        # An item is the first one of the windows that start after the item before it, and less than `length` before itself.
        starts_after = times - length
        starts_after[1:] = np.maximum(starts_after[1:], times[:-1])
        begins = items.firsts[:-1][lengths > 0]
        starts_after[begins] = times[begins] - length
        earliest = int(times.min(initial=0)) - 1  # NEVER - length does not fit in 64 bits
        starts_after = np.maximum(starts_after, np.repeat(np.maximum(span.after, earliest) - length, lengths))
        starts_by = np.minimum(times, np.repeat(span.now - step, lengths))
        starts = (starts_by - offset) // period - (starts_after - offset) // period
        return int(np.maximum(starts, 0).sum(dtype=np.float64)) * (length // step)

    def check_limit(self, items: Items) -> int:
        """Return an upper bound of the number of windows. Raise ValueError if there are more than `max_windows`."""
        at_most = self._at_most(items)
        if at_most <= self.max_windows:
            return at_most  # counting them takes time linear in the number of items
        count = self.count_windows(items)
        if count > self.max_windows:
            message = (
                f"{self}: {count:,} windows hold rows of the data, which is more than max_windows={self.max_windows:,}. "
                "Give a longer slide or step, or a larger max_windows."
            )
            raise ValueError(message)
        return at_most

    def _at_most(self, items: Items) -> int:
        """Return an upper bound of the number of windows: their number if none were empty."""
        length, period, step, _ = self.cycle(items.unit)
        firsts, lasts = items.firsts[:-1], items.firsts[1:] - 1
        held = lasts >= firsts
        spans = items.times[lasts[held]] - items.times[firsts[held]]
        each = (spans / period + length / period + 1) * (length // step)  # floats: it may need more than 64 bits
        return int(np.ceil(each).sum())

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text


def time(  # noqa: C901 — a check for each pair of arguments
    range: DurationLike | None = None,  # noqa: A002 — the papers' word
    *,
    before: DurationLike | None = NOT_GIVEN,
    after: DurationLike | None = NOT_GIVEN,
    slide: DurationLike | None = None,
    offset: DurationLike | None = None,
    closed: str | None = None,
    exclude: Literal["row", "ties", "group"] | None = None,
    min_rows: int = 1,
    max_windows: int | None = None,
    tz: str | None = None,
) -> Window:
    """Return windows of time: one per row, or with `slide` one every `slide`.

    `range` is the length: a string such as "24h", "1h30m" or "3mo", a timedelta, or a number in the unit of an integer time column.
    `slide`, `offset`, `before` and `after` have the same forms. Without `slide`, the window of a row holds the rows up to `range`
    before it. Instead, `before` and `after` say how far it reaches before and after the time of the row: None without limit,
    negative for a gap, as in `time(before="2h", after="-1h")`. `closed` says which ends a window includes: "right" (the default
    with `range`), "left", "both" (the default with `before` and `after`, as RANGE in SQL) or "neither". `exclude`
    leaves out rows, as EXCLUDE in SQL: "row" the row itself, "ties" the other rows of its time, "group" both. In a stream, the result of
    a row waits until the watermark has passed its window. With `slide`, windows are `[start, start + range)`, and each start is
    a multiple of `slide` since the epoch, plus `offset`. If fewer than `min_rows` rows of a window have a value, the result is null.
    With `slide`, a run raises ValueError if more than `max_windows` windows hold a row (default 100,000,000), before memory
    for them is allocated. All keys of a table count together; of a stream, those of one micro-batch; on Spark, those of one
    task.

    Months ("mo"), quarters ("q") and years ("y") follow the calendar in the zone of the time column, or in `tz`. With `tz`, days and
    weeks do so too: `time("7d", slide="1d", tz="Europe/Berlin")` begins at midnight in Berlin. Without `tz`, a day has 24 hours.
    `range` and `slide` must both be months, quarters or years, or both days or weeks. The window of a row, `time("3mo")`, begins at
    the same local time three months earlier, on the last day of that month if it is too short.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window that has rows. The window of a row may be without
    rows: then the result is null, and a count is 0.
    Errors: TypeError or ValueError if an argument is not a duration or not positive, or if units differ.
    ValueError if `slide` is more than `range`, if `closed` is given with `slide`, or `offset` without it, if `before + after` is
    negative, if `range` or `slide` is given with `before` or `after`, or if `tz` is no time zone or given with hours.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 2, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.time(5), time="minute").run(rows)["peak"].to_pylist()
    [3, 9, 4]
    >>> sash.Query({"next": agg.max("load")}, window.time(before=0, after=7), time="minute").run(rows)["next"].to_pylist()
    [9, 9, 4]
    >>> for row in sash.Query({"peak": agg.max("load")}, window.time(10, slide=5), time="minute").run(rows).to_pylist():
    ...     print(row)
    {'window_start': -5, 'window_end': 5, 'peak': 9}
    {'window_start': 0, 'window_end': 10, 'peak': 9}
    {'window_start': 5, 'window_end': 15, 'peak': 4}
    """
    min_rows = check_count(min_rows, "min_rows", "time")
    excluded = check_exclude(exclude, "time")
    zone = check_zone(tz, "time")
    if slide is not None and excluded:
        message = "window.time: exclude= applies to the window of a row. Leave slide= or exclude= out."
        raise ValueError(message)
    if slide is None:
        for name, given in {"offset": offset, "max_windows": max_windows}.items():
            if given is not None:
                message = (
                    f"window.time: {name}= needs slide=. Without slide=, each row has its own window. Leave {name} out."
                )
                raise ValueError(message)
    if slide is None and closed is not None and closed not in CLOSED:
        message = f"window.time: closed={closed!r} does not exist.{did_you_mean(str(closed), CLOSED)} Use {', '.join(CLOSED)}."
        raise ValueError(message)
    if before is not NOT_GIVEN or after is not NOT_GIVEN:
        return _frame(before, after, closed or "both", excluded, min_rows, {"range": range, "slide": slide, "tz": tz})
    if range is None:
        message = 'window.time needs a length, as in window.time("1h"), or before= and after=.'
        raise TypeError(message)
    length = read_duration(range, "range", months=True)
    if slide is None:
        ends = "" if closed in (None, "right") else f', closed="{closed}"'
        text = f"time({quote(length)}{ends}{exclude_text(excluded)}{min_rows_text(min_rows)}{tz_text(zone)})"
        if zone or length.months:
            check_calendar("time", {"range": length})
            return CalendarFrame(length, closed or "right", min_rows, text, excluded, zone)
        return TimeFrame(length, ZERO, closed or "right", min_rows, text, excluded)
    if closed is not None:
        message = (
            "window.time: closed= does not apply with slide=: windows are [start, start + range). Leave closed out."
        )
        raise ValueError(message)
    period = read_duration(slide, "slide", months=True)
    most = MAX_WINDOWS if max_windows is None else check_count(max_windows, "max_windows", "time")
    return _periodic("time", length, period, length, offset, zone, min_rows, most)


def expanding(*, exclude: Literal["row", "ties", "group"] | None = None, min_rows: int = 1) -> Window:
    """Return for each row all rows of its key up to it: values since the beginning.

    Rows of equal time are peers: each has the rows of all of them, as the default frame of SQL. Without a time column, rows have no
    peers. `exclude` leaves out rows, as EXCLUDE in SQL: "row" the row itself, "ties" its peers, "group" both. If fewer than `min_rows` rows of a window have a value, the result is null.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per row, beside the input row.
    Errors: TypeError or ValueError if `min_rows` is not a positive integer. ValueError if `exclude` does not exist.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"day": [1, 2, 2, 5], "paid": [3, 9, None, 4]})
    >>> sash.Query(agg.sum("paid"), window.expanding(), time="day").run(rows)["sum"].to_pylist()
    [3, 12, 12, 16]
    """
    least = check_count(min_rows, "min_rows", "expanding")
    excluded = check_exclude(exclude, "expanding")
    arguments = f"{exclude_text(excluded)}{min_rows_text(least)}".removeprefix(", ")
    return TimeFrame(None, ZERO, "both", least, f"expanding({arguments})", excluded)


def _frame(before: Any, after: Any, closed: str, exclude: str, least: int, others: dict[str, Any]) -> TimeFrame:
    """Return the frame between two distances from the time of a row."""
    for name, given in others.items():
        if given is not None:
            message = f"window.time: {name}={given!r} cannot be combined with before= or after=. Use one or the other."
            raise ValueError(message)
    if before is NOT_GIVEN:
        message = (
            f"window.time: after={after!r} needs before=, how far the window reaches back. Use before=0 to begin at the row, or "
            "before=None for all rows before it."
        )
        raise ValueError(message)
    for name, given in {"before": before, "after": after}.items():
        if isinstance(given, str) and read_duration(given, name, at_least=-(2**62), months=True).months:
            message = (
                f"window.time: {name}={given!r}: before= and after= cannot be months, quarters or years. Use days, or "
                'window.time("1mo", closed="both"), which holds the rows of the month before each row.'
            )
            raise ValueError(message)
    low, high = (
        None if given is None else ZERO if given in (0, NOT_GIVEN) else read_duration(given, name, at_least=-(2**62))
        for name, given in {"before": before, "after": after}.items()
    )
    if low is not None and high is not None:
        if low.amount and high.amount:
            _check_units(low, high)
        if low.amount + high.amount < 0:
            message = f"window.time: before={before!r} and after={after!r} leave no time between them. Their sum must not be negative."
            raise ValueError(message)
    return TimeFrame(low, high, closed, least, text_of_frame(low, high, closed, exclude, least), exclude)


def tumbling(
    range: DurationLike,  # noqa: A002 — the papers' word
    *,
    offset: DurationLike | None = None,
    tz: str | None = None,
) -> Window:
    """Return windows of time that do not overlap: `time(range, slide=range)`.

    `range` is the length: a string such as "1h" or "1mo", a timedelta, or a number in the unit of an integer time column. Each start
    is a multiple of `range` since the epoch, plus `offset`.

    Months ("mo"), quarters ("q") and years ("y") follow the calendar in the zone of the time column, or in `tz`. With `tz`, such as
    "Europe/Berlin", days begin at midnight and weeks on Monday in that zone, also when clocks change. Without `tz`, a day has 24 hours.

    Nulls and NaN: a null in the time column is an error.
    Result: one per window that has rows.
    Errors: TypeError or ValueError if an argument is not a duration, or if `range` is not positive. ValueError if `tz` is no time
    zone, or given with hours, which do not depend on it.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 2, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.tumbling(5), time="minute").run(rows).to_pylist()
    [{'window_start': 0, 'window_end': 5, 'peak': 9}, {'window_start': 5, 'window_end': 10, 'peak': 4}]
    >>> from datetime import datetime
    >>> rows = pa.table({"at": [datetime(2024, 1, 31), datetime(2024, 2, 1), datetime(2024, 2, 29)], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.tumbling("1mo"), time="at").run(rows)["window_end"].to_pylist()
    [datetime.datetime(2024, 2, 1, 0, 0), datetime.datetime(2024, 3, 1, 0, 0)]
    """
    length = read_duration(range, "range", months=True)
    # A row is in one window, so that windows take no more memory than rows.
    return _periodic("tumbling", length, length, length, offset, check_zone(tz, "tumbling"), 1, UNLIMITED)


def cumulative(
    range: DurationLike,  # noqa: A002 — the papers' word
    step: DurationLike,
    *,
    offset: DurationLike | None = None,
    max_windows: int | None = None,
    tz: str | None = None,
) -> Window:
    """Return windows that grow by `step` up to `range` and then start again, such as hourly totals since midnight.

    `range` and `step` are strings such as "24h", timedeltas, or numbers in the unit of an integer time column. Each start is a
    multiple of `range` since the epoch, plus `offset`; windows are `[start, start + step)`, `[start, start + 2 · step)`, …
    `max_windows` limits the number of results as in `time`; here, windows before the first row of a `range` count too.
    Months, quarters, years and `tz` are as in `tumbling`: `cumulative("1y", "1mo")`, `cumulative("1w", "1d", tz="Europe/Berlin")`.

    Nulls and NaN: a null in the time column is an error.
    Result: one per window that has rows.
    Errors: TypeError or ValueError if an argument is not a duration or not positive. ValueError if `range` is not a multiple of
    `step`, or if a run would give more than `max_windows` results (default 100,000,000).

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"hour": [1, 2, 25], "load": [3, 9, 4]})
    >>> for row in sash.Query({"work": agg.sum("load")}, window.cumulative(24, 12), time="hour").run(rows).to_pylist():
    ...     print(row)
    {'window_start': 0, 'window_end': 12, 'work': 12}
    {'window_start': 0, 'window_end': 24, 'work': 12}
    {'window_start': 24, 'window_end': 36, 'work': 4}
    {'window_start': 24, 'window_end': 48, 'work': 4}
    """
    length, short = read_duration(range, "range", months=True), read_duration(step, "step", months=True)
    zone = check_zone(tz, "cumulative")
    _check_units(length, short)
    if zone or length.months or short.months:
        check_calendar("cumulative", {"range": length, "step": short})
    steps = short.months or short.amount
    check_slide(steps, length.months or length.amount, {"step": step, "range": range})
    if (length.months or length.amount) % steps:
        message = f"window.cumulative: range={range!r} is not a multiple of step={step!r}. Change one of them."
        raise ValueError(message)
    most = MAX_WINDOWS if max_windows is None else check_count(max_windows, "max_windows", "cumulative")
    return _periodic("cumulative", length, length, short, offset, zone, 1, most)


def _periodic(
    name: str,
    length: Duration,
    period: Duration,
    step: Duration,
    offset: DurationLike | None,
    zone: str,
    least: int,
    max_windows: int,
) -> Window:
    shift = Duration(0, length.is_time, "0")
    if offset is not None:
        shift = read_duration(offset, "offset", at_least=-(2**62), months=True)
    _check_units(length, period)
    _check_units(length, shift)
    text = quote(length)
    if name == "time":
        text += f", slide={quote(period)}"
    if name == "cumulative":
        text += f", {quote(step)}"
    if shift.amount or shift.months:
        text += f", offset={quote(shift)}"
    text = f"{name}({text}{min_rows_text(least)}{tz_text(zone)})"
    if not (zone or length.months or period.months):
        if shift.months:
            message = f"window.{name}: offset={shift.text!r} has months, but {length} has not. Use days or hours."
            raise ValueError(message)
        check_slide(period.amount, length.amount, {"slide": str(period), "range": str(length)})
        return Periodic(length, period, step, shift, text, least, max_windows)
    check_calendar(name, {"range": length, "slide": period, "step": step})
    if shift.months and not length.months:
        message = f"window.{name}: offset={shift.text!r} has months, but {length} has not. Use days or hours."
        raise ValueError(message)
    counts = [one.months or one.days for one in (length, period, step)]
    check_slide(counts[1], counts[0], {"slide": str(period), "range": str(length)})
    first = shift.months + (FIRST_MONDAY if period.calendar == "week" else 0)
    range_, slide, end, begin = (Duration(count, is_time=False, text=str(count)) for count in (*counts, first))
    numbered = Periodic(range_, slide, end, begin, text, least, max_windows)
    return CalendarWindow(length, period, step, shift, text, numbered, zone)


def check_calendar(window: str, given: dict[str, Duration]) -> None:
    """Raise ValueError if durations are not all months, quarters and years, or else all days and weeks."""
    for name, one in given.items():
        if not one.is_time:
            message = f"window.{window}: tz= does not apply to {name}={one}, a number. Leave tz out."
            raise ValueError(message)
    if len({bool(one.months) for one in given.values()}) > 1:
        listed = ", ".join(f"{name}={one.text!r}" for name, one in given.items() if name != "step" or window != "time")
        message = (
            f"window.{window}: {listed} mix months with shorter units. Use months, quarters and years for all, or days and weeks "
            "for all."
        )
        raise ValueError(message)
    for name, one in given.items():
        if not one.calendar:
            message = (
                f"window.{window}: {name}={one.text!r} has hours or shorter units, which do not depend on the calendar of tz=. Leave "
                'tz out, or use whole days or weeks, as in "1d". In zones that are half an hour off, offset="30m" begins windows with '
                "local hours."
            )
            raise ValueError(message)


def tz_text(zone: str) -> str:
    """Return `tz` as an argument of a call, or nothing if it is not given.

    >>> tz_text("UTC"), tz_text("")
    (', tz="UTC"', '')
    """
    return f', tz="{zone}"' if zone else ""


def _check_units(one: Duration, other: Duration) -> None:
    if one.is_time != other.is_time:
        message = f'{one} and {other} have different units. Use durations such as "1h" for both, or numbers for both.'
        raise ValueError(message)
