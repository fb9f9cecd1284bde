"""A short stretch of stream to draw a window over: made up in the window's own proportions, or the user's own rows.

A window that is many slides long is drawn as two parts, where windows begin and where they end, with what is between them
left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.plan.slicing import unit_of
from sash.windows import Window
from sash.windows.base import Ints, Rows, whole_rows
from sash.windows.by_change import Delta
from sash.windows.by_gap import Session
from sash.windows.by_mark import Punctuated
from sash.windows.by_rows import EveryRows, LastRows
from sash.windows.by_time import Periodic, TimeOfRow

Part = tuple[int, int]
SHOWN = 6
"""So many windows are drawn."""
MANY = 6
"""A window of more slides than that is drawn in two parts."""
MOST_ROWS = 200
"""More rows of one's own can't be told apart."""
GOLDEN = 0.618033988749895
"""Multiples of it, without their whole parts, are spread evenly and yet in no order."""
SESSIONS = (0.0, 0.3, 0.5, 0.2, 0.8, 1.9, 0.4, 0.7, 0.3, 2.4, 1.7, 0.6, 0.2, 0.9, 0.4)
"""From one row to the next, in gaps."""
MARKED = (4, 9, 11, 19)
LONGEST = 2**59
"""Longer windows, of 18 years in nanoseconds, can't be made rows for: a stretch of some lengths must have 64 bits."""
DAY = 86_400 * 1_000_000_000


@dataclass(frozen=True)
class Stretch:
    """Rows, and the parts of time, or of rows, that are drawn of them."""

    rows: Rows
    parts: tuple[Part, ...]
    unit: str
    """What places are: nanoseconds of "time", a "number" in the unit of times, or "rows"."""
    asked: tuple[Part, ...]
    """Windows that end there are asked for: after the one, up to the other."""
    origin: int = 0
    """The place that labels count from."""

    def place(self, row: int) -> float:
        """Return where a row lies on the axis; a row number is the room from there to the next."""
        return row + 0.5 if self.unit == "rows" else float(self.rows.times[row])

    def before(self, row: int) -> float:
        """Return where a line lies that cuts before a row."""
        if self.unit == "rows":
            return float(row)
        last = int(self.rows.firsts[-1])
        return (self.place(max(row - 1, 0)) + self.place(min(row, last - 1))) / 2

    def part_of(self, place: float) -> int:
        """Return the number of the part that a place is in."""
        return next((number for number, (_, end) in enumerate(self.parts) if place <= end), len(self.parts) - 1)

    def shown(self, every: int = 1) -> list[int]:
        """Return the rows that lie in the parts, or of so many the one in the middle."""
        if self.unit != "rows":
            return list(range(int(self.rows.firsts[-1])))
        firsts = [row for begin, end in self.parts for row in range(-(-begin // every) * every, end, every)]
        return [row + every // 2 for row in firsts]


def make_up(window: Window) -> Stretch | None:
    """Return rows that show a window, unless only its user can know any, or times of 64 bits don't reach so far."""
    length: Any = getattr(window, "range", None) or getattr(window, "gap", 0)
    return None if getattr(length, "amount", length) > LONGEST else _made_up(window)


def _made_up(window: Window) -> Stretch | None:  # noqa: PLR0911 — a case for each kind
    match window:
        case Periodic():
            return _periodic(window)
        case TimeOfRow():
            length = window.range.amount
            times = _irregular(0, int(2.4 * length), 20)
            return _over_time(window, times, ((0, int(2.4 * length)),))
        case Session():
            times = np.cumsum(np.array(SESSIONS) * window.gap.amount).astype(np.int64)
            margin = max(1, window.gap.amount // 4)
            return _over_time(window, times, ((-margin, int(times[-1]) + window.gap.amount + margin),), everything=True)
        case LastRows():
            if window.range <= 2 * MANY:
                return _over_rows(window.range + SHOWN + 2)
            return _over_rows(window.range + SHOWN, ((0, SHOWN + 2), (window.range - 3, window.range + SHOWN)))
        case EveryRows():
            return _every_rows(window)
        case Delta():
            steps = 0.08 + 0.3 * (np.arange(20) * GOLDEN % 1)
            return _over_rows(20, columns={window.column: np.cumsum(steps) * window.threshold})
        case Punctuated():
            return _over_rows(20, columns={window.column: np.isin(np.arange(20), MARKED)})
    return None


def take_rows(window: Window, rows: Sequence[Mapping[str, Any]], time: str) -> Stretch:
    """Return the user's own rows as a stretch."""
    if not 0 < len(rows) <= MOST_ROWS:
        message = f"draw: {len(rows)} rows were given; a picture shows from 1 to {MOST_ROWS}."
        raise ValueError(message)
    needed = [name for name in window.columns if name != "*"] + [time] * window.needs_time
    if missing := [name for name in needed if any(name not in row for row in rows)]:
        hint = ": name it with time=" if missing[0] == time and window.needs_time else ""
        message = f"draw: there are rows without {missing[0]!r}{hint}."
        raise ValueError(message)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in window.columns:
        columns[name] = np.empty(len(rows), object)
        columns[name][:] = list(rows)
        if name != "*":
            columns[name] = np.array([row[name] for row in rows])
    if not window.needs_time:
        return _over_rows(len(rows), columns=columns)
    times = np.array([_ticks(row[time]) for row in rows], np.int64)
    if (np.diff(times) < 0).any():
        message = f"draw: rows must be in order of {time}: sort them."
        raise ValueError(message)
    span = max(1, int(times[-1] - times[0]))
    gap = window.gap.amount if isinstance(window, Session) else 0  # so long a session goes on after its last row
    whole = (int(times[0]) - max(1, span // 20), int(times[-1]) + max(1, span // 20, min(gap, span)))
    stretch = _over_time(window, times, (whole,), everything=True)
    if isinstance(window, Periodic):  # those around the middle: there may be any number
        slide, middle = min(window.period.amount, window.step.amount), (whole[0] + whole[1]) // 2
        around = (middle - slide * SHOWN, middle + slide * SHOWN)
        stretch = replace(stretch, asked=((max(whole[0], around[0]), min(whole[1] + window.range.amount, around[1])),))
    is_time = isinstance(rows[0][time], datetime)
    return replace(stretch, origin=int(times[0]) // DAY * DAY if is_time else 0)


def _ticks(time: Any) -> int:
    """Return a time in nanoseconds since the epoch, or an integer as it is."""
    if isinstance(time, datetime):
        plain = time.replace(tzinfo=None) - (time.utcoffset() or time - time)
        return int(np.datetime64(plain, "ns").astype(np.int64))
    return int(time)


def _irregular(begin: int, end: int, rows: int) -> Ints:
    """Return times between two, in no order that meets the eye."""
    numbers = np.arange(min(rows, max(1, end - begin)))
    shares = (numbers + 0.1 + 0.8 * (numbers * GOLDEN % 1)) / len(numbers)
    times: Ints = (begin + shares * (end - begin)).astype(np.int64)
    return times


def _over_time(window: Window, times: Ints, parts: tuple[Part, ...], *, everything: bool = False) -> Stretch:
    unit = unit_of(window)
    rows = whole_rows(times, tick=1 if unit == "time" else None)
    return Stretch(rows, parts, unit, () if everything else parts)


def _over_rows(
    count: int, parts: tuple[Part, ...] = (), columns: Mapping[str, npt.NDArray[Any]] | None = None
) -> Stretch:
    rows = whole_rows(np.empty(0, np.int64), [0, count], columns)
    if len(parts) > 1:  # windows that end in the first part began before it
        rows = replace(rows, done=np.array([parts[1][0]], np.int64))
    return Stretch(rows, parts or ((0, count),), "rows", ())


def _periodic(window: Periodic) -> Stretch:
    """Return a stretch with a handful of windows, in one part if they are short."""
    length, period, step, first = window.cycle(1 if window.range.is_time else None, "time")
    slide = min(period, step)
    margin = slide // 3
    # Sliding windows begin one slide behind the other; cumulative ones end so, and some of the next period are shown too.
    behind = slide * (SHOWN - 2) if step == length else 2 * slide
    if length <= MANY * slide:
        whole = (first - margin, first + length + behind + margin)
        return _over_time(window, _irregular(first, whole[1], 24), (whole,))
    begins = (first - margin, first + behind + slide + margin)
    ends = (first + length - slide - margin, first + length + behind + margin)
    times = np.concatenate([_irregular(first, begins[1], 13), _irregular(*ends, 13)])
    return _over_time(window, times, (begins, ends))


def _every_rows(window: EveryRows) -> Stretch:
    slide = window.slide
    full = -(-window.range // slide) * slide  # where the first window ends that is full
    if window.range <= MANY * slide:
        return _over_rows(full + 3 * slide)
    first = full - window.range
    parts = ((max(0, first - slide // 3), first + 5 * slide), (full - slide, full + 4 * slide))
    return _over_rows(full + 4 * slide, parts)
