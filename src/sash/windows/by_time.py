"""Windows of time: `time(range)` for each row, `time(range, slide=…)`, `tumbling` and `cumulative` for each window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from sash.durations import Duration, DurationLike, quote, read_duration
from sash.windows.arguments import (
    check_choice,
    check_count,
    check_exclude,
    check_flag,
    check_sides,
    hints_names,
    options_text,
)
from sash.windows.base import NOT_GIVEN
from sash.windows.calendars import UTC_NAMES, check_zone
from sash.windows.clocks import CLOSED, TICKS, CalendarClock, Clock, TailClock
from sash.windows.periodic import MAX_WINDOWS, UNLIMITED, FilledPeriodic, Periodic
from sash.windows.time_frame import ZERO, TimeFrame
from sash.windows.window import Window

ENDS = ("left", "right")
"""Which end windows with a slide may include: with both, a row could belong to two neighbours."""


@hints_names
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
    tail: DurationLike | None = None,
) -> Window:
    """Return windows of time: one per row, or with `slide` one every `slide`.

    `range` is the length: a string such as "24h", "1h30m" or "3mo", a timedelta, or a number in the unit of an integer time column.
    `slide`, `offset`, `before` and `after` have the same forms. Without `slide`, the window of a row holds the rows up to `range`
    before it. Instead, `before` and `after` say how far it reaches before and after the time of the row: None without limit,
    negative for a gap, as in `time(before="2h", after="-1h")`. `closed` says which ends a window includes: "right" (the default
    with `range`), "left", "both" (the default with `before` and `after`, as RANGE in SQL) or "neither". `exclude`
    leaves out rows, as EXCLUDE in SQL: "row" the row itself, "ties" the other rows of its time, "group" both. In a stream, the result of
    a row waits until the watermark has passed its window. If fewer than `min_rows` rows of a window have a value, the result is null.

    With `tail`, the window of a row begins at a multiple of it since the epoch, that moment included: `time("30d", tail="1h")` holds the
    rows from 30 days before the row, or up to an hour earlier. Between two multiples, one partial can stand for all rows, so the state
    of long windows can be small.

    With `slide`, windows are `[start, start + range)`, or `(start, start + range]` with `closed="right"`. Each start is
    a multiple of `slide` since the epoch, plus `offset`. If `slide` is longer than `range`, rows between two windows belong to none. With
    `empty=True`, each key also has results for the windows without rows between its first and its last row; a stream cannot have
    them. A run raises ValueError if there are more than `max_windows` windows (default 100,000,000), before memory
    for them is allocated. All keys of a table count together; of a stream, those of one micro-batch; on Spark, those of one
    task.

    With a slide of days ("d"), weeks ("w"), months ("mo"), quarters ("q") or years ("y"), windows follow the calendar in the zone of the
    time column, or in `tz`: `time("7d", slide="1d", tz="Europe/Berlin")` begins at midnight in Berlin. Weeks begin on Monday. On Spark, whose
    columns have no zone, days are those of UTC unless `tz` is given. "24h" knows no zone; neither do windows that slide by hours. `range`
    and `slide` must both be months, quarters or years, or both days or weeks. The window of a row, `time("3mo")`, begins at the same local
    time three months earlier, on the last day of that month if it is too short; a day has 24 hours there, unless `tz` is given.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per row, beside the input row; with `slide` one per window that has rows. The window of a row, or one of
    `empty=True`, may be without rows: then the result is null, and a count is 0.
    Errors: TypeError or ValueError if an argument is not a duration or not positive, or if units differ.
    ValueError if `closed` is "both" or "neither" with `slide`, if `offset`, `empty` or `max_windows` is given without it, if
    `before + after` is negative, if `range` or `slide` is given with `before` or `after`, or if `tz` is not a time zone or given with
    hours. ValueError if `tail` is longer than the window, or given with `slide`, months, `tz` or `before=None`. A stream raises
    ValueError if `empty` is given.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"minute": [1, 2, 9], "load": [3, 9, 4]})
    >>> sash.Query({"peak": agg.max("load")}, window.time(5), time="minute").run(rows)["peak"].to_pylist()
    [3, 9, 4]
    >>> sash.Query({"next": agg.max("load")}, window.time(before=0, after=7), time="minute").run(rows)["next"].to_pylist()
    [9, 9, 4]
    >>> sash.Query({"n": agg.count()}, window.time(7, tail=5), time="minute").run(rows)["n"].to_pylist()  # minute 9: since 0, not 2
    [1, 2, 3]
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
        raise ValueError("window.time: exclude= applies to the window of a row. Leave slide= or exclude= out.")
    if slide is not None and tail is not None:
        raise ValueError(
            f"window.time: tail={tail!r} applies to the window of a row; with slide=, windows begin at multiples of the slide. Leave "
            "slide= or tail= out."
        )
    if slide is None:
        for name, value in {"offset": offset, "max_windows": max_windows, "empty": empty or None}.items():
            if value is not None:
                raise ValueError(
                    f"window.time: {name}= needs slide=. Without slide=, each row has its own window. Leave {name} out."
                )
        check_choice("right" if closed is None else closed, CLOSED, "closed", "time")
    if before is not NOT_GIVEN or after is not NOT_GIVEN:
        others = {"range": range, "slide": slide, "tz": tz}
        return with_tail(_frame(before, after, closed or "both", excluded, min_rows, others), tail)
    if range is None:
        raise TypeError('window.time needs a length, as in window.time("1h"), or before= and after=.')
    length = read_duration(range, "range", months=True)
    if slide is not None:
        period = read_duration(slide, "slide", months=True)
        return _periodic(_Call("time", offset, closed, min_rows, empty, max_windows, tz), length, period, length)
    clock = _clock("time", zone, {"range": length})
    ends = None if closed == "right" else closed
    options = options_text(closed=ends, exclude=excluded, min_rows=min_rows, tz=zone)
    text = f"time({quote(length)}{options})"
    frame = TimeFrame(length, ZERO, excluded, min_rows=min_rows, text=text, closed=closed or "right", clock=clock)
    return with_tail(frame, tail)


@hints_names
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
    text = f"expanding({options_text(exclude=excluded, min_rows=least).removeprefix(', ')})"
    return TimeFrame(None, ZERO, excluded, min_rows=least, text=text, closed="both")


def _frame(before: Any, after: Any, closed: str, exclude: str, least: int, others: dict[str, Any]) -> TimeFrame:
    """Return the frame between two distances from the time of a row."""
    check_sides(before, after, others, "time", "how far the window reaches back. Use before=0 to begin at")
    sides: dict[str, Duration | None] = {}
    for name, value in {"before": before, "after": after}.items():
        if isinstance(value, str) and read_duration(value, name, at_least=-(2**62), months=True).months:
            raise ValueError(
                f"window.time: {name}={value!r}: before= and after= cannot be months, quarters or years. Use days, or "
                'window.time("1mo", closed="both"), which holds the rows of the month before each row.'
            )
        length = ZERO if value in (None, 0, NOT_GIVEN) else read_duration(value, name, at_least=-(2**62))
        sides[name] = None if value is None else length
    low, high = sides.values()
    if low is not None and high is not None:
        if low.amount and high.amount:
            _check_units(low, high)
        if low.amount + high.amount < 0:
            raise ValueError(
                f"window.time: before={before!r} and after={0 if after is NOT_GIVEN else after!r} leave no time between them. Their sum must "
                "not be negative."
            )
    shown = ", ".join(f"{name}={'None' if side is None else quote(side)}" for name, side in sides.items())
    text = f"time({shown}{options_text(closed=None if closed == 'both' else closed, exclude=exclude, min_rows=least)})"
    return TimeFrame(low, high, exclude, min_rows=least, text=text, closed=closed)


def with_tail(frame: TimeFrame, tail: DurationLike | None) -> TimeFrame:
    """Return a frame that begins at multiples of a tail; the frame itself if there is none. Raise ValueError if it does not fit the frame."""
    if tail is None:
        return frame
    if frame.clock.by_calendar:
        raise ValueError(
            f"window.time: tail={tail!r} does not apply to months, quarters, years and tz=, whose lengths differ. Use hours or days without "
            "tz=."
        )
    if frame.before is None:
        raise ValueError(
            f"window.time: tail={tail!r} needs a begin to move, but before=None is without limit. Leave tail= out."
        )
    length = read_duration(tail, "tail")
    whole = [side for side in (frame.before, frame.after) if side is not None]
    for side in whole:
        if side.amount:
            _check_units(side, length)
    if frame.after is not None and length.amount > sum(side.amount for side in whole):
        raise ValueError(
            f"window.time: tail={tail!r} is longer than the window {frame}, so it would more than double it. Use a shorter tail."
        )
    text = f"{frame.text[:-1]}, tail={quote(length)})"
    # The edge of a tail belongs to the window, whatever `closed` says of the begin.
    closed = {"right": "both", "neither": "left"}.get(frame.closed, frame.closed)
    return replace(frame, text=text, closed=closed, clock=TailClock(frame.clock.zone, tail=length))


@hints_names
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

    Days ("d"), weeks ("w"), months ("mo"), quarters ("q") and years ("y") follow the calendar in the zone of the time column, or in `tz`,
    such as "Europe/Berlin", also when clocks change. Weeks begin on Monday; several days count from 1 January 1970. On Spark, whose columns
    have no zone, they are those of UTC unless `tz` is given. "24h" knows no zone.

    Nulls and NaN: a null in the time column is an error; `min_rows` counts non-null values.
    Result: one per window that has rows; with `empty`, null for windows without rows, and a count of 0.
    Errors: TypeError or ValueError if an argument is not a duration, or if `range` is not positive. ValueError if `closed` is neither
    "left" nor "right", if `tz` is not a time zone, or given with hours, which do not depend on it, or if a run would give more than
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
    call = _Call("tumbling", offset, closed, min_rows, empty, max_windows, tz)
    return _periodic(call, length, length, length)


@hints_names
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
    Days, weeks, months, quarters, years and `tz` are as in `tumbling`: `cumulative("1y", "1mo")`, `cumulative("1w", "1d")`. Where days may
    have 23 or 25 hours, the step cannot be hours.

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
    _check_units(length, short)
    _clock("cumulative", check_zone(tz, "cumulative"), {"range": length, "step": short})
    whole, part = (duration.months or duration.amount for duration in (length, short))
    if part > whole:
        raise ValueError(f"step={step!r} is more than range={range!r}, so no window would end. Make the step shorter.")
    if whole % part:
        raise ValueError(f"window.cumulative: range={range!r} is not a multiple of step={step!r}. Change one of them.")
    call = _Call("cumulative", offset, closed, min_rows, empty, max_windows, tz)
    return _periodic(call, length, length, short)


class _Call(NamedTuple):
    """The arguments that all windows with a slide share, and the function that the user called."""

    window: str
    offset: DurationLike | None
    closed: str | None
    min_rows: int
    empty: bool
    max_windows: int | None
    tz: str | None


def _periodic(call: _Call, length: Duration, period: Duration, step: Duration) -> Window:
    """Return windows with a slide."""
    name, closed, zone = call.window, _closed_end(call.closed, call.window), check_zone(call.tz, call.window)
    least, empty = check_count(call.min_rows, "min_rows", name), check_flag(call.empty, "empty", name)
    # A row is in one tumbling window, so that windows with rows take no more memory than rows.
    most = UNLIMITED if name == "tumbling" and not empty else MAX_WINDOWS
    if call.max_windows is not None:
        most = check_count(call.max_windows, "max_windows", name)
    offset = Duration(0, length.is_time, "0")
    if call.offset is not None:
        offset = read_duration(call.offset, "offset", at_least=-(2**62), months=True)
    _check_units(length, period)
    _check_units(length, offset)
    clock = _clock(name, zone, {"range": length, "slide": period, "step": step})
    if offset.months and not length.months:
        raise ValueError(f"window.{name}: offset={offset.text!r} has months, but {length} has not. Use days or hours.")
    slides = {"time": f", slide={quote(period)}", "cumulative": f", {quote(step)}", "tumbling": ""}[name]
    moved = f", offset={quote(offset)}" if offset.amount or offset.months else ""
    options = options_text(closed=None if closed == "left" else closed, min_rows=least, empty=empty, tz=zone)
    window_class = FilledPeriodic if empty else Periodic
    text = f"{name}({quote(length)}{slides}{moved}{options})"
    return window_class(length, period, step, offset, most, min_rows=least, text=text, closed=closed, clock=clock)


def _closed_end(closed: str | None, window: str) -> str:
    """Return which end windows with a slide include. Raise ValueError if it is neither "left" nor "right"."""
    if closed is None:
        return "left"
    if closed in CLOSED and closed not in ENDS:
        raise ValueError(
            f'window.{window}: closed={closed!r} applies to the window of a row. With a slide, use closed="left" for '
            '[start, end), or closed="right" for (start, end].'
        )
    check_choice(closed, ENDS, "closed", window)
    return closed


def _clock(window: str, zone: str, durations: dict[str, Duration]) -> Clock:
    """Return the clock of some durations: a calendar if there is a zone, or if one of them has months.

    Raise ValueError if the durations of a calendar are not all months, quarters and years, or else all days and weeks.
    """
    if not zone and not any(duration.months for duration in durations.values()):
        return TICKS
    for name, duration in durations.items():
        if not duration.is_time:
            raise ValueError(f"window.{window}: tz= does not apply to {name}={duration}, a number. Leave tz out.")
    if len({bool(duration.months) for duration in durations.values()}) > 1:
        listed = ", ".join(
            f"{name}={duration.text!r}" for name, duration in durations.items() if name != "step" or window != "time"
        )
        raise ValueError(
            f"window.{window}: {listed} mix months with shorter units. Use months, quarters and years for all, or days and weeks "
            "for all."
        )
    for name, duration in durations.items():
        if not duration.calendar:
            raise ValueError(
                f"window.{window}: {name}={duration.text!r} has hours or shorter units, which do not depend on the calendar of tz=. Leave "
                'tz out, or use whole days or weeks, as in "1d". For half-hour zones such as India\'s, offset="30m" aligns windows to '
                "local hours."
            )
    by_months = any(duration.months for duration in durations.values())
    return CalendarClock(zone) if by_months or zone not in UTC_NAMES else Clock(zone)


def _check_units(first: Duration, second: Duration) -> None:
    if first.is_time != second.is_time:
        raise ValueError(
            f'{first} and {second} have different units. Use durations such as "1h" for both, or numbers for both.'
        )
