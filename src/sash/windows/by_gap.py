"""Session windows: rows that follow each other closely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sash.windows.base import Bounds, Ints, Memory, Rows, Run, Window, first_after
from sash.windows.by_time import quote
from sash.windows.durations import Duration, Given, read_duration


@dataclass(frozen=True)
class Session(Window):
    """Rows with no more than `gap` between neighbours: `[first, last + gap)`."""

    kind: ClassVar[str] = "session"
    needs_time: ClassVar[bool] = True
    is_time: ClassVar[bool] = True
    grows_at_end: ClassVar[bool] = True
    slices_per_window: ClassVar[int] = 1
    gap: Duration

    @property
    def length(self) -> Duration:
        """The gap."""
        return self.gap

    def check(self, tick: int | None, time: str) -> None:
        """Say so if the window doesn't fit a time column of such ticks."""
        self.gap.in_ticks(tick, time)

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — nothing to remember
        """Return the sessions that no row can lengthen any more."""
        gap = self.gap.in_ticks(rows.tick, rows.time)
        room = [np.empty(len(rows.times), np.int64) for _ in range(4)]
        keep = np.empty(rows.keys, np.int64)
        lasts = rows.times if rows.lasts is None else rows.lasts
        count = run(find_sessions)(rows.times, lasts, rows.firsts, rows.after, rows.now, gap, *room, keep)
        begins, ends, starts, stops = (column[:count].copy() for column in room)
        return Bounds(begins, ends, starts, stops, keep)

    def due(self, rows: Rows) -> int:
        """Return when the first session that is open ends."""
        gap = self.gap.in_ticks(rows.tick, rows.time)
        lasts = rows.times if rows.lasts is None else rows.lasts
        closes = np.ones(len(lasts), np.bool_)
        closes[:-1] = rows.times[1:] > lasts[:-1] + gap
        closes[rows.firsts[1:] - 1] = True  # keys without rows are not kept
        return first_after(lasts[closes] + gap + 1, rows.now)

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"session({quote(self.gap)})"


def session(gap: Given) -> Window:
    """Return sessions: a row that comes more than `gap` after the last one begins a new one.

    As Spark's `session_window`: a session is `[first, last + gap)`, and a row exactly `gap` after the last one belongs to
    it still.

    >>> from sash import window
    >>> window.session("30m")
    session("30m")
    """
    return Session(read_duration(gap, "gap"))


def find_sessions(
    times: Ints,
    lasts: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    gap: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the sessions, and return how many there are; a row at `now` could still lengthen one that ends just then."""
    count = 0
    for key in range(len(firsts) - 1):
        begin = firsts[key]
        last = firsts[key + 1]
        for row in range(firsts[key], last):
            if row + 1 == last or times[row + 1] > lasts[row] + gap:
                stop = lasts[row] + gap
                if after[key] <= stop < now[key]:
                    begins[count] = begin
                    ends[count] = row + 1
                    starts[count] = times[begin]
                    stops[count] = stop
                    count += 1
                if stop < now[key]:
                    begin = row + 1
        keep[key] = begin
    return count
