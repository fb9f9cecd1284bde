"""Windows of time: `time(range)` for each row, `time(range, slide=…)`, `tumbling` and `cumulative` for each window."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from sash.durations import Duration, DurationLike, quote, read_duration
from sash.hints import did_you_mean
from sash.windows.arguments import (
    check_count,
    check_flag,
    check_step,
    closed_text,
    empty_text,
    exclude_text,
    min_rows_text,
)
from sash.windows.base import NOT_GIVEN, Window
from sash.windows.calendar_windows import CalendarFrame, CalendarWindow, FilledCalendarWindow
from sash.windows.calendars import check_zone
from sash.windows.exclude import check_exclude
from sash.windows.periodic import MAX_WINDOWS, UNLIMITED, FilledPeriodic, Periodic
from sash.windows.time_frame import CLOSED, ZERO, TimeFrame, text_of_frame

FIRST_MONDAY = 4
"""The day from which weeks of a calendar count, as in Polars: 5 January 1970."""
ENDS = ("left", "right")
"""Which end windows with a slide may include: with both, a row could belong to two neighbours."""


def time(
    range: DurationLike | None = None,  # noqa: A002 — the papers' word
    *,
    before: DurationLike | None = NOT_GIVEN,
    after: DurationLike | None = NOT_GIVEN,
    slide: DurationLike | None = None,
    offset: DurationLike | None = None,
    closed: str | None = None,
    exclude: Literal["row", "ties", "group"] | None = None,
    min_rows: int = 1,
    empty: bool = False,
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
    a row waits until the watermark has passed its window. If fewer than `min_rows` rows of a window have a value, the result is null.

    With `slide`, windows are `[start, start + range)`, or `(start, start + range]` with `closed="right"`. Each start is
    a multiple of `slide` since the epoch, plus `offset`. If `slide` is longer than `range`, rows between two windows belong to none. With
    `empty=True`, each key also has results for the windows without rows between its first and its last row; a stream cannot have
    them. A run raises ValueError if there are more than `max_windows` windows (default 100,000,000), before memory
    for them is allocated. All keys of a table count together; of a stream, those of one micro-batch; on Spark, those of one
    task.

    Months ("mo"), quarters ("q") and years ("y") follow the calendar in the zone of the time column, or in `tz`. With `tz`, days and
    weeks do so too: `time("7d", slide="1d", tz="Europe/Berlin")` begins at midnight in Berlin. Without `tz`, a day has 24 hours.
    `range` and `slide` must both be months, quarters or years, or both days or weeks. The window of a row, `time("3mo")`, begins at
    the same local time three months earlier, on the last day of that month if it is too short.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window that has rows. The window of a row, or one of
    `empty=True`, may be without rows: then the result is null, and a count is 0.
    Errors: TypeError or ValueError if an argument is not a duration or not positive, or if units differ.
    ValueError if `closed` is "both" or "neither" with `slide`, if `offset`, `empty` or `max_windows` is given without it, if
    `before + after` is negative, if `range` or `slide` is given with `before` or `after`, or if `tz` is no time zone or given with
    hours. A stream raises ValueError if `empty` is given.

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
    >>> every_two = window.time(1, slide=2, closed="right", empty=True)
    >>> for row in sash.Query({"n": agg.count()}, every_two, time="minute").run(rows).to_pylist():
    ...     print(row)
    {'window_start': 0, 'window_end': 1, 'n': 1}
    {'window_start': 2, 'window_end': 3, 'n': 0}
    {'window_start': 4, 'window_end': 5, 'n': 0}
    {'window_start': 6, 'window_end': 7, 'n': 0}
    {'window_start': 8, 'window_end': 9, 'n': 1}
    """
    min_rows = check_count(min_rows, "min_rows", "time")
    empty = check_flag(empty, "empty", "time")
    excluded = check_exclude(exclude, "time")
    zone = check_zone(tz, "time")
    if slide is not None and excluded:
        message = "window.time: exclude= applies to the window of a row. Leave slide= or exclude= out."
        raise ValueError(message)
    if slide is None:
        for name, given in {"offset": offset, "max_windows": max_windows, "empty": empty or None}.items():
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
    period = read_duration(slide, "slide", months=True)
    options = _Options(
        _closed_end(closed, "time"), min_rows, empty, _most_windows(max_windows, MAX_WINDOWS, "time"), zone
    )
    return _periodic("time", length, period, length, offset, options)


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
    closed: Literal["left", "right"] | None = None,
    min_rows: int = 1,
    empty: bool = False,
    max_windows: int | None = None,
    tz: str | None = None,
) -> Window:
    """Return windows of time that do not overlap: `time(range, slide=range)`.

    `range` is the length: a string such as "1h" or "1mo", a timedelta, or a number in the unit of an integer time column. Each start
    is a multiple of `range` since the epoch, plus `offset`. Windows are `[start, end)`, or `(start, end]` with `closed="right"`. If
    fewer than `min_rows` rows of a window have a value, the result is null. With `empty=True`, each key also has results for the
    windows without rows between its first and its last row; a stream cannot have them. There may be at most `max_windows` windows
    (with `empty` 100,000,000 by default), as in `time`.

    Months ("mo"), quarters ("q") and years ("y") follow the calendar in the zone of the time column, or in `tz`. With `tz`, such as
    "Europe/Berlin", days begin at midnight and weeks on Monday in that zone, also when clocks change. Without `tz`, a day has 24 hours.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per window that has rows; with `empty`, null for windows without rows, and a count of 0.
    Errors: TypeError or ValueError if an argument is not a duration, or if `range` is not positive. ValueError if `closed` is neither
    "left" nor "right", if `tz` is no time zone, or given with hours, which do not depend on it, or if a run would give more than
    `max_windows` results. A stream raises ValueError if `empty` is given.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 2, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.tumbling(5), time="minute").run(rows).to_pylist()
    [{'window_start': 0, 'window_end': 5, 'peak': 9}, {'window_start': 5, 'window_end': 10, 'peak': 4}]
    >>> sash.Query({"n": agg.count()}, window.tumbling(3, empty=True), time="minute").run(rows)["n"].to_pylist()
    [2, 0, 0, 1]
    >>> from datetime import datetime
    >>> rows = pa.table({"at": [datetime(2024, 1, 31), datetime(2024, 2, 1), datetime(2024, 2, 29)], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.tumbling("1mo"), time="at").run(rows)["window_end"].to_pylist()
    [datetime.datetime(2024, 2, 1, 0, 0), datetime.datetime(2024, 3, 1, 0, 0)]
    """
    length = read_duration(range, "range", months=True)
    least, empty = check_count(min_rows, "min_rows", "tumbling"), check_flag(empty, "empty", "tumbling")
    # A row is in one window, so that windows with rows take no more memory than rows.
    most = _most_windows(max_windows, MAX_WINDOWS if empty else UNLIMITED, "tumbling")
    options = _Options(_closed_end(closed, "tumbling"), least, empty, most, check_zone(tz, "tumbling"))
    return _periodic("tumbling", length, length, length, offset, options)


def cumulative(
    range: DurationLike,  # noqa: A002 — the papers' word
    step: DurationLike,
    *,
    offset: DurationLike | None = None,
    closed: Literal["left", "right"] | None = None,
    min_rows: int = 1,
    empty: bool = False,
    max_windows: int | None = None,
    tz: str | None = None,
) -> Window:
    """Return windows that grow by `step` up to `range` and then start again, such as hourly totals since midnight.

    `range` and `step` are strings such as "24h", timedeltas, or numbers in the unit of an integer time column. Each start is a
    multiple of `range` since the epoch, plus `offset`; windows are `[start, start + step)`, `[start, start + 2 · step)`, …,
    or `(start, start + step]`, … with `closed="right"`. `min_rows` and `empty` are as in `tumbling`.
    `max_windows` limits the number of results as in `time`; here, windows before the first row of a `range` count too.
    Months, quarters, years and `tz` are as in `tumbling`: `cumulative("1y", "1mo")`, `cumulative("1w", "1d", tz="Europe/Berlin")`.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per window that has rows; with `empty`, null for windows without rows, and a count of 0.
    Errors: TypeError or ValueError if an argument is not a duration or not positive. ValueError if `range` is not a multiple of
    `step`, if `closed` is neither "left" nor "right", or if a run would give more than `max_windows` results (default 100,000,000). A
    stream raises ValueError if `empty` is given.

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
    check_step(steps, length.months or length.amount, {"step": step, "range": range})
    if (length.months or length.amount) % steps:
        message = f"window.cumulative: range={range!r} is not a multiple of step={step!r}. Change one of them."
        raise ValueError(message)
    options = _Options(
        _closed_end(closed, "cumulative"),
        check_count(min_rows, "min_rows", "cumulative"),
        check_flag(empty, "empty", "cumulative"),
        _most_windows(max_windows, MAX_WINDOWS, "cumulative"),
        zone,
    )
    return _periodic("cumulative", length, length, short, offset, options)


class _Options(NamedTuple):
    """The arguments that all windows with a slide share."""

    closed: str
    least: int
    empty: bool
    max_windows: int
    zone: str

    @property
    def text(self) -> str:
        """The arguments of a call that differ from their defaults."""
        empty = empty_text(empty=self.empty)
        return f"{closed_text(self.closed)}{min_rows_text(self.least)}{empty}{tz_text(self.zone)}"


def _closed_end(closed: str | None, window: str) -> str:
    """Return which end windows with a slide include. Raise ValueError if it is neither "left" nor "right"."""
    if closed is None:
        return "left"
    if closed in CLOSED and closed not in ENDS:
        message = (
            f'window.{window}: closed={closed!r} applies to the window of a row. With a slide, use closed="left" for '
            '[start, end), or closed="right" for (start, end].'
        )
        raise ValueError(message)
    if closed not in ENDS:
        message = f"window.{window}: closed={closed!r} does not exist.{did_you_mean(str(closed), ENDS)} Use {', '.join(ENDS)}."
        raise ValueError(message)
    return closed


def _most_windows(given: int | None, default: int, window: str) -> int:
    return default if given is None else check_count(given, "max_windows", window)


def _periodic(
    name: str,
    length: Duration,
    period: Duration,
    step: Duration,
    offset: DurationLike | None,
    options: _Options,
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
    text = f"{name}({text}{options.text})"
    made = FilledPeriodic if options.empty else Periodic
    if not (options.zone or length.months or period.months):
        if shift.months:
            message = f"window.{name}: offset={shift.text!r} has months, but {length} has not. Use days or hours."
            raise ValueError(message)
        return made(length, period, step, shift, text, options.least, options.max_windows, options.closed)
    check_calendar(name, {"range": length, "slide": period, "step": step})
    if shift.months and not length.months:
        message = f"window.{name}: offset={shift.text!r} has months, but {length} has not. Use days or hours."
        raise ValueError(message)
    counts = [one.months or one.days for one in (length, period, step)]
    first = shift.months + (FIRST_MONDAY if period.calendar == "week" else 0)
    range_, slide, end, begin = (Duration(count, is_time=False, text=str(count)) for count in (*counts, first))
    numbered = made(range_, slide, end, begin, text, options.least, options.max_windows)
    of_calendar = FilledCalendarWindow if options.empty else CalendarWindow
    return of_calendar(length, period, step, shift, text, numbered, options.zone, options.closed)


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
