"""The oracle for whole queries: each window finds its rows by looking at all rows. It shares nothing with the engine.

It reads only the parameters of a window (range, slide, gap, …), never its bounds. Rows are dictionaries. Testing the class of a window
is allowed here, since each kind of window has its naive twin in this file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from sash.aggregates.base import Aggregate, with_fields
from sash.durations import UNITS, Duration, TimeUnit
from sash.testing.oracle import recompute
from sash.windows import Window
from sash.windows.by_column import Delta, Punctuated
from sash.windows.by_function import Custom
from sash.windows.by_gap import Session
from sash.windows.by_rows import SlidingRows
from sash.windows.periodic import Periodic
from sash.windows.row_frame import RowFrame
from sash.windows.time_frame import TimeFrame

Row: TypeAlias = Mapping[str, Any]
Span: TypeAlias = tuple[Any, Any, list[Row]]
"""Where a window begins and ends, and its rows."""
TICKS = {datetime: UNITS["us"], date: UNITS["d"]}
"""Nanoseconds of a tick of Python's times."""


def recompute_query(
    rows: Iterable[Row],
    aggregates: Mapping[str, Aggregate[Any]],
    windows: Window | Mapping[str, Window],
    by: Sequence[str] = (),
    time: str | None = None,
    order_by: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the results of a query, computed row by row without any algorithm: the expected values of a test.

    `rows` are dictionaries. `aggregates`, `windows`, `by`, `time` and `order_by` are the arguments of `Query`; here `aggregates` is a
    dictionary, and `by` and `order_by` are sequences.

    Nulls and NaN: as in `Query`.
    Result: a list of dictionaries. Results per row stand beside the input rows, in input order; results per window are in order of
    window, key and time.
    Errors: KeyError if a row lacks a column.

    >>> import sash
    >>> from sash import agg, window
    >>> rows = [{"t": 1, "x": 4}, {"t": 2, "x": None}, {"t": 5, "x": 3}]
    >>> for row in sash.testing.recompute_query(rows, {"total": agg.sum("x")}, window.tumbling(4), time="t"):
    ...     print(row)
    {'window_start': 0, 'window_end': 4, 'total': 4}
    {'window_start': 4, 'window_end': 8, 'total': 3}
    """
    rows = list(rows)
    zone = "" if time is None or not rows else zone_of_column(rows[0][time])
    rows = [dict(row) if time is None else {**row, time: in_utc(row[time])} for row in rows]
    named = {"": windows} if isinstance(windows, Window) else windows
    named = {name: in_zone(window, zone) for name, window in named.items()}
    keys: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(rows):
        keys.setdefault(tuple(map(comparable, (row[column] for column in by))), []).append(number)
    ordered = ([] if time is None else [time]) + list(order_by)
    for numbers in keys.values():
        numbers.sort(key=lambda number: [comparable(rows[number][column]) for column in ordered])
    row_results: list[dict[str, Any]] = [{} for _ in rows]
    window_results: list[dict[str, Any]] = []
    several = len(named) > 1
    for name, window in named.items():
        for numbers in keys.values():
            key_rows = [rows[number] for number in numbers]
            if window.per_row:
                for number, held in zip(numbers, rows_of_each(window, key_rows, time or "", order_by), strict=True):
                    values = results(aggregates, window, held, time, rows[number].get(time or ""))
                    row_results[number] |= {f"{key}_{name}" if several else key: value for key, value in values.items()}
                continue
            for start, stop, held in spans_of(window, key_rows, time or ""):
                head = {column: key_rows[0][column] for column in by}
                label = {"window": name} if several else {}
                bounds = {} if time is None else {"window_start": start, "window_end": stop}
                window_results.append({**head, **label, **bounds, **results(aggregates, window, held, time, stop)})
    if not next(iter(named.values())).per_row:
        return window_results
    added = [f"{key}_{name}" if several else key for key in aggregates for name in named]
    return [{**row, **{name: values[name] for name in added}} for row, values in zip(rows, row_results, strict=True)]


def results(
    aggregates: Mapping[str, Aggregate[Any]], window: Window, held: list[Row], time: str | None, now: Any
) -> dict[str, Any]:
    """Return the aggregates of a window's rows: null where fewer than `min_rows` of them have a value.

    `now` is the time that the results belong to.
    """
    values_by_name: dict[str, Any] = {}
    for name, aggregate in aggregates.items():
        values = [tuple(row[column] for column in aggregate.named_columns) for row in held]
        if time is not None:
            aggregate = aggregate.in_unit(TimeUnit(time, TICKS.get(type(now))))  # noqa: PLW2901
        if aggregate.time is not None:
            values = [(*value, ticks_of(row[time or ""])) for value, row in zip(values, held, strict=True)]
        if aggregate.result.of_newest and values and None in values[-1]:
            values_by_name[name] = None
            continue
        if window.min_rows > 1:
            aggregate = with_fields(aggregate, at_least=max(window.min_rows, aggregate.result.at_least), empty=None)  # noqa: PLW2901
        inputs = [value[0] if len(value) == 1 else value for value in values]
        values_by_name[name] = recompute(aggregate, inputs, None if time is None else ticks_of(now))
    return values_by_name


def rows_of_each(window: Window, rows: list[Row], time: str, order_by: Sequence[str] = ()) -> list[list[Row]]:
    """Return the rows in the window of each row of one key; `order_by` names the columns that break ties.

    >>> from sash import window
    >>> [[row["t"] for row in held] for held in rows_of_each(window.time(3), [{"t": 1}, {"t": 3}, {"t": 4}], "t")]
    [[1], [1, 3], [3, 4]]
    """
    numbers = range(len(rows))
    ordered = [time] if time else []
    match window:
        case RowFrame():
            frames = [[other for other in numbers if is_near(other - number, window)] for number in numbers]
            return _without(frames, rows, window.exclude, [time, *order_by] if time else [])
        case TimeFrame() if window.clock.by_calendar:
            frames = _since(window, rows, time)
        case TimeFrame() if not time:
            frames = [list(range(number + 1)) for number in numbers]
        case TimeFrame():
            times = [row[time] for row in rows]
            frames = [[other for other in numbers if is_within(now, times[other], window)] for now in times]
        case Delta():
            return _near(window, rows)
        case _:
            raise ValueError(f"{window} has no result for each row.")
    return _without(frames, rows, window.exclude, ordered)


def _without(frames: list[list[int]], rows: list[Row], exclude: str, ordered: list[str]) -> list[list[Row]]:
    """Return the rows of frames, without the row, its peers, or both; without a time column, rows have no peers."""

    def is_left_out(number: int, other: int) -> bool:
        order, other_order = ([comparable(rows[row][column]) for column in ordered] for row in (number, other))
        is_row = other == number
        is_peer = is_row or (bool(ordered) and order == other_order)
        return {"": False, "row": is_row, "ties": is_peer and not is_row, "group": is_peer}[exclude]

    return [[rows[other] for other in frame if not is_left_out(number, other)] for number, frame in enumerate(frames)]


def is_near(distance: int, window: RowFrame) -> bool:
    """Return whether a frame of rows holds a row that is so many rows after its own."""
    return (window.before is None or distance >= -window.before) and (window.after is None or distance <= window.after)


def is_within(now: Any, then: Any, window: TimeFrame) -> bool:
    """Return whether the frame of one time holds another time."""
    with_begin, with_end = window.closed in ("left", "both"), window.closed in ("right", "both")
    later = then - now
    nothing = later - later
    begin = None if window.before is None else nothing - length_of(window.before) if window.before.amount else nothing
    for tail in window.clock.durations:
        begin -= (now + begin - zero_of(now)) % length_of(tail)
    end = None if window.after is None else nothing + length_of(window.after) if window.after.amount else nothing
    has_begun = begin is None or later > begin or (with_begin and later == begin)
    return has_begun and (end is None or later < end or (with_end and later == end))


def _near(window: Delta, rows: list[Row]) -> list[list[Row]]:
    held: list[Row] = []
    frames = []
    for row in rows:
        held.append(row)
        while abs(row[window.column] - held[0][window.column]) > window.threshold:
            held.pop(0)
        frames.append(list(held))
    return frames


def spans_of(window: Window, rows: list[Row], time: str) -> list[Span]:
    """Return the windows of the rows of one key: where each begins and ends, and its rows.

    >>> from sash import window
    >>> spans_of(window.session(2), [{"t": 1}, {"t": 3}, {"t": 6}], "t")
    [(1, 5, [{'t': 1}, {'t': 3}]), (6, 8, [{'t': 6}])]
    """
    match window:
        case Periodic():
            return _of_calendar(window, rows, time) if window.clock.by_calendar else _periodic(window, rows, time)
        case Session():
            return _sessions(window, rows, time)
        case SlidingRows():
            ends = range(window.slide, len(rows) + 1, window.slide)
            windows = [rows[max(0, end - window.range) : end] for end in ends]
        case Delta():
            windows = _turns(window, rows)
        case Punctuated():
            windows = _marked(window, rows)
        case Custom():
            windows = _discretized(window, rows)
        case _:
            raise ValueError(f"{window} has a result for each row.")
    return [(held[0].get(time), held[-1].get(time), held) for held in windows]


def _periodic(window: Periodic, rows: list[Row], time: str) -> list[Span]:
    length, period, step = map(length_of, (window.range, window.period, window.step))
    starts = set()
    for row in rows:
        first = zero_of(row[time]) + length_of(window.offset)
        if window.period.calendar == "week":
            first += timedelta(days=4)  # the first Monday
        start = first + (row[time] - first) // period * period  # the last window that begins at or before the row
        while start + length >= row[time]:
            starts.add(start)
            start -= period
    if window.emits_empty and starts:
        start, last = min(starts), max(starts)
        while start < last:
            start += period
            starts.add(start)
    spans = []
    for start in sorted(starts):
        stop = start
        while stop < start + length:
            stop += step
            spans.append((start, stop, [row for row in rows if is_between(window, start, row[time], stop)]))
    return with_rows(window, spans)


def is_between(window: Periodic, start: Any, time: Any, stop: Any) -> bool:
    """Return whether a window of time holds a time."""
    return bool(start < time <= stop if window.closed == "right" else start <= time < stop)


def with_rows(window: Window, spans: list[Span]) -> list[Span]:
    """Return the windows that have rows; if the window emits empty ones, those between them too."""
    filled = [number for number, (_, _, held) in enumerate(spans) if held]
    if not window.emits_empty:
        return [spans[number] for number in filled]
    return spans[filled[0] : filled[-1] + 1] if filled else []


def _of_calendar(window: Periodic, rows: list[Row], time: str) -> list[Span]:
    """Return windows of days or months: for each row, try all that begin near it."""
    length, period, step = (part.months or part.days for part in (window.range, window.period, window.step))
    anchor = anchor_of(window)

    def border(number: int) -> Any:
        return border_of(window, number, rows[0][time])

    spans = set()
    for row in rows:
        near = number_of(window, row[time])
        spans |= {
            (start, stop)
            for start in range(near - length - 2, near + 3)
            for stop in range(start + step, start + length + 1, step)
            if (start - anchor) % period == 0 and is_between(window, border(start), row[time], border(stop))
        }
    if window.emits_empty and spans:
        numbers = range(min(spans)[0], max(spans)[0] + 1, period)
        spans |= {(start, stop) for start in numbers for stop in range(start + step, start + length + 1, step)}
    bounds = [(border(start), border(stop)) for start, stop in sorted(spans)]
    held = [[row for row in rows if is_between(window, low, row[time], high)] for low, high in bounds]
    return with_rows(window, [(*ends, inside) for ends, inside in zip(bounds, held, strict=True)])


def anchor_of(window: Periodic) -> int:
    """Return the number of the day or month that windows of a calendar count from."""
    monday = (date(1970, 1, 5) - date(1970, 1, 1)).days if window.period.calendar == "week" else 0
    return window.offset.months + monday


def number_of(window: Periodic, time: Any) -> int:
    """Return the number of the day or month of a time."""
    local = local_time(time, window.clock.zone) - timedelta(microseconds=window.offset.amount // 1_000)
    if window.range.months:
        return int((local.year - 1970) * 12 + local.month - 1)
    return int(local.toordinal() - date(1970, 1, 1).toordinal())


def border_of(window: Periodic, number: int, like: Any) -> Any:
    """Return when the day or month with a number begins, as a time like another one."""
    day = _first_of_month(number) if window.range.months else date(1970, 1, 1) + timedelta(days=number)
    shift = timedelta(microseconds=window.offset.amount // 1_000)
    if not isinstance(like, datetime):
        return day + shift
    zone = window.clock.zone if zone_of_column(like) else ""
    return first_instant(datetime.combine(day, time_of_day()) + shift, zone)


def _since(window: TimeFrame, rows: list[Row], time: str) -> list[list[int]]:
    """Return for each row the rows since the same local time some days or months earlier, and never before those of the row before."""
    assert window.before is not None
    with_begin, with_end = window.closed in ("left", "both"), window.closed in ("right", "both")
    frames, begin, times = [], None, [row[time] for row in rows]
    for now in times:
        instant = earlier_instant(window.before, window.clock.zone, now)
        begin = instant if begin is None else max(begin, instant)
        ends = [begin] * (with_begin and begin < now) + [now] * with_end
        frames.append([number for number, then in enumerate(times) if begin < then < now or then in ends])
    return frames


def earlier_instant(before: Duration, zone: str, now: Any) -> Any:
    """Return the same local time some days or months earlier, on the last day of that month if it is too short."""
    local = local_time(now, zone)
    if before.months:
        month = _first_of_month((local.year - 1970) * 12 + local.month - 1 - before.months)
        following = _first_of_month((month.year - 1970) * 12 + month.month)
        earlier = local.replace(year=month.year, month=month.month, day=min(local.day, (following - month).days))
    else:
        earlier = local - timedelta(days=before.days)
    return first_instant(earlier, zone) if zone_of_column(now) else earlier


def _first_of_month(number: int) -> date:
    return date(1970 + number // 12, number % 12 + 1, 1)


def _sessions(window: Session, rows: list[Row], time: str) -> list[Span]:
    sessions: list[list[Row]] = []
    for row in rows:
        if sessions and row[time] - sessions[-1][-1][time] <= length_of(window.gap):
            sessions[-1].append(row)
        else:
            sessions.append([row])
    return [(held[0][time], held[-1][time] + length_of(window.gap), held) for held in sessions]


def _turns(window: Delta, rows: list[Row]) -> list[list[Row]]:
    assert window.slide is not None
    windows = []
    last = rows[0][window.column]
    for row, held in zip(rows, _near(window, rows), strict=True):
        if abs(row[window.column] - last) >= window.slide:
            last = row[window.column]
            windows.append(held)
    return windows


def _marked(window: Punctuated, rows: list[Row]) -> list[list[Row]]:
    windows: list[list[Row]] = [[]]
    for row in rows:
        windows[-1].append(row)
        if row[window.column]:
            windows.append([])
    return windows[:-1]


def _discretized(window: Custom, rows: list[Row]) -> list[list[Row]]:
    discretize = window.discretize() if window.has_state else window.discretize
    windows: list[list[Row]] = []
    opened: deque[list[Row]] = deque()
    for row in rows:
        begin, end = discretize(row)
        opened.extend([] for _ in range(begin))
        for held in opened:
            held.append(row)
        windows.extend(opened.popleft() for _ in range(end))
    return windows


def length_of(duration: Duration) -> Any:
    """Return a duration that can be added to a time: a timedelta, or a number if times are integers."""
    return timedelta(microseconds=duration.amount // 1_000) if duration.is_time else duration.amount


def zero_of(time: Any) -> Any:
    """Return the epoch as a time of the same kind."""
    if isinstance(time, datetime):
        return datetime(1970, 1, 1, tzinfo=time.tzinfo)
    return date(1970, 1, 1) if isinstance(time, date) else 0


def ticks_of(time: Any) -> int:
    """Return a time in ticks of its type: microseconds, days, or the number that it is.

    >>> ticks_of(datetime(1970, 1, 1, 0, 0, 1)), ticks_of(date(1970, 1, 3)), ticks_of(7)
    (1000000, 2, 7)
    """
    if not isinstance(time, date):
        return int(time)
    ticks: int = (time - zero_of(time)) // timedelta(**{"microseconds" if isinstance(time, datetime) else "days": 1})
    return ticks


def in_utc(time: Any) -> Any:
    """Return a time in UTC: in other zones, Python computes with wall-clock time."""
    return time.astimezone(UTC) if isinstance(time, datetime) and time.tzinfo else time


def zone_of_column(time: Any) -> str:
    """Return the name of the time zone of a time; empty if it has none."""
    return str(time.tzinfo) if isinstance(time, datetime) and time.tzinfo else ""


def in_zone(window: Window, zone: str) -> Window:
    """Return a window of the calendar with the zone of the time column, unless it has one of its own."""
    return window.in_zone(zone) if zone else window


def local_time(time: Any, zone: str) -> Any:
    """Return a time as clocks in a zone show it, without the zone.

    >>> local_time(datetime(2024, 7, 1, tzinfo=UTC), "Europe/Berlin")
    datetime.datetime(2024, 7, 1, 2, 0)
    """
    if not isinstance(time, datetime) or time.tzinfo is None:
        return time
    return time.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def first_instant(local: datetime, zone: str) -> datetime:
    """Return when clocks in a zone first show a local time; if they skip it, the next time that they show. Without a zone, itself.

    >>> first_instant(datetime(2024, 3, 31, 2, 30), "Europe/Berlin")
    datetime.datetime(2024, 3, 31, 1, 0, tzinfo=datetime.timezone.utc)
    """
    if not zone:
        return local
    instant = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if local_time(instant, zone) == local:
        return instant
    whole = local.replace(second=0, microsecond=0) + timedelta(minutes=1)  # clocks change at whole minutes
    return first_instant(whole, zone)


def comparable(value: Any) -> tuple[bool, bool, Any]:
    """Return a key to sort and group values by: nulls last, NaN before them; all NaN are equal, and all nulls."""
    if value is None or value != value:  # noqa: PLR0124 — only NaN differs from itself
        return value is None, True, 0
    return False, False, value
