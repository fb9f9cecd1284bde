"""Windows of time: `time(range)` for each row, `time(range, slide=…)`, `tumbling` and `cumulative` for each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sash.windows.base import FOREVER, Bounds, Cycle, Ints, Memory, Rows, Run, Window, first_after, new_bounds
from sash.windows.by_rows import least_to_text
from sash.windows.checks import check_count, refuse_wide_slide
from sash.windows.durations import Duration, Given, read_duration

LITTLE = 1 << 16

CLOSED = {"right": (False, True), "both": (True, True), "left": (True, False), "neither": (False, False)}
"""Whether a window holds the rows exactly `range` older, and those of the row's own time."""


@dataclass(frozen=True)
class TimeOfRow(Window):
    """The rows of the time before each row."""

    kind: ClassVar[str] = "time"
    per_row: ClassVar[bool] = True
    needs_time: ClassVar[bool] = True
    sliced: ClassVar[bool] = False
    range: Duration
    closed: str = "right"
    least: int = 1

    @property
    def length(self) -> Duration:
        """The range."""
        return self.range

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def check(self, tick: int | None, time: str) -> None:
        """Say so if the window doesn't fit a time column of such ticks."""
        self.range.in_ticks(tick, time)

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — nothing to remember
        """Return a window for each row."""
        begins, ends = new_bounds(int((rows.final - rows.done).sum()))
        keep = np.empty(rows.keys, np.int64)
        length = self.range.in_ticks(rows.tick, rows.time)
        span = (length, *CLOSED[self.closed])
        run(find_time_of_rows)(rows.times, rows.firsts, rows.done, rows.final, rows.now, *span, begins, ends, keep)
        return Bounds(begins, ends, None, None, keep)

    def due(self, rows: Rows) -> int:
        """Return when the first row is final, or the last of a key too old for any window."""
        out_of_reach = rows.times[rows.firsts[1:] - 1] + self.range.in_ticks(rows.tick, rows.time) + 1
        return min(super().due(rows), first_after(out_of_reach, rows.now))

    def __repr__(self) -> str:
        """Show it as it is written."""
        closed = "" if self.closed == "right" else f', closed="{self.closed}"'
        return f"time({quote(self.range)}{closed}{least_to_text(self.least)})"


@dataclass(frozen=True)
class Periodic(Window):
    """Windows of time that begin at multiples of `period` since the epoch, plus `offset`.

    A sliding window has one end, `step` being its whole range; a cumulative one has an end after each `step`.
    """

    kind: ClassVar[str] = "time"
    needs_time: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    range: Duration
    period: Duration
    step: Duration
    offset: Duration
    text: str
    least: int = 1

    @property
    def length(self) -> Duration:
        """The range."""
        return self.range

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return self.least

    def check(self, tick: int | None, time: str) -> None:
        """Say so if the window doesn't fit a time column of such ticks."""
        self.cycle(tick, time)

    def cycle(self, tick: int | None, time: str) -> Cycle:
        """Return the windows in ticks of a time column."""
        length, period, step, offset = (
            duration.in_ticks(tick, time) for duration in (self.range, self.period, self.step, self.offset)
        )
        return Cycle(length, period, step, offset % period)

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — nothing to remember
        """Return the windows that ended by now and hold at least one row."""
        keep = np.zeros(rows.keys, np.int64)
        given = (rows.times, rows.firsts, rows.after, rows.now, *self.cycle(rows.tick, rows.time))
        loop = run(find_periodic)
        count = self._at_most(rows)
        if count > 2 * len(rows.times) + LITTLE:  # gaps, in which no windows are: count them
            count = loop(*given, *new_bounds(0), *new_bounds(0), keep)
        begins, ends = new_bounds(count)
        starts, stops = new_bounds(count)
        count = loop(*given, begins, ends, starts, stops, keep) if count else 0
        return Bounds(begins[:count], ends[:count], starts[:count], stops[:count], keep)

    def due(self, rows: Rows) -> int:
        """Return when the first window ends that may hold one of the rows."""
        if not len(rows.times):
            return FOREVER
        length, period, step, offset = self.cycle(rows.tick, rows.time)
        by = max(int(rows.times.min()), int(rows.now.min()))
        last = (by - offset - length) // period * period + length if step == length else (by - offset) // step * step
        due = last + (period if step == length else step) + offset
        return due if due <= int(rows.times.max()) + length else FOREVER  # other windows may have kept the rows

    def _at_most(self, rows: Rows) -> int:
        """Return how many windows there are if none is without a row."""
        length, period, step, _ = self.cycle(rows.tick, rows.time)
        held = rows.firsts[1:] > rows.firsts[:-1]
        if len(rows.times) == 0 or not held.all():
            return 2 * len(rows.times) + LITTLE + 1
        spans = rows.times[rows.firsts[1:] - 1] - rows.times[rows.firsts[:-1]]
        each = (spans / period + length / period + 1) * (
            length // step
        )  # floats, since it may be more than 64 bits hold
        return int(np.ceil(each).sum())

    def __repr__(self) -> str:
        """Show it as it is written."""
        return self.text


def time(
    range: Given,  # noqa: A002 — the papers' word
    *,
    slide: Given | None = None,
    offset: Given | None = None,
    closed: str | None = None,
    min_rows: int = 1,
) -> Window:
    """Return windows of time: for each row the `range` before it, or with `slide` `[start, start + range)`.

    Starts are multiples of the slide since the epoch, plus `offset`. For rows, `closed` tells whether a window holds rows
    exactly `range` older ("left"), those of the row's own time ("right", as by default), "both", or "neither".

    >>> from sash import window
    >>> window.time("1h", closed="both")
    time("1h", closed="both")
    >>> window.time("24h", slide="1m")
    time("24h", slide="1m")
    """
    length = read_duration(range, "range")
    min_rows = check_count(min_rows, "min_rows", "time")
    if slide is None:
        if offset is not None:
            message = "window.time: offset moves the starts of windows, and without slide= every row has its own."
            raise ValueError(message)
        if (closed or "right") not in CLOSED:
            message = f"window.time: closed={closed!r} is none of {', '.join(CLOSED)}."
            raise ValueError(message)
        return TimeOfRow(length, closed or "right", min_rows)
    if closed is not None:
        message = "window.time: with slide= windows are [start, start + range), so closed= has nothing to say there."
        raise ValueError(message)
    return _periodic("time", length, read_duration(slide, "slide"), length, offset, min_rows)


def tumbling(range: Given, *, offset: Given | None = None) -> Window:  # noqa: A002 — the papers' word
    """Return windows of time one behind the other: `time(range, slide=range)`.

    >>> from sash import window
    >>> window.tumbling("1h")
    tumbling("1h")
    """
    length = read_duration(range, "range")
    return _periodic("tumbling", length, length, length, offset, 1)


def cumulative(range: Given, step: Given, *, offset: Given | None = None) -> Window:  # noqa: A002 — the papers' word
    """Return windows that begin each `range` and have a result after each `step` up to there: sums since midnight.

    >>> from sash import window
    >>> window.cumulative("24h", "1h")
    cumulative("24h", "1h")
    """
    length, short = read_duration(range, "range"), read_duration(step, "step")
    _refuse_two_units(length, short)
    refuse_wide_slide(short.amount, length.amount, step, range)
    if length.amount % short.amount:
        message = f"window.cumulative: range={range!r} is no multiple of step={step!r}."
        raise ValueError(message)
    return _periodic("cumulative", length, length, short, offset, 1)


def _periodic(
    name: str, length: Duration, period: Duration, step: Duration, offset: Given | None, least: int
) -> Periodic:
    shift = Duration(0, length.is_time, "0") if offset is None else read_duration(offset, "offset", at_least=-(2**62))
    _refuse_two_units(length, period)
    _refuse_two_units(length, shift)
    refuse_wide_slide(period.amount, length.amount, str(period), str(length))
    text = quote(length)
    if name == "time":
        text += f", slide={quote(period)}"
    if name == "cumulative":
        text += f", {quote(step)}"
    if shift.amount:
        text += f", offset={quote(shift)}"
    return Periodic(length, period, step, shift, f"{name}({text}{least_to_text(least)})", least)


def _refuse_two_units(one: Duration, other: Duration) -> None:
    if one.is_time != other.is_time:
        message = f"{one} and {other} have no common unit: give two lengths of time, or two numbers."
        raise ValueError(message)


def quote(duration: Duration) -> str:
    """Return a duration as it is written in a call."""
    return f'"{duration}"' if duration.is_time else str(duration)


def find_time_of_rows(
    times: Ints,
    firsts: Ints,
    done: Ints,
    final: Ints,
    now: Ints,
    length: int,
    with_oldest: bool,
    with_own: bool,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> None:
    """Write the window of each row: the rows of its key that are at most, or less than, `length` older.

    Rows of one time are all new or none, so that a row's peers are found from the first new row on.
    """
    count = 0
    reach = length if with_oldest else length - 1
    for key in range(len(firsts) - 1):
        begin = firsts[key]
        last = firsts[key + 1]
        fresh = end = firsts[key] + done[key]
        for row in range(fresh, firsts[key] + final[key]):
            time = times[row]
            begin += 1 if times[begin] < time - reach else 0  # most often one row leaves, or none: no branch to guess
            while times[begin] < time - reach:  # the row itself is not older
                begin += 1
            if row == fresh or time != times[row - 1]:
                end = row
                while with_own and end < last and times[end] == time:
                    end += 1
            begins[count] = min(begin, end)
            ends[count] = end
            count += 1
        oldest = last if now[key] == FOREVER else firsts[key]
        while oldest < last and times[oldest] < now[key] - reach:
            oldest += 1
        keep[key] = min(oldest, firsts[key] + final[key])


def find_periodic(  # noqa: C901, PLR0912 — a loop is read line by line
    times: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    length: int,
    period: int,
    step: int,
    offset: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the windows that hold a row and end after `after`, by `now`; with no room, only count them."""
    count = 0
    for key in range(len(firsts) - 1):
        begin = end = firsts[key]
        last = firsts[key + 1]
        start = 0
        if begin < last:
            start = (max(times[begin], after[key]) - length - offset) // period * period + period + offset
        while begin < last and start <= now[key] - step:
            if times[begin] < start:
                begin += 1
            elif times[begin] - start >= length:  # no row for a while: go on with the first window that holds the next
                start = (times[begin] - length - offset) // period * period + period + offset
            else:
                stop = start
                if after[key] > start:  # the ends up to there were given before
                    stop += (after[key] - start) // step * step
                while stop - start < length and stop <= now[key] - step:
                    stop += step
                    while end < last and times[end] < stop:
                        end += 1
                    if end > begin and after[key] < stop <= now[key]:
                        if len(begins) > 0:
                            begins[count] = begin
                            ends[count] = end
                            starts[count] = start
                            stops[count] = stop
                        count += 1
                start += period
        oldest = firsts[key]
        if now[key] == FOREVER:
            oldest = last
        else:
            start = (now[key] - length - offset) // period * period + period + offset
            while oldest < last and times[oldest] < start:
                oldest += 1
        keep[key] = oldest
    return count
