"""The history of a stream: the rows before a time T, from which a new state is made.

    history   ●●●●●●●●●●●●●●●●│○○○      rows from T on are ignored: the stream has them
    stream              ○○○○○○│●●●●●►   rows before T are ignored and counted: the history has them
                              T

The state is that of a stream which has read the history, and whose watermark is T: windows that end by then are closed and emit nothing.
Windows that are open at T hold the rows of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.durations import TimeUnit, to_text
from sash.engine.failures import shown
from sash.engine.prepare import Prepared
from sash.engine.time_column import TimeColumn, has_zone, nanoseconds_between, nanoseconds_of
from sash.state.watermark import MicroBatch
from sash.state.window_states import WindowStates
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Reach


def read_until(time: TimeColumn | None, until: Any, zone: str = "") -> int:
    """Return the time `until` in ticks of the time column. A time without a zone is in `zone`, if that is given.

    Raise TypeError or ValueError if the column cannot hold it.
    """
    if time is None:
        raise ValueError("until= is a time, but the query has no time column. Set Query(time=…), or leave it out.")
    if time.tick is None:
        if isinstance(until, bool) or not isinstance(until, int | np.integer):
            raise TypeError(f"until={until!r} must be an integer, as the time column {time.name!r} holds integers.")
        return time.check_range(int(until))
    use = "a timedelta" if pa.types.is_duration(time.type) else 'a datetime, or text such as "2026-01-31T12:00"'
    advice = f"The time column {time.name!r} is of type {time.type}. Use {use}."
    is_length = pa.types.is_duration(time.type)
    try:
        value = datetime.fromisoformat(until) if isinstance(until, str) else until
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 — the zone follows
        if zone and isinstance(value, datetime) and value.tzinfo is None:
            value = value.replace(tzinfo=ZoneInfo(zone))
        since = nanoseconds_between(value) if is_length and isinstance(value, timedelta) else nanoseconds_of(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"until={until!r} is not a time of this column. {advice}") from error
    if is_length != isinstance(value, timedelta):
        raise TypeError(f"until={until!r} is not a time of this column. {advice}")
    if has_zone(value) != bool(time.unit.zone):
        raise ValueError(f"until={until!r}: one of both has a time zone. Give both a time zone, or neither. {advice}")
    ticks, rest = divmod(since, time.tick)
    if rest:
        raise ValueError(f"until={until!r} lies between two times that this column can hold. {advice}")
    return time.check_range(int(ticks))


def text_of(time: TimeColumn, ticks: int) -> str:
    """Return a time as text; an instant in UTC, so that the text does not depend on the zone of the column."""
    shown_time = time.write(np.array([ticks]))
    if getattr(time.type, "tz", None):
        shown_time = shown_time.cast(pa.timestamp(time.type.unit, "UTC"))
    return shown(shown_time[0])


# -- how much history windows need -------------------------------------------------------------------------------------


def reach_of(window: Window, unit: TimeUnit) -> Reach | None:
    """Return how far before T the rows lie that open windows, or those of lookups, may hold; None if there is no limit."""
    frame = window.frame
    if frame is not None:
        reach = frame.reach(unit)
        if reach is not None and frame.rows_of_points:  # a lookup is no row: its window holds one stored row more
            reach = reach._replace(rows=reach.rows + frame.rows_of_points)
        if reach is None or not frame.looks_ahead:
            return reach
        ahead = frame.width(unit) if reach.ticks else 0  # rows that wait for later ones reach back, too
        return None if ahead is None else reach._replace(ticks=reach.ticks + ahead)
    if window.is_time:
        gap = window.cuts.gap(unit) if window.cuts else None
        return Reach(ticks=window.extent(unit)) if gap is None else Reach(gap=gap)
    return None if window.time_split is None else window.time_split.reach(unit)


def reach_in_ticks(prepared: Prepared) -> int | None:
    """Return how far before T history needs to begin, by the windows for which time decides; None if there are no such windows."""
    return max((reach.ticks for reach in _reaches(prepared) if _is_of_time(reach)), default=None)


def is_limited(prepared: Prepared) -> bool:
    """Return whether no window needs rows that are older than `reach_in_ticks`."""
    return all(map(_is_of_time, _reaches(prepared)))


def _reaches(prepared: Prepared) -> list[Any]:
    return [reach_of(window, prepared.unit) for window in prepared.plan.windows.values()]


def _is_of_time(reach: Reach | None) -> bool:
    return reach is not None and reach.rows == 0 and reach.gap < 0


def describe_history(prepared: Prepared) -> str:
    """Return how much history the windows of a stream need, in words."""
    texts = []
    for window, reach in zip(prepared.plan.windows.values(), _reaches(prepared), strict=True):
        if reach is None:
            text = "all rows of each key"
        elif reach.rows:
            text = f"the last {reach.rows:,} rows of each key"
        elif reach.gap >= 0:
            text = "the rows of sessions that are open at that time"
        else:
            text = f"the rows of {_length(reach.ticks, prepared.unit)[0]}"
        texts.append(f"{text} for {window}")
    return f"run(stream, history=…, until=T) needs, before T: {'; '.join(dict.fromkeys(texts))}"


def _length(ticks: int, unit: TimeUnit) -> tuple[str, int]:
    """Return a length as text, and in ticks. One tick less than a short text, as with a tail, is up to that length.

    >>> from sash.durations import UNITS
    >>> seconds = TimeUnit("ts", UNITS["s"])
    >>> _length(3_599, seconds), _length(90, seconds), _length(59, TimeUnit("at", None))
    (('up to 1h', 3600), ('1m30s', 90), ('59', 59))
    """
    if unit.tick is None:
        return str(ticks), ticks
    text, rounded = (to_text(length * unit.tick) for length in (ticks, ticks + 1))
    return (f"up to {rounded}", ticks + 1) if len(text) > 2 * len(rounded) else (text, ticks)


def check_length(prepared: Prepared, oldest: int, until: int) -> None:
    """Raise ValueError if the oldest row of a history does not show that it reaches back far enough; FOREVER if it has no rows."""
    reach, time = reach_in_ticks(prepared), prepared.time
    if not reach or oldest <= until - reach:
        return
    assert time is not None
    length, ticks = _length(reach, prepared.unit)
    from_time, to_time = text_of(time, until - ticks), text_of(time, until)
    begins = "has no rows before until" if oldest == FOREVER else f"begins at {text_of(time, oldest)}"
    raise ValueError(
        f"The history {begins}, but open windows hold rows of {length} before until={to_time}: their results would "
        f"lack rows. Use a history with a row at or before {from_time}, which shows that it is complete, or run with partial=True if there "
        "are no older rows."
    )


# -- the state ---------------------------------------------------------------------------------------------------------


@dataclass
class HistoryRows:
    """The rows of a history that matter to a state: those before T, and not before all open windows."""

    prepared: Prepared
    until: int
    oldest: int = FOREVER
    """The time of the oldest row so far."""
    newest: int = NEVER
    """The time of the newest row before T so far."""

    def select(self, table: pa.Table) -> pa.Table:
        """Return the rows of a table that matter."""
        assert self.prepared.time is not None
        times = self.prepared.time.read(table[self.prepared.time.name])
        before = times < self.until
        self.oldest = min(self.oldest, int(times.min(initial=FOREVER, where=before)))
        self.newest = max(self.newest, int(times.max(initial=NEVER, where=before)))
        reach = reach_in_ticks(self.prepared) if is_limited(self.prepared) else None
        if reach is not None:
            before &= times >= self.until - reach
        return table if before.all() else table.filter(as_arrow(before))


def add_history(states: WindowStates, tables: Iterable[pa.Table], until: int) -> None:
    """Add the rows before T to new states, in any order, and move the watermark to T. Windows that end by then are not evaluated.

    Slices take the rows table by table. Other states take them at once, since windows follow the order of rows.
    """
    no_rows = states.prepared.no_rows
    if takes_any_order(states):
        for rows in tables:
            for state in states.states:
                state.add_rows(rows)
        states.advance(closed_batch(no_rows, until))
    else:
        states.advance(closed_batch(pa.concat_tables([no_rows, *tables]).combine_chunks(), until))


def takes_any_order(states: WindowStates) -> bool:
    """Return whether states take the rows of a history in any order, table by table: all of them store slices alone."""
    return all(not state.stores_rows for state in states.states)


def closed_batch(rows: pa.Table, watermark: int) -> MicroBatch:
    """Return rows as a micro-batch of which none is late, and whose windows that end by the watermark were emitted before."""
    return MicroBatch(rows, watermark, watermark, marks=np.full(len(rows), NEVER))


def split_overlap(table: pa.Table, time: TimeColumn, until: int) -> tuple[pa.Table, int]:
    """Return the rows of a stream from T on, and the number of those before, which the history has."""
    older = time.read(table[time.name]) < until
    count = int(np.count_nonzero(older))
    return (table.filter(as_arrow(~older)) if count else table), count
