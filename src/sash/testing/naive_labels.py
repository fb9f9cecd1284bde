"""The oracle for labels: each label finds its rows by looking at all rows of its key. It shares nothing with the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sash.aggregates.base import Aggregate
from sash.testing.naive_windows import (
    Row,
    Span,
    anchor_of,
    border_of,
    comparable,
    earlier_instant,
    in_utc,
    in_zone,
    is_between,
    is_near,
    is_within,
    length_of,
    number_of,
    results,
    spans_of,
    zero_of,
    zone_of_column,
)
from sash.windows import Window
from sash.windows.periodic import Periodic
from sash.windows.row_frame import RowFrame
from sash.windows.time_frame import TimeFrame


def recompute_labels(
    rows: Iterable[Row],
    labels: Iterable[Row],
    aggregates: Mapping[str, Aggregate[Any]],
    windows: Window | Mapping[str, Window],
    by: Sequence[str] = (),
    time: str = "time",
    order_by: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the results of `run(events, at=labels)`, computed label by label without any algorithm: the expected values of a test.

    `rows` and `labels` are dictionaries with the keys and the time. `aggregates`, `windows`, `by`, `time` and `order_by` are as in
    `recompute_query`.

    Nulls and NaN: as in `Query`.
    Result: a list of dictionaries, the labels with their results, in their order.
    Errors: KeyError if a row or label lacks a column. ValueError for windows that labels cannot have.

    >>> import sash
    >>> from sash import agg, window
    >>> rows = [{"t": 1, "x": 4}, {"t": 5, "x": 3}]
    >>> sash.testing.recompute_labels(rows, [{"t": 4}, {"t": 7}], {"total": agg.sum("x")}, window.tumbling(4), time="t")
    [{'t': 4, 'window_start': 0, 'window_end': 4, 'total': 4}, {'t': 7, 'window_start': 0, 'window_end': 4, 'total': 4}]
    """
    rows, labels = list(rows), list(labels)
    zone = next((zone_of_column(row[time]) for row in [*rows, *labels]), "")
    named = {"": windows} if isinstance(windows, Window) else windows
    named = {name: in_zone(window, zone) for name, window in named.items()}
    by_key: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        by_key.setdefault(_key(row, by), []).append({**row, time: in_utc(row[time])})
    for held in by_key.values():
        held.sort(key=lambda row: [comparable(row[column]) for column in [time, *order_by]])
    found = []
    for label in labels:
        now = in_utc(label[time])
        bounds: dict[str, Any] = {}
        values: dict[str, dict[str, Any]] = {name: {} for name in aggregates}
        for name, window in named.items():
            ending = f"_{name}" if len(named) > 1 else ""
            start, stop, held = _window_at(window, by_key.get(_key(label, by), []), time, now)
            if not window.per_row:
                bounds |= {f"window_start{ending}": start, f"window_end{ending}": stop}
            of_window = results(aggregates, window, held, time, now if window.per_row or stop is None else stop)
            for aggregate, value in of_window.items():
                values[aggregate][f"{aggregate}{ending}"] = value
        found.append({**label, **bounds, **{name: value for each in values.values() for name, value in each.items()}})
    return found


def _key(row: Row, by: Sequence[str]) -> tuple[Any, ...]:
    return tuple(comparable(row[column]) for column in by)


def _window_at(window: Window, rows: list[Row], time: str, now: Any) -> Span:
    """Return the window of a time: where it starts and ends, unless it ends at that time, and its rows."""
    match window:
        case RowFrame(exclude=""):
            last = sum(row[time] <= now for row in rows) - 1
            return None, None, [row for number, row in enumerate(rows) if is_near(number - last, window)]
        case TimeFrame(exclude="") if window.clock.by_calendar:
            assert window.before is not None
            begin = earlier_instant(window.before, window.clock.zone, now)
            with_begin, with_end = window.closed in ("left", "both"), window.closed in ("right", "both")
            ends = [begin] * (with_begin and begin < now) + [now] * with_end
            return None, None, [row for row in rows if begin < row[time] < now or row[time] in ends]
        case TimeFrame(exclude=""):
            return None, None, [row for row in rows if is_within(now, row[time], window)]
        case Periodic():
            start, stop = _last_ended(window, now)
            return start, stop, [row for row in rows if is_between(window, start, row[time], stop)]
        case _ if not window.per_row:
            ended = [span for span in spans_of(window, rows, time) if span[1] <= now] if rows else []
            return ended[-1] if ended else (None, None, [])
    raise ValueError(f"Labels cannot have {window}.")


def _last_ended(window: Periodic, now: Any) -> tuple[Any, Any]:
    """Return the last window of a schedule that has ended by a time: try one start after the other, the latest first."""
    if window.clock.by_calendar:
        length, period, step = (part.months or part.days for part in (window.range, window.period, window.step))
        first = number_of(window, now) + 2
        start: Any = first - (first - anchor_of(window)) % period
    else:
        length, period, step = map(length_of, (window.range, window.period, window.step))
        zero = zero_of(now) + length_of(window.offset)
        if window.period.calendar == "week":
            zero += timedelta(days=4)  # the first Monday
        start = zero + (now - zero) // period * period

    def border(number: Any) -> Any:
        return border_of(window, number, now) if window.clock.by_calendar else number

    while True:
        stop, ended = start + step, None
        while stop <= start + length:
            ended = stop if border(stop) <= now else ended
            stop += step
        if ended is not None:
            return border(start), border(ended)
        start -= period
